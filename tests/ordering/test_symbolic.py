"""Elimination trees and column counts against a dense elimination."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from unittest.mock import patch

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import jetpy
from jetpy import GraphError, OptionError, as_graph, generators
from jetpy.device.backends import lease
from jetpy.device.device_graph import upload
from jetpy.io import patterns
from jetpy.ordering.elimination import elimination_tree
from jetpy.result import separator_tree
from tests.graphs import assert_same_graph
from tests.ordering.dissections import dissected, expanded, random_graph

WRONG = {
    "length": ([0, 1], "has shape"),
    "negative": ([0, -1, 2], r"perm\[1\] is -1"),
    "too large": ([0, 1, 3], r"perm\[2\] is 3"),
    "repeated": ([0, 1, 1], "row 1 occurs twice"),
}


def eliminated(pattern: np.ndarray) -> np.ndarray:
    """Return the pattern of the factor: each column joins the rows below its diagonal."""
    factor = pattern | np.eye(len(pattern), dtype=bool)
    for j in range(len(factor)):
        rows = np.flatnonzero(factor[:, j])
        rows = rows[rows > j]
        factor[np.ix_(rows, rows)] = True
    return np.tril(factor)


def longest(parents: np.ndarray, weights: np.ndarray) -> float:
    """Return the largest sum of weights on a path from a root."""
    sums = np.zeros(len(parents))
    for j in reversed(range(len(parents))):
        sums[j] = weights[j] + (sums[parents[j]] if parents[j] >= 0 else 0)
    return sums.max(initial=0)


@st.composite
def ordered_patterns(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    n = draw(st.integers(0, 14))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    pattern = rng.random((n, n)) < draw(st.sampled_from([0.05, 0.15, 0.4, 1]))
    return pattern | pattern.T, rng.permutation(n)


def check(matrix: object, pattern: np.ndarray, perm: np.ndarray) -> None:
    factor = eliminated(pattern[np.ix_(perm, perm)])
    counts = factor.sum(0)
    below = factor & ~np.eye(len(factor), dtype=bool)
    parents = np.where(below.any(0), below.argmax(0), -1) if len(factor) else np.zeros(0, int)
    found = jetpy.symbolic(matrix, perm)
    np.testing.assert_array_equal(found.counts, counts)
    np.testing.assert_array_equal(found.parents, parents)
    assert found.fill == counts.sum()
    assert found.operations == (counts.astype(int) ** 2).sum()
    assert found.height == longest(parents, np.ones(len(parents)))
    assert found.critical_path == longest(parents, counts.astype(float) ** 2)


@given(ordered_patterns())
def test_tree_and_counts_of_random_patterns(given: tuple[np.ndarray, np.ndarray]) -> None:
    pattern, perm = given
    check(sp.csr_array(pattern.astype(float)), pattern, perm)


@pytest.mark.parametrize(
    "graph",
    [
        generators.grid(9, 11),
        generators.cube(5, 4, 6),
        generators.rmat(7),
        generators.delaunay(150),
    ],
    ids=lambda graph: graph.name,
)
def test_tree_and_counts_of_graphs(graph: jetpy.Graph) -> None:
    pattern = sp.csr_array((graph.edge_weights, graph.indices, graph.indptr)).toarray() > 0
    check(graph, pattern, np.random.default_rng(1).permutation(graph.n))


@given(ordered_patterns())
def test_a_vertex_of_weight_w_stands_for_w_rows(given: tuple[np.ndarray, np.ndarray]) -> None:
    pattern, perm = given
    graph = jetpy.as_graph(sp.csr_array(pattern.astype(np.int32)), pattern=True)
    weights = np.random.default_rng(len(perm)).integers(1, 4, graph.n, dtype=np.int32)
    graph = replace(graph, vertex_weights=weights)
    order = perm.astype(np.int32)
    with lease("cpu", 1) as host, host.using():
        tree = elimination_tree(host, upload(host, graph), order)
        counts, heights = host.to_host(tree.counts), host.to_host(tree.heights)
        paths = host.to_host(tree.paths)
    sizes = weights[order]
    exact = jetpy.symbolic(*expanded(graph, order))
    first_rows = np.cumsum(sizes) - sizes
    np.testing.assert_array_equal(counts, exact.counts[first_rows])
    assert heights.max(initial=0) == exact.height
    assert paths.max(initial=0) == exact.critical_path


@given(
    st.integers(0, 2**32),
    st.integers(3, 60),
    st.sampled_from([0.03, 0.06, 0.1, 0.2]),
    st.integers(1, 9),
)
def test_ranges_do_not_change_the_analysis(seed: int, n: int, density: float, parts: int) -> None:
    graph = random_graph(seed, n, density, 3)
    order, tree = dissected(graph, 2)
    with (
        patch.object(separator_tree, "RANGES", parts),
        lease("cpu", 2) as host,
        host.using(),
    ):
        whole = elimination_tree(host, upload(host, graph), order)
        in_ranges = elimination_tree(host, upload(host, graph), order, tree.independent_ranges())
        for name in ("parents", "counts", "heights", "paths"):
            one, other = (host.to_host(getattr(each, name)) for each in (whole, in_ranges))
            np.testing.assert_array_equal(one, other, name)


def test_ranges_are_the_largest_small_subtrees() -> None:
    _, tree = dissected(generators.grid(16, 16), 8)
    with patch.object(separator_tree, "RANGES", 4):
        begins, ends = tree.independent_ranges()
    assert (ends - begins <= 64).all()
    assert (begins[1:] >= ends[:-1]).all()
    assert (ends - begins).sum() > 128


def test_natural_order_is_the_default() -> None:
    graph = generators.grid(5, 5)
    same = jetpy.symbolic(graph, np.arange(25))
    np.testing.assert_array_equal(jetpy.symbolic(graph).counts, same.counts)


def test_values_and_diagonal_do_not_matter() -> None:
    matrix = sp.csr_array(np.array([[0.0, -2.5, 0], [1e9, 0, 0], [0, 0, 7]]))
    assert jetpy.symbolic(matrix).counts.tolist() == [2, 1, 1]


def test_unsymmetric_pattern_is_refused_unless_symmetrized() -> None:
    matrix = sp.csr_array(np.array([[1, 1, 0], [0, 1, 1], [0, 1, 1]]))
    with pytest.raises(GraphError, match=r"edge \(0, 1\), but not its reverse.*symmetrize=True"):
        jetpy.symbolic(matrix)
    assert jetpy.symbolic(matrix, symmetrize=True).counts.tolist() == [2, 2, 1]


@pytest.mark.parametrize("name", WRONG)
def test_wrong_permutations(name: str) -> None:
    perm, message = WRONG[name]
    with pytest.raises(OptionError, match=message):
        jetpy.symbolic(generators.grid(1, 3), perm)


def test_path_of_a_million_columns_takes_no_recursion() -> None:
    n = 1_000_000
    found = jetpy.symbolic(generators.grid(1, n))
    assert (found.fill, found.height) == (2 * n - 1, n)


def test_a_graph_is_a_pattern_with_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sorted rows are not checked again; others are sorted."""
    graph = replace(generators.delaunay(50), name="net")
    graph = replace(graph, edge_weights=np.arange(1, len(graph.indices) + 1, dtype=np.int32))
    backwards = np.concatenate([graph.indices[a:b][::-1] for a, b in pairwise(graph.indptr)])
    unsorted = replace(graph, indices=backwards)
    wide = replace(graph, indices=graph.indices.astype(np.int64))
    checked: list[object] = []
    monkeypatch.setattr(
        patterns, "as_graph", lambda data, **rules: checked.append(data) or as_graph(data, **rules)
    )
    for one in (graph, unsorted, wide):
        found = patterns.pattern_graph(one, None, symmetrize=False)
        assert_same_graph(found, replace(graph, edge_weights=np.ones_like(graph.indices)))
        assert found.name == "net"
    assert [id(data) for data in checked] == [id(unsorted), id(wide)]
    with pytest.raises(OptionError):
        jetpy.symbolic(graph, n=50.0)
