"""Jetlp (Algorithm 4.2 of the paper), compared with an oracle, and its loop."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jetpy.device.device_graph import upload
from jetpy.engines.base import Backend
from jetpy.graph.csr import Graph
from jetpy.graph.generators import delaunay, grid
from jetpy.problem.metrics import edge_cut, part_weights
from jetpy.problem.presets import PRESETS, choose, preset
from jetpy.problem.problem import Problem, make_problem
from jetpy.refinement.jet import Refinement
from jetpy.refinement.jetlp import Inflow, LabelPropagation
from jetpy.refinement.methods import REFINEMENTS
from jetpy.refinement.state import RefinementState
from jetpy.workloads.common.control_block import Control, Task
from jetpy.workloads.common.groups import INACTIVE, NO_PART, UNWANTED
from jetpy.workloads.common.striped_counters import APART
from jetpy.workloads.refinement.jetlp import ALL, cap_inflow
from jetpy.workloads.refinement.losses import BUCKETS
from tests.graphs import SMALL_GRAPHS, from_edges, random_graph, star
from tests.hashing import mix
from tests.refinement.oracle import (
    LINE,
    cached_by_content,
    check_state,
    connections,
    distance,
    finish_iteration,
    on_host,
    parts_of,
    problem_of,
    set_control,
    state_of,
)
from tests.strategies import weighted_graphs


def neighbours_of(graph: Graph, v: int) -> list[tuple[int, int]]:
    row = slice(graph.indptr[v], graph.indptr[v + 1])
    return list(zip(graph.indices[row].tolist(), graph.edge_weights[row].tolist(), strict=True))


def check_ties(
    graph: Graph, before: np.ndarray, best: np.ndarray, problem: Problem, seed: int
) -> None:
    """Check that a target has the largest hash among the cheapest parts."""
    for v, row in enumerate(connections(graph, before)):
        if best[v] >= 0:
            paid = {
                p: sum(w * distance(problem, p, q) for q, w in row.items())
                for p in row
                if p != before[v]
            }
            least = [p for p, cost in paid.items() if cost == min(paid.values())]
            assert best[v] == max(least, key=lambda p: mix((v ^ seed) + (p << 16)))


@cached_by_content
def expected_moves(
    graph: Graph,
    parts: np.ndarray,
    best: np.ndarray,
    locked: set[int],
    ratio: int,
    problem: Problem,
) -> dict[int, int]:
    """Return the moves of the paper; check that each destination is among the best.

    Without the afterburner, all proposed moves of positive gain are made (section 7.1.4). With
    different distances, the first filter compares with the cost of edges within the part.
    """
    gains: dict[int, int] = {}
    for v, row in enumerate(connections(graph, parts)):
        if v in locked:
            continue
        home = int(parts[v])
        others = set(row) - {home}
        if not others:
            assert best[v] in (NO_PART, INACTIVE)
            continue
        paid = {p: sum(w * distance(problem, p, q) for q, w in row.items()) for p in {home, *row}}
        gain = paid[home] - min(paid[p] for p in others)
        passing = {
            p: gain >= 0 or -gain < row.get(home, 0) * distance(problem, home, p) * ratio // 100
            for p in others
            if paid[p] == paid[home] - gain
        }
        if best[v] == UNWANTED:
            assert not all(passing.values())
        else:
            assert passing[int(best[v])]
            gains[v] = gain
    if not problem.options.refine.afterburner:
        return {v: int(best[v]) for v, gain in gains.items() if gain > 0}
    moving = {}
    for v, gain in gains.items():
        total = 0
        for u, w in neighbours_of(graph, v):
            first = u in gains and (gains[u] > gain or (gains[u] == gain and u < v))
            p = best[u] if first else parts[u]
            total += w * distance(problem, parts[v], p)
            total -= w * distance(problem, best[v], p)
        if total >= 0:
            moving[v] = int(best[v])
    return moving


def check_iterations(
    backend: Backend,
    graph: Graph,
    parts: object,
    k: int,
    ratio: int,
    problem: Problem | None = None,
) -> int:
    """Compare four iterations with the oracle and return the number of moves."""
    state = state_of(backend, graph, parts, k, problem)
    propagation = LabelPropagation(state)
    locked: set[int] = set()
    total = 0
    for iteration in range(1, 5):
        before = parts_of(state)
        set_control(
            state,
            task=Task.PROPAGATE,
            filter_ratio=ratio,
            iteration_seed=12345 + iteration,
            lock=iteration,
            locked_for=int(state.problem.options.refine.locks),
        )
        propagation.launch()
        best = on_host(state, state.vertices.targets)
        if iteration == 1:
            check_ties(graph, before, best, state.problem, 12345 + iteration)
        expected = expected_moves(graph, before, best, locked, ratio, state.problem)
        state.launch_update()
        moved = finish_iteration(state)
        for v, p in expected.items():
            before[v] = p
        assert parts_of(state).tolist() == before.tolist()
        assert moved == len(expected)
        check_state(state, graph)
        locked = set(expected) if state.problem.options.refine.locks else set()
        total += moved
    return total


@settings(max_examples=100)
@given(
    graph=weighted_graphs(most=24),
    k=st.integers(2, 7),
    ratio=st.sampled_from([0, 25, 75, 100]),
    seed=st.integers(0, 10**6),
    distances=st.sampled_from([None, LINE, 7 * LINE**2]),
    afterburner=st.booleans(),
    locks=st.booleans(),
)
def test_jetlp_equals_the_paper(
    backend: Backend,
    graph: Graph,
    k: int,
    ratio: int,
    seed: int,
    distances: np.ndarray | None,
    afterburner: bool,
    locks: bool,
) -> None:
    """Algorithm 4.2, and its components by themselves (section 7.1.4)."""
    parts = np.random.default_rng(seed).integers(0, k, graph.n)
    options = preset("default").changed({"refine.afterburner": afterburner, "refine.locks": locks})
    problem = problem_of(graph, k, distances=distances, options=options)
    check_iterations(backend, graph, parts, k, ratio, problem)


@pytest.mark.parametrize("k", [2, 30])
def test_jetlp_equals_the_paper_on_large_graphs(threaded: Backend, k: int) -> None:
    graph = random_graph(2200, 5000, 1, weighted=True)
    assert check_iterations(threaded, graph, np.arange(2200) % k, k, 25) > 100
    assert check_iterations(threaded, graph, np.arange(2200) * k // 2200, k, 75) > 100


@pytest.mark.parametrize("overfill", [None, 5])
def test_label_propagation_alone_on_a_star(backend: Backend, overfill: int | None) -> None:
    graph = star(3000)
    changes = {"refine.afterburner": False, "refine.locks": False, "refine.overfill": overfill}
    options = preset("default").changed(changes)
    problem = problem_of(graph, 3, options=options)
    assert check_iterations(backend, graph, np.arange(3001) % 3, 3, 0, problem) > 100


def test_jetlp_equals_the_paper_on_rows_of_several_chunks(backend: Backend) -> None:
    graph = star(3000)
    assert check_iterations(backend, graph, np.arange(3001) % 3, 3, 25) > 100
    problem = problem_of(graph, 3, distances=LINE)
    assert check_iterations(backend, graph, np.arange(3001) % 3, 3, 25, problem) > 100


@pytest.mark.parametrize("overfill", [0, 30])
def test_overfill_limits_the_inflow_of_parts(backend: Backend, overfill: int) -> None:
    """All leaves of a star gain by joining its centre; only those with the best gains move."""
    n, limit = 2001, 900
    edges = [(0, v) for v in range(1, n)]
    graph = from_edges(n, edges, [5 if v < n // 2 else 1 for _, v in edges])
    before = np.arange(n) % 4
    options = replace(preset("default").refine, overfill=overfill)
    problem = problem_of(graph, 4, options=replace(preset("default"), refine=options), limit=limit)
    state = state_of(backend, graph, before, 4, problem)
    set_control(state, task=Task.PROPAGATE, filter_ratio=25, iteration_seed=5, lock=1)
    LabelPropagation(state).launch()
    state.launch_update()
    assert finish_iteration(state) > 0
    check_state(state, graph)
    after = parts_of(state)
    moved, stayed = (
        np.flatnonzero(before != after),
        np.flatnonzero((before == after) & (before > 0)),
    )
    assert (after[moved] == before[0]).all()
    most = limit * (100 + overfill) // 100
    assert 0.9 * most < state.measures.part_weights.max() < 1.1 * most
    assert graph.edge_weights[graph.indptr[moved]].min() == 5
    assert graph.edge_weights[graph.indptr[stayed]].max() == 5


@pytest.mark.parametrize("has_lower_limits", [False, True])
@pytest.mark.parametrize(("stripes", "outgoing_stripes"), [(1, 1), (3, 3), (1, 4)])
def test_inflow_cap_equals_the_oracle(
    backend: Backend, stripes: int, outgoing_stripes: int, has_lower_limits: bool
) -> None:
    """A part admits the best gains that fit if all its moves happen, a full part none.

    With lower limits, a part allows as much to leave as keeps it near its own.
    """
    random = np.random.default_rng(stripes)
    k, overfill = 40, 10
    limits, weights = random.integers(1, 1000, k), random.integers(1, 1200, k)
    lower_limits = random.integers(0, 2, k) * random.integers(1, 1200, k)
    incoming = random.integers(0, 30, (stripes, k, BUCKETS)) * random.integers(0, 2, (k, BUCKETS))
    outgoing = random.integers(0, 100, (outgoing_stripes, k + APART))
    rooms = limits * (100 + overfill) // 100 - weights + outgoing[:, :k].sum(0)
    assert rooms.min() < 0 < rooms.max()
    cap = Inflow(
        ranks=backend.empty(0),
        incoming=backend.from_host(incoming.ravel().astype(np.int32)),
        outgoing=backend.from_host(outgoing.ravel().astype(np.int32)),
        lowest_ranks=backend.empty(k),
        shares=backend.empty(k, np.int64),
        most=backend.empty(k, np.int64),
        leaving=backend.full(k, ALL, np.int64),
        stripes=stripes,
        outgoing_stripes=outgoing_stripes,
        overfill=overfill,
    )
    control = np.zeros(len(Control), np.int64)
    control[Control.TASK] = Task.PROPAGATE
    control[Control.HAS_LOWER_LIMITS] = has_lower_limits
    partition = SimpleNamespace(
        limits=backend.from_host(np.concatenate([limits, lower_limits])),
        part_weights=backend.from_host(weights),
        k=k,
    )
    iteration = SimpleNamespace(control=backend.from_host(control))
    state = SimpleNamespace(partition=partition, iteration=iteration)
    backend.parallel_for(k, cap_inflow, state=state, cap=cap)
    lowest_ranks, shares = backend.to_host(cap.lowest_ranks), backend.to_host(cap.shares)
    wanted = incoming.sum(0)
    for p, room in enumerate(np.maximum(rooms, 0).tolist()):
        better = np.cumsum(wanted[p, ::-1])[::-1]
        lowest, share = 0, ALL
        if better[0] > room:
            lowest = np.flatnonzero(better > room)[-1]
            share = (room - better[lowest] + wanted[p, lowest]) * ALL // wanted[p, lowest]
        assert (lowest_ranks[p], shares[p]) == (lowest, share)
    left = outgoing[:, :k].sum(0)
    assert np.array_equal(backend.to_host(cap.most), np.maximum(rooms - left, 1))
    spare = weights - lower_limits * (100 - overfill) // 100
    allowed = np.where(left > spare, spare.clip(0) * ALL // left.clip(1), ALL)
    if not has_lower_limits:
        allowed[:] = ALL
    assert np.array_equal(backend.to_host(cap.leaving), np.where(lower_limits > 0, allowed, ALL))
    assert not np.any(backend.to_host(cap.incoming))
    assert not np.any(backend.to_host(cap.outgoing).reshape(outgoing_stripes, -1)[:, :k])


def test_vertices_without_room_stay(backend: Backend) -> None:
    """Vertex 0 gains most, but part 1 has room for 25 only, as long as none of its own leave."""
    graph = from_edges(4, [(0, 2), (1, 2), (2, 3)], [5, 4, 20], [40, 20, 40, 40])
    state = state_of(backend, graph, [0, 0, 1, 1], 2, problem_of(graph, 2, limit=100))
    propagate(state, 25, 1)
    assert parts_of(state).tolist() == [0, 1, 1, 1]


def propagate(state: RefinementState, ratio: int, iteration: int) -> None:
    set_control(
        state, task=Task.PROPAGATE, filter_ratio=ratio, iteration_seed=iteration, lock=iteration
    )
    LabelPropagation(state).launch()
    state.launch_update()
    finish_iteration(state)


def test_moved_vertices_are_locked_for_one_iteration(backend: Backend) -> None:
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
    problem = make_problem(graph.total_vertex_weight, k, 0.03, 3, preset(name))
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
def test_refinement_never_worsens_small_graphs(backend: Backend, name: str, k: int) -> None:
    graph = SMALL_GRAPHS[name]()
    check_refined(backend, graph, np.arange(graph.n) % k, k, "default")
    check_refined(backend, graph, np.zeros(graph.n, np.int32), k, "default")


@settings(max_examples=30)
@given(
    graph=weighted_graphs(least=4, most=40),
    k=st.integers(2, 5),
    seed=st.integers(0, 10**6),
    name=st.sampled_from(["default", "fast", "ultra"]),
)
def test_refinement_never_worsens_random_graphs(
    backend: Backend, graph: Graph, k: int, seed: int, name: str
) -> None:
    start = np.random.default_rng(seed).integers(0, k, graph.n)
    check_refined(backend, graph, start, k, name)


@pytest.mark.parametrize("k", [2, 9, 64])
def test_refinement_improves_larger_graphs(backend: Backend, k: int) -> None:
    graph = delaunay(800)
    problem = make_problem(graph.n, k, 0.03, 0, preset("default"))
    for start in (np.arange(graph.n) % k, np.arange(graph.n) * k // graph.n, np.zeros(graph.n)):
        parts = start.astype(np.int32)
        given = backend.from_host(parts.copy())
        refinement = Refinement(backend, upload(backend, graph), problem)
        refined = refinement.refine(given, finest=True)
        assert refined.measures.heaviest <= problem.limit
        if start.any():
            assert refined.measures.cut < 0.7 * edge_cut(graph, parts)


@pytest.mark.parametrize("name", REFINEMENTS)
def test_refinement_option_overrides_the_preset(name: str) -> None:
    for preset_name in PRESETS:
        assert choose(preset_name, None, name).refine.method == name
