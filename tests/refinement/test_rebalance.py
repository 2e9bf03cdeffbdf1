"""Rebalancing: evicted vertices, their destinations, and the resulting balance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import jetpy
from jetpy.choices import RebalanceBy
from jetpy.device.device_graph import upload
from jetpy.engines.base import Backend
from jetpy.graph.csr import Graph
from jetpy.graph.generators import cube, delaunay, grid
from jetpy.problem.metrics import part_weights
from jetpy.problem.options import Options, RefineOptions
from jetpy.problem.problem import EDGE_CUT, Metric, Problem
from jetpy.refinement import rebalance as rebalancing
from jetpy.refinement.jet import Refinement
from jetpy.refinement.state import RefinementState
from jetpy.workloads.common.control_block import Counter, Tasks
from tests.graphs import from_edges, heavy_edges, isolated, path, random_graph, star
from tests.refinement.oracle import (
    LINE,
    activate_all,
    check_state,
    finish_iteration,
    on_host,
    parts_of,
)
from tests.strategies import weighted_graphs

ON_A_LINE = Metric(1, LINE[:3, :3].ravel().astype(np.int32))
UNIT_GRAPHS = [grid(25, 25), delaunay(700), star(300), isolated(200), path(1100)]


def limit_of(graph: Graph, k: int, imbalance: float = 0.03) -> int:
    return int(-(-graph.total_vertex_weight // k) * (1 + imbalance))


def without_edges_between(graph: Graph, group: np.ndarray) -> Graph:
    sources = graph.sources(0, graph.n)
    inside = group[sources] == group[graph.indices]
    edges = zip(sources[inside].tolist(), graph.indices[inside].tolist(), strict=True)
    return from_edges(graph.n, [(u, v) for u, v in edges if u < v])


def check_moves(state: RefinementState, before: np.ndarray, limit: int, moved: int) -> None:
    """Check that only overweight parts lost vertices and only parts below the limit gained any."""
    weights = np.bincount(before, on_host(state, state.graph.vertex_weights), state.partition.k)
    after = parts_of(state)
    changed = before != after
    assert moved == changed.sum()
    assert (weights[before[changed]] > limit).all()
    assert (weights[after[changed]] < limit).all()


def rebalance(
    backend: Backend,
    graph: Graph,
    parts: object,
    k: int,
    kind: str,
    limit: int,
    seed: int = 1,
    options: Mapping[str, Any] | None = None,
    **other: Any,
) -> tuple[RefinementState, int]:
    """Run one iteration; return the state and the number of moves."""
    refine = RefineOptions(weak_rounds=1 if kind == "weak" else 0).changed(options or {})
    problem = Problem(
        k, 0.0, graph.total_vertex_weight, limit, seed, Options(refine=refine), **other
    )
    refinement = Refinement(backend, upload(backend, graph), problem)
    state = refinement.state
    refinement.start(backend.from_host(np.array(parts, np.int32)), 25, 0.999, None)
    make_iteration(refinement)
    assert refinement.wait_and_serve()
    backend.sync_host(state.dual.counters)
    backend.synchronize()
    if state.dual.counters.host[Counter.TOO_FEW]:
        make_iteration(refinement)  # with more active vertices
        assert refinement.wait_and_serve()
    return state, finish_iteration(state)


def make_iteration(refinement: Refinement) -> None:
    """Run one iteration; captured launches would continue on back ends with lists."""
    if not refinement.backend.is_asynchronous:
        refinement.launch(Tasks.REBALANCING)
    else:
        refinement.iterate(Tasks.REBALANCING)


@pytest.mark.parametrize("kind", ["weak", "strong"])
@settings(max_examples=60)
@given(graph=weighted_graphs(least=2, most=30), k=st.integers(2, 6), seed=st.integers(0, 10**6))
def test_rebalancing_moves_only_from_overweight_parts(
    backend: Backend, kind: str, graph: Graph, k: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    before = np.minimum(rng.integers(0, 2 * k, graph.n), k - 1).astype(np.int32)
    limit = limit_of(graph, k)
    old = part_weights(graph, before, k)
    assume((old > limit).any())
    state, moved = rebalance(backend, graph, before, k, kind, limit, seed)
    check_state(state, graph)
    check_moves(state, before, limit, moved)
    assert (state.measures.part_weights[old > limit] <= old[old > limit]).all()


@pytest.mark.parametrize("k", [2, 5, 40])
@pytest.mark.parametrize("graph", UNIT_GRAPHS, ids=str)
def test_weak_rebalancing_brings_overweight_parts_to_the_limit(
    backend: Backend, graph: Graph, k: int
) -> None:
    """With unit weights, each overweight part fits afterwards; other parts may not."""
    before = np.minimum(np.arange(graph.n) // 3, k - 1).astype(np.int32)
    limit = limit_of(graph, k)
    overweight = part_weights(graph, before, k) > limit
    assert overweight.any()
    state, moved = rebalance(backend, graph, before, k, "weak", limit)
    check_state(state, graph)
    check_moves(state, before, limit, moved)
    assert (state.measures.part_weights[overweight] == limit).all()


@pytest.mark.parametrize("imbalance", [0, 0.03, 0.5])
@pytest.mark.parametrize("k", [2, 5, 40])
@pytest.mark.parametrize("graph", UNIT_GRAPHS, ids=str)
def test_strong_rebalancing_makes_every_part_fit(
    backend: Backend, graph: Graph, k: int, imbalance: float
) -> None:
    before = np.minimum(np.arange(graph.n) // 3, k - 1).astype(np.int32)
    limit = limit_of(graph, k, imbalance)
    state, moved = rebalance(backend, graph, before, k, "strong", limit)
    check_state(state, graph)
    check_moves(state, before, limit, moved)
    assert state.measures.part_weights.max() <= limit


def test_strong_rebalancing_over_many_tiles_of_vertices(backend: Backend) -> None:
    graph = grid(300, 300)
    before = np.arange(graph.n) % 7 // 3
    limit = limit_of(graph, 4, 0)
    state, moved = rebalance(backend, graph, before, 4, "strong", limit)
    check_moves(state, before, limit, moved)
    assert state.measures.part_weights.max() <= limit


@pytest.mark.parametrize("kind", ["weak", "strong"])
def test_number_of_bits_per_digit_changes_nothing(
    backend: Backend, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same vertices leave for any number of id bits that are found at a time."""
    graph = delaunay(6000)
    before = np.minimum(np.arange(graph.n) * 7919 % 5, 2)
    found = []
    for most in (1, 2, 5, 8):
        monkeypatch.setattr(rebalancing, "MAX_HALF_BITS", most)
        state, moved = rebalance(backend, graph, before, 4, kind, limit_of(graph, 4))
        assert moved > 0
        assert rebalancing._half_bits(graph.n, 4) == min(most, 6)
        found.append(parts_of(state).tolist())
    assert found == found[:1] * 4


