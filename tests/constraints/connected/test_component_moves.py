"""Kernels that keep parts connected: their whole state is compared with plain Python."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import replace
from functools import partial
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jetpy.constraints.connected.component_moves import FAILED_SHARE
from jetpy.constraints.connected.component_moves import state_of as made_state
from jetpy.constraints.connected.contiguity import ContiguityProblem
from jetpy.device.device_graph import upload
from jetpy.engines.base import Backend
from jetpy.engines.kokkos.engine import KokkosBackend
from jetpy.graph.csr import INT32_MAX, Graph
from jetpy.kernel_language.reading import read_workunits
from jetpy.workloads.common.groups import NO_VERTEX
from jetpy.workloads.constraints import component_balance, component_refinement, components
from jetpy.workloads.constraints.component_balance import (
    ADJACENT,
    ANYWHERE,
    NOT_REACHED,
    FailedPairs,
)
from jetpy.workloads.constraints.components import Link, Part
from tests.constraints.oracle import UNLIMITED, Moves
from tests.constraints.oracle import components as components_of
from tests.graphs import from_edges, path
from tests.modules import import_kernels
from tests.strategies import weighted_graphs

quick = settings(max_examples=30)
EFFORT = 1 << 40


@pytest.fixture(scope="module")
def probes() -> ModuleType:
    """Import the kernels of `probes.py` without PyKokkos."""
    return import_kernels("tests.constraints.probes")


@st.composite
def moves(draw: st.DrawFn, graphs: st.SearchStrategy[Graph]) -> Moves:
    """Draw a partition into a few parts, connected or scattered, with little or much room."""
    graph = draw(graphs)
    k = draw(st.integers(1, 6))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    parts = rng.integers(0, k, graph.n)
    if draw(st.booleans()):
        parts = grown(graph, k, rng)
    if draw(st.booleans()):  # whole components without a part
        labels = ContiguityProblem(
            graph, np.zeros(k, np.int64), np.zeros(k, np.int64), np.ones(graph.n, np.bool_)
        ).components
        parts[labels == rng.integers(0, graph.n)] = k
    held = np.bincount(parts, graph.vertex_weights, k + 1)[:k].astype(np.int64)
    fullest = draw(st.sampled_from([0, 2, 9]))
    limits = np.maximum(held + rng.integers(-9, fullest + 1, k), 1)
    lower_limits = (held - rng.integers(-1, 9, k)).clip(0) * draw(st.integers(0, 1))
    movable = rng.random(graph.n) >= draw(st.sampled_from([0.0, 0.0, 0.2]))
    seed = draw(st.integers(0, INT32_MAX))
    return Moves(
        graph,
        parts.tolist(),
        limits.tolist(),
        movable.tolist(),
        seed,
        lower_limits=lower_limits.tolist(),
    )


def grown(graph: Graph, k: int, rng: np.random.Generator) -> np.ndarray:
    """Grow connected parts around k random vertices."""
    parts = np.full(graph.n, -1)
    parts[rng.permutation(graph.n)[:k]] = np.arange(min(k, graph.n))
    for _ in range(graph.n):
        for v in np.flatnonzero(parts < 0).tolist():
            adjacent = parts[graph.indices[graph.indptr[v] : graph.indptr[v + 1]]]
            parts[v] = adjacent.max(initial=-1)
    return np.where(parts < 0, 0, parts)


def engine_of(backend: Backend) -> Backend:
    """Return the engine that runs the moves."""
    return backend.host


def state_of(backend: Backend, expected: Moves, effort: int = EFFORT) -> FailedPairs:
    """Return the kernels' state with the lists of vertices by part, equal to the oracle's start."""
    contiguity = ContiguityProblem(
        expected.graph,
        np.array(expected.limits),
        np.array(expected.lower_limits),
        np.array(expected.movable, np.bool_),
    )
    engine, parts = engine_of(backend), np.array(expected.parts, np.int32)
    state = made_state(engine, contiguity, parts, expected.seed, effort)
    engine.run_tasks(1, components.list_part_vertices, n=len(parts), k=contiguity.k, state=state)
    expected.failed_slots = FAILED_SHARE * contiguity.k
    return replace(state, max_steps=min(expected.max_steps, INT32_MAX))


def launch(
    backend: Backend, workunit: Any, expected: Moves, effort: int = EFFORT, **arguments: Any
) -> FailedPairs:
    engine, graph = engine_of(backend), expected.graph
    state = state_of(backend, expected, effort)
    engine.run_tasks(1, workunit, n=graph.n, graph=upload(engine, graph), state=state, **arguments)
    return state


def host(backend: Backend, state: FailedPairs) -> SimpleNamespace:
    """Copy the arrays of the state to the host, as rows."""
    fetch = engine_of(backend).to_host
    return SimpleNamespace(
        parts=fetch(state.parts).tolist(),
        labels=fetch(state.labels).tolist(),
        rows=fetch(state.part_rows).reshape(-1, Part.COUNT),
        links=fetch(state.links).reshape(-1, Link.COUNT),
    )


def vertices_of(found: SimpleNamespace, p: int) -> list[int]:
    """Return the listed vertices of a part and check the links in both directions."""
    vertices, before, v = list[int](), NO_VERTEX, int(found.rows[p, Part.FIRST])
    while v != NO_VERTEX:
        assert v not in vertices
        assert found.links[v, Link.PRECEDING] == before
        vertices.append(v)
        before, v = v, int(found.links[v, Link.FOLLOWING])
    return vertices


def check_state(found: SimpleNamespace, expected: Moves) -> None:
    """Compare a state with the oracle's and check the invariants between moves."""
    k = expected.k
    assert found.parts == expected.parts
    assert [vertices_of(found, p) for p in range(k + 1)] == expected.members
    weights = [expected.weight_of(expected.members[p]) for p in range(k)]
    assert found.rows[:k, Part.WEIGHT].tolist() == weights
    assert found.rows[:k, Part.LIMIT].tolist() == expected.limits
    assert found.rows[:k, Part.LOWER_LIMIT].tolist() == expected.lower_limits
    assert found.rows[: k + 1, Part.SIZE].tolist() == [len(own) for own in expected.members]
    assert found.rows[: k + 1, Part.CHANGES].tolist() == expected.changes
    assert not found.rows[:, Part.CONNECTION].any()
    assert not any(found.labels)
    assert (found.rows[:, Part.GIVER] == NOT_REACHED).all()
    for p in np.flatnonzero(found.rows[:k, Part.HAS_TREE]).tolist():
        check_tree(found, expected, p)


