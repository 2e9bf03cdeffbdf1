"""Jetlp against a plain oracle of the paper's Algorithm 4.2, and the loop that drives it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jetpy.backends.base import Backend
from jetpy.backends.level import upload
from jetpy.generators import delaunay, grid
from jetpy.graph import Graph
from jetpy.metrics import edge_cut, part_weights
from jetpy.presets import preset
from jetpy.problem import pose
from jetpy.refinement.jet import Refinement
from jetpy.refinement.jetlp import LabelPropagation
from jetpy.refinement.orders import Task
from jetpy.refinement.state import RefinementState
from tests.graphs import SMALL_GRAPHS, random_graph, star
from tests.refinement.oracle import (
    check_state,
    connections,
    give_orders,
    on_host,
    parts_of,
    settle,
    state_of,
)
from tests.strategies import weighted_graphs


def neighbours_of(graph: Graph, v: int) -> list[tuple[int, int]]:
    row = slice(graph.indptr[v], graph.indptr[v + 1])
    return list(zip(graph.indices[row].tolist(), graph.edge_weights[row].tolist(), strict=True))


def moves_of_the_paper(
    graph: Graph, parts: np.ndarray, best: np.ndarray, locked: set[int], ratio: int
) -> dict[int, int]:
    """Vertices that move, and where to; the destinations must be among the best."""
    gains: dict[int, int] = {}
    for v, row in enumerate(connections(graph, parts)):
        if v in locked:
            continue
        own = row.pop(int(parts[v]), 0)
        if not row:
            assert best[v] in (-1, -3)
            continue
        assert row.get(int(best[v])) == max(row.values())
        gain = row[int(best[v])] - own
        if gain >= 0 or -gain < own * ratio // 100:
            gains[v] = gain
    moving = {}
    for v, gain in gains.items():
        total = 0
        for u, w in neighbours_of(graph, v):
            first = u in gains and (gains[u] > gain or (gains[u] == gain and u < v))
            p = best[u] if first else parts[u]
            total += w * (int(p == best[v]) - int(p == parts[v]))
        if total >= 0:
            moving[v] = int(best[v])
    return moving


def check_iterations(
    backend: Backend, graph: Graph, parts: object, k: int, ratio: int, iterations: int = 4
) -> int:
    """Compare some iterations with the oracle; return how many vertices moved."""
    state = state_of(backend, graph, parts, k)
    propagation = LabelPropagation(state)
    locked: set[int] = set()
    total = 0
    for iteration in range(1, iterations + 1):
        before = parts_of(state)
        give_orders(state, task=Task.PROPAGATE, ratio=ratio, salt=12345 + iteration, lock=iteration)
        propagation.launch()
        best = on_host(state, state.best)
        expected = moves_of_the_paper(graph, before, best, locked, ratio)
        state.launch_update()
        moved = settle(state)
        for v, p in expected.items():
            before[v] = p
        assert parts_of(state).tolist() == before.tolist()
        assert moved == len(expected)
        check_state(state, graph)
        locked = set(expected)
        total += moved
    return total


@settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    graph=weighted_graphs(most=24),
    k=st.integers(2, 7),
    ratio=st.sampled_from([0, 25, 75, 100]),
    seed=st.integers(0, 10**6),
)
def test_jetlp_is_that_of_the_paper(
    backend: Backend, graph: Graph, k: int, ratio: int, seed: int
) -> None:
    parts = np.random.default_rng(seed).integers(0, k, graph.n)
    check_iterations(backend, graph, parts, k, ratio)


@pytest.mark.parametrize("k", [2, 30])
def test_jetlp_on_larger_graphs(threaded: Backend, k: int) -> None:
    graph = random_graph(2500, 8000, 1, weighted=True)
    assert check_iterations(threaded, graph, np.arange(2500) % k, k, 25) > 100
    assert check_iterations(threaded, graph, np.arange(2500) * k // 2500, k, 75) > 100


def test_jetlp_with_a_hub_of_several_pieces(backend: Backend) -> None:
    graph = star(3000)
    assert check_iterations(backend, graph, np.arange(3001) % 3, 3, 25) > 100


def propagate(state: RefinementState, ratio: int, iteration: int) -> None:
    give_orders(state, task=Task.PROPAGATE, ratio=ratio, salt=iteration, lock=iteration)
    LabelPropagation(state).launch()
    state.launch_update()
    settle(state)


def test_moved_vertices_stay_for_one_iteration(backend: Backend) -> None:
    state = state_of(backend, grid(20, 20), np.random.default_rng(0).integers(0, 4, 400), 4)
    last: set[int] = set()
    moved_again = False
    ever: set[int] = set()
    for iteration in range(1, 10):
        before = parts_of(state)
        propagate(state, 75, iteration)
        moved = set(np.flatnonzero(before != parts_of(state)).tolist())
        assert not moved & last
        moved_again |= bool(moved & ever)
        last, ever = moved, ever | moved
    assert moved_again


def test_jetlp_lowers_the_cut_of_a_random_partition(backend: Backend) -> None:
    state = state_of(backend, grid(40, 40), np.random.default_rng(0).integers(0, 4, 1600), 4)
    before = state.measures.cut
    for iteration in range(1, 6):
        propagate(state, 25, iteration)
    assert state.measures.cut < before / 2


# The loop


def check_refined(backend: Backend, graph: Graph, start: np.ndarray, k: int, name: str) -> None:
    problem = pose(graph.total_vertex_weight, k, 0.03, 3, preset(name))
    heaviest = part_weights(graph, start, k).max()
    cut = edge_cut(graph, start)
    refinement = Refinement(backend, upload(backend, graph), problem)
    for finest in (False, True):
        given = backend.from_host(start.astype(np.int32))
        refined = refinement.refine(given, finest=finest)
        parts = backend.to_host(refined.parts)
        assert refined.cut_before == cut
        assert refined.measures.cut == edge_cut(graph, parts)
        assert refined.measures.heaviest == part_weights(graph, parts, k).max()
        assert refined.iterations >= problem.options.refine.patience
        if heaviest <= problem.limit:
            assert refined.measures.heaviest <= problem.limit
            assert refined.measures.cut <= cut
        else:
            assert refined.measures.heaviest <= heaviest


@pytest.mark.parametrize("k", [2, 3, 7])
@pytest.mark.parametrize("name", [n for n in SMALL_GRAPHS if n != "empty"])
def test_small_graphs_get_no_worse(backend: Backend, name: str, k: int) -> None:
    graph = SMALL_GRAPHS[name]()
    check_refined(backend, graph, np.arange(graph.n) % k, k, "default")
    check_refined(backend, graph, np.zeros(graph.n, np.int32), k, "default")


@settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    graph=weighted_graphs(least=4, most=40),
    k=st.integers(2, 5),
    seed=st.integers(0, 10**6),
    name=st.sampled_from(["default", "fast", "ultra"]),
)
def test_random_graphs_get_no_worse(
    backend: Backend, graph: Graph, k: int, seed: int, name: str
) -> None:
    start = np.random.default_rng(seed).integers(0, k, graph.n)
    check_refined(backend, graph, start, k, name)


@pytest.mark.parametrize("k", [2, 9, 64])
def test_larger_graphs_get_better(backend: Backend, k: int) -> None:
    graph = delaunay(4000)
    problem = pose(graph.n, k, 0.03, 0, preset("default"))
    for start in (np.arange(graph.n) % k, np.arange(graph.n) * k // graph.n, np.zeros(graph.n)):
        parts = start.astype(np.int32)
        given = backend.from_host(parts.copy())
        refinement = Refinement(backend, upload(backend, graph), problem)
        refined = refinement.refine(given, finest=True)
        assert refined.measures.heaviest <= problem.limit
        if start.any():
            assert refined.measures.cut < 0.7 * edge_cut(graph, parts)
