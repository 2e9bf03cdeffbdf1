"""Compression: the groups of a plain oracle, orders of all rows, and dense rows at the end."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import jetpy
from jetpy import generators
from jetpy.device.backends import lease
from jetpy.device.device_graph import upload
from jetpy.io.patterns import checked_permutation, pattern_graph
from jetpy.ordering.compression import Compression, compress, indistinguishable
from jetpy.ordering.dense_rows import induced_subgraph, without_dense_rows
from jetpy.workloads.ordering import compression as kernels


def compressed(graph: jetpy.Graph) -> Compression:
    with lease("cpu", 2) as host, host.using():
        return compress(host, graph, np.zeros(graph.n, bool))


def leaders_by_jetpy(graph: jetpy.Graph) -> list[int]:
    with lease("cpu", 2) as host, host.using():
        return indistinguishable(host, graph, np.zeros(graph.n, bool)).tolist()


def graph_of(pattern: np.ndarray) -> jetpy.Graph:
    return pattern_graph(sp.csr_array(pattern), None, symmetrize=False)


def pattern_of(graph: jetpy.Graph) -> np.ndarray:
    """Return the pattern of a graph, with the diagonal."""
    pattern = np.eye(graph.n, dtype=bool)
    pattern[graph.sources(0, graph.n), graph.indices] = True
    return pattern


def with_copies(seed: int, n: int, density: float, most: int) -> np.ndarray:
    """Return a random pattern whose rows have up to `most` copies, in random order."""
    rng = np.random.default_rng(seed)
    pattern = (rng.random((n, n)) < density) | np.eye(n, dtype=bool)
    rows = rng.permutation(np.repeat(np.arange(n), rng.integers(1, most + 1, n)))
    return (pattern | pattern.T)[np.ix_(rows, rows)]


def leaders_of(pattern: np.ndarray) -> list[int]:
    """Return the first row that equals each row of a pattern with a full diagonal."""
    rows = [row.tobytes() for row in pattern]
    return [rows.index(row) for row in rows]


def shuffled(graph: jetpy.Graph, seed: int) -> jetpy.Graph:
    """Return the same graph with the neighbours of each vertex in random order."""
    rng = np.random.default_rng(seed)
    rows = np.split(graph.indices, graph.indptr[1:-1])
    indices = np.concatenate([rng.permutation(row) for row in rows])
    return pattern_graph((graph.indptr, indices), None, symmetrize=False)


@given(
    st.integers(0, 2**32),
    st.integers(1, 12),
    st.sampled_from([0, 0.1, 0.3, 0.7]),
    st.integers(1, 4),
)
def test_groups_are_those_of_an_oracle(seed: int, n: int, density: float, most: int) -> None:
    pattern = with_copies(seed, n, density, most)
    graph, leaders = shuffled(graph_of(pattern), seed), leaders_of(pattern)
    assert leaders_by_jetpy(graph) == leaders
    found = compressed(graph)
    kept = np.unique(leaders)
    if 100 * (graph.n - len(kept)) < 15 * graph.n:
        assert found.graph is graph
        assert found.group_of.tolist() == list(range(graph.n))
        return
    assert found.group_of.tolist() == np.searchsorted(kept, leaders).tolist()
    assert found.graph.vertex_weights.tolist() == np.bincount(found.group_of).tolist()
    assert np.array_equal(pattern_of(found.graph), pattern[np.ix_(kept, kept)])
    assert (found.graph.edge_weights == 1).all()


@given(st.integers(0, 2**32), st.integers(1, 12), st.integers(1, 4))
def test_rows_of_a_group_are_consecutive(seed: int, n: int, most: int) -> None:
    graph = graph_of(with_copies(seed, n, 0.3, most))
    found = compressed(graph)
    order = np.random.default_rng(seed).permutation(found.graph.n).astype(np.int32)
    expected = [v for group in order for v in np.flatnonzero(found.group_of == group)]
    assert found.expand(order).tolist() == expected
    assert found.expand(order).dtype == np.int32


def test_expanded_orders_have_the_fill_of_the_groups() -> None:
    grid = generators.grid(7, 9)
    pattern = np.kron(pattern_of(grid), np.ones((2, 2), bool))
    found = compressed(graph_of(pattern))
    assert np.array_equal(found.graph.indices, grid.indices)
    order = jetpy.minimum_degree(grid).perm
    blocks = jetpy.symbolic(grid, order).fill
    # Two rows of a group share a full block of 3 entries, others a block of 4.
    assert jetpy.symbolic(pattern, found.expand(order)).fill == 4 * blocks - grid.n


def test_equal_hashes_do_not_merge_vertices() -> None:
    """With sums that are all equal, rows are still compared entry by entry."""
    graph = generators.grid(5, 5)
    leaders = np.arange(25, dtype=np.int32)
    with lease("cpu", 1) as host, host.using():
        host.run_tasks(
            1,
            kernels.find_leaders,
            count=25,
            graph=upload(host, graph),
            sums=np.zeros(25, np.int64),
            possible=leaders.copy(),
            leaders=leaders,
            marks=np.full(25, -1, np.int32),
        )
    assert leaders.tolist() == list(range(25))


@pytest.mark.parametrize("n", [0, 1, 5])
def test_rows_without_entries_stay(n: int) -> None:
    graph = graph_of(np.eye(n, dtype=bool))
    found = compressed(graph)
    assert found.graph is graph
    assert found.expand(np.arange(n, dtype=np.int32)[::-1]).tolist() == list(range(n))[::-1]


@pytest.mark.parametrize("n", [2, 17])
def test_cliques_are_one_vertex(n: int) -> None:
    found = compressed(graph_of(np.ones((n, n), bool)))
    assert (found.graph.n, found.graph.m) == (1, 0)
    assert found.graph.vertex_weights.tolist() == [n]
    assert found.expand(np.zeros(1, np.int32)).tolist() == list(range(n))


@pytest.mark.parametrize(("copies", "merge"), [(15, True), (14, False)])
def test_few_copies_stay(copies: int, merge: bool) -> None:
    """Of 100 rows in pairs and single rows, 15 or 14 disappear."""
    ends = 2 * np.arange(copies)
    pattern = np.eye(100, dtype=bool)
    pattern[ends, ends + 1] = pattern[ends + 1, ends] = True
    assert compressed(graph_of(pattern)).graph.n == (85 if merge else 100)


def test_dense_rows_come_last_by_degree() -> None:
    n = 400
    rng = np.random.default_rng(0)
    pattern = np.eye(n, dtype=bool)
    for row, degree in ((7, 300), (3, 300), (250, 250), (11, 200)):
        others = rng.choice(np.setdiff1d(np.arange(n), (3, 7, 11, 250)), degree, replace=False)
        pattern[row, others] = pattern[others, row] = True
    graph = graph_of(pattern)
    rest, members, dense = without_dense_rows(graph)
    assert dense.tolist() == [250, 3, 7]  # the limit is 10 sqrt(400) = 200
    assert np.array_equal(pattern_of(rest), pattern[np.ix_(members, members)])
    found = compressed(graph)
    assert found.dense.tolist() == [250, 3, 7]
    assert (found.group_of[found.dense] == -1).all()
    perm = found.expand(np.arange(found.graph.n, dtype=np.int32))
    checked_permutation(perm, n)
    assert perm[-3:].tolist() == [250, 3, 7]


def test_matrix_of_dense_rows_has_no_groups() -> None:
    found = compressed(graph_of(np.ones((300, 300), bool)))
    assert found.graph.n == 0
    assert found.expand(np.empty(0, np.int32)).tolist() == list(range(300))


def test_subgraphs_keep_weights() -> None:
    graph = jetpy.as_graph(
        (generators.grid(3, 3).indptr, generators.grid(3, 3).indices),
        vertex_weights=np.arange(1, 10),
    )
    found = induced_subgraph(graph, np.array([0, 1, 4, 8], np.int32))
    assert found.vertex_weights.tolist() == [1, 2, 5, 9]
    assert found.indptr.tolist() == [0, 1, 3, 4, 4]
    assert found.indices.tolist() == [1, 0, 2, 1]
