"""Assignment of parts to PEs: a relabelling that no swap of two parts improves."""

from __future__ import annotations

from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jetpy.graph.csr import Graph
from jetpy.initial.assignment import assign_parts
from tests.graphs import cycle, isolated, path, random_graph
from tests.mapping.oracle import cost_of
from tests.refinement.oracle import problem_of
from tests.strategies import weighted_graphs


def random_distances(k: int, seed: int) -> np.ndarray:
    upper = np.triu(np.random.default_rng(seed).integers(0, 20, (k, k)), 1)
    return upper + upper.T


def assign(graph: Graph, parts: np.ndarray, distances: np.ndarray) -> np.ndarray:
    """Assign parts, check that only part ids change, and return the new parts."""
    k = len(distances)
    before = parts.copy()
    found = assign_parts(graph, parts, problem_of(graph, k, distances=distances))
    assert (parts == before).all()
    assert found.dtype == np.int32
    assert ((found >= 0) & (found < k)).all()
    pairs = set(zip(parts.tolist(), found.tolist(), strict=True))
    assert len(pairs) == len({p for p, _ in pairs}) == len({q for _, q in pairs})
    return found


def exchanged(parts: np.ndarray, p: int, q: int) -> np.ndarray:
    result = parts.copy()
    result[parts == p], result[parts == q] = q, p
    return result


@given(weighted_graphs(), st.integers(1, 7), st.integers(0, 10**6))
def test_no_swap_of_two_parts_reduces_the_cost(graph: Graph, k: int, seed: int) -> None:
    distances = random_distances(k, seed)
    parts = np.random.default_rng(seed).integers(0, k, graph.n).astype(np.int32)
    found = assign(graph, parts, distances)
    cost = cost_of(graph, found, distances)
    for p, q in combinations(range(k), 2):
        assert cost_of(graph, exchanged(found, p, q), distances) >= cost


@pytest.mark.parametrize("k", [2, 3, 4, 5])
def test_cost_is_close_to_the_optimum(k: int) -> None:
    ratios = []
    for seed in range(8):
        graph, distances = random_graph(20, 60, seed, weighted=True), random_distances(k, seed)
        parts = np.random.default_rng(seed).integers(0, k, graph.n).astype(np.int32)
        places = map(np.array, permutations(range(k)))
        best = min(cost_of(graph, order[parts], distances) for order in places)
        ratios.append(cost_of(graph, assign(graph, parts, distances), distances) / max(best, 1))
    assert max(ratios) <= (1.0 if k <= 3 else 1.15)
    assert np.mean(ratios) <= 1.03


@pytest.mark.parametrize("seed", range(3))
def test_chain_of_parts_is_assigned_nearly_in_order(seed: int) -> None:
    """Twelve parts in a row have random ids; in the best order, every edge costs 1."""
    order = np.random.default_rng(seed).permutation(12).astype(np.int32)
    line = np.abs(np.subtract.outer(np.arange(12), np.arange(12)))
    graph, parts = path(60), order[np.arange(60) // 5]
    best = 2 * 11
    assert cost_of(graph, parts, line) > 3 * best
    assert cost_of(graph, assign(graph, parts, line), line) <= 1.7 * best


def test_assignment_uses_distances() -> None:
    """On two processors with two PEs each, neighbours of a ring of four parts share a processor."""
    distances = np.array([[0, 9, 1, 9], [9, 0, 9, 1], [1, 9, 0, 9], [9, 1, 9, 0]])
    graph = cycle(4)
    found = assign(graph, np.arange(4, dtype=np.int32), distances)
    assert cost_of(graph, found, distances) == 2 * (1 + 1 + 9 + 9)


@pytest.mark.parametrize("k", [1, 4])
def test_graph_without_edges_is_assigned(k: int) -> None:
    assign(isolated(9), (np.arange(9) % k).astype(np.int32), random_distances(k, 1))
    assign(isolated(0), np.zeros(0, np.int32), random_distances(k, 1))


def test_large_costs_do_not_overflow() -> None:
    """The light edge gets the large distance, not a heavy one."""
    far = 2**31 - 1
    distances = np.array([[0, far, far, 1], [far, 0, 1, far], [far, 1, 0, far], [1, far, far, 0]])
    weights = np.array([2**29, 2**29, 1, 1, 2**29, 2**29], np.int32)
    graph = Graph(
        np.array([0, 1, 3, 5, 6], np.int32),
        np.array([1, 0, 2, 1, 3, 2], np.int32),
        weights,
        np.ones(4, np.int32),
    )
    found = assign(graph, np.arange(4, dtype=np.int32), distances)
    assert cost_of(graph, found, distances) == 2 * (2 * 2**29 + far)
