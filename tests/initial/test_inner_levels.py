"""Levels inside a bisection: pairs of neighbours, and their contracted graphs."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jetpy.device.backends import get_backend
from jetpy.graph.csr import Graph
from jetpy.graph.generators import delaunay, grid, rmat
from jetpy.workloads.common.heaps import Field
from jetpy.workloads.initial.inner_levels import HEAVIEST, OF_AVERAGE
from jetpy.workloads.tasks.bisections import COARSEST
from tests.graphs import (
    bipartite,
    clique,
    cycle,
    from_edges,
    isolated,
    path,
    random_graph,
    some_isolated,
    star,
    two_cliques,
)
from tests.hashing import mix, visited
from tests.initial.levels import finest_level
from tests.modules import import_kernels
from tests.strategies import weighted_graphs
from tests.tasks.weights import reweighted
from tests.tasks.workers import Worker, rows_of

probes = import_kernels("tests.initial.probes")

GRAPHS = {
    "grid": lambda: grid(20, 20),
    "delaunay": lambda: delaunay(900),
    "rmat": lambda: rmat(9, 8),
    "weighted": lambda: random_graph(300, 900, 4, weighted=True),
    "isolated": lambda: isolated(200),
    "star": lambda: star(200),
}


def level_edges(levels: Any, begin: int, end: int) -> dict[tuple[int, int], int]:
    edges: dict[tuple[int, int], int] = {}
    for v in range(begin, end):
        for e in range(levels.rows[v], levels.rows[v + 1]):
            key = (v, int(levels.ends[e]))
            assert key not in edges
            edges[key] = int(levels.edge_weights[e])
    return edges


@pytest.mark.parametrize("name", GRAPHS)
def test_each_level_is_the_contraction_of_the_finer_one(name: str) -> None:
    graph: Graph = GRAPHS[name]()
    backend = get_backend("cpu", 1)
    levels = finest_level(backend, graph, graph.total_vertex_weight)
    heaviest = HEAVIEST * graph.total_vertex_weight // (OF_AVERAGE * COARSEST)
    launch = {"coarsest": COARSEST, "heaviest": heaviest, "seed": 7, "levels": levels}
    backend.parallel_for(1, probes.build_levels, **launch)
    count = int(levels.numbers[Field.LEVELS])
    assert count > 0 or name == "star"
    begins = levels.numbers[Field.LEVEL_BEGINS :][: count + 1].tolist()
    ends = [begin - 1 for begin in begins[1:]] + [int(levels.numbers[Field.END])]
    for (begin, end), (below, last) in zip(
        zip(begins, ends, strict=True), zip(begins[1:], ends[1:], strict=True), strict=False
    ):
        coarse_of = levels.coarse_of[begin:end]
        sizes = np.bincount(coarse_of - below, minlength=last - below)
        assert 1 <= sizes.min() <= sizes.max() <= 2
        weights = np.bincount(coarse_of - below, levels.weights[begin:end])
        assert weights.tolist() == levels.weights[below:last].tolist()
        assert levels.weights[below:last][sizes == 2].max() <= heaviest
        fine = level_edges(levels, begin, end)
        expected: Counter[tuple[int, int]] = Counter()
        for (u, v), w in fine.items():
            expected[int(levels.coarse_of[u]), int(levels.coarse_of[v])] += w
        assert level_edges(levels, below, last) == {
            (c, d): w for (c, d), w in expected.items() if c != d
        }
        for c in np.flatnonzero(sizes == 2) + below:
            u, v = (np.flatnonzero(coarse_of == c) + begin).tolist()
            both = [{b for a, b in fine if a == one} for one in (u, v)]
            assert v in both[0] or both[0] & both[1] or not (both[0] or both[1])


class Matching:
    """Matching of the vertices of a level in plain Python; a single vertex is its own mate."""

    def __init__(
        self, graph: Graph, sides: list[int], heaviest: int, seed: int, by_weight: bool
    ) -> None:
        self.rows, self.weights = rows_of(graph), graph.vertex_weights.tolist()
        self.sides, self.heaviest, self.seed, self.n = sides, heaviest, seed, graph.n
        self.order = visited(graph.n, seed)
        self.by_weight = by_weight
        self.mates: dict[int, int] = {}
        self.match_neighbours()
        self.match_isolated()
        if self.are_many_single():
            self.match_at_distance_two([v for v in self.single() if len(self.rows[v]) == 1])
        if self.are_many_single():
            self.match_at_distance_two(self.single())

    def can_join(self, u: int, v: int) -> bool:
        fits = self.weights[u] + self.weights[v] <= self.heaviest
        return fits and self.sides[u] == self.sides[v]

    def pair(self, u: int, v: int) -> None:
        self.mates[u], self.mates[v] = v, u

    def match_neighbours(self) -> None:
        """Match each vertex by the highest key, then the higher hash."""
        for u in self.order:
            if u in self.mates or not self.rows[u]:
                continue
            free = [(w, v) for v, w in self.rows[u] if v not in self.mates and self.can_join(u, v)]
            keys = [(self.key(w, v), mix(v ^ self.seed), v, w) for w, v in free]
            _, _, mate, weight = max(keys, default=(0, 0, u, 0))
            is_light = 2 * weight < max(w for _, w in self.rows[u])
            self.pair(u, u if is_light and not self.by_weight else mate)

    def key(self, w: int, v: int) -> Fraction:
        """Return the weight of an edge, or its rating: w^2 over the weight of its other vertex."""
        return Fraction(w) if self.by_weight else Fraction(w * w, max(1, self.weights[v]))

    def match_isolated(self) -> None:
        """Match the isolated vertices in pairs; both of a pair that cannot join remain single."""
        isolated = [v for v in self.order if not self.rows[v]]
        self.mates |= {v: v for v in isolated}
        for u, v in zip(isolated[::2], isolated[1::2], strict=False):
            if self.can_join(u, v):
                self.pair(u, v)

    def single(self) -> list[int]:
        return [v for v in self.order if self.rows[v] and self.mates[v] == v]

    def are_many_single(self) -> bool:
        return 8 * len(self.single()) > self.n

    def match_at_distance_two(self, vertices: list[int]) -> None:
        """Match consecutive vertices with the same neighbour of the lowest degree."""
        waiting: dict[int, int] = {}
        for u in vertices:
            maker = min((v for v, _ in self.rows[u]), key=lambda v: (len(self.rows[v]), v))
            v = waiting.pop(maker, None)
            if v is not None and self.can_join(u, v):
                self.pair(u, v)
            else:
                waiting[maker] = u


def matched(graph: Graph, sides: list[int], heaviest: int, seed: int, by_weight: bool) -> list[int]:
    """Return the mates that the kernel finds."""
    worker = Worker.of(get_backend("cpu", 1), graph, 1, sides)
    worker.run("match_once", heaviest=heaviest, by_weight=int(by_weight), seed=seed)
    mates = worker.state.positions[worker.begin : worker.end] - worker.begin
    worker.check_other_worker()
    return list(mates.tolist())


def check_mates(graph: Graph, seed: int) -> None:
    rng = np.random.default_rng(seed)
    sides = rng.integers(0, rng.integers(1, 4), graph.n).tolist()
    largest = int(graph.vertex_weights.max())
    drawn = {0, largest, 2 * largest, int(rng.integers(0, 2 * largest + 1))}
    for heaviest, by_weight in itertools.product(drawn, (False, True)):
        mates = matched(graph, sides, heaviest, seed, by_weight)
        expected = Matching(graph, sides, heaviest, seed, by_weight)
        assert mates == [expected.mates[v] for v in range(graph.n)]
        for u, v in enumerate(mates):
            assert mates[v] == u
            assert u == v or expected.can_join(u, v)


@given(weighted_graphs(), st.integers(0, 2**31 - 1))
def test_mates_of_small_graphs_equal_the_oracle(graph: Graph, seed: int) -> None:
    check_mates(graph, seed)


SPARSE: dict[str, Callable[[], Graph]] = {
    "random": lambda: random_graph(60, 80, 2),
    "star": lambda: star(40),
    "isolated": lambda: isolated(31),
    "some_isolated": some_isolated,
    "bipartite": lambda: bipartite(3, 40),
    "two_cliques": lambda: two_cliques(9),
    "clique": lambda: clique(21),
    "path": lambda: path(40),
    "stars": lambda: from_edges(40, [(v - v % 8, v) for v in range(40) if v % 8]),
    "rmat": lambda: rmat(7, 3),
    "an eighth is single": lambda: from_edges(
        16, [(0, 1), (0, 2), (0, 3), *((v, v + 1) for v in range(4, 16, 2))]
    ),
}


@pytest.mark.parametrize("most", [1, 5])
@pytest.mark.parametrize("name", SPARSE)
def test_mates_of_sparse_graphs_equal_the_oracle(name: str, most: int) -> None:
    """Many of their vertices are matched at distance two."""
    graph = SPARSE[name]()
    for seed in range(5):
        check_mates(graph, seed)
        check_mates(reweighted(graph, seed, most), seed + 10**6)


@pytest.mark.parametrize("seed", range(5))
def test_vertices_are_matched_by_the_heaviest_edges(seed: int) -> None:
    """In a cycle of heavy and light edges in turn, no light edge is in the matching."""
    graph = cycle(20)
    for v in range(20):
        for e in range(graph.indptr[v], graph.indptr[v + 1]):
            u = int(graph.indices[e])
            is_heavy = min(u, v) % 2 == 0 and abs(u - v) == 1
            graph.edge_weights[e] = 7 if is_heavy else 6
    for by_weight in (False, True):
        assert matched(graph, [0] * 20, 2, seed, by_weight) == [v ^ 1 for v in range(20)]


@pytest.mark.parametrize(("weight", "is_matched"), [(2, False), (3, True)])
def test_an_edge_of_less_than_half_the_heaviest_weight_is_not_matched_by_rating(
    weight: int, is_matched: bool
) -> None:
    """The ends of the path are too heavy to match."""
    graph = from_edges(4, [(0, 1), (1, 2), (2, 3)], [5, weight, 5], [9, 1, 1, 9])
    single, paired = [0, 1, 2, 3], [0, 2, 1, 3]
    for seed in range(5):
        assert matched(graph, [0] * 4, 2, seed, by_weight=True) == paired
        assert matched(graph, [0] * 4, 2, seed, by_weight=False) == (
            paired if is_matched else single
        )


def test_ratings_prefer_light_vertices() -> None:
    """The middle of the path is visited first; 3^2 / 3 is less than 2^2 / 1."""
    graph = from_edges(3, [(0, 1), (1, 2)], [3, 2], [3, 1, 1])
    seeds = [seed for seed in range(30) if visited(3, seed)[0] == 1]
    assert seeds
    for seed in seeds:
        assert matched(graph, [0] * 3, 4, seed, by_weight=True)[1] == 0
        assert matched(graph, [0] * 3, 4, seed, by_weight=False)[1] == 2


@pytest.mark.parametrize("seed", range(5))
def test_vertices_on_different_sides_are_not_matched(seed: int) -> None:
    """Neither neighbours, nor isolated vertices, nor leaves of a hub."""
    sides = [v % 2 for v in range(20)]
    for graph in (path(20), isolated(20), star(19), bipartite(2, 18)):
        mates = matched(graph, sides, 9, seed, by_weight=True)
        assert all(sides[u] == sides[v] for u, v in enumerate(mates))
    assert matched(path(20), sides, 9, seed, by_weight=True) != list(range(20))
