"""Edge lists by id or name, with loops, duplicates and isolated vertices."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import jetpy
from jetpy.graph.csr import Graph
from tests.fuzz.checks import Finding, ensure, equal, same
from tests.fuzz.choices import Choices, Random
from tests.fuzz.draws import Engine
from tests.fuzz.oracles import Ints, Parts, sources_of

Edges = Counter[tuple[int, int]]
"""Weights of directed edges."""
CHOICES: Choices = {
    "list": ["array", "table"],
    "names": ["numbers", "text", "pairs", "mixed"],
    "weights of a list": ["none", "small", "large"],
    "edges of a list": ["proper", "one way", "loops", "duplicates", "all defects"],
    "isolated at the end": [0, 0, 1, 40],
}


@dataclass(frozen=True, eq=False)
class Listed:
    kind: str
    defects: str
    pairs: Ints
    weights: Ints | None
    n: int
    names: Sequence[Any]

    def __str__(self) -> str:
        weighted = "no weights" if self.weights is None else f"weights {self.weights.tolist()[:5]}"
        return (
            f"list: {self.kind} of {len(self.pairs)} edges, {self.defects}, n={self.n}, {weighted}"
        )

    def _graph(self, *, repair: bool) -> Graph:
        if self.kind == "array":
            return jetpy.as_graph(self.pairs.T, n=self.n, edge_weights=self.weights, repair=repair)
        table: dict[str, Any] = {
            side: [self.names[v] for v in column.tolist()]
            for side, column in zip(("from", "to"), self.pairs.T, strict=True)
        }
        if self.weights is None:
            return jetpy.from_edges(table, "from", "to", repair=repair)
        table["cost"] = self.weights.tolist()
        return jetpy.from_edges(table, "from", "to", weight="cost", repair=repair)

    def parts(self, engine: Engine) -> Parts:
        return jetpy.partition(self._graph(repair=True), 3, preset="fast", **engine).parts

    def findings(self, engines: Sequence[Engine]) -> Iterator[Finding]:
        graph = self._graph(repair=True)
        names, edges, is_proper = self._expected()
        yield same("vertex names", graph.names, names)
        if names is None:
            names = tuple(range(self.n))
        yield same("vertices", graph.n, len(names))
        ends = np.stack([sources_of(graph), graph.indices], axis=1).tolist()
        found = {
            (names[u], names[v]): w
            for (u, v), w in zip(ends, graph.edge_weights.tolist(), strict=True)
        }
        yield ensure("edges of lists", found == edges, f"{found} are {edges}"[:300])
        yield same("edges of lists", len(ends), len(edges))
        try:
            accepted = self._graph(repair=False).m == graph.m
        except jetpy.GraphError:
            accepted = False
        yield same("edges of lists", accepted, is_proper)
        first, *others = (jetpy.partition(graph, 3, preset="fast", **engine) for engine in engines)
        parts = [first.as_dict()[name] for name in names]
        yield same("vertex names", parts, first.parts.tolist())
        for other in others:
            yield equal("engines agree", first.parts, other.parts)

    def _expected(self) -> tuple[tuple[Any, ...] | None, dict[Any, int], bool]:
        """Return names, the weight of each directed edge, and whether no edge has a defect."""
        by_name = self.kind == "table"
        weights = [1] * len(self.pairs) if self.weights is None else self.weights.tolist()
        given, entries, seen = Counter[Any](), 0, dict[Any, None]()
        for (u, v), weight in zip(self.pairs.tolist(), weights, strict=True):
            ends = (self.names[u], self.names[v]) if by_name else (u, v)
            seen |= dict.fromkeys(ends)
            for pair in (ends, ends[::-1]) if by_name else (ends,):
                entries += 1
                if pair[0] != pair[1]:
                    given[pair] += weight
        edges = {
            (u, v): max(given[u, v], given[v, u])
            for pair in list(given)
            for u, v in (pair, pair[::-1])
        }
        is_proper = entries == len(given) and edges == given
        return (tuple(seen) if by_name else None), edges, is_proper


def listed(rng: Random) -> Listed:
    kind, defects = (rng.pick(what, CHOICES[what]) for what in ("list", "edges of a list"))
    used = int(rng.integers(1, 40))
    n = used + (rng.pick("isolated at the end", CHOICES["isolated at the end"]))
    pairs = rng.integers(used, size=(int(rng.integers(3, 90)), 2))
    pairs = np.unique(pairs[pairs[:, 0] < pairs[:, 1]], axis=0)
    weights = _weights(rng, len(pairs))
    both = kind == "array" and defects != "one way"
    rows = np.arange(len(pairs))
    if both:
        rows, pairs = np.tile(rows, 2), np.concatenate([pairs, pairs[:, ::-1]])
    if defects in ("duplicates", "all defects") and len(rows):
        again = rng.integers(len(rows), size=5)
        rows, pairs = np.append(rows, rows[again]), np.concatenate([pairs, pairs[again]])
    if defects in ("loops", "all defects"):
        loops = np.repeat(rng.integers(used, size=3), 2).reshape(-1, 2)
        pairs = np.concatenate([pairs, loops])
        rows = np.append(rows, np.zeros(len(loops), int))
    if weights is not None:
        weights = np.append(weights, 7)[rows] if len(weights) == 0 else weights[rows]
    order = rng.permutation(len(pairs))
    names = _names(rng.pick("names", CHOICES["names"]), rng.permutation(n).tolist())
    ordered = None if weights is None else weights[order]
    return Listed(kind, defects, pairs[order], ordered, n, names)


def _weights(rng: Random, count: int) -> Ints | None:
    kind = rng.pick("weights of a list", CHOICES["weights of a list"])
    if kind == "none":
        return None
    return rng.integers(0, 10 if kind == "small" else 2**26, count)


def _names(kind: str, numbers: list[int]) -> list[Any]:
    if kind == "numbers":
        return numbers
    if kind == "text":
        return [f"vertex {number}" for number in numbers]
    if kind == "pairs":
        return [(number // 7, number % 7) for number in numbers]
    return [str(number) if number % 2 else number for number in numbers]
