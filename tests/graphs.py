"""Small awkward graphs that every layer must accept, built without the code under test."""

from __future__ import annotations

import random
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from itertools import combinations, pairwise, product

import numpy as np

from jetpy.graph.csr import Graph

Edge = tuple[int, int]

MULTILEVEL = {"small.max_vertices": 0, "initial.task_size": 0}
"""Options with which small graphs are partitioned like large ones, on all levels."""


def from_edges(
    n: int,
    edges: Iterable[Edge],
    edge_weights: Sequence[int] | None = None,
    vertex_weights: Sequence[int] | None = None,
    name: str = "graph",
) -> Graph:
    """Return the graph of undirected edges, each listed once, with sorted rows."""
    rows: list[dict[int, int]] = [{} for _ in range(n)]
    for i, (u, v) in enumerate(edges):
        assert v not in {u, *rows[u]}, "list each edge once"
        rows[u][v] = rows[v][u] = 1 if edge_weights is None else edge_weights[i]
    return Graph(
        np.array([0, *np.cumsum([len(row) for row in rows])], np.int32),
        np.array([v for row in rows for v in sorted(row)], np.int32),
        np.array([row[v] for row in rows for v in sorted(row)], np.int32),
        np.array([1] * n if vertex_weights is None else vertex_weights, np.int32),
        name,
    )


def path(n: int) -> Graph:
    return from_edges(n, pairwise(range(n)), name=f"path{n}")


def cycle(n: int) -> Graph:
    return from_edges(n, [*pairwise(range(n)), (n - 1, 0)], name=f"cycle{n}")


def star(leaves: int) -> Graph:
    return from_edges(leaves + 1, [(0, v) for v in range(1, leaves + 1)], name=f"star{leaves}")


def clique(n: int) -> Graph:
    return from_edges(n, combinations(range(n), 2), name=f"clique{n}")


def bipartite(a: int, b: int) -> Graph:
    edges = product(range(a), range(a, a + b))
    return from_edges(a + b, edges, name=f"bipartite{a}x{b}")


def two_cliques(n: int) -> Graph:
    """Return two components."""
    edges = [*combinations(range(n), 2), *combinations(range(n, 2 * n), 2)]
    return from_edges(2 * n, edges, name=f"two_cliques{n}")


def isolated(n: int) -> Graph:
    """Return a graph without edges."""
    return from_edges(n, [], name=f"isolated{n}")


def some_isolated() -> Graph:
    """Return a graph whose first, last and some inner vertices are isolated."""
    return from_edges(9, [(1, 2), (2, 4), (4, 5), (5, 1), (4, 6)], name="some_isolated")


def heavy_vertex() -> Graph:
    """Return a star whose centre is heavier than all other vertices together."""
    return from_edges(6, [(0, v) for v in range(1, 6)], None, [1000, 1, 2, 3, 4, 5], "heavy_vertex")


def heavy_edges() -> Graph:
    """Return a path with nearly maximum weights: directed edge weights sum to 2**31 - 2."""
    return from_edges(3, [(0, 1), (1, 2)], [2**30 - 2, 1], [2**30, 1, 2**30 - 2], "heavy_edges")


def random_graph(n: int, m: int, seed: int, weighted: bool = False) -> Graph:
    """Return `m` different edges among `n` vertices, with weights 1..9 if `weighted`."""
    rng = random.Random(seed)
    firsts = [u * (2 * n - u - 1) // 2 for u in range(n)]  # pairs (v, w) with v < u
    chosen = rng.sample(range(n * (n - 1) // 2), m)
    starts = [bisect_right(firsts, pair) - 1 for pair in chosen]
    edges = [(u, u + 1 + pair - firsts[u]) for u, pair in zip(starts, chosen, strict=True)]
    if not weighted:
        return from_edges(n, edges, name=f"random{n}")
    edge_weights = [rng.randint(1, 9) for _ in edges]
    vertex_weights = [rng.randint(1, 9) for _ in range(n)]
    return from_edges(n, edges, edge_weights, vertex_weights, f"weighted{n}")


def modules(count: int, size: int, seed: int, between: int = 3) -> Graph:
    """Return random modules, each with a hub, and `between` edges from each to random others.

    Few edges lead from one module to another, so these are communities.
    """
    rng = random.Random(seed)
    edges: set[tuple[int, int]] = set()

    def join(u: int, v: int) -> None:
        if u != v:
            edges.add((min(u, v), max(u, v)))

    for module in range(count):
        first = module * size
        for v in range(first, first + size):
            join(v, first + rng.randrange(size))
            join(v, first + rng.randrange(v - first + 1))
            if rng.random() < 0.3:
                join(v, first)
        for _ in range(between):
            join(first + rng.randrange(size), rng.randrange(count * size))
    return from_edges(count * size, sorted(edges), name=f"modules{count}")


def unsorted_rows() -> Graph:
    """Return a weighted graph with the neighbours of every vertex in falling order."""
    graph = random_graph(20, 60, 5, weighted=True)
    rows = [slice(a, b) for a, b in pairwise(graph.indptr.tolist())]
    indices = np.concatenate([graph.indices[row][::-1] for row in rows])
    weights = np.concatenate([graph.edge_weights[row][::-1] for row in rows])
    return Graph(graph.indptr, indices, weights, graph.vertex_weights, "unsorted_rows")


SMALL_GRAPHS: dict[str, Callable[[], Graph]] = {
    "empty": lambda: isolated(0),
    "single": lambda: isolated(1),
    "isolated": lambda: isolated(7),
    "edge": lambda: path(2),
    "path": lambda: path(10),
    "cycle": lambda: cycle(9),
    "star": lambda: star(20),
    "clique": lambda: clique(8),
    "bipartite": lambda: bipartite(3, 5),
    "two_cliques": lambda: two_cliques(6),
    "some_isolated": some_isolated,
    "heavy_vertex": heavy_vertex,
    "heavy_edges": heavy_edges,
    "random": lambda: random_graph(40, 120, 1),
    "sparse_random": lambda: random_graph(60, 40, 2),
    "weighted_random": lambda: random_graph(40, 150, 3, weighted=True),
    "unsorted_rows": unsorted_rows,
}


def edge_dict(graph: Graph) -> dict[Edge, int]:
    """Return the weight of each directed edge."""
    starts = graph.indptr.tolist()
    return {
        (u, int(graph.indices[i])): int(graph.edge_weights[i])
        for u in range(graph.n)
        for i in range(starts[u], starts[u + 1])
    }


def assert_same_graph(actual: Graph, expected: Graph) -> None:
    """Compare vertices, edges and weights; the order within rows may differ."""
    assert actual.n == expected.n
    assert len(actual.indices) == len(expected.indices)
    assert edge_dict(actual) == edge_dict(expected)
    assert actual.vertex_weights.tolist() == expected.vertex_weights.tolist()
    for array in (actual.indptr, actual.indices, actual.edge_weights, actual.vertex_weights):
        assert array.dtype == np.int32
        assert array.flags.c_contiguous
