"""Packing by weight, compared with a plain loop, and the vertices that it leaves in place."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jetpy.graph.csr import Graph
from jetpy.refinement.packing import fit, pack
from tests.graphs import from_edges, isolated, path
from tests.refinement.filling_oracle import internal_of
from tests.strategies import weighted_graphs

some_weights = st.lists(st.sampled_from([1, 1, 2, 3, 7, 50]), min_size=1, max_size=40)


def loads_of(weights: np.ndarray, parts: np.ndarray, k: int) -> list[int]:
    return np.bincount(parts, weights, k).astype(int).tolist()


def heaviest_packed(weights: list[int], k: int) -> int:
    """Return the heaviest part after packing by longest processing time first."""
    loads = [0] * k
    for weight in sorted(weights, reverse=True):
        loads[loads.index(min(loads))] += weight
    return max(loads)


@given(some_weights, st.integers(1, 12))
def test_pack_equals_longest_processing_time_first(weights: list[int], k: int) -> None:
    array = np.array(weights, np.int32)
    parts = pack(array, np.zeros(k, np.int64))
    assert max(loads_of(array, parts, k)) == heaviest_packed(weights, k)


def test_vertices_of_weight_0_are_packed_into_small_parts() -> None:
    weights = np.array([0, 0, 0, 0, 0, 5, 1, 1, 0, 0], np.int32)
    parts = pack(weights, np.array([9, 3, 3]))
    assert loads_of(weights, parts, 3) == [7, 0, 0]
    assert np.bincount(parts).tolist() == [4, 3, 3]


def test_vertices_of_weight_0_stay_in_overweight_parts() -> None:
    graph = from_edges(6, [], None, [0, 2, 0, 2, 2, 0])
    parts = np.array([0, 0, 0, 0, 0, 1], np.int32)
    fitted = fit(graph, parts, internal_of(graph, parts), np.full(2, 4))
    assert loads_of(graph.vertex_weights, fitted, 2) == [4, 2]
    assert fitted[[0, 2, 5]].tolist() == [0, 0, 1]


@given(weighted_graphs(most=24), st.integers(1, 9), st.integers(0, 10**6), st.floats(0, 0.5))
def test_fit_keeps_limits_that_packing_keeps(graph: Graph, k: int, seed: int, slack: float) -> None:
    weights = graph.vertex_weights
    parts = np.random.default_rng(seed).integers(0, k, graph.n).astype(np.int32)
    limit = int((1 + slack) * -(-int(weights.sum()) // k))
    most = max(limit, heaviest_packed(weights.tolist(), k))
    fitted = fit(graph, parts, internal_of(graph, parts), np.full(k, limit))
    assert max(loads_of(weights, fitted, k)) <= most
    if max(loads_of(weights, parts, k)) <= most:
        assert fitted.tolist() == parts.tolist()


@given(weighted_graphs(most=24), st.integers(1, 9), st.integers(0, 10**6), st.floats(0, 0.5))
def test_fit_keeps_fixed_vertices(graph: Graph, k: int, seed: int, slack: float) -> None:
    """The overload is at most that of packing all free vertices around the fixed ones."""
    rng, weights = np.random.default_rng(seed), graph.vertex_weights
    parts, free = rng.integers(0, k, graph.n).astype(np.int32), rng.random(graph.n) < 0.7
    limits = np.full(k, int((1 + slack) * -(-int(weights.sum()) // k)))
    fixed = np.bincount(parts[~free], weights[~free], k).astype(np.int64)
    packed = fixed + loads_of(weights[free], pack(weights[free], limits - fixed), k)
    fitted = fit(graph, parts, internal_of(graph, parts), limits, free)
    assert fitted[~free].tolist() == parts[~free].tolist()
    loads = np.array(loads_of(weights, fitted, k))
    assert (loads - limits).max() <= max(0, (packed - limits).max())
    if (loads_of(weights, parts, k) <= limits).all():
        assert fitted.tolist() == parts.tolist()


def test_one_excess_vertex_moves_to_an_adjacent_part() -> None:
    graph = path(12)
    parts = np.array([0, 0, 0, 0, 0, 1, 1, 1, 2, 2, 2, 2], np.int32)
    fitted = fit(graph, parts, internal_of(graph, parts), np.full(3, 4))
    assert np.flatnonzero(fitted != parts).tolist() == [4]
    assert fitted[4] == 1


def test_two_full_parts_are_packed_together() -> None:
    """No single move fits; the third part stays unchanged."""
    graph = from_edges(6, [], None, [60, 50, 45, 40, 50, 50])
    parts = np.array([0, 0, 1, 1, 2, 2], np.int32)
    fitted = fit(graph, parts, internal_of(graph, parts), np.full(3, 100))
    assert loads_of(graph.vertex_weights, fitted, 3) == [100, 95, 100]
    assert fitted[4:].tolist() == [2, 2]


@pytest.mark.parametrize("k", [1, 3])
def test_fit_accepts_an_empty_graph(k: int) -> None:
    nothing = np.empty(0, np.int64)
    fitted = fit(isolated(0), nothing.astype(np.int32), nothing, np.zeros(k, np.int64))
    assert fitted.shape == (0,)
