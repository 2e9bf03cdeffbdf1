"""Subgraphs induced by blocks, and splitting each block into parts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jetpy.graph.csr import Graph
from jetpy.graph.generators import grid
from jetpy.initial.blocks import split_blocks
from jetpy.initial.subgraphs import subgraphs
from tests.graphs import (
    SMALL_GRAPHS,
    assert_same_graph,
    edge_dict,
    from_edges,
    random_graph,
    two_cliques,
)
from tests.mapping.oracle import cut_of
from tests.refinement.oracle import problem_of
from tests.strategies import weighted_graphs


def induced(graph: Graph, members: list[int]) -> Graph:
    numbers = {v: i for i, v in enumerate(members)}
    inside = {
        (numbers[u], numbers[v]): weight
        for (u, v), weight in edge_dict(graph).items()
        if u < v and u in numbers and v in numbers
    }
    weights = graph.vertex_weights[members].tolist()
    return from_edges(len(members), inside, list(inside.values()), weights)


def check(graph: Graph, blocks: np.ndarray, count: int) -> None:
    found = list(subgraphs(graph, blocks.astype(np.int32), count))
    assert [block for block, _, _ in found] == sorted(set(blocks.tolist()))
    for block, members, subgraph in found:
        expected = np.flatnonzero(blocks == block).tolist()
        assert members.tolist() == expected
        assert_same_graph(subgraph, induced(graph, expected))
        for v in range(subgraph.n):
            row = subgraph.indices[subgraph.indptr[v] : subgraph.indptr[v + 1]].tolist()
            assert row == sorted(row)


@given(weighted_graphs(), st.integers(1, 5), st.integers(0, 10**6))
def test_induced_subgraphs_of_random_graphs(graph: Graph, count: int, seed: int) -> None:
    check(graph, np.random.default_rng(seed).integers(0, count, graph.n), count)


@pytest.mark.parametrize("name", SMALL_GRAPHS)
def test_induced_subgraphs_of_small_graphs(name: str) -> None:
    graph = SMALL_GRAPHS[name]()
    for count in (1, 2, 7):
        check(graph, np.arange(graph.n) % count, count)
    check(graph, np.full(graph.n, 3), 5)  # all blocks but one are empty


def split(
    graph: Graph,
    blocks: np.ndarray,
    arity: int,
    limit: int,
    count: int | None = None,
    seed: int = 1,
) -> np.ndarray:
    """Split blocks, check that no vertex leaves its block, and return the parts."""
    groups = count or int(blocks.max(initial=0)) + 1
    problem = problem_of(graph, groups * arity, groups=groups, limit=limit)
    found = split_blocks(graph, blocks.astype(np.int32), problem, seed)
    assert found.dtype == np.int32
    assert (found // arity).tolist() == blocks.tolist()
    return found


@pytest.mark.parametrize("arity", [1, 2, 3, 5])
def test_split_is_complete_and_reproducible(arity: int) -> None:
    graph = random_graph(120, 400, 2, weighted=True)
    blocks = np.random.default_rng(arity).integers(0, 4, graph.n)
    limit = 220 // arity
    found = split(graph, blocks, arity, limit)
    assert len(set(found.tolist())) == 4 * arity
    assert (split(graph, blocks, arity, limit) == found).all()


def test_split_finds_the_components_of_each_block() -> None:
    """Vertices of two blocks alternate, and each block consists of two separate cliques."""
    graph = two_cliques(6)
    both = from_edges(24, [*_halves(edge_dict(graph), 0), *_halves(edge_dict(graph), 1)])
    found = split(both, np.arange(24) % 2, 2, 6)
    assert np.bincount(found).tolist() == [6, 6, 6, 6]
    assert cut_of(both, found) == 0


def _halves(edges: dict[tuple[int, int], int], block: int) -> list[tuple[int, int]]:
    return [(2 * u + block, 2 * v + block) for u, v in edges if u < v]


def test_split_nearly_keeps_the_limits_of_each_block() -> None:
    """One block is three times as heavy as the other; limits are a tenth above the average."""
    graph = grid(20, 20)
    blocks = (np.arange(400) >= 300).astype(np.int64)
    limits = np.array([83, 28], np.int64)
    problem = problem_of(graph, 8, groups=2, limit=28, part_limits=np.repeat(limits, 4))
    found = split_blocks(graph, blocks.astype(np.int32), problem, 1)
    weights = np.bincount(found, minlength=8)
    assert (weights <= np.repeat(1.05 * limits, 4)).all()


def test_block_with_fewer_vertices_than_parts() -> None:
    """Each vertex gets a separate part."""
    graph = SMALL_GRAPHS["weighted_random"]()
    blocks = np.where(np.arange(40) < 3, 1, 4)
    found = split(graph, blocks, 5, 300, count=6)
    assert found[:3].tolist() == [5, 6, 7]
    assert set(found[3:].tolist()) == {20, 21, 22, 23, 24}
