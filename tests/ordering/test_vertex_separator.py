"""Vertex separators: labels, limits, special graphs, and equal results on all threads."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import jetpy
from jetpy import generators
from jetpy.ordering.separation import (
    _excess,
    _lightest_neighbourhood,
    _relieve,
    _share,
    separated,
)
from tests.graphs import from_edges, isolated
from tests.strategies import weighted_graphs


def graph_of(pattern: np.ndarray) -> jetpy.Graph:
    return jetpy.as_graph(sp.csr_array(pattern.astype(np.int32)), pattern=True)


def clique(n: int) -> np.ndarray:
    return np.ones((n, n), bool)


def union(*patterns: Any) -> jetpy.Graph:
    return graph_of(sp.block_diag([sp.coo_array(p) for p in patterns]).toarray() != 0)


def check(found: jetpy.VertexSeparator, weights: Any = None) -> None:
    """Check the labels, and the numbers by plain loops."""
    graph = found.graph
    weights = [1] * graph.n if weights is None else weights
    assert set(found.labels.tolist()) <= {0, 1, 2}
    for u, v in zip(graph.sources(0, graph.n), graph.indices, strict=True):
        assert {int(found.labels[u]), int(found.labels[v])} != {0, 1}
    sums, sizes = [0] * 3, [0] * 3
    for label, weight in zip(found.labels.tolist(), weights, strict=True):
        sums[label] += int(weight)
        sizes[label] += 1
    assert (found.weights.tolist(), found.sizes.tolist()) == (sums, sizes)
    assert found.weight == sums[2]
    assert found.feasible == (max(sums[:2]) <= found.limit)
    is_complete = 2 * graph.m == graph.n * (graph.n - 1)
    assert sizes == [0, 0, graph.n] if is_complete else min(sizes[:2]) > 0


def test_narrowest_line_of_a_grid() -> None:
    found = jetpy.vertex_separator(generators.grid(30, 50))
    check(found)
    assert (found.weight, found.limit, found.feasible) == (30, 900, True)
    columns = found.separator % 50
    assert found.separator.dtype == np.int32
    assert columns.max() - columns.min() < 10


@pytest.mark.parametrize("preset", ["fast", "default", "best"])
def test_separator_of_a_mesh_is_small(preset: Any) -> None:
    found = jetpy.vertex_separator(generators.delaunay(10_000), preset=preset)
    check(found)
    assert found.feasible
    assert found.weight < 1.1 * 100


@pytest.mark.parametrize("n", [0, 1, 2, 5, 80])
def test_a_complete_graph_is_the_separator(n: int) -> None:
    found = jetpy.vertex_separator(graph_of(clique(n)))
    check(found)
    assert found.feasible
    assert found.imbalance == (-1 if n else 0)


@pytest.mark.parametrize("n", [3, 40])
def test_a_missing_edge_of_a_complete_graph_separates(n: int) -> None:
    pattern = clique(n)
    pattern[0, n - 1] = pattern[n - 1, 0] = False
    found = jetpy.vertex_separator(graph_of(pattern))
    check(found)
    assert sorted(np.flatnonzero(found.labels < 2).tolist()) == [0, n - 1]


@pytest.mark.parametrize("imbalance", [0, 0.1, 1])
def test_the_centre_separates_a_star(imbalance: float) -> None:
    star = from_edges(200, [(7, v) for v in range(200) if v != 7])
    found = jetpy.vertex_separator(star, imbalance=imbalance)
    check(found)
    assert found.separator.tolist() == [7]
    assert found.feasible


def test_components_need_no_separator() -> None:
    assert jetpy.vertex_separator(isolated(2)).labels.tolist() == [0, 1]
    found = jetpy.vertex_separator(isolated(101), imbalance=0)
    check(found)
    assert sorted(found.sizes.tolist()) == [0, 50, 51]
    found = jetpy.vertex_separator(union(clique(30), clique(20), clique(10)), imbalance=0)
    check(found)
    assert found.sizes.tolist() == [30, 30, 0]


def test_the_heaviest_component_is_divided() -> None:
    """Isolated vertices even out the halves of a grid. One side of a clique takes its limit."""
    grid = sp.csr_array(np.kron(np.eye(20, dtype=bool), np.eye(10, k=1, dtype=bool)))
    grid += sp.csr_array(np.kron(np.eye(20, k=1, dtype=bool), np.eye(10, dtype=bool)))
    found = jetpy.vertex_separator(union((grid + grid.T).toarray(), np.zeros((30, 30))))
    check(found)
    assert (found.weight, found.feasible) == (10, True)
    found = jetpy.vertex_separator(union(clique(90), np.zeros((10, 10))))
    check(found)
    assert sorted(found.sizes.tolist()) == [10, 30, 60]


def test_a_vertex_above_the_limit() -> None:
    """It is in the separator if that allows two sides, otherwise no limit can be kept."""
    star = from_edges(50, [(0, v) for v in range(1, 50)])
    weights = [1, 1000, *[1] * 48]
    found = jetpy.vertex_separator(star, vertex_weights=weights)
    check(found, weights)
    assert (found.separator.tolist(), found.feasible) == ([0, 1], True)
    path = from_edges(3, [(0, 1), (1, 2)])
    found = jetpy.vertex_separator(path, vertex_weights=[100, 1, 1])
    check(found, [100, 1, 1])
    assert (found.separator.tolist(), found.feasible) == ([1], False)
    assert "NOT feasible" in repr(found)


def test_weights_decide_where_to_separate() -> None:
    path = from_edges(9, [(v, v + 1) for v in range(8)])
    weights = [8, 1, 1, 1, 3, 2, 3, 3, 3]
    found = jetpy.vertex_separator(path, vertex_weights=weights)
    check(found, weights)
    assert (found.limit, found.weight, found.feasible) == (15, 1, True)


def test_weights_that_need_64_bits() -> None:
    weights = np.full(900, 2**31 - 2)
    plain = jetpy.vertex_separator(generators.grid(30, 30))
    found = jetpy.vertex_separator(generators.grid(30, 30), vertex_weights=weights)
    check(found, weights)
    assert found.feasible
    assert found.sizes[2] == plain.weight == 30


@settings(max_examples=40)
@given(
    st.integers(0, 2**32),
    st.integers(1, 80),
    st.sampled_from([0.01, 0.03, 0.1, 0.5, 0.95]),
    st.sampled_from([1, 3, 50, 2**30]),
    st.sampled_from([0.0, 0.03, 0.2, 1.0]),
)
def test_random_graphs(seed: int, n: int, density: float, most: int, imbalance: float) -> None:
    rng = np.random.default_rng(seed)
    pattern = rng.random((n, n)) < density
    weights = rng.integers(1, most + 1, n)
    found = jetpy.vertex_separator(
        graph_of(pattern | pattern.T), vertex_weights=weights, imbalance=imbalance, tries=2
    )
    check(found, weights)
    total = int(weights.sum())
    half = -(-total // 2)
    no_limit = min(2 * half, max(2**31 - 1, total))
    assert found.limit == {0.0: half, 1.0: no_limit}.get(imbalance, found.limit)
    assert found.imbalance == pytest.approx(found.weights[:2].max() / half - 1)
    if most == 1 and found.sizes[0]:
        assert found.feasible


def test_same_labels_on_one_and_two_threads() -> None:
    graph = generators.delaunay(4000, seed=5)
    first, second = (jetpy.vertex_separator(graph, threads=t, seed=3) for t in (1, 2))
    assert np.array_equal(first.labels, second.labels)
    assert (first.threads, first.backend, first.seed) == (1, "cpu", 3)


def test_edge_weights_and_self_loops_do_not_matter() -> None:
    matrix = sp.csr_array([[2.5, -1, 0], [-1, 0.5, 0.25], [0, 0.25, 1]])
    assert jetpy.vertex_separator(matrix).separator.tolist() == [1]


def test_labels_are_saved(tmp_path: Path) -> None:
    found = jetpy.vertex_separator(generators.grid(4, 9))
    found.save(tmp_path / "sides.part")
    assert np.array_equal(jetpy.read_parts(tmp_path / "sides.part"), found.labels)


@pytest.mark.parametrize("total", [1, 7, 999, 1001, 10**6, 2**31 - 1, 2**40])
@pytest.mark.parametrize("slack", [0, 1, 3, 1000])
def test_thousandths_keep_the_limit(total: int, slack: int) -> None:
    limit = -(-total // 2) + slack
    share = _share(limit, total)
    assert 500 <= share <= 1000
    assert total * share // 1000 <= limit
    assert total * share // 1000 >= min(limit, total) - total // 1000


def test_the_heaviest_vertices_leave_a_side_above_the_limit() -> None:
    labels = np.array([0, 0, 0, 0, 1, 2], np.int32)
    _relieve(labels, np.array([1, 5, 2, 5, 9, 1]), 7)
    assert labels.tolist() == [0, 2, 0, 2, 1, 2]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"imbalance": -0.1}, "imbalance is -0.1"),
        ({"imbalance": 1.5}, "imbalance is 1.5"),
        ({"preset": "ultra"}, "preset"),
        ({"tries": 0}, "tries is 0"),
        ({"seed": -1}, "seed is -1"),
        ({"backend": "gpu"}, "backend"),
        ({"symmetrize": 1}, "symmetrize"),
    ],
)
def test_bad_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(jetpy.OptionError, match=message):
        jetpy.vertex_separator(generators.grid(3, 3), **options)


def test_bad_graphs() -> None:
    one_way = sp.csr_array(([1], ([0], [1])), shape=(2, 2))
    with pytest.raises(jetpy.GraphError, match="symmetric"):
        jetpy.vertex_separator(one_way)
    assert jetpy.vertex_separator(one_way, symmetrize=True).weight == 2
    with pytest.raises(jetpy.GraphError, match="weight"):
        jetpy.vertex_separator(generators.grid(2, 2), vertex_weights=[1, -1, 1, 1])


@pytest.mark.parametrize(
    ("labels", "excess"),
    [([0, 1, 2], 0), ([0, 0, 1], 3), ([1, 1, 0], 3), ([0, 2, 2], 12), ([2, 2, 2], 12)],
)
def test_excess_is_that_of_the_heavier_side(labels: list[int], excess: int) -> None:
    """A separation without one of its sides has the total weight as its excess."""
    assert _excess(np.array(labels), np.array([4, 3, 5]), 4) == excess


@given(weighted_graphs(least=3), st.integers(0, 30))
def test_lightest_neighbourhood_is_the_best_of_all(graph: jetpy.Graph, limit: int) -> None:
    weights, n = graph.vertex_weights.astype(np.int64), graph.n
    rows = [set(graph.indices[graph.indptr[v] : graph.indptr[v + 1]].tolist()) for v in range(n)]
    if all(len(row) == n - 1 for row in rows):
        return

    def quality(v: int) -> tuple[int, int]:
        around = sum(int(weights[u]) for u in rows[v])
        rest = int(weights.sum()) - around - int(weights[v])
        return max(0, int(weights[v]) - limit, rest - limit), around

    labels = _lightest_neighbourhood(graph, weights, limit)
    (v,) = np.flatnonzero(labels == 0)
    assert set(np.flatnonzero(labels == 2).tolist()) == rows[v]
    assert quality(v) == min(quality(u) for u in range(n) if len(rows[u]) < n - 1)


def test_only_a_component_above_the_limit_is_divided() -> None:
    """The other components go to the lighter side, from the heaviest on."""
    grid = [(v, v + step) for v in range(36) for step in (1, 6) if v + step < 36]
    edges = [(u, v) for u, v in grid if v - u == 6 or v % 6]
    paths = [*pairwise(range(36, 40)), *pairwise(range(40, 45))]
    graph = from_edges(45, [*edges, *paths])
    found = [0] * 12 + [2] * 6 + [1] * 18
    divided: list[int] = []

    def divide(part: jetpy.Graph, share: int) -> np.ndarray:
        divided.append(part.n)
        assert share == 750  # 27 of 36
        return np.array(found, np.int32)

    labels = separated(divide, graph, graph, 27)
    assert divided == [36]
    assert labels.tolist() == found + [0] * 9
