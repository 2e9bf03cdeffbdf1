"""Independent sets of moves (G-kway, section 3.2), compared with an oracle, and their loop."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jetpy.device.device_graph import upload
from jetpy.engines.base import Backend
from jetpy.graph.csr import Graph
from jetpy.graph.generators import delaunay
from jetpy.problem.metrics import part_weights
from jetpy.problem.options import Options
from jetpy.problem.presets import INDEPENDENT_SET
from jetpy.problem.problem import Problem, make_problem
from jetpy.refinement.independent_set import IndependentSet
from jetpy.refinement.jet import Refined, Refinement
from jetpy.refinement.state import RefinementState
from jetpy.workloads.common.control_block import Control, Request, Task
from tests.graphs import SMALL_GRAPHS, from_edges, random_graph, star
from tests.refinement.oracle import (
    LINE,
    cached_by_content,
    check_state,
    connections,
    cost_of,
    distance,
    finish_iteration,
    on_host,
    parts_of,
    problem_of,
    set_control,
    state_of,
)
from tests.strategies import weighted_graphs

Gains = list[dict[int, int]]

quick = settings(max_examples=100)


@cached_by_content
def legal_gains(graph: Graph, parts: np.ndarray, problem: Problem) -> Gains:
    """Return the gains of each vertex's legal destinations: positive gain, and enough room."""
    legal: Gains = []
    held = part_weights(graph, parts, problem.k)
    for v, row in enumerate(connections(graph, parts)):
        paid = {
            p: sum(w * distance(problem, p, q) for q, w in row.items()) for p in {parts[v], *row}
        }
        room = problem.limits - held - graph.vertex_weights[v]
        gains = {p: int(paid[parts[v]] - paid[p]) for p in row if p != parts[v]}
        legal.append({p: gain for p, gain in gains.items() if gain > 0 and room[p] >= 0})
    return legal


def expected_moves(
    graph: Graph, parts: np.ndarray, targets: np.ndarray, problem: Problem
) -> dict[int, int]:
    """Return the moves of the paper; check that each target is among the best."""
    legal = legal_gains(graph, parts, problem)
    movable = []
    for v, gains in enumerate(legal):
        neighbours = graph.indices[graph.indptr[v] : graph.indptr[v + 1]].tolist()
        if gains and not any(legal[u] for u in neighbours if u < v):
            assert gains[int(targets[v])] == max(gains.values())
            movable.append(v)
    movable.sort(key=lambda v: (-max(legal[v].values()), v))
    held, longest = part_weights(graph, parts, problem.k), 0
    after = held.copy()
    for length, v in enumerate(movable, 1):
        held[parts[v]] -= graph.vertex_weights[v]
        held[targets[v]] += graph.vertex_weights[v]
        if (held <= problem.limits).all():
            longest, after = length, held.copy()
    moving = {v: int(targets[v]) for v in movable[:longest]}
    for v in movable[longest:]:  # more moves than in the paper
        after[targets[v]] += graph.vertex_weights[v]
        if after[targets[v]] <= problem.limits[targets[v]]:
            moving[v] = int(targets[v])
    return moving


def launch(moving: IndependentSet) -> None:
    """Launch the moves of an iteration, on request with the host's help."""
    state, control = moving._state, moving._state.dual.control
    moving.launch()
    state.backend.sync_host(control)
    state.backend.synchronize()
    if control.host[Control.REQUEST] == Request.MOVES:
        set_control(state, request=Request.NOTHING)
        moving.launch_many()


