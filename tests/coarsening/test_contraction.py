"""Contraction, compared with a dictionary-based oracle."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jetpy.coarsening.contraction import contract, contract_groups, longest_list
from jetpy.device.device_graph import DeviceGraph, upload
from jetpy.engines.base import Array, Backend
from jetpy.graph.csr import INT32_MAX, Graph
from jetpy.graph.generators import delaunay, rmat
from jetpy.workloads.coarsening.contraction import MARKS, slots_for
from tests.graphs import SMALL_GRAPHS, clique, edge_dict, from_edges, star
from tests.strategies import weighted_graphs


def check(backend: Backend, graph: Graph, match: list[int]) -> Graph:
    """Contract a matching, compare everything with the oracle, and return the coarse graph."""
    pairs = backend.from_host(np.array(match, np.int32))
    contracted = contract(backend, upload(backend, graph), pairs)
    group_of = [v if match[v] < 0 else min(v, match[v]) for v in range(graph.n)]
    return check_groups(backend, graph, group_of, *contracted)


def check_groups(
    backend: Backend, graph: Graph, group_of: list[int], device: DeviceGraph, coarse_of: Array
) -> Graph:
    """Compare a contraction with the oracle, and return the coarse graph."""
    arrays = (device.indptr, device.indices, device.edge_weights, device.vertex_weights)
    coarse = Graph(*(backend.to_host(a) for a in arrays))
    ids = backend.to_host(coarse_of).tolist()

    representatives = [v for v in range(graph.n) if group_of[v] == v]
    assert [ids[v] for v in representatives] == list(range(len(representatives)))
    assert all(ids[v] == ids[group_of[v]] for v in range(graph.n))
    assert device.edge_weight == coarse.edge_weights.sum()

    weights = [0] * len(representatives)
    for v, weight in enumerate(graph.vertex_weights.tolist()):
        weights[ids[v]] += weight
    assert coarse.vertex_weights.tolist() == weights

    edges: dict[tuple[int, int], int] = defaultdict(int)
    for (u, v), weight in edge_dict(graph).items():
        if ids[u] != ids[v]:
            edges[ids[u], ids[v]] += weight
    assert edge_dict(coarse) == edges
    assert len(coarse.indices) == len(coarse.edge_weights) == len(edges)  # no edge twice
    assert all(edges[v, u] == weight for (u, v), weight in edges.items())
    assert coarse.indptr[0] == 0
    assert coarse.indptr[-1] == len(edges)
    for array in arrays:
        assert array.dtype == np.int32
    return coarse


def random_match(n: int, share: float, seed: int) -> list[int]:
    """Return random pairs, which need not be adjacent: contraction does not require it."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(n)[: int(share * n) // 2 * 2].tolist()
    match = [-1] * n
    for u, v in zip(order[::2], order[1::2], strict=True):
        match[u], match[v] = v, u
    return match


def random_groups(n: int, count: int, seed: int) -> list[int]:
    """Return at most `count` groups, each labelled by one of its vertices."""
    rng = np.random.default_rng(seed)
    numbers = rng.integers(0, count, n).tolist()
    names = {numbers[v]: v for v in rng.permutation(n).tolist()}
    return [names[number] for number in numbers]


@settings(max_examples=80)
@given(graph=weighted_graphs(), share=st.sampled_from([0, 0.3, 0.7, 1]), seed=st.integers(0, 10**6))
def test_matched_pairs_of_random_graphs(
    backend: Backend, graph: Graph, share: float, seed: int
) -> None:
    check(backend, graph, random_match(graph.n, share, seed))


@pytest.mark.parametrize("share", [0, 0.5, 1])
@pytest.mark.parametrize("name", SMALL_GRAPHS)
def test_matched_pairs_of_small_graphs(backend: Backend, name: str, share: float) -> None:
    graph = SMALL_GRAPHS[name]()
    check(backend, graph, random_match(graph.n, share, 1))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("graph", [delaunay(1100), rmat(10, 8), star(3000), clique(80)], ids=str)
def test_matched_pairs_of_large_graphs(backend: Backend, graph: Graph, seed: int) -> None:
    """On CPUs, short rows are lists with marks, long rows hash tables."""
    check(backend, graph, random_match(graph.n, 0.9, seed))


@pytest.mark.parametrize("share", [0, 0.9])
def test_neighbours_that_share_a_mark(backend: Backend, share: float) -> None:
    """Without pairs, all neighbours of a vertex are congruent; with pairs, some are."""
    n = 5 * MARKS
    some = [v for v in range(n) if v % MARKS % 64 < 8]
    graph = from_edges(n, [(v, (v + step * MARKS) % n) for v in some for step in (1, 2)])
    check(backend, graph, random_match(n, share, 0))


def test_repeated_contraction_ends_with_one_vertex(backend: Backend) -> None:
    graph = clique(64)
    while graph.n > 1:
        graph = check(backend, graph, [v ^ 1 for v in range(graph.n)])
    assert (graph.n, graph.m, graph.total_vertex_weight) == (1, 0, 64)


@pytest.mark.parametrize("entries", [3000, INT32_MAX // 3 * 2, INT32_MAX])
def test_the_number_of_slots_has_32_bits(backend: Backend, entries: int) -> None:
    assert entries <= slots_for(entries, longest_list(backend, entries)) <= INT32_MAX


@settings(max_examples=80)
@given(graph=weighted_graphs(), count=st.integers(1, 16), seed=st.integers(0, 10**6))
def test_groups_of_random_graphs(backend: Backend, graph: Graph, count: int, seed: int) -> None:
    contract_and_check(backend, graph, random_groups(graph.n, count, seed))


@pytest.mark.parametrize("count", [1, 40, 1000])
@pytest.mark.parametrize("graph", [delaunay(1100), rmat(10, 8), star(3000), clique(80)], ids=str)
def test_groups_of_large_graphs(backend: Backend, graph: Graph, count: int) -> None:
    contract_and_check(backend, graph, random_groups(graph.n, count, 1))


@pytest.mark.parametrize("name", SMALL_GRAPHS)
def test_groups_of_small_graphs(backend: Backend, name: str) -> None:
    graph = SMALL_GRAPHS[name]()
    contract_and_check(backend, graph, list(range(graph.n)))
    contract_and_check(backend, graph, [graph.n - 1] * graph.n)


def contract_and_check(backend: Backend, graph: Graph, group_of: list[int]) -> None:
    groups = backend.from_host(np.array(group_of, np.int32))
    contracted = contract_groups(backend, upload(backend, graph), groups)
    check_groups(backend, graph, group_of, *contracted)
