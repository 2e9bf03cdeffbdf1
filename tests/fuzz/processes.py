"""Problems for several processes, which threads represent; their results equal those of one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import jetpy
import jetpy.distributed
from jetpy.distributed.communicator import Communicator
from jetpy.distributed.terminals import PLACES
from jetpy.errors import OptionError
from jetpy.graph.csr import INT32_MAX, Graph
from tests.distributed.test_pieces import block_of
from tests.distributed.threads import run_on_threads
from tests.fuzz import oracles, recount
from tests.fuzz.checks import Finding, ensure, equal, same
from tests.fuzz.choices import Choices, Random
from tests.fuzz.draws import Engine, any_column, any_goal, any_graph, any_k, any_of, spelled
from tests.fuzz.oracles import Ints, Numbers, Parts
from tests.fuzz.several import COLUMNS
from tests.mapping.oracle import cut_of

CHOICES: Choices = {
    "processes": [1, 2, 3, 4],
    "blocks": ["equal", "random"],
    "small": [0, 0, 50, None],
    "preset of processes": ["default", "default", "fast", "fast", "fast", "ultra", "max", "gkway"],
    "call of processes": ["partition", "partition", "partition", "refine", "refine", "evaluate"],
    "limits of processes": ["usual", "usual", "usual", "lower", "for each part", "one maximum"],
    "targets of processes": ["none", "none", "up to 8"],
    "levels of processes": ["in pieces", "in pieces", "as usual"],
    "fixed in processes": ["none", "none", "none", "few", "half"],
    "together in processes": ["none", "none", "none", "pairs", "some"],
    "home in processes": ["none", "none", "none", "random", "blocks"],
    "weights in processes": [1, 1, 1, 2, 3],
    "imbalances in processes": ["one", "each"],
    "whole graph of processes": ["no", "no", "no", "connected", "volume", "within"],
}
IN_PIECES: dict[str, Any] = {
    "small.max_vertices": 0,
    "branches": (),
}
"""Options without which small graphs have no level in pieces."""


@dataclass(frozen=True, eq=False)
class Spread:
    graph: Graph
    k: int
    bounds: Ints
    call: str
    given: Parts
    options: dict[str, Any]
    small: int | None

    def __str__(self) -> str:
        numbers = f"k={self.k}, blocks {np.diff(self.bounds).tolist()}, small={self.small}"
        if self.graph.constraint_weights is not None:
            numbers += f", weights of shape {self.graph.constraint_weights.shape}"
        return f"processes: {self.call}, {self.graph.name}, {numbers}, {spelled(self.options)}"

    def findings(self, engines: Sequence[Engine]) -> Iterator[Finding]:
        try:
            alone = self._alone()
        except OptionError as error:
            for refusal in run_on_threads(len(self.bounds) - 1, self._refusal):
                yield ensure("refused", str(error) in refusal, f"{refusal}, instead of {error}")
            return
        results = run_on_threads(len(self.bounds) - 1, self._process)
        parts = np.concatenate([result.parts for result in results])
        yield equal("processes agree", parts, self.given if alone is None else alone.parts)
        ideals, limits = self._limits()
        lower = np.zeros_like(limits)
        if alone is not None:
            ideals, limits, lower = alone.ideals, alone.limits, alone.lower_limits
        k = self.k if alone is None else alone.k
        yield from self._numbers(results, parts, k, ideals, limits, lower)
        if alone is not None and alone.home is not None:
            moved = len(alone.moved), alone.moved_weight
            for result in results:
                yield same("moved", (result.moved_vertices, result.moved_weight), moved)

    def _numbers(
        self,
        results: Sequence[Any],
        parts: Parts,
        k: int,
        ideals: Numbers,
        limits: Numbers,
        lower: Numbers,
    ) -> Iterator[Finding]:
        """Recount the numbers of the results of all processes."""
        graph = self.graph
        loads, cut = oracles.loads_of(weights_of(graph), parts, k), cut_of(graph, parts)
        for first, result in zip(self.bounds.tolist(), results, strict=False):
            yield same("cut", result.cut, cut)
            yield from recount.balance(result, loads, ideals, limits, lower)
            yield same("empty parts", result.empty_parts, k - len(np.unique(parts)))
            sizes = result.n, result.m, result.k, result.first
            yield same("vertices", sizes, (graph.n, graph.m, k, first))

    def _limits(self) -> tuple[Numbers, Numbers]:
        """Return the ideal and maximum weights of parts, without other limits or targets."""
        weights, imbalances = weights_of(self.graph), self.options.get("imbalance", 0.03)
        totals = weights.sum(axis=0, dtype=np.int64)
        if weights.ndim == 1:
            return oracles.limits_of(int(totals), self.k, imbalances)
        each = np.broadcast_to(imbalances, totals.shape).tolist()
        columns = [
            oracles.limits_of(total, self.k, imbalance)
            for total, imbalance in zip(totals.tolist(), each, strict=True)
        ]
        ideals, limits = (np.stack([column[i] for column in columns], axis=1) for i in (0, 1))
        return ideals, limits

    def _refusal(self, comm: Communicator) -> str:
        """Return the message with which one of several processes refuses the options."""
        try:
            self._process(comm)
        except OptionError as error:
            return str(error)
        return "nothing"

    def _process(self, comm: Communicator) -> jetpy.distributed.DistributedPartition:
        """Run one process."""
        block, k = block_of(self.graph, self.bounds, comm.rank), self.k
        own = slice(*self.bounds[comm.rank : comm.rank + 2])
        given = self.given[own]
        places = {name: self.options[name][own] for name in PLACES if name in self.options}
        options = {**self.options, **places}
        if self.call == "evaluate":
            imbalance = self.options.get("imbalance", 0.03)
            return jetpy.distributed.evaluate(comm, block, given, k, imbalance=imbalance)
        engine: Engine = {"backend": "cpu", "threads": 1, "small": self.small}
        if self.call == "refine":
            return jetpy.distributed.refine(comm, block, given, k, **options, **engine)
        return jetpy.distributed.partition(comm, block, k, **options, **engine)

    def _alone(self) -> jetpy.Partition | None:
        """Return the result of a single process; None for an evaluation."""
        engine: Engine = {"backend": "cpu", "threads": 1}
        if self.call == "evaluate":
            return None
        if self.call == "refine":
            return jetpy.refine(self.graph, self.given, self.k, **self.options, **engine)
        return jetpy.partition(self.graph, self.k, **self.options, **engine)


def weights_of(graph: Graph) -> Ints:
    """Return the weights that count, shape (n,) or (n, c)."""
    several = graph.constraint_weights
    return graph.vertex_weights if several is None else several


def spread(rng: Random) -> Spread:
    chosen = {what: rng.pick(what, CHOICES[what]) for what in CHOICES}
    size, call, count = (
        chosen[what] for what in ("processes", "call of processes", "weights in processes")
    )
    graph = any_graph(rng, most=None if count == 1 else INT32_MAX, largest=1000)
    n, k = graph.n, any_k(rng, graph.n)
    bounds = np.arange(size + 1) * n // size
    if chosen["blocks"] == "random":
        bounds[1:-1] = np.sort(rng.integers(n + 1, size=size - 1))
    options = {**any_goal(rng), "preset": chosen["preset of processes"]}
    if count > 1:
        kinds = [str(rng.choice(COLUMNS)) for _ in range(count)]
        table = np.stack([any_column(rng, kind, n) for kind in kinds], axis=1)
        graph = replace(graph, constraint_weights=table.reshape(n, count).astype(np.int32))
        if chosen["imbalances in processes"] == "each":
            options["imbalance"] = [any_of(rng, "imbalance") for _ in range(count)]
            options["large_imbalance"] = True
    given = rng.integers(k, size=n).astype(np.int32)
    if call != "evaluate":
        options |= _limits(rng, graph, k, chosen["limits of processes"])
        if "max_weights" in options and rng.random() < 0.5:
            del options["imbalance"]
        if chosen["targets of processes"] != "none":
            options["targets"] = rng.integers(1, 9, k).tolist()
        if chosen["levels of processes"] == "in pieces":
            size = any_of(rng, "level of tasks")
            sizes = {} if size is None else {"initial.task_size": size}
            options["options"] = IN_PIECES | sizes
        options |= _places(rng, n, k, call, chosen)
        graph, more = _of_whole_graph(rng, graph, call, chosen["whole graph of processes"])
        options |= more
    if call == "partition":
        options["generations"] = any_of(rng, "generations") if rng.random() < 0.2 else None
    return Spread(graph, k, bounds, call, given, options, chosen["small"])


def _places(rng: Random, n: int, k: int, call: str, chosen: dict[str, Any]) -> dict[str, Any]:
    """Return fixed and home parts and groups, some of them -1."""
    found: dict[str, Any] = {}
    fixed, home = chosen["fixed in processes"], chosen["home in processes"]
    if fixed != "none":
        is_fixed = rng.random(n) < (0.5 if fixed == "half" else 0.02)
        found["fixed"] = np.where(is_fixed, rng.integers(0, k, n), -1)
    if chosen["together in processes"] != "none":
        groups = n // 2 if chosen["together in processes"] == "pairs" else 1 + n // 9
        names = rng.integers(0, max(groups, 1), n) * int(rng.integers(1, 1000))
        found["together"] = np.where(rng.random(n) < 0.3, names, -1)
    if home != "none" and call == "partition":
        places = rng.integers(0, k, n) if home == "random" else np.arange(n) * k // n
        found["home"] = np.where(rng.random(n) < 0.1, -1, places)
        found["migration"] = float(rng.choice([0.0, 0.3, 1.0, 7.0]))
    return found


def _of_whole_graph(
    rng: Random, graph: Graph, call: str, kind: str
) -> tuple[Graph, dict[str, Any]]:
    """Return options for which process 0 gathers the whole graph, and the graph, with sizes."""
    if kind == "connected":
        return graph, {"connected": True}
    if kind == "volume":
        sizes = rng.integers(0, 9, graph.n).astype(np.int32)
        return replace(graph, vertex_sizes=sizes), {"objective": "volume"}
    if kind == "within" and call == "partition":
        return graph, {"within": rng.integers(0, 3, graph.n)}
    return graph, {}


def _limits(rng: Random, graph: Graph, k: int, kind: str) -> dict[str, Any]:
    """Return limits of part weights, which random parts keep."""
    if kind == "usual":
        return {}
    if kind == "lower":
        return {"lower_imbalance": float(rng.choice([0.0, 0.05, 0.5, 1.0]))}
    weights = weights_of(graph)
    average = -(-int(weights.sum(axis=0, dtype=np.int64).max()) // k)
    if kind == "one maximum":
        return {"max_weights": average + int(rng.integers(0, average + 1))}
    loads = oracles.loads_of(weights, rng.integers(0, k, graph.n).astype(np.int32), k)
    return {"min_weights": loads // 2, "max_weights": loads + int(rng.integers(0, average + 1))}
