"""Problems for `vertex_separator`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

import jetpy
from jetpy.graph.csr import Graph
from tests.fuzz.checks import Finding, ensure, equal, same
from tests.fuzz.choices import Choices, Random
from tests.fuzz.draws import Engine, any_graph
from tests.fuzz.node_limits import NodeLimits, any_node_limits, on_all, smallest_graph

CHOICES: Choices = {
    "separator": ["fast", "default", "best"],
    "separator imbalance": [0.0, 0.001, 0.03, 0.2, 0.2, 0.7, 1.0],
}


@dataclass(frozen=True, eq=False)
class Separating:
    graph: Graph
    preset: str
    imbalance: float
    seed: int
    limits: NodeLimits | None = None

    def __str__(self) -> str:
        limits = "" if self.limits is None else f", {self.limits}"
        return (
            f"separator: {self.graph.name}, {self.preset}, imbalance {self.imbalance}, "
            f"seed {self.seed}{limits}"
        )

    def findings(self, engines: Sequence[Engine]) -> Iterator[Finding]:
        graph, weights = self.graph, self.graph.vertex_weights.astype(np.int64)
        (found, *others), large = on_all(self.separated, engines, self.limits)
        yield from large
        for other in others:
            yield equal("engines agree", other.labels, found.labels)
        labels = found.labels.astype(np.int64)
        yield ensure("labels", np.isin(labels, (0, 1, 2)).all(), f"{set(labels.tolist())}")
        first, second = labels[graph.sources(0, graph.n)], labels[graph.indices]
        joined = np.flatnonzero((first == 0) & (second == 1))
        yield ensure("sides share no edge", not len(joined), f"{len(joined)} edges join the sides")
        sums = np.array([weights[labels == label].sum() for label in range(3)])
        yield equal("side weights", found.weights, sums)
        half = -(-int(weights.sum()) // 2)
        yield ensure("limit", half <= found.limit <= 2 * half, f"{found.limit} of half {half}")
        yield same("feasible is correct", found.feasible, bool((sums[:2] <= found.limit).all()))
        is_complete = 2 * graph.m == graph.n * (graph.n - 1)
        sides = sorted(set(labels.tolist()) - {2})
        yield same("two sides", sides, [] if is_complete else [0, 1])
        if weights.max(initial=1) == 1:
            yield ensure("sides keep the limit", found.feasible, str(found))

    def separated(self, engine: Engine) -> jetpy.VertexSeparator:
        return jetpy.vertex_separator(
            self.graph,
            preset=self.preset,  # type: ignore[arg-type]
            imbalance=self.imbalance,
            seed=self.seed,
            **engine,
        )


def separating(rng: Random) -> Separating:
    limits = any_node_limits(rng)
    graph = any_graph(rng, most=None, smallest=smallest_graph(limits))
    preset = rng.pick("separator", CHOICES["separator"])
    imbalance = rng.pick("separator imbalance", CHOICES["separator imbalance"])
    seed = int(rng.integers(0, 1000))
    return Separating(graph, preset, imbalance, seed, limits)
