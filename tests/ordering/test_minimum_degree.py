"""Minimum degree orderings: no fill where none is needed, little elsewhere, halos, dense rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import jetpy
from jetpy import generators
from jetpy.device.backends import lease
from jetpy.io.patterns import checked_permutation
from jetpy.ordering.quotient_graphs import Matrix, eliminated_blocks, sizes_of
from tests.ordering.degree_oracle import MinimumDegree


def graph_of(pattern: np.ndarray) -> jetpy.Graph:
    return jetpy.as_graph(sp.csr_array(pattern.astype(np.int32)), pattern=True)


def exact_fill(pattern: np.ndarray) -> int:
    """Return the fill if each step eliminates a vertex of exactly the smallest degree."""
    rows = {v: set(np.flatnonzero(row)) - {v} for v, row in enumerate(pattern)}
    fill = 0
    while rows:
        v = min(rows, key=lambda v: (len(rows[v]), v))
        others = rows.pop(v)
        fill += 1 + len(others)
        for u in others:
            rows[u] = (rows[u] | others) - {u, v}
    return fill


def random_pattern(seed: int, n: int, density: float) -> np.ndarray:
    pattern = np.random.default_rng(seed).random((n, n)) < density
    return pattern | pattern.T


def order_of(graph: jetpy.Graph, is_member: np.ndarray, elements: int = 0) -> list[int]:
    """Return the order of one block, whose first `elements` vertices are elements."""
    block_of = np.where(is_member, 0, -1).astype(np.int32)
    with lease("cpu", 1) as host, host.using():
        matrix = Matrix(host, host, graph)
        found = eliminated_blocks(matrix, block_of, sizes_of(block_of, 1), np.zeros(elements))
    return [int(v) for v in found.order]


@given(
    st.integers(0, 2**32),
    st.integers(1, 40),
    st.sampled_from([0.02, 0.08, 0.2, 0.6]),
    st.sampled_from([0.3, 0.7, 1]),
    st.sampled_from([0, 0, 6]),
)
def test_orders_equal_the_oracle(
    seed: int, n: int, density: float, share: float, elements: int
) -> None:
    """The first vertices may be elements, which are in the block and not adjacent to each other."""
    rng = np.random.default_rng(seed)
    elements = min(elements, n)
    pattern = random_pattern(seed, n, density)
    pattern[:elements, :elements] = False
    weights = rng.integers(1, 4, n, dtype=np.int32)
    weights[:elements] = 0
    graph = replace(graph_of(pattern), vertex_weights=weights)
    is_member = (rng.random(n) < share) | (np.arange(n) < elements)
    expected = MinimumDegree(graph, np.flatnonzero(is_member).tolist(), elements)
    assert order_of(graph, is_member, elements) == expected.order


@pytest.mark.parametrize("seed", range(3))
def test_orders_of_meshes_equal_the_oracle(seed: int) -> None:
    graph = generators.delaunay(300, seed=seed)
    expected = MinimumDegree(graph, range(100, 300))
    assert order_of(graph, np.arange(300) >= 100) == expected.order


@given(st.integers(0, 2**32), st.integers(0, 40), st.sampled_from([0.02, 0.08, 0.2, 0.6, 1]))
def test_random_patterns(seed: int, n: int, density: float) -> None:
    pattern = random_pattern(seed, n, density)
    found = jetpy.minimum_degree(graph_of(pattern))
    checked_permutation(found.perm, n)
    assert found.fill == jetpy.symbolic(graph_of(pattern), found.perm).fill
    assert found.fill <= 1.25 * exact_fill(pattern) + 2


@given(st.integers(0, 2**32), st.integers(1, 40), st.sampled_from([0.02, 0.08, 0.2]))
def test_subtrees_of_the_elimination_tree_are_consecutive(
    seed: int, n: int, density: float
) -> None:
    found = jetpy.minimum_degree(graph_of(random_pattern(seed, n, density)))
    sizes, firsts = np.ones(n, int), np.arange(n)
    for j, parent in enumerate(found.symbolic.parents):
        if parent >= 0:
            sizes[parent] += sizes[j]
            firsts[parent] = min(firsts[parent], firsts[j])
    assert np.array_equal(np.arange(n) - firsts + 1, sizes)


@given(st.integers(0, 2**32), st.integers(1, 200))
def test_trees_have_no_fill(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    child = np.arange(1, n)
    parent = (rng.random(n - 1) * child).astype(int)
    ends = np.concatenate((child, parent)), np.concatenate((parent, child))
    tree = jetpy.as_graph(sp.csr_array((np.ones(2 * n - 2, np.int32), ends), shape=(n, n)))
    assert jetpy.minimum_degree(tree).fill == 2 * n - 1


def test_dense_rows_come_last() -> None:
    graph = generators.grid(20, 20)
    grid = sp.csr_array((graph.edge_weights, graph.indices, graph.indptr), shape=(400, 400))
    full = np.ones((1, 400), np.int32)
    matrix = sp.block_array([[sp.csr_array([[1]]), full], [full.T, grid]])
    found = jetpy.minimum_degree(matrix)
    assert found.perm[-1] == 0
    assert found.fill == jetpy.minimum_degree(grid).fill + 401


def test_clique_of_dense_rows() -> None:
    found = jetpy.minimum_degree(graph_of(np.ones((300, 300), bool)))
    assert np.array_equal(found.perm, np.arange(300))


def test_storage_suffices_when_elements_grow() -> None:
    graph = generators.rmat(11)
    checked_permutation(jetpy.minimum_degree(graph).perm, graph.n)


@pytest.mark.parametrize("suffix", [".npy", ".txt"])
@pytest.mark.parametrize("base", [0, 1])
def test_orderings_are_saved(suffix: str, base: int, tmp_path) -> None:  # type: ignore[no-untyped-def]
    found = jetpy.minimum_degree(generators.grid(4, 5))
    path = tmp_path / f"perm{suffix}"
    found.save(path, base=base)
    read = np.load(path) if suffix == ".npy" else np.loadtxt(path, dtype=int)
    assert np.array_equal(read, found.perm + base)


def test_inverse_and_permuted_matrix() -> None:
    matrix = sp.csr_array(np.triu(np.arange(1, 37).reshape(6, 6)))
    found = jetpy.minimum_degree(matrix, symmetrize=True)
    assert np.array_equal(found.iperm[found.perm], np.arange(6))
    dense = matrix.toarray()
    expected = dense[found.perm][:, found.perm]
    assert np.array_equal(found.permute(matrix).toarray(), expected)
    assert np.array_equal(found.permute(dense), expected)
    with pytest.raises(jetpy.OptionError, match=r"shape \(2, 2\), not \(6, 6\)"):
        found.permute(np.eye(2))
