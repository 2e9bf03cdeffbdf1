"""Problems for `partition` with minimum and maximum weights, groups, given parts, or without k."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

import jetpy
from jetpy.graph.csr import INT32_MAX, Graph
from tests.fuzz import oracles, recount
from tests.fuzz.checks import Finding, ensure, equal, same
from tests.fuzz.choices import Choices, Random
from tests.fuzz.draws import Engine, any_graph, any_k, any_objective, any_options, spelled
from tests.fuzz.oracles import Numbers, Parts

LOWER = (0.0, 0.01, 0.03, 0.1, 0.5, 1.0)
CHOICES: Choices = {
    "bounds": ["lower_imbalance", "min", "max", "both", "for each part", "for each part", "no k"],
    "lower_imbalance": LOWER,
    "spare": [0, 1, 3, 20],
    "bounds beside": ["nothing", "nothing", "targets", "fixed", "home", "together", "within"],
}


@dataclass(frozen=True, eq=False)
class Bounded:
    graph: Graph
    k: int | None
    bounds: dict[str, Any]
    beside: dict[str, Any]
    options: dict[str, Any]

    def __str__(self) -> str:
        bounds = {name: np.asarray(each).tolist() for name, each in self.bounds.items()}
        given = spelled({**bounds, "beside": list(self.beside), **self.options})
        return f"bounds: {self.graph.name}, k={self.k}, {given}"

    def _solve(self, engine: Engine) -> jetpy.Partition:
        given = {**self.bounds, **self.beside, **self.options}
        return jetpy.partition(self.graph, self.k, **given, **engine)

    def parts(self, engine: Engine) -> Parts:
        try:
            return self._solve(engine).parts
        except jetpy.OptionError:
            return np.zeros(0, np.int32)

    def findings(self, engines: Sequence[Engine]) -> Iterator[Finding]:
        graph, impossible = self.graph, self._is_impossible()
        try:
            first, *others = (self._solve(engine) for engine in engines)
        except jetpy.OptionError as error:
            yield ensure("refused", impossible, f"refused, but possible: {error}")
            return
        yield ensure("refused", not impossible, "not refused, but impossible")
        for other in others:
            yield equal("engines agree", first.parts, other.parts)
        lower, upper = self._limits(first.k)
        loads = oracles.weights_of(graph, first.parts, first.k)
        yield equal("limits", first.limits, upper)
        yield equal("lower limits", first.lower_limits, lower)
        yield equal("part weights", first.part_weights, loads)
        kept = bool(((lower <= loads) & (loads <= upper)).all())
        yield same("feasible is correct", first.feasible, kept)
        yield from recount.partition(
            graph, first, first.k, first.ideals, first.limits, lower_limits=lower
        )
        if set(self.beside) <= {"targets"}:
            fits = kept or not oracles.packs_between(graph.vertex_weights, lower, upper)
            yield ensure("feasible", fits, f"{loads.tolist()[:9]} in {lower[:9]}..{upper[:9]}")
        if self.k is None:
            yield ensure("fewest parts", kept, f"no limit kept with {first.k} parts")
            if "within" not in self.beside and not self.options.get("connected"):
                most = int(self.bounds["max_weights"])
                least = max(1, -(-graph.total_vertex_weight // most))
                yield ensure("fewest parts", first.k >= least, f"{first.k} is below {least}")
        if self.options.get("connected"):
            yield recount.disconnected(first)
        yield from self._beside(first)

    def _beside(self, found: jetpy.Partition) -> Iterator[Finding]:
        parts, given = found.parts, self.beside
        if "fixed" in given:
            kept = given["fixed"] >= 0
            yield equal("fixed vertices stay", parts[kept], given["fixed"][kept])
        if "together" in given:
            groups = given["together"]
            inside = np.flatnonzero(groups >= 0)
            _, firsts, which = np.unique(groups[inside], return_index=True, return_inverse=True)
            yield equal("together", parts[inside], parts[inside][firsts[which]])
        if "within" in given:
            pairs = np.unique(np.stack([parts, given["within"]]), axis=1)
            yield same("within", pairs.shape[1], len(np.unique(parts)))

    def _pieces(self) -> list[int]:
        """Return the weights of the graphs that are partitioned, empty ones included."""
        outer = self.beside.get("within")
        if outer is None:
            return [self.graph.total_vertex_weight]
        count = int(outer.max(initial=0)) + 1
        weights = oracles.weights_of(self.graph, outer, count).tolist()
        if self.k is not None:
            return weights
        return [weight for p, weight in enumerate(weights) if (outer == p).any()] or [0]

    def _limits(self, found: int) -> tuple[Numbers, Numbers]:
        """Return the lower and upper limits of all parts, given their number."""
        if self.k is None:
            most = int(self.bounds["max_weights"])
            return np.zeros(found, np.int64), np.full(found, most)
        each = [self._limits_of(total) for total in self._pieces()]
        lower, upper = (np.concatenate(one) for one in zip(*each, strict=True))
        return lower, upper

    def _limits_of(self, total: int) -> tuple[Numbers, Numbers]:
        assert self.k is not None
        targets = self.beside.get("targets")
        shares = [1] * self.k if targets is None else list(targets)
        _, upper = oracles.limits_of(total, self.k, self.options.get("imbalance", 0.03), targets)
        lower = np.zeros(self.k, np.int64)
        given = self.bounds
        is_absolute = "min_weights" in given or "max_weights" in given
        if is_absolute and "imbalance" not in self.options and targets is None:
            upper = np.full(self.k, total if "max_weights" not in given else 2**40, np.int64)
        if "lower_imbalance" in given:
            kept = 1 - Fraction(str(given["lower_imbalance"]))
            low = [math.ceil(kept * Fraction(total * share, sum(shares))) for share in shares]
            lower = np.array(low, np.int64)
        if "min_weights" in given:
            lower = np.maximum(lower, given["min_weights"])
        if "max_weights" in given:
            upper = np.minimum(upper, given["max_weights"])
        return lower, upper

    def _is_impossible(self) -> bool:
        """Return whether the limits of a piece contradict each other, or a group is too heavy."""
        graph, k = self.graph, self.k
        if k is None:
            return bool((graph.vertex_weights > self.bounds["max_weights"]).any())
        for total in self._pieces():
            lower, upper = self._limits_of(total)
            if (lower > upper).any() or lower.sum() > total or upper.sum() < total:
                return True
        if "together" in self.beside:
            groups = self.beside["together"]
            inside = groups >= 0
            held = np.bincount(groups[inside], graph.vertex_weights[inside])
            several = np.bincount(groups[inside]) > 1
            return bool((held > self._limits_of(graph.total_vertex_weight)[1].max())[several].any())
        return False


def bounding(rng: Random) -> Bounded:
    graph = any_graph(rng, most=INT32_MAX // 4)
    n, k = graph.n, any_k(rng, graph.n)
    options = {"seed": int(rng.integers(1 << 31)), **any_options(rng), **any_objective(rng)}
    if rng.random() < 0.3:
        options["imbalance"] = float(rng.choice([0.0, 0.03, 0.1, 0.5]))
    spare = rng.pick("spare", CHOICES["spare"])
    loads = oracles.weights_of(graph, rng.integers(0, k, n).astype(np.int32), k)
    lower = (loads - rng.integers(0, spare + 1, k)).clip(0)
    upper = loads + rng.integers(0, spare + 1, k)
    kind = rng.pick("bounds", CHOICES["bounds"])
    average = -(-graph.total_vertex_weight // k)
    least, most = max(average - spare, 0), average + spare
    heaviest = int(graph.vertex_weights.max(initial=1))
    bounds: dict[str, Any] = {
        "lower_imbalance": {
            "lower_imbalance": rng.pick("lower_imbalance", CHOICES["lower_imbalance"])
        },
        "min": {"min_weights": least},
        "max": {"max_weights": most},
        "both": {"min_weights": least, "max_weights": most},
        "for each part": {"min_weights": lower, "max_weights": upper},
        "no k": {"max_weights": max(most, heaviest)},
    }[kind]
    other = rng.pick("bounds beside", CHOICES["bounds beside"])
    if kind == "no k":
        options.pop("imbalance", None)
        other = other if other == "within" else "nothing"
    beside: dict[str, Any] = {
        "nothing": lambda: {},
        "targets": lambda: {"targets": rng.integers(1, 9, k).tolist()},
        "fixed": lambda: {
            "fixed": np.where(rng.random(n) < 0.2, rng.integers(0, k, n), -1).astype(np.int32)
        },
        "home": lambda: {"home": rng.integers(-1, k, n).astype(np.int32)},
        "together": lambda: {"together": rng.integers(-1, max(n // 2, 1), n)},
        "within": lambda: {"within": rng.integers(0, 3, n).astype(np.int32)},
    }[other]()
    if other == "within" and kind != "no k":
        k = max(1, k // 3)
        if kind == "for each part":
            bounds = {"lower_imbalance": rng.pick("lower_imbalance", CHOICES["lower_imbalance"])}
    return Bounded(graph, None if kind == "no k" else k, bounds, beside, options)
