"""Problems for `partition` with several weights per vertex."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import jetpy
from jetpy.graph.csr import Graph
from tests.fuzz import oracles, recount
from tests.fuzz.checks import Finding, ensure, equal, same
from tests.fuzz.choices import Choices, Random
from tests.fuzz.draws import (
    Engine,
    any_column,
    any_goal,
    any_graph,
    any_k,
    any_objective,
    any_of,
    any_options,
    spelled,
)
from tests.fuzz.oracles import Ints, Numbers, Parts
from tests.fuzz.structures import WEIGHTS

COLUMNS = ["zero", "half zero", *WEIGHTS]
"""Kinds of weights."""
CHOICES: Choices = {
    "weights of a vertex": [1, 2, 2, 3, 5],
    "column": COLUMNS,
    "imbalances": ["one", "each"],
    "shares of several": ["equal", "up to 8"],
    "fixed of several": [0.0, 0.0, 0.1, 1.0],
    "lower limits of several": [True, False, False],
}


@dataclass(frozen=True, eq=False)
class MultiConstraint:
    graph: Graph
    k: int
    weights: Ints
    targets: list[int]
    fixed: Parts
    options: dict[str, Any]

    def __str__(self) -> str:
        shape, fixed = self.weights.shape, int((self.fixed >= 0).sum())
        numbers = f"weights of shape {shape}, targets {self.targets}, {fixed} fixed"
        return f"several: {self.graph.name}, k={self.k}, {numbers}, {spelled(self.options)}"

    def _solve(self, engine: Engine, **other: Any) -> jetpy.Partition:
        constraints = {"vertex_weights": self.weights, **self.options, **other}
        return jetpy.partition(self.graph, self.k, **self._places, **constraints, **engine)

    @property
    def _places(self) -> dict[str, Any]:
        return {"targets": self.targets, "fixed": self.fixed}

    def parts(self, engine: Engine) -> Parts:
        return self._solve(engine).parts

    def findings(self, engines: Sequence[Engine]) -> Iterator[Finding]:
        graph, k, kept = self.graph, self.k, self.fixed >= 0
        first, *others = (self._solve(engine) for engine in engines)
        totals = self.weights.sum(axis=0).tolist()
        imbalances = np.broadcast_to(self.options["imbalance"], len(totals)).tolist()
        columns = [
            oracles.limits_of(total, k, imbalance, self.targets)
            for total, imbalance in zip(totals, imbalances, strict=True)
        ]
        ideals, limits = (np.stack([column[i] for column in columns], axis=1) for i in (0, 1))
        lower = lower_limits(self.weights, self.targets)
        lower *= "lower_imbalance" in self.options
        yield from recount.partition(graph, first, k, ideals, limits, self.weights, lower)
        yield equal("fixed vertices stay", first.parts[kept], self.fixed[kept])
        free = bool((limits >= totals).all()) and not lower.any()
        yield ensure("feasible", first.feasible or not free, "all parts may weigh anything")
        for other in others:
            yield equal("engines agree", first.parts, other.parts)
        if free and not kept.any():
            yield same("no part empty", first.empty_parts, max(0, k - graph.n))
        if len(totals) == 1:
            alone = self._solve(engines[0], vertex_weights=self.weights[:, 0])
            yield equal("one column is one weight", first.parts, alone.parts)
        elif graph.n:
            yield from self._refined(first, engines[0])

    def _refined(self, found: jetpy.Partition, engine: Engine) -> Iterator[Finding]:
        """Check that refining a result does not worsen it."""
        goal = {name: self.options[name] for name in ("imbalance", "seed")}
        places = {**self._places, "vertex_weights": self.weights, "large_imbalance": True}
        again = jetpy.refine(self.graph, found.parts, self.k, **places, **goal, **engine)
        yield ensure("refined is no worse", again.feasible >= found.feasible, "not feasible")
        better = again.cut <= found.cut or not found.feasible
        yield ensure("refined is no worse", better, f"{found.cut} to {again.cut}")


def lower_limits(weights: Ints, targets: list[int]) -> Numbers:
    """Return the lower limits of parts with a lower imbalance of 1/10, int64, shape (k, c)."""
    shares, totals = np.array(targets, object), weights.sum(axis=0).astype(object)
    whole = 10 * int(sum(targets))
    return np.array(-(-9 * shares[:, None] * totals[None, :] // whole), np.int64)


def several(rng: Random) -> MultiConstraint:
    graph = any_graph(rng)
    n, k, goal = graph.n, any_k(rng, graph.n), any_goal(rng)
    count = rng.pick("weights of a vertex", CHOICES["weights of a vertex"])
    columns = [any_column(rng, rng.pick("column", CHOICES["column"]), n) for _ in range(count)]
    if count == 1:
        columns = [np.maximum(columns[0], 1)]
        goal |= any_objective(rng)
    if rng.pick("imbalances", CHOICES["imbalances"]) == "each":
        goal["imbalance"] = [any_of(rng, "imbalance") for _ in range(count)]
        goal["large_imbalance"] = True
    equal_shares = rng.pick("shares of several", CHOICES["shares of several"]) == "equal"
    targets = [1] * k if equal_shares else rng.integers(1, 9, k).tolist()
    share = rng.pick("fixed of several", CHOICES["fixed of several"])
    fixed = np.where(rng.random(n) < share, rng.integers(k, size=n), -1).astype(np.int32)
    table = np.stack(columns, axis=1).reshape(n, count)
    bounded = rng.pick("lower limits of several", CHOICES["lower limits of several"])
    if bounded and (lower_limits(table, targets).sum(axis=0) <= table.sum(axis=0)).all():
        goal["lower_imbalance"] = 0.1
    return MultiConstraint(graph, k, table, targets, fixed, {**goal, **any_options(rng)})
