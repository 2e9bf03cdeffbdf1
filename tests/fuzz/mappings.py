"""Problems for `map_processes`."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

import jetpy
from jetpy.graph.csr import INT32_MAX, Graph
from jetpy.problem.presets import MAPPING_METHODS
from tests.fuzz import oracles, recount
from tests.fuzz.checks import Finding, ensure, equal, same
from tests.fuzz.choices import Choices, Random
from tests.fuzz.divided import divided
from tests.fuzz.draws import Engine, any_goal, any_graph, spelled
from tests.fuzz.oracles import Parts
from tests.mapping.oracle import cost_of, dense

Distances = list[int] | npt.NDArray[np.int64]
CHOICES: Choices = {
    "method": list(MAPPING_METHODS),
    "distances": [*("growing", "any", "equal", "far", "matrix"), *("growing", "any", "matrix")],
    "levels of a machine": [1, 2, 3, 4],
    "hierarchy of a matrix": [True, False],
}


@dataclass(frozen=True, eq=False)
class Mapping:
    graph: Graph
    hierarchy: list[int] | None
    distances: Distances
    options: dict[str, Any]

    def __str__(self) -> str:
        machine = f"{self.hierarchy}, distances {np.asarray(self.distances).tolist()}"
        return f"map: {self.graph.name}, onto {machine}, {spelled(self.options)}"

    def _solve(self, engine: Engine) -> jetpy.Mapping:
        return jetpy.map_processes(
            self.graph, self.hierarchy, self.distances, **self.options, **engine
        )

    def parts(self, engine: Engine) -> Parts:
        return self._solve(engine).pe

    def findings(self, engines: Sequence[Engine]) -> Iterator[Finding]:
        graph, hierarchy, distances = self.graph, self.hierarchy, self.distances
        first, *others = (self._solve(engine) for engine in engines)
        table = dense(hierarchy, distances) if isinstance(distances, list) else distances
        k, total = len(table), graph.total_vertex_weight
        limit = oracles.limit_of_pes(total, k, self.options["imbalance"])
        if graph.n <= k:
            limit = max(limit, int(graph.vertex_weights.max(initial=0)))
            apart = len(set(first.pe.tolist())) == graph.n
            yield ensure("one task a PE", apart, f"{first.pe.tolist()[:20]} ...")
            plain = cost_of(graph, np.arange(graph.n), table)
            yield ensure("no worse than plain", first.cost <= plain, f"{first.cost}, {plain}")
        ideals, limits = (np.full(k, number, np.int64) for number in (-(-total // k), limit))
        yield from recount.partition(graph, first.partition, k, ideals, limits)
        yield recount.kept(graph, oracles.weights_of(graph, first.pe, k), limit)
        cost = cost_of(graph, first.pe, table)
        yield same("cost", first.cost, cost)
        by_level = int(first.cost_by_level.sum()) if hierarchy else cost
        yield same("cost by level", by_level, cost)
        for other in others:
            yield equal("engines agree", first.pe, other.pe)

        def limit_of(total: int) -> oracles.Numbers:
            return np.array([oracles.limit_of_pes(total, k, self.options["imbalance"])], np.int64)

        yield from divided(self, first.pe, limit_of, engines[0])


def mapping(rng: Random) -> Mapping:
    graph = any_graph(rng)
    most = min(graph.n + 5, 256)
    hierarchy: list[int] = []
    for _ in range(rng.pick("levels of a machine", CHOICES["levels of a machine"])):
        hierarchy.append(int(rng.integers(1, min(most // math.prod(hierarchy), 6) + 1)))
    levels, k = len(hierarchy), math.prod(hierarchy)
    drawn: dict[str, Distances] = {
        "growing": [10**level for level in range(levels)],
        "any": rng.integers(0, 20, levels).tolist(),
        "equal": [int(rng.integers(0, 4))] * levels,
        "far": rng.integers(0, INT32_MAX + 1, levels).tolist(),
        "matrix": np.triu(rng.integers(0, 30, (k, k)), 1),
    }
    distances = drawn[rng.pick("distances", CHOICES["distances"])]
    options = {"method": rng.pick("method", CHOICES["method"]), **any_goal(rng)}
    if isinstance(distances, list):
        return Mapping(graph, hierarchy, distances, options)
    matrix = distances + distances.T
    if not rng.pick("hierarchy of a matrix", CHOICES["hierarchy of a matrix"]):
        return Mapping(graph, None, matrix, {**options, "method": "im"})
    return Mapping(graph, hierarchy, matrix, options)
