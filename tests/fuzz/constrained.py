"""Problems for `partition` with targets, fixed vertices and homes."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

import jetpy
from jetpy.graph import INT32_MAX, Graph
from tests.fuzz import oracles
from tests.fuzz.draws import Engine, any_goal, any_graph, any_k, any_methods, one_of, spelled
from tests.fuzz.oracles import Finding, Parts, ensure
from tests.fuzz.structures import Random
from tests.mapping.oracle import cut_of

Numbers = npt.NDArray[np.int64]


def limits_of(total: int, targets: Sequence[int], imbalance: float) -> Numbers:
    """Largest weight of each part."""
    ideals = [-(-total * target // sum(targets)) for target in targets]
    factor = 1 + Fraction(str(imbalance))
    return np.array([min(math.floor(factor * ideal), INT32_MAX) for ideal in ideals])


def packs(weights: Parts, rooms: Numbers) -> bool:
    """Whether the heaviest vertices, each put where most room is left, all find enough."""
    most = [-room for room in rooms.tolist()]
    heapq.heapify(most)
    for weight in sorted(weights.tolist(), reverse=True):
        heapq.heapreplace(most, most[0] + weight)
    return max(most) <= 0


@dataclass(frozen=True, eq=False)
class Constrained:
    graph: Graph
    k: int
    targets: list[int]
    fixed: Parts
    home: Parts | None
    options: dict[str, Any]

    def __str__(self) -> str:
        fixed, home = int((self.fixed >= 0).sum()), self.home is not None
        numbers = f"targets {self.targets}, {fixed} fixed, {'homes' if home else 'no homes'}"
        return f"constrained: {self.graph.name}, k={self.k}, {numbers}, {spelled(self.options)}"

    def findings(self, engines: Sequence[Engine]) -> Iterator[Finding]:
        graph, k, fixed = self.graph, self.k, self.fixed
        constraints: dict[str, Any] = {"targets": self.targets, "fixed": fixed, "home": self.home}
        first, *others = (
            jetpy.partition(graph, k, **constraints, **self.options, **engine) for engine in engines
        )
        parts, kept = first.parts, fixed >= 0
        proper = bool(((parts >= 0) & (parts < k)).all())
        yield ensure("parts", proper, f"not in 0..{k - 1}")
        yield oracles.equal("fixed vertices stay", parts[kept], fixed[kept])
        cut = cut_of(graph, parts)
        yield ensure("cut", first.cut == cut, f"{first.cut} is {cut}")
        limits = limits_of(graph.total_vertex_weight, self.targets, self.options["imbalance"])
        yield oracles.equal("limits", first.limits, limits)
        found = oracles.weights_of(graph, parts, k)
        yield ensure("feasible tells", first.feasible == (found <= limits).all(), "it does not")
        held = np.zeros(k, np.int64)
        np.add.at(held, fixed[kept], graph.vertex_weights[kept])
        most = np.maximum(limits, held)
        fits = (found <= most).all() or not packs(graph.vertex_weights[~kept], most - held)
        yield ensure("feasible", fits, f"{found.tolist()[:9]} above {most.tolist()[:9]}")
        if self.home is not None:
            moved = int(graph.vertex_weights[(self.home >= 0) & (self.home != parts)].sum())
            yield ensure("moved weight", first.moved_weight == moved, f"{moved}")
        for other in others:
            yield oracles.equal("engines agree", parts, other.parts)


def constrained(rng: Random) -> Constrained:
    graph = any_graph(rng, most=INT32_MAX // 4)
    n, k = graph.n, any_k(rng, graph.n)
    targets = [1] * k if rng.random() < 0.5 else rng.integers(1, 9, k).tolist()
    share = one_of(rng, [0.0, 0.0, 0.01, 0.1, 0.5, 1.0])
    fixed = np.where(rng.random(n) < share, rng.integers(k, size=n), -1).astype(np.int32)
    homes = {
        "none": lambda: None,
        "random": lambda: rng.integers(-1, k, n).astype(np.int32),
        "successive": lambda: (np.arange(n) * k // max(n, 1)).astype(np.int32),
    }
    home = homes[one_of(rng, list(homes))]()
    options = {**any_goal(rng), **any_methods(rng)}
    if home is not None:
        total = 4 * max(graph.total_edge_weight + graph.total_vertex_weight, 1)
        options["migration"] = one_of(rng, [0, 1] if total < INT32_MAX // 8 else [0])
    return Constrained(graph, k, targets, fixed, home, options)
