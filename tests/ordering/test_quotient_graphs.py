"""Minimum degree of many blocks at once: the same as one at a time, with their halos."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import jetpy
from jetpy import generators
from jetpy.device.backends import lease
from jetpy.kernel_language import Width
from jetpy.ordering import quotient_graphs
from jetpy.ordering.minimum_degree import eliminated_by_degree
from jetpy.ordering.quotient_graphs import Matrix, block_orders, eliminated_blocks, sizes_of
from tests.ordering.dissections import expanded, matrix_of, random_graph

Array = np.ndarray


def ordered(graph: jetpy.Graph, block_of: Array, count: int, threads: int = 1) -> Array:
    with lease("cpu", threads) as host, host.using():
        return block_orders(Matrix(host, host, graph), block_of.astype(np.int32), count).order


def one_at_a_time(graph: jetpy.Graph, block_of: Array, count: int) -> Array:
    """Order each block in the graph that its members and their neighbours induce."""
    matrix = matrix_of(graph)
    order = []
    for block in range(count):
        is_near = (block_of == block) | (matrix @ (block_of == block).astype(int) > 0)
        near = np.flatnonzero(is_near)
        part = jetpy.as_graph(matrix[near][:, near])
        part = replace(part, vertex_weights=graph.vertex_weights[near])
        order.append(near[ordered(part, np.where(block_of[near] == block, 0, -1), 1)])
    return np.concatenate(order)


@given(
    st.integers(0, 2**32),
    st.integers(2, 40),
    st.sampled_from([0.02, 0.08, 0.2, 0.6]),
    st.integers(1, 6),
)
def test_all_blocks_as_one_at_a_time(seed: int, n: int, density: float, count: int) -> None:
    graph = random_graph(seed, n, density, 3)
    block_of = np.random.default_rng(seed).integers(-1, count, n)
    order = ordered(graph, block_of, count)
    assert np.array_equal(order, one_at_a_time(graph, block_of, count))
    assert np.array_equal(np.sort(order), np.flatnonzero(block_of >= 0))
    assert np.array_equal(block_of[order], np.sort(block_of[block_of >= 0]))


def test_one_block_without_halo_is_minimum_degree() -> None:
    graph = generators.delaunay(2000)
    with lease("cpu", 1) as host, host.using():
        whole, _ = eliminated_by_degree(host, graph, np.zeros(graph.n, bool))
    block = jetpy.symbolic(graph, ordered(graph, np.zeros(2000), 1))
    assert sorted(block.counts) == sorted(jetpy.symbolic(graph, whole).counts)


def test_halo_raises_degrees() -> None:
    """The middle of a path of three has two neighbours, and an end has four with its halo."""
    edges = [(0, 1), (1, 2), *((0, h) for h in (3, 4, 5)), *((2, h) for h in (6, 7, 8))]
    ends = np.array(edges).T
    graph = jetpy.as_graph(np.concatenate((ends, ends[::-1]), axis=1))
    assert ordered(graph, np.where(np.arange(9) > 2, -1, 0), 1)[0] == 1


def test_weights_count() -> None:
    """In a path of three vertices, the halos of both ends weigh 5, so that the middle is first."""
    ends = np.array([(2, 0), (2, 1), (0, 3), (1, 4)]).T
    graph = jetpy.as_graph(np.concatenate((ends, ends[::-1]), axis=1))
    heavy = replace(graph, vertex_weights=np.array([1, 1, 1, 5, 5], np.int32))
    block_of = np.array([0, 0, 0, -1, -1])
    assert ordered(graph, block_of, 1)[0] == 0
    assert ordered(heavy, block_of, 1)[0] == 2


def test_threads_and_batches_make_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = generators.rmat(11)
    block_of = np.random.default_rng(0).integers(-1, 50, graph.n)
    order = ordered(graph, block_of, 50)
    assert np.array_equal(ordered(graph, block_of, 50, threads=3), order)
    monkeypatch.setattr(quotient_graphs, "BATCH_BYTES", 1)
    monkeypatch.setattr(quotient_graphs, "BATCH_BYTES_OF_EDGE", 2)
    assert np.array_equal(ordered(graph, block_of, 50, threads=2), order)


def test_wide_kernels_return_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = generators.rmat(9)
    block_of = np.random.default_rng(0).integers(-1, 9, graph.n)
    order = ordered(graph, block_of, 9)
    monkeypatch.setattr(quotient_graphs, "INT32_MAX", 0)
    assert np.array_equal(ordered(graph, block_of, 9), order)


def test_chunks_make_no_difference_to_wide_kernels() -> None:
    graph = generators.rmat(9)
    block_of = np.random.default_rng(0).integers(-1, 9, graph.n).astype(np.int32)
    with lease("cpu", 3) as host, host.using():
        other = host.with_width(Width.WIDE)
        wide = eliminated_blocks(
            Matrix(other, other, graph), block_of, sizes_of(block_of, 9), np.empty(0)
        )
    assert np.array_equal(wide.order, ordered(graph, block_of, 9))


def test_no_blocks_and_empty_blocks() -> None:
    graph = generators.grid(3, 3)
    assert len(ordered(graph, np.full(9, -1), 0)) == 0
    assert np.array_equal(np.sort(ordered(graph, np.full(9, 5), 8)), np.arange(9))


@given(st.integers(0, 2**32), st.integers(1, 30), st.sampled_from([0.05, 0.15, 0.4]))
def test_costs_of_the_whole_matrix(seed: int, n: int, density: float) -> None:
    graph = random_graph(seed, n, density, 3)
    with lease("cpu", 1) as host, host.using():
        found = eliminated_blocks(
            Matrix(host, host, graph), np.zeros(n, np.int32), np.array([n]), np.empty(0)
        )
    exact = jetpy.symbolic(*expanded(graph, found.order))
    assert found.operations[0] == exact.operations
    assert exact.critical_path <= found.paths[0] <= exact.operations
    assert len(exact.counts) == graph.total_vertex_weight


def test_the_path_is_that_of_the_elimination_tree_without_absorption() -> None:
    graph = generators.grid(1, 64)
    with lease("cpu", 1) as host, host.using():
        found = eliminated_blocks(
            Matrix(host, host, graph), np.zeros(64, np.int32), np.array([64]), np.empty(0)
        )
    assert found.paths[0] == jetpy.symbolic(graph, found.order).critical_path
