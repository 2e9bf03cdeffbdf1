"""Problems for `map_processes`."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

import jetpy
from jetpy.graph import INT32_MAX, Graph
from jetpy.mapping.problem import METHODS
from tests.fuzz import oracles
from tests.fuzz.draws import Engine, any_goal, any_graph, one_of, spelled
from tests.fuzz.oracles import Finding, ensure
from tests.fuzz.structures import Random
from tests.mapping.oracle import cost_of, dense

Distances = list[int] | npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Mapping:
    graph: Graph
    hierarchy: list[int] | None
    distances: Distances
    options: dict[str, Any]

    def __str__(self) -> str:
        machine = f"{self.hierarchy}, distances {np.asarray(self.distances).tolist()}"
        return f"map: {self.graph.name}, onto {machine}, {spelled(self.options)}"

    def findings(self, engines: Sequence[Engine]) -> Iterator[Finding]:
        graph, hierarchy, distances = self.graph, self.hierarchy, self.distances
        first, *others = (
            jetpy.map_processes(graph, hierarchy, distances, **self.options, **engine)
            for engine in engines
        )
        table = dense(hierarchy, distances) if isinstance(distances, list) else distances
        k, total = len(table), graph.total_vertex_weight
        limit = oracles.limit_of_pes(total, k, self.options["imbalance"])
        if graph.n <= k:
            limit = max(limit, int(graph.vertex_weights.max(initial=0)))
            apart = len(set(first.pe.tolist())) == graph.n
            yield ensure("one task a PE", apart, f"{first.pe.tolist()[:20]} ...")
            plain = cost_of(graph, np.arange(graph.n), table)
            yield ensure("no worse than plain", first.cost <= plain, f"{first.cost}, {plain}")
        yield from oracles.partition(graph, first.partition, k, limit)
        cost = cost_of(graph, first.pe, table)
        yield ensure("cost", first.cost == cost, f"{first.cost} is {cost}")
        by_level = int(first.cost_by_level.sum()) if hierarchy else cost
        yield ensure("cost by level", by_level == cost, f"{by_level} is {cost}")
        for other in others:
            yield oracles.equal("engines agree", first.pe, other.pe)


def mapping(rng: Random) -> Mapping:
    graph = any_graph(rng)
    most = min(graph.n + 5, 256)
    hierarchy: list[int] = []
    for _ in range(rng.integers(1, 5)):
        hierarchy.append(int(rng.integers(1, min(most // math.prod(hierarchy), 6) + 1)))
    levels, k = len(hierarchy), math.prod(hierarchy)
    drawn: dict[str, Distances] = {
        "growing": [10**level for level in range(levels)],
        "any": rng.integers(0, 20, levels).tolist(),
        "equal": [int(rng.integers(0, 4))] * levels,
        "far": rng.integers(0, INT32_MAX + 1, levels).tolist(),
        "matrix": np.triu(rng.integers(0, 30, (k, k)), 1),
    }
    distances = drawn[one_of(rng, [*drawn, "growing", "any", "matrix"])]
    options = {"method": one_of(rng, list(METHODS)), **any_goal(rng)}
    if isinstance(distances, list):
        return Mapping(graph, hierarchy, distances, options)
    matrix = distances + distances.T
    if rng.random() < 0.5:
        return Mapping(graph, None, matrix, {**options, "method": "im"})
    return Mapping(graph, hierarchy, matrix, options)