@pytest.mark.parametrize(
    ("n", "k"), [(1, 1), (5, 9), (1000, 1000), (100_000, 30_000), (10_000, 2), (2**31 - 1, 16)]
)
def test_number_of_digit_counters_is_bounded(n: int, k: int) -> None:
    """There are at most 1,024 per part, and at most 8 per vertex or part."""
    counters = k << 2 * rebalancing._half_bits(n, k)
    assert 4 * k <= counters <= min(1024 * k, 8 * max(n, k))


@pytest.mark.parametrize("first", [0, 1])
def test_strong_rebalancing_after_another_start(backend: Backend, first: int) -> None:
    """Vertices evicted before a start, from parts without active vertices, do not count.

    If few vertices are active at first, launches are captured again when there are more.
    """
    graph = grid(300, 300)
    limit = graph.n // 4
    options = Options(refine=RefineOptions(weak_rounds=0))
    problem = Problem(4, 0.0, limit, limit, 1, options)
    refinement = Refinement(backend, upload(backend, graph), problem)
    state = refinement.state
    sizes = [limit, limit + 100, limit - 50, limit - 50]
    starts = [np.arange(graph.n) % 7 // 3, np.repeat(np.arange(4), sizes)]
    for before in (starts[first], starts[1 - first]):
        parts = before.astype(np.int32)
        refinement.start(backend.from_host(parts), 25, 0.999, None)
        refinement.iterate(Tasks.REBALANCING)
        assert refinement.wait_and_serve()
        check_moves(state, before, limit, finish_iteration(state))
        assert state.measures.part_weights.tolist() == [limit] * 4


def test_strong_rebalancing_exceeds_the_limit_by_at_most_one_vertex(backend: Backend) -> None:
    graph = random_graph(1000, 3000, 1, weighted=True)
    limit = limit_of(graph, 8)
    state, moved = rebalance(backend, graph, np.zeros(1000), 8, "strong", limit)
    assert moved > 0
    check_state(state, graph)
    assert state.measures.part_weights.max() <= limit + graph.vertex_weights.max()


@pytest.mark.parametrize("kind", ["weak", "strong"])
def test_tied_vertices_without_adjacent_parts_stay(backend: Backend, kind: str) -> None:
    """Two vertices of part 0 are too many; all but vertex 5 are in a clique, active or not."""
    clique = [(u, v) for u in range(5) for v in range(u)]
    graph = from_edges(8, [*clique, (4, 5), (5, 6)], [100] * len(clique) + [1, 1])
    options = Options(refine=RefineOptions(weak_rounds=1 if kind == "weak" else 0))
    refinement = Refinement(backend, upload(backend, graph), Problem(2, 0.0, 0, 4, 1, options))
    state = refinement.state
    refinement.start(backend.from_host(np.array([0] * 6 + [1] * 2, np.int32)), 25, 0.999, None)
    activate_all(state)
    make_iteration(refinement)
    backend.sync_host(state.dual.counters)
    backend.synchronize()
    assert state.dual.counters.host[Counter.TOO_FEW] == 1
    assert finish_iteration(state) == 0


def test_weak_rebalancing_evicts_with_the_least_loss(backend: Backend) -> None:
    """On a path in two parts, vertices at the cut leave first."""
    graph = path(100)
    state, moved = rebalance(backend, graph, np.arange(100) >= 70, 2, "weak", 69)
    assert moved == 1
    assert parts_of(state).tolist() == [0] * 69 + [1] * 31
    assert state.measures.cut == 1


def test_weak_rebalancing_prefers_the_best_valid_destination(backend: Backend) -> None:
    """Vertices 1, 2 and 3 have edges of weight 1 to their part, heavier ones to 8 and 9."""
    edges = [(0, 1), (0, 2), (0, 3), (1, 8), (1, 9), (2, 8), (3, 9)]
    graph = from_edges(10, edges, [1, 1, 1, 5, 7, 9, 9])
    state, moved = rebalance(backend, graph, [0, 0, 0, 0, 0, 0, 0, 0, 1, 2], 3, "weak", 5)
    assert moved == 3
    assert parts_of(state)[1:4].tolist() == [2, 1, 2]


@pytest.mark.parametrize(
    ("weight", "check_room", "expected"), [(3, True, 1), (4, True, 2), (6, True, 2), (6, False, 1)]
)
def test_weak_rebalancing_prefers_parts_with_room(
    backend: Backend, weight: int, check_room: bool, expected: int
) -> None:
    """Vertex 1 has weight 7 to part 1, which has room for 3, and 5 to part 2: room for 6.

    Without a check of the room, the part only has to be a valid destination.
    """
    graph = from_edges(4, [(1, 2), (1, 3)], [7, 5], [10, weight, 7, 4])
    options = {"check_room": check_room}
    state, moved = rebalance(backend, graph, [0, 0, 1, 2], 3, "weak", 10, 1, options)
    assert moved == 1
    assert parts_of(state)[1] == expected


@pytest.mark.parametrize("kind", ["weak", "strong"])
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("roomy", [1, 2, 3])
def test_heavy_vertices_go_to_parts_with_room(
    backend: Backend, kind: str, seed: int, roomy: int
) -> None:
    """Vertex 0 must leave part 0, and only one part has room for it; there are no edges."""
    loads = np.where(np.arange(1, 4) == roomy, 138, 188)
    graph = from_edges(5, [], [], [50, 190, *loads])
    state, moved = rebalance(backend, graph, [0, 0, 1, 2, 3], 4, kind, 200, seed)
    assert moved == 1
    assert parts_of(state).tolist() == [roomy, 0, 1, 2, 3]


@pytest.mark.parametrize(("k", "preset"), [(16, "fast"), (32, "default")])
def test_a_few_heavy_vertices_hardly_raise_the_cut(k: int, preset: Any) -> None:
    """One vertex in 20 weighs 50, as in simulations of several kinds of physics."""
    mesh = cube(20, 20, 20)
    heavy = np.where(np.random.default_rng(1).random(mesh.n) < 0.05, 50, 1)
    uneven = replace(mesh, vertex_weights=heavy.astype(np.int32))
    even, own = (
        sum(jetpy.partition(graph, k, preset=preset, seed=seed, threads=1).cut for seed in (0, 1))
        for graph in (mesh, uneven)
    )
    assert own <= 1.08 * even


@pytest.mark.parametrize("kind", ["weak", "strong"])
def test_heavy_vertices_leave_even_if_no_part_has_room(backend: Backend, kind: str) -> None:
    graph = from_edges(5, [], [], [50, 190, 188, 188, 188])
    state, moved = rebalance(backend, graph, [0, 0, 1, 2, 3], 4, kind, 200)
    assert moved == 1
    assert parts_of(state)[0] > 0


@settings(max_examples=60)
@given(
    weights=st.lists(st.integers(1, 40), min_size=4, max_size=30),
    k=st.integers(2, 6),
    seed=st.integers(0, 10**6),
)
def test_strong_rebalancing_fills_parts_to_the_average(
    backend: Backend, weights: list[int], k: int, seed: int
) -> None:
    """Evicted vertices go where their middles lie in the list of spare weights, or stay.

    If half of a vertex does not fit there, it goes to the next part where it does. Without edges,
    parts evict in order of id.
    """
    graph = from_edges(len(weights), [], [], weights)
    rng = np.random.default_rng(seed)
    before = np.minimum(rng.integers(0, 2 * k, graph.n), k - 1)
    loads = np.bincount(before, weights, k).astype(int).tolist()
    total, limit = graph.total_vertex_weight, limit_of(graph, k, 0.1)
    room = [max(min(-(-total // k) + 1, limit) - load, 0) for load in loads]
    excess = [max(load - limit, 0) for load in loads]
    evicted = []
    for v, p in enumerate(before.tolist()):
        if excess[p] > 0 and weights[v] <= max(3 * (k * loads[p] - total) // (2 * k), 1):
            evicted.append(v)
            excess[p] -= weights[v]
    expected, ends, start = before.copy(), np.cumsum(room), 0
    for v in evicted:
        middle = start + weights[v] // 2
        start += weights[v]
        if middle < ends[-1]:
            p = int(np.searchsorted(ends, middle, "right"))
            after = (q for q in [*range(p, k), *range(p)] if room[q] >= max(weights[v] // 2, 1))
            expected[v] = next(after, before[v])
    options = {"strong_fill": "average"}
    state, moved = rebalance(backend, graph, before, k, "strong", limit, 1, options)
    assert parts_of(state).tolist() == expected.tolist()
    assert moved == (expected != before).sum()


@pytest.mark.parametrize(
    ("metric", "by", "expected"),
    [(EDGE_CUT, "cost", 2), (ON_A_LINE, "cost", 1), (ON_A_LINE, "cut", 2)],
)
def test_weak_prefers_where_edges_cost_least(
    backend: Backend, metric: Metric, by: RebalanceBy, expected: int
) -> None:
    """Vertex 1 has edges of weight 4 to part 0, which it must leave, of 2 to 1 and of 3 to 2.

    Rebalancing by cut takes all distances to be equal.
    """
    edges = [(0, 1), (1, 4), (1, 5), (0, 2), (0, 3)]
    graph = from_edges(6, edges, [4, 2, 3, 9, 9])
    state, moved = rebalance(
        backend, graph, [0, 0, 0, 0, 1, 2], 3, "weak", 3, 1, {"rebalance_by": by}, metric=metric
    )
    check_state(state, graph)
    assert moved == 1
    assert parts_of(state)[1] == expected


@pytest.mark.parametrize("kind", ["weak", "strong"])
@pytest.mark.parametrize("graph", UNIT_GRAPHS, ids=str)
def test_groups_are_rebalanced_separately(backend: Backend, graph: Graph, kind: str) -> None:
    """Three groups of four parts with different sizes and limits equal separate problems."""
    group = np.minimum(np.arange(graph.n) * 6 // graph.n, 2)
    graph = without_edges_between(graph, group)
    before = 4 * group + np.minimum(np.arange(graph.n) % 7, 3)
    weights = part_weights(graph, group, 3)
    limits = -(-weights // 4) + 2
    state, moved = rebalance(
        backend,
        graph,
        before,
        12,
        kind,
        int(limits.min()),
        groups=3,
        part_limits=np.repeat(limits, 4),
    )
    check_state(state, graph)
    after = parts_of(state)
    assert moved == (before != after).sum() > 0
    assert (after // 4 == group).all()
    old, new = part_weights(graph, before, 12), part_weights(graph, after, 12)
    overweight = old > np.repeat(limits, 4)
    if kind == "strong":
        assert (new <= np.repeat(limits, 4)).all()
    else:
        assert (new[overweight] == np.repeat(limits, 4)[overweight]).all()


@pytest.mark.parametrize("kind", ["weak", "strong"])
def test_balanced_or_full_parts_are_unchanged(backend: Backend, kind: str) -> None:
    graph = grid(10, 10)
    none_open = np.arange(100) % 4
    assert rebalance(backend, graph, none_open, 4, kind, 24)[1] == 0
    full = none_open // 3
    state, moved = rebalance(backend, graph, full, 2, kind, 10)
    assert moved == 0
    assert (parts_of(state) == full).all()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("kind", ["weak", "strong"])
def test_plan_does_not_overflow_near_2_to_the_31(backend: Backend, kind: str) -> None:
    """Parts weigh nearly 2**31."""
    graph = heavy_edges()
    state, moved = rebalance(backend, graph, [0, 0, 0], 7, kind, limit_of(graph, 7))
    assert moved > 0
    check_state(state, graph)