def check_tree(found: SimpleNamespace, expected: Moves, p: int) -> None:
    """Check that a part's tree spans it: one root, adjacent parents, child counts, no cycle."""
    members = expected.members[p]
    above = {v: int(found.links[v, Link.PARENT]) for v in members}
    children = Counter(above.values())
    assert children[NO_VERTEX] == 1
    for v in members:
        assert above[v] == NO_VERTEX or (above[v] in above and above[v] in expected.rows[v])
        assert found.links[v, Link.CHILDREN] == children[v]
    for v in members:
        ancestors = 0
        while v != NO_VERTEX:
            v, ancestors = above[v], ancestors + 1
            assert ancestors <= len(members)


def components_per_part(moves: Moves) -> list[int]:
    """Return the number of components of each part."""
    return [len(components_of(moves.rows, own)) for own in moves.members[: moves.k]]


def overload(moves: Moves) -> tuple[int, int]:
    """Return the total weight above limits, and below lower limits."""
    parts = range(moves.k)
    return sum(max(0, -moves.room(p)) for p in parts), sum(max(0, -moves.spare(p)) for p in parts)


def are_no_more(now: Sequence[int], before: Sequence[int]) -> bool:
    """Return whether no number has increased."""
    return all(one <= two for one, two in zip(now, before, strict=True))


def cut(moves: Moves) -> int:
    return sum(
        sum(weight for q, weight in moves.connection([v]).items() if q != p)
        for v, p in enumerate(moves.parts)
    )


def hubs() -> Graph:
    """Return a cycle of hubs that share their leaves."""
    edges = [(a, 4 + v) for a in range(3) for v in range(300) if (v + a) % 50]
    return from_edges(304, [(0, 1), (1, 2), (2, 3), (0, 3), *edges])


@quick
@given(moves(weighted_graphs(most=20)))
def test_vertices_are_listed_by_part(backend: Backend, expected: Moves) -> None:
    check_state(host(backend, state_of(backend, expected)), expected)


@pytest.mark.parametrize("has_trees", [True, False])
@quick
@given(expected=moves(weighted_graphs(most=20)), max_steps=st.integers(-40, 60))
def test_detached_groups_equal_the_oracle(
    backend: Backend, probes: ModuleType, has_trees: bool, expected: Moves, max_steps: int
) -> None:
    """Steps are not limited with trees, because their number depends on the tree."""
    expected = deepcopy(expected)
    if not has_trees:
        expected.max_steps = max_steps
    check_groups(backend, probes, expected, has_trees=has_trees)


