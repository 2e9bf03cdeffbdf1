"""Communities by one index, compared with a plain version of the same method."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

import jetpy
from jetpy.device.backends import get_backend
from jetpy.device.device_graph import upload
from jetpy.graph.csr import Graph
from jetpy.graph.generators import delaunay, grid, rmat
from jetpy.initial.communities import find_communities, is_searchable
from jetpy.multilevel.hierarchy import coarsen, finest_level
from jetpy.problem.presets import preset
from jetpy.problem.problem import Problem, make_problem
from jetpy.progress import no_progress
from jetpy.workloads.common.groups import NO_PART
from jetpy.workloads.tasks.communities import FEW, LARGEST_VOLUME, ROUNDS
from tests.graphs import heavy_edges, isolated, modules, random_graph, star, two_cliques
from tests.hashing import mix, visited
from tests.strategies import weighted_graphs
from tests.tasks.workers import HERE, Worker, rows_of

Rows = list[list[tuple[int, int]]]


class Unfolding:
    """Fast unfolding in plain Python.

    Attributes
    ----------
    labels : list of int
        The community of each vertex of the graph.
    modularity : float
    """

    def __init__(self, graph: Graph, pins: Sequence[int], seed: int) -> None:
        self.shift = 0
        while int(graph.edge_weights.sum()) >> self.shift > LARGEST_VOLUME:
            self.shift += 1
        rows, self.pins, begin = rows_of(graph), list(pins), 0
        self.volumes = [sum(self.shifted(w) for _, w in row) for row in rows]
        self.total, self.labels = sum(self.volumes), list(range(graph.n))
        while True:
            own = self.moved(rows, begin, seed)
            numbers = {c: number for number, c in enumerate(dict.fromkeys(own))}
            if len(numbers) * 20 > len(rows) * 19:
                break
            coarse = [numbers[c] for c in own]
            self.labels = [coarse[c] for c in self.labels]
            begin, rows, seed = begin + len(rows) + 1, self.contracted(rows, coarse), mix(seed)
        self.labels = [own[c] for c in self.labels]
        held: Counter[int] = Counter()
        for v, c in enumerate(own):
            held[c] += self.volumes[v]
        inside = self.total - sum(
            self.shifted(w) for v, row in enumerate(rows) for u, w in row if own[u] != own[v]
        )
        expected = sum(volume**2 for volume in held.values())
        self.modularity = (inside * self.total - expected) / max(1, self.total**2)

    def shifted(self, w: int) -> int:
        return -(-w >> self.shift)

    def moved(self, rows: Rows, begin: int, seed: int) -> list[int]:
        """Return the community of each vertex of a level whose first vertex is `begin`."""
        n, order = len(rows), visited(len(rows), seed, begin)
        own, held = list(range(n)), self.volumes.copy()
        for _ in range(ROUNDS):
            moves = 0
            for v in order:
                near: Counter[int] = Counter()
                for u, w in rows[v]:
                    near[own[u]] += self.shifted(w)
                held[own[v]] -= self.volumes[v]
                gains = {
                    c: near[c] * self.total - self.volumes[v] * held[c]
                    for c in {own[v], *(c for c, w in near.items() if w > 0)}
                    if self.pins[c] == self.pins[v]
                }
                best = min(gains, key=lambda c: (-gains[c], c != own[v], c))
                held[best] += self.volumes[v]
                moves += best != own[v]
                own[v] = best
            if moves * FEW < n:
                break
        return own

    def contracted(self, rows: Rows, coarse: list[int]) -> Rows:
        """Return the rows of the next level, and keep its volumes and pins."""
        edges: list[Counter[int]] = [Counter() for _ in set(coarse)]
        volumes, pins = [0] * len(edges), [NO_PART] * len(edges)
        for v, row in enumerate(rows):
            volumes[coarse[v]] += self.volumes[v]
            pins[coarse[v]] = self.pins[v]
            for u, w in row:
                if coarse[u] != coarse[v]:
                    edges[coarse[v]][coarse[u]] += w
        self.volumes, self.pins = volumes, pins
        return [list(one.items()) for one in edges]


def groups(labels: Sequence[int]) -> list[int]:
    """Return labels as numbers in the order of their first occurrence."""
    numbers = {label: number for number, label in enumerate(dict.fromkeys(labels))}
    return [numbers[label] for label in labels]


def check_communities(graph: Graph, pinned: Sequence[int], seed: int) -> bool:
    """Compare communities with the plain ones; return whether there are any."""
    pins = [v % 3 if v in set(pinned) else NO_PART for v in range(graph.n)]
    worker = Worker.of(get_backend("cpu", 1), graph, 3, pins, seed, pinned)
    worker.run("mark_all")
    plain = Unfolding(graph, pins, seed)
    worker.check_other_worker()
    assert worker.state.numbers[HERE : HERE + 2].tolist() == [worker.begin, worker.end]
    has_edges = np.diff(graph.indptr) > 0
    sides = np.array(worker.parts)
    assert sides[~has_edges].tolist() == np.array(pins)[~has_edges].tolist()
    if plain.modularity <= 0.5:
        assert sides.tolist() == pins
        return False
    found = groups(sides[has_edges].tolist())
    assert found == groups(np.array(plain.labels)[has_edges].tolist())
    return True


@given(st.data())
def test_communities_equal_plain_ones(data: st.DataObject) -> None:
    graph = data.draw(weighted_graphs(most=30))
    pinned = data.draw(st.sets(st.integers(0, graph.n - 1), max_size=4))
    check_communities(graph, sorted(pinned), data.draw(st.integers(0, 2**31 - 1)))


@pytest.mark.parametrize(
    ("graph", "are_there"),
    [
        (modules(12, 30, 1), True),
        (grid(20, 20), True),
        (two_cliques(8), False),  # a modularity of exactly 1/2 does not suffice
        (random_graph(200, 1600, 2, weighted=True), False),
        (heavy_edges(), False),
        (isolated(5), False),
        (star(30), False),
    ],
)
def test_communities_of_graphs(graph: Graph, are_there: bool) -> None:
    for seed in range(3):
        assert check_communities(graph, [], seed) == are_there
    check_communities(graph, [0, graph.n - 1], 3)


def test_large_weights_are_shifted() -> None:
    graph = modules(9, 20, 4)
    weight = (2**31 - 1) // len(graph.indices)
    large = replace(graph, edge_weights=graph.edge_weights * np.int32(weight))
    assert int(large.edge_weights.sum()) > LARGEST_VOLUME
    assert check_communities(large, [], 1)


def communities(graph: Graph, seed: int = 0) -> npt.NDArray[np.int32] | None:
    backend = get_backend("cpu", 1)
    return find_communities(backend, upload(backend, graph), seed)


def test_graphs_without_hubs_or_communities_have_none() -> None:
    assert communities(delaunay(1000)) is None, "no hub"
    assert communities(rmat(10, 6)) is None, "a low modularity"
    assert communities(isolated(3)) is None
    assert communities(isolated(0)) is None


def test_communities_of_large_or_dense_graphs_are_not_sought() -> None:
    backend = get_backend("cpu", 1)
    dense, sparse = (upload(backend, modules(5, 80, 1, between)) for between in (2_000, 3))
    assert is_searchable(sparse, 400)
    assert not is_searchable(sparse, 399)
    assert not is_searchable(dense, 400)


def reversed_rows(graph: Graph) -> Graph:
    ends = [slice(a, b) for a, b in pairwise(graph.indptr.tolist())]
    indices = np.concatenate([graph.indices[own][::-1] for own in ends])
    weights = np.concatenate([graph.edge_weights[own][::-1] for own in ends])
    return replace(graph, indices=indices, edge_weights=weights)


def test_order_of_edges_has_no_effect() -> None:
    graph = modules(15, 120, 3)
    found = communities(graph, 5)
    assert found is not None
    assert found.min() >= 0
    other = communities(reversed_rows(graph), 5)
    assert other is not None
    assert found.tolist() == other.tolist()


def problem_of(graph: Graph, k: int) -> Problem:
    options = preset("default").changed({"small.max_vertices": 0, "initial.task_size": 0})
    return make_problem(graph.total_vertex_weight, k, 0.03, 1, options)


def test_coarse_vertices_are_within_communities() -> None:
    graph, backend = modules(30, 70, 2), get_backend("cpu", 1)
    finest = finest_level(backend, upload(backend, graph))
    levels = coarsen(finest, [problem_of(graph, 2)], no_progress)
    assert len(levels) > 2
    first = levels[0].communities
    assert first is not None
    of_level = first
    for finer, level in pairwise(levels):
        assert finer.communities is not None
        assert finer.communities.tolist() == of_level.tolist()
        assert level.coarse_of is not None
        pairs = set(zip(level.coarse_of.tolist(), of_level.tolist(), strict=True))
        assert len(pairs) == level.graph.n
        of_level = np.array([c for _, c in sorted(pairs)])
    assert len(set(first.tolist())) > 5


def test_blocks_replace_communities() -> None:
    graph, backend = modules(20, 60, 2), get_backend("cpu", 1)
    level = finest_level(backend, upload(backend, graph)).with_communities(1)
    assert level.labels is level.communities is not None
    blocks = backend.full(graph.n, 0)
    assert level.as_finest(blocks).labels is blocks
    assert level.as_finest().labels is None


def test_small_graphs_are_cut_between_modules() -> None:
    """Modules of 300 vertices are on one side, or nearly so."""
    graph = modules(24, 300, 5)
    found = jetpy.partition(graph, 6, threads=1, seed=1)
    assert found.cut <= 75, "there are about 72 edges between modules"
