"""Problems for `partition` with several weights per vertex."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import jetpy
from jetpy.graph.csr import INT32_MAX, Graph
from tests.fuzz import oracles, recount
from tests.fuzz.checks import Finding, ensure, equal
from tests.fuzz.choices import Choices, Random
from tests.fuzz.draws import Engine, any_goal, any_graph, any_k, any_of, any_options, spelled
from tests.fuzz.oracles import Ints, Parts
from tests.fuzz.structures import WEIGHTS, weights

CHOICES: Choices = {
    "weights of a vertex": [1, 2, 2, 3, 5],
    "column": ["zero", "half zero", *WEIGHTS],
    "imbalances": ["one", "each"],
    "shares of several": ["equal", "up to 8"],
    "fixed of several": [0.0, 0.0, 0.1, 1.0],
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

    def _solve(self, engine: Engine) -> jetpy.Partition:
        constraints: dict[str, Any] = {"targets": self.targets, "fixed": self.fixed}
        constraints["vertex_weights"] = self.weights
        return jetpy.partition(self.graph, self.k, **constraints, **self.options, **engine)

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
        yield from recount.partition(graph, first, k, ideals, limits, self.weights)
        yield equal("fixed vertices stay", first.parts[kept], self.fixed[kept])
        free = bool((limits >= totals).all())
        yield ensure("feasible", first.feasible or not free, "all parts may weigh anything")
        for other in others:
            yield equal("engines agree", first.parts, other.parts)


def several(rng: Random) -> MultiConstraint:
    graph = any_graph(rng)
    n, k, goal = graph.n, any_k(rng, graph.n), any_goal(rng)
    count = rng.pick("weights of a vertex", CHOICES["weights of a vertex"])
    columns = [_column(rng, n) for _ in range(count)]
    if rng.pick("imbalances", CHOICES["imbalances"]) == "each":
        goal["imbalance"] = [any_of(rng, "imbalance") for _ in range(count)]
        goal["large_imbalance"] = True
    equal_shares = rng.pick("shares of several", CHOICES["shares of several"]) == "equal"
    targets = [1] * k if equal_shares else rng.integers(1, 9, k).tolist()
    share = rng.pick("fixed of several", CHOICES["fixed of several"])
    fixed = np.where(rng.random(n) < share, rng.integers(k, size=n), -1).astype(np.int32)
    table = np.stack(columns, axis=1).reshape(n, count)
    return MultiConstraint(graph, k, table, targets, fixed, {**goal, **any_options(rng)})


def _column(rng: Random, n: int) -> Ints:
    kind = rng.pick("column", CHOICES["column"])
    if kind == "zero":
        return np.zeros(n, np.int64)
    if kind == "half zero":
        return weights(rng, "small", n, INT32_MAX) * rng.integers(2, size=n)
    return weights(rng, kind, n, INT32_MAX)
