"""Problems for `partition`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import jetpy
from jetpy.graph.csr import Graph
from tests.fuzz import oracles, recount
from tests.fuzz.checks import Finding, ensure, equal, same
from tests.fuzz.choices import Random
from tests.fuzz.divided import divided
from tests.fuzz.draws import (
    Engine,
    any_goal,
    any_graph,
    any_k,
    any_objective,
    any_of,
    any_options,
    any_sizes,
    spelled,
    supporting,
)
from tests.fuzz.oracles import Numbers, Parts


@dataclass(frozen=True, eq=False)
class Partitioning:
    graph: Graph
    k: int
    options: dict[str, Any]

    def __str__(self) -> str:
        return f"partition: {self.graph.name}, k={self.k}, {spelled(self.options)}"

    def _solve(self, engine: Engine, **options: Any) -> jetpy.Partition:
        graph = self.graph
        arrays = graph.indptr, graph.indices, graph.edge_weights, graph.vertex_weights
        options = {"vertex_sizes": graph.vertex_sizes, **self.options, **options}
        return jetpy.partition(arrays, self.k, **options, **engine)

    def parts(self, engine: Engine) -> Parts:
        return self._solve(engine).parts

    def findings(self, engines: Sequence[Engine]) -> Iterator[Finding]:
        graph, k = self.graph, self.k
        first, *others = (self._solve(engine) for engine in supporting(engines, graph))
        total, imbalance = graph.total_vertex_weight, self.options["imbalance"]
        ideals, limits = oracles.limits_of(total, k, imbalance)
        yield from recount.partition(graph, first, k, ideals, limits)
        weights = oracles.weights_of(graph, first.parts, k)
        yield recount.kept(graph, weights, int(limits[0]))
        yield same("no part empty", len(np.unique(first.parts)), min(graph.n, k))
        for other in others:
            yield equal("engines agree", first.parts, other.parts)
        yield from divided(
            self, first.parts, lambda total: oracles.limits_of(total, k, imbalance)[1], engines[0]
        )
        if self.options.get("connected"):
            yield recount.disconnected(first)
            yield from self._free(first, limits)
        if self.options.get("objective") == "volume":
            yield less_volume(first, self._solve(engines[0], objective="cut"), limits)

    def _free(self, found: jetpy.Partition, limits: Numbers) -> Iterator[Finding]:
        """Check that the number of components is minimal without limits, unless nothing weighs."""
        graph, k = self.graph, self.k
        components = int(oracles.pieces_of(graph, np.zeros(graph.n, np.int32), 1)[0])
        if limits[0] >= graph.total_vertex_weight > 0:
            pieces = int(oracles.pieces_of(graph, found.parts, k).sum())
            yield same("pieces where free", pieces, max(components, min(graph.n, k)))


def less_volume(found: jetpy.Partition, other: jetpy.Partition, limits: Numbers) -> Finding:
    """Check that a volume is at most that of another partition, unless that is less balanced.

    Overload counts in units of the greatest common divisor of the weights, because limits are
    rounded down to it: multiples of weights get the same parts.
    """
    unit = max(1, int(np.gcd.reduce(found.graph.vertex_weights)))

    def quality(result: jetpy.Partition) -> tuple[int, int]:
        weights = oracles.weights_of(result.graph, result.parts, result.k)
        above = weights // unit - limits // unit
        return int(above.clip(0).sum()), oracles.volume_of(result.graph, result.parts)

    volumes = quality(found), quality(other)
    text = "(overload, volume) are {}, those of a small cut {}".format(*volumes)
    return ensure("volume no larger", volumes[0] <= volumes[1], text)


def partitioning(rng: Random) -> Partitioning:
    graph = any_sizes(rng, any_graph(rng, most=None))
    methods = {**any_options(rng), "generations": any_of(rng, "generations")}
    options = {**any_goal(rng), **methods, **any_objective(rng)}
    return Partitioning(graph, any_k(rng, graph.n), options)
