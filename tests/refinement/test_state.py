"""Incremental updates of connectivity table, cut and part weights equal values from scratch."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jetpy.engines.base import Backend
from jetpy.graph.csr import Graph
from jetpy.graph.generators import grid, rmat
from jetpy.refinement.state import RefinementState
from jetpy.workloads.common.control_block import COUNTER_GAP, COUNTER_STRIPES, Counter, Task
from jetpy.workloads.refinement.connectivity import FEW
from tests.graphs import SMALL_GRAPHS, clique, random_graph, star
from tests.refinement.oracle import (
    LINE,
    activate_all,
    check_state,
    finish_iteration,
    on_host,
    parts_of,
    problem_of,
    set_control,
    state_of,
)
from tests.strategies import weighted_graphs


def move(state: RefinementState, vertices: np.ndarray, destinations: np.ndarray) -> None:
    """Move vertices to destinations that differ from their parts."""
    backend = state.backend
    parts = parts_of(state)
    parts[vertices] = destinations
    state.partition.previous[:] = state.partition.parts
    state.partition.parts[:] = backend.from_host(parts)
    activate_all(state)
    counters, vertex_weights = state.dual.counters.host, on_host(state, state.graph.vertex_weights)
    state.dual.part_weights.host[:] = np.bincount(parts, vertex_weights, state.partition.k)
    lists = np.zeros((COUNTER_STRIPES, state.moves.list_size), np.int32)
    for v in vertices:
        stripe = (v >> state.moves.stripe_bits) % COUNTER_STRIPES
        place = Counter.MOVED + stripe * COUNTER_GAP
        lists[stripe, counters[place]] = v
        counters[place] += 1
    state.moves.moved[:] = backend.from_host(lists.ravel())
    backend.sync_device(state.dual.counters)
    backend.sync_device(state.dual.part_weights)
    set_control(state, task=Task.REBALANCE_WEAKLY)
    state.launch_update()
    assert finish_iteration(state) == len(vertices)


def move_at_random(state: RefinementState, count: int, rng: np.random.Generator) -> None:
    vertices = rng.permutation(state.graph.n)[:count]
    before = parts_of(state)
    other = (
        before[vertices] + rng.integers(1, state.partition.k, len(vertices))
    ) % state.partition.k
    move(state, vertices, other)
    before[vertices] = other
    assert (parts_of(state) == before).all()


@pytest.mark.parametrize("k", [2, 3, 7, 40])
@pytest.mark.parametrize("name", SMALL_GRAPHS)
def test_state_equals_values_from_scratch_on_small_graphs(
    backend: Backend, name: str, k: int
) -> None:
    """Rows are indexed by part if the degree is high compared with k, otherwise lists."""
    graph = SMALL_GRAPHS[name]()
    state = state_of(backend, graph, np.arange(graph.n) % k, k)
    check_state(state, graph)
    rng = np.random.default_rng(k)
    for count in (1, graph.n // 10, graph.n // 2, graph.n):
        move_at_random(state, min(count, graph.n), rng)
        check_state(state, graph)


@settings(max_examples=60)
@given(
    graph=weighted_graphs(least=10, most=30),
    k=st.integers(2, 12),
    counts=st.lists(st.integers(0, 5), min_size=1, max_size=8),
    seed=st.integers(0, 10**6),
    distances=st.sampled_from([None, LINE]),
)
def test_state_equals_values_from_scratch_after_random_moves(
    backend: Backend,
    graph: Graph,
    k: int,
    counts: list[int],
    seed: int,
    distances: np.ndarray | None,
) -> None:
    """Up to n / 10 moves update rows; more moves rebuild them."""
    rng = np.random.default_rng(seed)
    problem = problem_of(graph, k, distances=distances)
    state = state_of(backend, graph, rng.integers(0, k, graph.n), k, problem)
    for count in counts:
        move_at_random(state, count, rng)
        check_state(state, graph)


@pytest.mark.parametrize("k", [2, 17, 100])
@pytest.mark.parametrize(
    "graph",
    [
        grid(40, 40),
        rmat(11, 4),
        star(2000),
        random_graph(1200, 3500, 1, True),
        random_graph(500, 12000, 2, True),
    ],
    ids=str,
)
def test_state_equals_values_from_scratch_on_large_graphs(
    threaded: Backend, graph: Graph, k: int
) -> None:
    """Whole regions move at once with several threads, so that they contend for rows."""
    rng = np.random.default_rng(k)
    state = state_of(threaded, graph, np.arange(graph.n) * k // graph.n, k)
    check_state(state, graph)
    for count in (graph.n // 11, graph.n // 11, graph.n // 4, graph.n // 11):
        move_at_random(state, count, rng)
    check_state(state, graph)
    first = np.flatnonzero(parts_of(state) != k - 1)[: graph.n // 12]  # a region moves to one part
    move(state, first, np.full(len(first), k - 1))
    check_state(state, graph)


@pytest.mark.parametrize("k", [2, 40, 3000])
def test_state_equals_values_from_scratch_with_long_rows(backend: Backend, k: int) -> None:
    graph = star(2500)
    rng = np.random.default_rng(k)
    problem = problem_of(graph, k, distances=LINE if k <= len(LINE) else None)
    state = state_of(backend, graph, rng.integers(0, k, graph.n), k, problem)
    check_state(state, graph)
    for count in (10, graph.n // 5, graph.n):
        move_at_random(state, count, rng)
        check_state(state, graph)


def test_free_slots_are_reused(backend: Backend) -> None:
    """Vertices visit every part, so rows would run out of slots."""
    graph = random_graph(100, 300, 2, weighted=True)
    state = state_of(backend, graph, np.zeros(100), 50)
    for target in (*range(1, 50), 0):
        for start in range(0, 100, 10):
            some = np.arange(start, start + 10)
            move(state, some, np.full(10, target))
        check_state(state, graph)
    assert state.measures.cut == 0


def narrow_rows(state: RefinementState) -> int:
    """Return the number of rows that begin with a small hash table."""
    return int((on_host(state, state.table.rows) < 0).sum())


@pytest.mark.parametrize("k", [17, 40])
def test_narrow_rows_take_more_parts_than_their_hash_table(backend: Backend, k: int) -> None:
    """Few vertices move at a time, so that rows are updated, and rebuilt only at the start.

    Rows that lanes build are not narrow.
    """
    graph = clique(60)
    state = state_of(backend, graph, np.zeros(60), k)
    narrow = 0 if state.graph.long_rows.fine.count else 60
    assert narrow_rows(state) == narrow
    for v in range(0, 60, 5):  # each row gets all parts
        move(state, np.arange(v, v + 5), 1 + np.arange(v, v + 5) % (k - 1))
        check_state(state, graph)
    for v in range(0, 60, 6):  # its slots are freed and taken again
        move(state, np.arange(v, v + 6), np.full(6, 0))
        check_state(state, graph)
    assert narrow_rows(state) == narrow
    for parts, expected in ((np.arange(60) % k, 0), (np.arange(60) * FEW // 60, narrow)):
        state.start(backend.from_host(parts.astype(np.int32)))
        check_state(state, graph)
        assert narrow_rows(state) == expected


@settings(max_examples=40)
@given(
    n=st.integers(24, 50),
    k=st.integers(17, 50),
    used=st.integers(1, 12),
    counts=st.lists(st.integers(1, 8), min_size=1, max_size=10),
    seed=st.integers(0, 10**6),
    distances=st.sampled_from([None, LINE]),
)
def test_long_rows_equal_values_from_scratch_after_random_moves(
    backend: Backend,
    n: int,
    k: int,
    used: int,
    counts: list[int],
    seed: int,
    distances: np.ndarray | None,
) -> None:
    """Up to 12 of up to 50 parts are used at the start, so that narrow rows are built, and grow."""
    rng = np.random.default_rng(seed)
    graph = random_graph(n, 10 * n, seed, weighted=True)
    problem = problem_of(graph, k, distances=distances)
    state = state_of(backend, graph, rng.integers(0, min(used, k), n), k, problem)
    for count in counts:
        move_at_random(state, count, rng)
        check_state(state, graph)


def test_empty_list_of_moves_changes_nothing(backend: Backend) -> None:
    graph = grid(5, 5)
    state = state_of(backend, graph, np.arange(25) % 3, 3)
    parts = parts_of(state)
    move(state, np.empty(0, np.int32), np.empty(0, np.int32))
    assert (parts_of(state) == parts).all()
    check_state(state, graph)


def test_start_replaces_the_parts(backend: Backend) -> None:
    graph = random_graph(60, 200, 3, weighted=True)
    state = state_of(backend, graph, np.arange(60) % 4, 4)
    move_at_random(state, 20, np.random.default_rng(0))
    parts = (np.arange(60) % 3).astype(np.int32)
    state.start(backend.from_host(parts.copy()))
    assert (parts_of(state) == parts).all()
    check_state(state, graph)
