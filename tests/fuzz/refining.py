"""Problems for `refine`."""

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
from tests.fuzz.divided import divided
from tests.fuzz.draws import (
    Engine,
    any_goal,
    any_graph,
    any_k,
    any_objective,
    any_of,
    any_sizes,
    spelled,
    supporting,
)
from tests.fuzz.oracles import Parts
from tests.mapping.oracle import cut_of

CHOICES: Choices = {
    "start": ["random", "skewed", "equal", "packed", "successive", "good"],
    "fill_empty": [False, False, True],
}


@dataclass(frozen=True, eq=False)
class Refining:
    graph: Graph
    start: str
    given: Parts
    k: int
    options: dict[str, Any]

    def __str__(self) -> str:
        options = spelled(self.options)
        return f"refine: {self.graph.name}, from {self.start} parts, k={self.k}, {options}"

    def _solve(self, engine: Engine) -> jetpy.Partition:
        return jetpy.refine(self.graph, self.given, self.k, **self.options, **engine)

    def parts(self, engine: Engine) -> Parts:
        return self._solve(engine).parts

    def findings(self, engines: Sequence[Engine]) -> Iterator[Finding]:
        graph, k, before = self.graph, self.k, self.given.copy()
        first, *others = (self._solve(engine) for engine in supporting(engines, graph))
        yield equal("input is left alone", before, self.given)
        total, imbalance = graph.total_vertex_weight, self.options["imbalance"]
        ideals, limits = oracles.limits_of(total, k, imbalance)
        yield from recount.partition(graph, first, k, ideals, limits)
        for other in others:
            yield equal("engines agree", first.parts, other.parts)
        yield from divided(
            self, first.parts, lambda total: oracles.limits_of(total, k, imbalance)[1], engines[0]
        )
        loads = [oracles.weights_of(graph, parts, k) for parts in (before, first.parts)]
        yield recount.kept(graph, loads[1], int(limits[0]))
        heaviest, limit = [int(load.max()) for load in loads], int(limits[0])
        balanced = heaviest[1] <= max(heaviest[0], limit)
        yield ensure("not less balanced", balanced, "{} to {}".format(*heaviest))
        if self.options.get("connected"):
            yield recount.disconnected(first)
        if self.options["fill_empty"]:
            yield same("no part empty", len(np.unique(first.parts)), min(graph.n, k))
        elif heaviest[0] <= limit:
            yield from self._improved(before, first.parts)

    def _improved(self, before: Parts, after: Parts) -> Iterator[Finding]:
        """Check that the objective does not increase."""
        graph = self.graph
        if self.options.get("objective") == "volume":
            volumes = [oracles.volume_of(graph, parts) for parts in (before, after)]
            text = "{} to {}".format(*volumes)
            yield ensure("volume no larger", volumes[1] <= volumes[0], text)
        elif not self.options.get("connected"):
            cuts = cut_of(graph, before), cut_of(graph, after)
            yield ensure("cut no larger", cuts[1] <= cuts[0], "{} to {}".format(*cuts))


def refining(rng: Random) -> Refining:
    graph = any_sizes(rng, any_graph(rng, most=None))
    k, goal = any_k(rng, graph.n), any_goal(rng)
    starts = {
        "random": lambda: rng.integers(k, size=graph.n),
        "skewed": lambda: np.minimum(rng.geometric(0.5, graph.n) - 1, k - 1),
        "equal": lambda: np.full(graph.n, rng.integers(k)),
        "packed": lambda: oracles.packed(graph.vertex_weights, k),
        "successive": lambda: np.arange(graph.n) * k // max(graph.n, 1),
        "good": lambda: jetpy.partition(graph, k, preset="fast", threads=1).parts,
    }
    start = rng.pick("start", CHOICES["start"])
    options = {"preset": any_of(rng, "preset"), **any_objective(rng)}
    options["fill_empty"] = rng.pick("fill_empty", CHOICES["fill_empty"])
    return Refining(graph, start, starts[start]().astype(np.int32), k, {**goal, **options})
