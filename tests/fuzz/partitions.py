"""Problems for `partition` and `refine`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import jetpy
from jetpy.graph import Graph
from jetpy.presets import PRESETS
from tests.fuzz import oracles
from tests.fuzz.draws import Engine, any_goal, any_graph, any_k, any_methods, one_of, spelled
from tests.fuzz.oracles import Finding, Parts, ensure
from tests.fuzz.structures import Random
from tests.mapping.oracle import cut_of


@dataclass(frozen=True, eq=False)
class Partitioning:
    graph: Graph
    k: int
    options: dict[str, Any]

    def __str__(self) -> str:
        return f"partition: {self.graph.name}, k={self.k}, {spelled(self.options)}"

    def findings(self, engines: Sequence[Engine]) -> Iterator[Finding]:
        graph, k, options = self.graph, self.k, self.options
        arrays = graph.indptr, graph.indices, graph.edge_weights, graph.vertex_weights
        first, *others = (jetpy.partition(arrays, k, **options, **engine) for engine in engines)
        limit = oracles.limit_of(graph.total_vertex_weight, k, options["imbalance"])
        yield from oracles.partition(graph, first, k, limit)
        filled = len(np.unique(first.parts))
        yield ensure("no part empty", filled == min(graph.n, k), f"{filled} have a vertex")
        for other in others:
            yield oracles.equal("engines agree", first.parts, other.parts)
        yield from self._reduced(first, limit, engines[0])

    def _reduced(self, found: jetpy.Partition, limit: int, engine: Engine) -> Iterator[Finding]:
        """Weights that have a divisor lead to the parts of those divided by it."""
        graph, k = self.graph, self.k
        divisor = int(np.gcd.reduce(graph.vertex_weights, initial=0))
        if divisor <= 1:
            return
        less = replace(graph, vertex_weights=graph.vertex_weights // np.int32(divisor))
        reduced = oracles.limit_of(less.total_vertex_weight, k, self.options["imbalance"])
        if reduced == limit // divisor:
            other = jetpy.partition(less, k, **self.options, **engine)
            yield oracles.equal("weights are divided", found.parts, other.parts)


@dataclass(frozen=True, eq=False)
class Refining:
    graph: Graph
    start: str
    parts: Parts
    k: int
    options: dict[str, Any]

    def __str__(self) -> str:
        options = spelled(self.options)
        return f"refine: {self.graph.name}, from {self.start} parts, k={self.k}, {options}"

    def findings(self, engines: Sequence[Engine]) -> Iterator[Finding]:
        graph, k, options, before = self.graph, self.k, self.options, self.parts.copy()
        first, *others = (
            jetpy.refine(graph, self.parts, k, **options, **engine) for engine in engines
        )
        yield oracles.equal("input is left alone", before, self.parts)
        limit = oracles.limit_of(graph.total_vertex_weight, k, options["imbalance"])
        yield from oracles.partition(graph, first, k, limit)
        for other in others:
            yield oracles.equal("engines agree", first.parts, other.parts)
        heaviest = int(oracles.weights_of(graph, before, k).max())
        most = max(heaviest, limit)
        heaviest_now = int(oracles.weights_of(graph, first.parts, k).max())
        yield ensure("not less balanced", heaviest_now <= most, f"{heaviest} to {heaviest_now}")
        if options["fill_empty"]:
            filled = len(np.unique(first.parts))
            yield ensure("no part empty", filled == min(graph.n, k), f"{filled} have a vertex")
        elif heaviest <= limit:
            cuts = cut_of(graph, before), cut_of(graph, first.parts)
            yield ensure("cut no larger", cuts[1] <= cuts[0], "{} to {}".format(*cuts))


def partitioning(rng: Random) -> Partitioning:
    graph = any_graph(rng)
    options = {**any_goal(rng), **any_methods(rng), "generations": one_of(rng, [None, 1, 2, 5])}
    return Partitioning(graph, any_k(rng, graph.n), options)


def refining(rng: Random) -> Refining:
    graph = any_graph(rng)
    k, goal = any_k(rng, graph.n), any_goal(rng)
    starts = {
        "random": lambda: rng.integers(k, size=graph.n),
        "skewed": lambda: np.minimum(rng.geometric(0.5, graph.n) - 1, k - 1),
        "equal": lambda: np.full(graph.n, rng.integers(k)),
        "packed": lambda: oracles.packed(graph.vertex_weights, k),
        "successive": lambda: np.arange(graph.n) * k // max(graph.n, 1),
        "good": lambda: jetpy.partition(graph, k, preset="fast", threads=1).parts,
    }
    start = one_of(rng, list(starts))
    parts = starts[start]().astype(np.int32)
    options = {"preset": one_of(rng, list(PRESETS)), "fill_empty": rng.random() < 0.3}
    return Refining(graph, start, parts, k, {**goal, **options})
