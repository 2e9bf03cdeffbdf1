"""Problems for `partition` with targets, fixed vertices and homes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import jetpy
from jetpy.graph.csr import INT32_MAX, Graph
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
    any_options,
    any_sizes,
    spelled,
)
from tests.fuzz.oracles import Parts

CHOICES: Choices = {
    "targets": ["equal", "up to 8"],
    "fixed": [0.0, 0.0, 0.01, 0.1, 0.5, 1.0],
    "home": ["none", "random", "successive"],
    "migration": [0, 1],
}


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

    def _solve(self, engine: Engine) -> jetpy.Partition:
        constraints: dict[str, Any] = {"targets": self.targets, "fixed": self.fixed}
        constraints["home"] = self.home
        return jetpy.partition(self.graph, self.k, **constraints, **self.options, **engine)

    def parts(self, engine: Engine) -> Parts:
        return self._solve(engine).parts

    def findings(self, engines: Sequence[Engine]) -> Iterator[Finding]:
        graph, k, fixed = self.graph, self.k, self.fixed
        first, *others = (self._solve(engine) for engine in engines)
        parts, kept = first.parts, fixed >= 0
        total, imbalance = graph.total_vertex_weight, self.options["imbalance"]
        ideals, limits = oracles.limits_of(total, k, imbalance, self.targets)
        yield from recount.partition(graph, first, k, ideals, limits)
        yield equal("fixed vertices stay", parts[kept], fixed[kept])
        found = oracles.weights_of(graph, parts, k)
        held = oracles.loads_of(graph.vertex_weights[kept], fixed[kept], k)
        most = np.maximum(limits, held)
        weights = graph.vertex_weights[~kept]
        fits = (found <= most).all() or not oracles.packs(weights, most - held)
        yield ensure("feasible", fits, f"{found.tolist()[:9]} above {most.tolist()[:9]}")
        if self.home is not None:
            away = (self.home >= 0) & (self.home != parts)
            yield same("moved weight", first.moved_weight, int(graph.vertex_weights[away].sum()))
        if self.options.get("connected"):
            yield recount.disconnected(first)
        for other in others:
            yield equal("engines agree", parts, other.parts)
        if self.home is None or (self.options["migration"] == 0 and len(set(self.targets)) == 1):
            yield from divided(
                self,
                parts,
                lambda total: oracles.limits_of(total, k, imbalance, self.targets)[1],
                engines[0],
            )


def constrained(rng: Random) -> Constrained:
    graph = any_sizes(rng, any_graph(rng, most=INT32_MAX // 4))
    n, k = graph.n, any_k(rng, graph.n)
    equal_shares = rng.pick("targets", CHOICES["targets"]) == "equal"
    targets = [1] * k if equal_shares else rng.integers(1, 9, k).tolist()
    share = rng.pick("fixed", CHOICES["fixed"])
    fixed = np.where(rng.random(n) < share, rng.integers(k, size=n), -1).astype(np.int32)
    homes = {
        "none": lambda: None,
        "random": lambda: rng.integers(-1, k, n).astype(np.int32),
        "successive": lambda: (np.arange(n) * k // max(n, 1)).astype(np.int32),
    }
    home = homes[rng.pick("home", CHOICES["home"])]()
    options = {**any_goal(rng), **any_options(rng), **any_objective(rng)}
    if home is not None:
        total = 4 * max(graph.total_edge_weight + graph.total_vertex_weight, 1)
        allowed = CHOICES["migration"] if total < INT32_MAX // 8 else [0]
        options["migration"] = rng.pick("migration", allowed)
    return Constrained(graph, k, targets, fixed, home, options)
