"""Problems for several processes, which threads represent; their parts equal those of one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import jetpy
import jetpy.distributed
from jetpy.distributed.communicator import Communicator
from jetpy.graph.csr import Graph
from tests.distributed.test_pieces import block_of
from tests.distributed.threads import run_on_threads
from tests.fuzz import oracles, recount
from tests.fuzz.checks import Finding, equal, same
from tests.fuzz.choices import Choices, Random
from tests.fuzz.draws import Engine, any_goal, any_graph, any_k, spelled
from tests.fuzz.oracles import Ints, Parts
from tests.mapping.oracle import cut_of

CHOICES: Choices = {
    "processes": [1, 2, 3, 4],
    "blocks": ["equal", "random"],
    "small": [0, 0, 50, None],
    "preset of processes": ["default", "default", "fast", "fast", "ultra", "gkway"],
    "call of processes": ["partition", "partition", "refine", "evaluate"],
}


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
        return f"processes: {self.call}, {self.graph.name}, {numbers}, {spelled(self.options)}"

    def findings(self, engines: Sequence[Engine]) -> Iterator[Finding]:
        graph, k = self.graph, self.k
        results = run_on_threads(len(self.bounds) - 1, self._process)
        parts = np.concatenate([result.parts for result in results])
        yield equal("processes agree", parts, self._alone())
        total = graph.total_vertex_weight
        ideals, limits = oracles.limits_of(total, k, self.options["imbalance"])
        loads, cut = oracles.weights_of(graph, parts, k), cut_of(graph, parts)
        for first, result in zip(self.bounds.tolist(), results, strict=False):
            yield same("cut", result.cut, cut)
            yield from recount.balance(result, loads, ideals, limits, np.zeros_like(limits))
            yield same("empty parts", result.empty_parts, k - len(np.unique(parts)))
            sizes = result.n, result.m, result.k, result.first
            yield same("vertices", sizes, (graph.n, graph.m, k, first))

    def _process(self, comm: Communicator) -> jetpy.distributed.DistributedPartition:
        """Run one process."""
        block, imbalance = block_of(self.graph, self.bounds, comm.rank), self.options["imbalance"]
        given = self.given[self.bounds[comm.rank] : self.bounds[comm.rank + 1]]
        if self.call == "evaluate":
            return jetpy.distributed.evaluate(comm, block, given, self.k, imbalance=imbalance)
        engine: Engine = {"backend": "cpu", "threads": 1, "small": self.small}
        if self.call == "refine":
            return jetpy.distributed.refine(comm, block, given, self.k, **self.options, **engine)
        return jetpy.distributed.partition(comm, block, self.k, **self.options, **engine)

    def _alone(self) -> Parts:
        """Return the parts of a single process."""
        if self.call == "evaluate":
            return self.given
        engine: Engine = {"backend": "cpu", "threads": 1}
        if self.call == "refine":
            return jetpy.refine(self.graph, self.given, self.k, **self.options, **engine).parts
        return jetpy.partition(self.graph, self.k, **self.options, **engine).parts


def spread(rng: Random) -> Spread:
    graph = any_graph(rng, most=None, largest=1000)
    n, k = graph.n, any_k(rng, graph.n)
    chosen = {what: rng.pick(what, CHOICES[what]) for what in CHOICES}
    size = chosen["processes"]
    bounds = np.arange(size + 1) * n // size
    if chosen["blocks"] == "random":
        bounds[1:-1] = np.sort(rng.integers(n + 1, size=size - 1))
    options = {**any_goal(rng), "preset": chosen["preset of processes"]}
    given = rng.integers(k, size=n).astype(np.int32)
    return Spread(graph, k, bounds, chosen["call of processes"], given, options, chosen["small"])