def check_groups(backend: Backend, probes: ModuleType, expected: Moves, *, has_trees: bool) -> None:
    engine, n, k = engine_of(backend), expected.graph.n, expected.k
    if isinstance(engine, KokkosBackend):
        engine.prepare(getattr(probes, workunit) for workunit in read_workunits(probes))
    state = state_of(backend, expected)
    if not has_trees:
        rows = engine.to_host(state.part_rows).copy().reshape(-1, Part.COUNT)
        rows[:, Part.TREE_COST] = UNLIMITED
        state = replace(state, part_rows=engine.from_host(rows.ravel()))
    sizes, groups = engine.empty(n), engine.empty(n * n)
    weights, connections = engine.empty(n, np.int64), engine.full(n * (k + 1), 0, np.int64)
    engine.run_tasks(
        1, probes.detach_each, n=n, k=k, sizes=sizes, groups=groups, weights=weights,
        connections=connections, graph=upload(engine, expected.graph), state=state,
    )  # fmt: skip
    ends, rows = engine.to_host(sizes).tolist(), engine.to_host(groups).reshape(n, n).tolist()
    found = [row[:size] for row, size in zip(rows, ends, strict=True)]
    assert found == [expected.group(v) for v in range(n)]
    assert engine.to_host(weights).tolist() == [expected.weight_of(group) for group in found]
    for group, row in zip(found, engine.to_host(connections).reshape(n, k + 1), strict=True):
        connection = expected.connection(group)
        assert {p: w for p, w in enumerate(row.tolist()) if w} == {
            p: w for p, w in connection.items() if w
        }
    for group in filter(None, found):
        p = expected.parts[group[0]]
        rest = components_of(expected.rows, set(expected.members[p]) - set(group))
        assert len(rest) <= len(components_of(expected.rows, expected.members[p]))
        assert len(components_of(expected.rows, group)) == 1
    check_state(host(backend, state), expected)


@quick
@given(moves(weighted_graphs(most=20)))
def test_lower_cut_equals_the_oracle(backend: Backend, expected: Moves) -> None:
    check_lower_cut(backend, deepcopy(expected))


def check_lower_cut(backend: Backend, expected: Moves) -> None:
    state = launch(backend, component_refinement.lower_cut, expected)
    before = cut(expected), overload(expected), components_per_part(expected)
    expected.lower_cut()
    check_state(host(backend, state), expected)
    assert cut(expected) <= before[0]
    assert are_no_more(overload(expected), before[1])
    assert are_no_more(components_per_part(expected), before[2])


@pytest.mark.parametrize("where", [ADJACENT, ANYWHERE])
@quick
@given(expected=moves(weighted_graphs(most=20)))
def test_balance_equals_the_oracle(backend: Backend, where: int, expected: Moves) -> None:
    check_balance(backend, deepcopy(expected), where)


def check_balance(backend: Backend, expected: Moves, where: int) -> None:
    state = launch(backend, component_balance.push_weight, expected, k=expected.k, where=where)
    before = overload(expected), components_per_part(expected)
    expected.balance(where)
    check_state(host(backend, state), expected)
    assert are_no_more(overload(expected), before[0])
    if where == ADJACENT:
        assert are_no_more(components_per_part(expected), before[1])


@pytest.mark.parametrize("seed", range(2))
def test_hubs_are_searched_last_and_queued_once(
    backend: Backend, probes: ModuleType, seed: int
) -> None:
    graph, rng = hubs(), np.random.default_rng(seed)
    assert sum(graph.degrees > components.FEW_EDGES) == 3
    parts = np.where(rng.random(graph.n) < 0.9, 0, rng.integers(0, 3, graph.n))
    limits = [250, 30, 90]
    for check in (partial(check_groups, probes=probes, has_trees=False), check_lower_cut):
        check(backend, expected=Moves(graph, parts.tolist(), limits, [True] * graph.n, seed))
    for where in (ADJACENT, ANYWHERE):
        expected = Moves(graph, parts.tolist(), limits, [True] * graph.n, seed)
        check_balance(backend, deepcopy(expected), where)


@quick
@given(moves(weighted_graphs(most=20)), st.sampled_from([0, 1, 40, 90]))
def test_limited_effort_ends_early_and_worsens_nothing(
    backend: Backend, start: Moves, effort: int
) -> None:
    """With an effort of 0, nothing moves."""
    for workunit, arguments in (
        (component_refinement.lower_cut, {}),
        (component_balance.push_weight, {"k": start.k, "where": ADJACENT}),
    ):
        state = launch(backend, workunit, start, effort, **arguments)
        after = replace(start, parts=host(backend, state).parts)
        if effort == 0:
            assert after.parts == start.parts
        assert are_no_more(overload(after), overload(start))
        assert are_no_more(components_per_part(after), components_per_part(start))


@pytest.mark.parametrize(("away", "is_reached"), [(1, True), (1023, True), (1024, False)])
def test_room_is_found_within_1023_parts(backend: Backend, away: int, is_reached: bool) -> None:
    """The first part of a path is overweight by one vertex, and only the last part has room."""
    k = away + 1
    parts = [0, *np.repeat(np.arange(k), 2).tolist()]
    limits = [*[2] * away, 3]
    start = Moves(path(len(parts)), parts, limits, [True] * len(parts), 0)
    state = launch(backend, component_balance.push_weight, start, k=k, where=ADJACENT)
    wanted = [*np.repeat(np.arange(k), 2).tolist(), away] if is_reached else parts
    assert host(backend, state).parts == wanted