def check_iterations(state: RefinementState, graph: Graph) -> list[int]:
    """Compare iterations with the oracle until none moves; return the moves of each."""
    moving = IndependentSet(state)
    counts = []
    while not counts or counts[-1]:
        before, cut = parts_of(state), state.measures.cut
        set_control(state, task=Task.PROPAGATE, iteration_seed=12345 + len(counts))
        launch(moving)
        expected = expected_moves(
            graph, before, on_host(state, moving._legal.targets), state.problem
        )
        state.launch_update()
        counts.append(finish_iteration(state))
        after = parts_of(state)
        assert dict(enumerate(after.tolist())) == dict(enumerate(before.tolist())) | expected
        assert counts[-1] == len(expected)
        assert state.measures.cut < cut or not expected
        assert (state.measures.part_weights <= state.problem.limits).all()
        check_state(state, graph)
    assert not any(legal_gains(graph, after, state.problem))
    return counts


def tight(graph: Graph, parts: np.ndarray, k: int, slack: int, **other: object) -> Problem:
    """Return a problem whose parts have little room."""
    limit = int(part_weights(graph, parts, k).max()) + slack
    return problem_of(graph, k, limit=limit, **other)


@quick
@given(
    graph=weighted_graphs(most=24),
    k=st.integers(2, 7),
    seed=st.integers(0, 10**6),
    slack=st.sampled_from([0, 1, 3, 100]),
    distances=st.sampled_from([None, LINE, 7 * LINE**2]),
)
def test_moves_equal_the_paper(
    backend: Backend,
    graph: Graph,
    k: int,
    seed: int,
    slack: int,
    distances: np.ndarray | None,
) -> None:
    parts = np.random.default_rng(seed).integers(0, k, graph.n)
    problem = tight(graph, parts, k, slack, distances=distances)
    check_iterations(state_of(backend, graph, parts, k, problem), graph)


@pytest.mark.parametrize(("k", "slack"), [(2, 20), (30, 0)])
def test_moves_equal_the_paper_on_large_graphs(threaded: Backend, k: int, slack: int) -> None:
    graph = random_graph(1200, 2700, 1, weighted=True)
    parts = np.random.default_rng(0).permutation(np.arange(graph.n) % k)
    problem = tight(graph, parts, k, slack)
    counts = check_iterations(state_of(threaded, graph, parts, k, problem), graph)
    assert sum(counts) > (250 if slack else 10)


def test_moves_equal_the_paper_on_rows_of_several_chunks(backend: Backend) -> None:
    """The centre of the star has the highest id, so that all leaves precede it, or the lowest."""
    n = 3000
    for graph in (star(n), from_edges(n + 1, [(v, n) for v in range(n)])):
        parts = np.arange(n + 1) % 3
        state = state_of(backend, graph, parts, 3, tight(graph, parts, 3, 500))
        assert sum(check_iterations(state, graph)) > 400


@pytest.mark.parametrize(("edges", "moved"), [(3, {0, 1, 2}), (2, {0})])
def test_weights_may_exceed_the_limit_temporarily(
    backend: Backend, edges: int, moved: set[int]
) -> None:
    """Parts weigh 13 and 10. One move gives 14, two give 15, which only a third one fixes."""
    graph = from_edges(
        8, [(0, 3), (1, 4), (2, 5)][:edges], [5, 4, 3][:edges], [1, 1, 2, 1, 1, 1, 9, 7]
    )
    parts = np.array([1, 1, 0, 0, 0, 1, 0, 1])
    assert part_weights(graph, parts, 2).tolist() == [13, 10]
    assert first_moved(backend, graph, parts, 14) == moved


def test_moves_after_the_longest_prefix_are_made_if_they_fit(backend: Backend) -> None:
    """Part 0 has room for one of the first three moves; part 1 has room for the last two."""
    edges = [(v, v + 5) for v in range(5)]
    graph = from_edges(10, edges, [9, 8, 7, 2, 1])
    parts = np.array([2, 2, 2, 2, 2, 0, 0, 0, 1, 1])
    assert first_moved(backend, graph, parts, 4, k=3) == {0, 3, 4}


