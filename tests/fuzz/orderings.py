"""Problems for `minimum_degree` and `symbolic`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

import jetpy
from jetpy.graph.csr import Graph
from tests.fuzz.checks import Finding, equal, same
from tests.fuzz.choices import Choices, Random
from tests.fuzz.draws import Engine, any_graph
from tests.fuzz.oracles import Ints

CHOICES: Choices = {"order": ["minimum degree", "random", "natural"]}


@dataclass(frozen=True, eq=False)
class Ordered:
    graph: Graph
    order: str
    given: Ints

    def __str__(self) -> str:
        return f"ordering: {self.graph.name}, {self.order}"

    def findings(self, engines: Sequence[Engine]) -> Iterator[Finding]:
        graph, n, perm = self.graph, self.graph.n, self.given
        if self.order == "minimum degree":
            found = jetpy.minimum_degree(graph)
            perm = found.perm.astype(np.int64)
            yield equal("permutation", np.sort(perm), np.arange(n))
            yield equal("permutation", perm[found.iperm], np.arange(n))
        structure = jetpy.symbolic(graph, perm)
        parents, counts = eliminated(graph, perm)
        yield equal("elimination tree", structure.parents, parents)
        yield equal("column counts", structure.counts, counts)
        yield same("fill", structure.fill, int(counts.sum()))
        yield same("operations", structure.operations, sum(int(c) ** 2 for c in counts))
        if self.order == "minimum degree" and len(graph.indices) == 2 * (
            n - int((parents < 0).sum())
        ):
            yield same("no fill of forests", structure.fill, n + len(graph.indices) // 2)


def eliminated(graph: Graph, perm: Ints) -> tuple[Ints, Ints]:
    """Return the elimination tree and the column counts by the rows below each column."""
    place = np.empty(graph.n, np.int64)
    place[perm] = np.arange(graph.n)
    below: list[set[int]] = [set() for _ in range(graph.n)]
    for v in range(graph.n):
        for u in graph.indices[graph.indptr[v] : graph.indptr[v + 1]]:
            below[min(place[u], place[v])].add(int(max(place[u], place[v])))
    parents = np.full(graph.n, -1, np.int64)
    for j, rows in enumerate(below):
        if rows:
            parents[j] = min(rows)
            below[parents[j]] |= rows - {int(parents[j])}
    return parents, np.array([1 + len(rows) for rows in below], np.int64)


def ordered(rng: Random) -> Ordered:
    graph = any_graph(rng, most=None, largest=600)
    order = rng.pick("order", CHOICES["order"])
    given = rng.permutation(graph.n) if order == "random" else np.arange(graph.n)
    return Ordered(graph, order, given)