def first_moved(
    backend: Backend, graph: Graph, parts: np.ndarray, limit: int, k: int = 2
) -> set[int]:
    """Check all iterations and return the vertices that move in the first one."""
    problem = replace(problem_of(graph, k), limit=limit)
    state = state_of(backend, graph, parts, k, problem)
    set_control(state, task=Task.PROPAGATE, iteration_seed=1)
    launch(IndependentSet(state))
    after = parts_of(state)
    check_iterations(state_of(backend, graph, parts, k, problem), graph)
    return set(np.flatnonzero(after != parts).tolist())


# The loop


def independent(problem: Problem) -> Problem:
    return replace(problem, options=Options(refine=INDEPENDENT_SET))


def check_refined(backend: Backend, graph: Graph, start: np.ndarray, problem: Problem) -> Refined:
    refinement = Refinement(backend, upload(backend, graph), problem)
    heaviest = part_weights(graph, start, problem.k).max()
    cost = cost_of(graph, start, problem)
    refined = refinement.refine(backend.from_host(start.astype(np.int32)), finest=True)
    parts = backend.to_host(refined.parts)
    weights = part_weights(graph, parts, problem.k)
    assert refined.cut_before == cost
    assert refined.measures.cut == cost_of(graph, parts, problem)
    assert refined.measures.part_weights.tolist() == weights.tolist()
    if heaviest <= problem.limit:
        assert refined.measures.cut <= cost
    if weights.max() <= problem.limit:
        assert not any(legal_gains(graph, parts, problem))
    else:
        assert weights.max() <= heaviest
    return refined


@pytest.mark.parametrize("k", [2, 3, 7])
@pytest.mark.parametrize("name", [n for n in SMALL_GRAPHS if n != "empty"])
def test_refinement_never_worsens_small_graphs(backend: Backend, name: str, k: int) -> None:
    graph = SMALL_GRAPHS[name]()
    problem = independent(make_problem(graph.total_vertex_weight, k, 0.03, 3, Options()))
    check_refined(backend, graph, np.arange(graph.n) % k, problem)
    check_refined(backend, graph, np.zeros(graph.n, np.int32), problem)


@quick
@given(
    graph=weighted_graphs(least=4, most=40),
    k=st.integers(2, 5),
    seed=st.integers(0, 10**6),
    distances=st.sampled_from([None, LINE]),
)
def test_refinement_never_worsens_random_graphs(
    backend: Backend, graph: Graph, k: int, seed: int, distances: np.ndarray | None
) -> None:
    start = np.random.default_rng(seed).integers(0, k, graph.n)
    limit = make_problem(graph.total_vertex_weight, k, 0.1, 0, Options()).limit
    problem = problem_of(graph, k, distances=distances, limit=limit)
    check_refined(backend, graph, start, independent(problem))


@pytest.mark.parametrize("k", [2, 9, 64])
def test_refinement_balances_larger_graphs(backend: Backend, k: int) -> None:
    graph = delaunay(800)
    problem = independent(make_problem(graph.n, k, 0.03, 0, Options()))
    for start in (np.arange(graph.n) % k, np.arange(graph.n) * k // graph.n, np.zeros(graph.n)):
        refined = check_refined(backend, graph, start.astype(np.int32), problem)
        assert refined.measures.heaviest <= problem.limit


@pytest.mark.parametrize("most", [1, 20])
def test_sorting_moves_on_the_host_changes_nothing(
    backend: Backend, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The host sorts the moves if they are too many for a fixed sequence of launches."""
    graph = delaunay(2000)
    start = np.random.default_rng(1).integers(0, 5, graph.n).astype(np.int32)
    problem = independent(make_problem(graph.n, 5, 0.1, 0, Options()))

    def refined() -> tuple[list[int], int]:
        refinement = Refinement(backend, upload(backend, graph), problem)
        result = refinement.refine(backend.from_host(start), finest=True)
        return backend.to_host(result.parts).tolist(), result.iterations

    expected = refined()
    monkeypatch.setattr("jetpy.refinement.independent_set.MOST", most)
    assert refined() == expected
