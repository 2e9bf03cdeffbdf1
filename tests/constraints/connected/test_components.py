"""Components of parts on the host: kept components, targets of others, bridges, relocated parts."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import jetpy
from jetpy.constraints.connected.bridges import bridge, shortest_path
from jetpy.constraints.connected.contiguity import (
    ContiguityProblem,
    Pieces,
    assign_components,
    find_components,
    gather,
)
from jetpy.constraints.connected.reassignment import reassign_parts
from jetpy.constraints.connected.relocation import relocate
from jetpy.graph.csr import Graph
from jetpy.problem.metrics import components_per_part, part_weights
from tests.constraints.oracle import components
from tests.graphs import from_edges
from tests.strategies import weighted_graphs

ENGINE: dict[str, Any] = {"backend": "cpu", "threads": 1}
quick = settings(max_examples=60)


@st.composite
def problems(draw: st.DrawFn, most: int = 16) -> tuple[ContiguityProblem, np.ndarray]:
    """Draw a graph with a few fixed vertices, parts, and limits near the part weights."""
    graph = draw(weighted_graphs(most=most))
    k = draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    parts = rng.integers(0, k, graph.n).astype(np.int32)
    limits = np.maximum(part_weights(graph, parts, k) + rng.integers(-4, 9, k), 1)
    movable = rng.random(graph.n) >= draw(st.sampled_from([0.0, 0.2]))
    return ContiguityProblem(graph, limits, np.zeros(k, np.int64), movable), parts


def rows_of(graph: Graph) -> list[list[int]]:
    return [row.tolist() for row in np.split(graph.indices, graph.indptr[1:-1])]


def weight_of(graph: Graph, vertices: set[int]) -> int:
    return sum(graph.vertex_weights[list(vertices)].tolist())


def components_of(contiguity: ContiguityProblem, parts: np.ndarray) -> list[tuple[int, set[int]]]:
    """Return part and vertices of each component, ordered by part, then by lowest vertex."""
    rows = rows_of(contiguity.graph)
    return [
        (p, own)
        for p in range(contiguity.k + 1)
        for own in components(rows, np.flatnonzero(parts == p).tolist())
    ]


def vertices_of(pieces: Pieces) -> list[set[int]]:
    return [set(np.flatnonzero(pieces.labels == i).tolist()) for i in range(len(pieces.parts))]


@quick
@given(problems())
def test_heaviest_and_fixed_components_are_kept(
    problem: tuple[ContiguityProblem, np.ndarray],
) -> None:
    """Of equally heavy components, the first is kept."""
    contiguity, parts = problem
    graph, pieces = contiguity.graph, find_components(contiguity, parts)
    expected = components_of(contiguity, parts)
    found = vertices_of(pieces)
    assert sorted(map(sorted, found)) == sorted(sorted(own) for _, own in expected)
    whole = components(rows_of(graph), range(graph.n))
    kept = list[set[int]]()
    for p in range(contiguity.k):
        own = [vertices for q, vertices in expected if q == p]
        heaviest = max(own, key=lambda c: (weight_of(graph, c), -min(c)), default=None)
        fixed = [c for c in own if not all(contiguity.movable[list(c)])]
        kept += [c for c in own if c == heaviest or c in fixed]
    for i, own in enumerate(found):
        assert parts[list(own)].tolist() == [pieces.parts[i]] * len(own)
        assert pieces.weights[i] == weight_of(graph, own)
        assert pieces.firsts[i] == min(own)
        assert pieces.kept[i] == (own in kept)
        [around] = [component for component in whole if own <= component]
        assert pieces.adrift[i] == (not any(other <= around for other in kept))


def gather_in_python(
    contiguity: ContiguityProblem, parts: np.ndarray, pieces: Pieces, crowd: bool
) -> list[int]:
    """Assign components in plain Python: the lightest that touches an assigned one is next."""
    graph, k, found = contiguity.graph, contiguity.k, vertices_of(pieces)
    rows, result = rows_of(graph), [-1] * graph.n
    for own, is_kept, is_adrift in zip(found, pieces.kept, pieces.adrift, strict=True):
        for v in own:
            result[v] = int(parts[v]) if is_kept else k if is_adrift else -1

    def held(p: int, but: set[int]) -> int:
        inside = {
            v
            for v in range(graph.n)
            if result[v] == p or (not crowd and result[v] == -1 and parts[v] == p)
        }
        return weight_of(graph, inside - but)

    while waiting := [
        own
        for own in found
        if result[min(own)] == -1 and any(result[u] >= 0 for v in own for u in rows[v])
    ]:
        own = min(waiting, key=lambda c: (weight_of(graph, c), min(c)))
        edges = dict[int, int]()
        for v in own:
            weights = graph.edge_weights[graph.indptr[v] : graph.indptr[v + 1]].tolist()
            for u, weight in zip(rows[v], weights, strict=True):
                if result[u] >= 0:
                    edges[result[u]] = edges.get(result[u], 0) + weight
        roomy = [p for p in edges if held(p, own) + weight_of(graph, own) <= contiguity.limits[p]]
        home = int(parts[min(own)])
        others = [*edges] if crowd else [home]
        best = min(roomy or others, key=lambda p: (-edges.get(p, 0), p))
        for v in own:
            result[v] = best
    return result


@pytest.mark.parametrize("crowd", [True, False])
@quick
@given(problem=problems())
def test_gather_equals_the_oracle(
    crowd: bool, problem: tuple[ContiguityProblem, np.ndarray]
) -> None:
    contiguity, parts = problem
    pieces = find_components(contiguity, parts)
    found = gather(contiguity, parts, pieces, crowd=crowd)
    assert found.tolist() == gather_in_python(contiguity, parts, pieces, crowd)


def assign_in_python(
    contiguity: ContiguityProblem, parts: np.ndarray, before: np.ndarray
) -> list[int]:
    """Return the parts of whole components, -1 for components that fit nowhere."""
    graph, k, result = contiguity.graph, contiguity.k, parts.tolist()
    adrift = [own for p, own in components_of(contiguity, parts) if p == k]
    adrift.sort(key=lambda c: (-weight_of(graph, c), min(c)))
    rooms = (contiguity.limits - part_weights(graph, parts, k + 1)[:k]).tolist()
    wanted, stay = [0] * k, list[set[int]]()
    for own in adrift:
        held = [{v for v in own if before[v] == p} for p in range(k)]
        shares = [(weight_of(graph, members), len(members) > 0) for members in held]
        home = shares.index(max(shares))
        wanted[home] += weight_of(graph, own)
        if wanted[home] <= rooms[home]:
            stay.append(own)
            for v in own:
                result[v] = home
    for p in range(k):
        rooms[p] -= sum(weight_of(graph, own) for own in stay if result[min(own)] == p)
    for own in adrift:
        if own not in stay:
            home = rooms.index(max(rooms))
            fits = rooms[home] >= weight_of(graph, own)
            rooms[home] -= weight_of(graph, own) if fits else 0
            for v in own:
                result[v] = home if fits else -1
    return result


@quick
@given(problems(), st.integers(0, 10**6), st.booleans())
def test_components_that_fit_stay_whole(
    problem: tuple[ContiguityProblem, np.ndarray], seed: int, is_roomy: bool
) -> None:
    contiguity, before = problem
    rng, k = np.random.default_rng(seed), contiguity.k
    if is_roomy:
        limits = contiguity.limits + contiguity.graph.total_vertex_weight // k
        contiguity = replace(contiguity, limits=limits)
    chosen = rng.random(contiguity.graph.n) < 0.7
    parts = np.where(chosen[contiguity.components], k, before).astype(np.int32)
    found, expected = (
        assign_components(contiguity, parts, before),
        assign_in_python(contiguity, parts, before),
    )
    split = np.array(expected) == -1
    assert found[~split].tolist() == np.array(expected)[~split].tolist()
    assert ((found >= 0) & (found < k)).all()


def test_component_that_fits_nowhere_is_split() -> None:
    """The path fills the part with the most room, then the next part."""
    graph = from_edges(6, [(v, v + 1) for v in range(5)])
    contiguity = ContiguityProblem(
        graph, np.array([2, 4]), np.zeros(2, np.int64), np.ones(6, np.bool_)
    )
    adrift, before = np.full(6, 2, np.int32), np.zeros(6, np.int32)
    assert assign_components(contiguity, adrift, before).tolist() == [1, 1, 1, 1, 0, 0]


def steps_to(graph: Graph, start: np.ndarray, goal: np.ndarray, allowed: np.ndarray) -> int | None:
    """Return the number of edges of the shortest path."""
    rows, reached, steps = rows_of(graph), {*np.flatnonzero(start).tolist()}, 0
    border = reached
    while border:
        steps += 1
        border = {u for v in border for u in rows[v]} - reached
        if any(goal[u] for u in border):
            return steps
        border = {u for u in border if allowed[u]}
        reached = reached | border
    return None


@quick
@given(weighted_graphs(least=2), st.integers(0, 10**6))
def test_shortest_path_equals_breadth_first_search(graph: Graph, seed: int) -> None:
    kinds = np.random.default_rng(seed).choice(4, graph.n, p=[0.1, 0.1, 0.3, 0.5])
    start, goal, allowed = kinds == 0, kinds == 1, kinds == 3
    found, rows = shortest_path(graph, start, goal, allowed), rows_of(graph)
    steps = steps_to(graph, start, goal, allowed)
    if steps is None:
        assert found is None
    else:
        assert found is not None
        way = found.tolist()
        assert len(way) == steps
        assert any(start[u] for u in rows[way[0]])
        assert all(b in rows[a] for a, b in pairwise(way))
        assert allowed[way[:-1]].all()
        assert goal[way[-1]]


@quick
@given(problems())
def test_bridge_keeps_fixed_vertices_and_parts(
    problem: tuple[ContiguityProblem, np.ndarray],
) -> None:
    """Fixed vertices keep their parts, no part becomes empty, and no component is added."""
    contiguity, parts = problem
    found = bridge(contiguity, parts)
    assert (found == parts)[~contiguity.movable].all()
    assert set(found.tolist()) == set(parts.tolist())
    before, after = find_components(contiguity, parts), find_components(contiguity, found)
    if np.bincount(before.parts[before.kept]).max() <= 1:
        assert found.tolist() == parts.tolist()
    assert after.kept.sum() <= before.kept.sum()


@pytest.mark.parametrize("length", [4, 9])
def test_bridge_is_a_shortest_path(length: int) -> None:
    """The shorter path joins two fixed vertices of part 0 on a cycle."""
    n = 3 * length
    graph = from_edges(n, [(v, (v + 1) % n) for v in range(n)])
    parts = np.ones(n, np.int32)
    parts[[0, length]] = 0
    movable = np.ones(n, np.bool_)
    movable[[0, length]] = False
    found = bridge(
        ContiguityProblem(graph, np.array([n, n]), np.zeros(2, np.int64), movable), parts
    )
    assert np.flatnonzero(found == 0).tolist() == list(range(length + 1))


@quick
@given(problems(most=24), st.integers(0, 3))
def test_relocated_part_takes_a_branch_of_the_heaviest(
    problem: tuple[ContiguityProblem, np.ndarray], rank: int
) -> None:
    """The vertices of the relocated part join one adjacent part."""
    contiguity, parts = problem
    graph, rows = contiguity.graph, rows_of(contiguity.graph)
    rooms = contiguity.limits - part_weights(graph, parts, contiguity.k)
    assume(rank < contiguity.k and (parts == rooms.argmin()).any())
    found = relocate(contiguity, parts, rank)
    heavy, moving = int(rooms.argmin()), sorted(range(contiguity.k), key=lambda p: -rooms[p])[rank]
    if found is None:
        return
    assert moving != heavy
    left, got = np.flatnonzero(parts == moving).tolist(), np.flatnonzero(found == moving).tolist()
    [taker] = {*found[left].tolist()}
    assert taker != moving
    assert any(parts[u] == taker for v in left for u in rows[v])
    assert set(parts[got].tolist()) == {heavy}
    assert contiguity.movable[[*left, *got]].all()
    assert weight_of(graph, {*got}) <= contiguity.limits[moving]
    assert len(components(rows, got)) == 1
    others = [v for v in range(graph.n) if v not in {*left, *got}]
    assert found[others].tolist() == parts[others].tolist()
    whole = np.flatnonzero(parts == heavy).tolist()
    rest = [v for v in whole if v not in got]
    assert len(components(rows, rest)) <= len(components(rows, whole))


@quick
@given(problems(), st.booleans())
def test_reassigned_parts_spread_over_components(
    problem: tuple[ContiguityProblem, np.ndarray], is_roomy: bool
) -> None:
    """Each component gets a part, or no part keeps two components; other parts stay."""
    contiguity, parts = problem
    if is_roomy:
        limits = contiguity.limits + contiguity.graph.total_vertex_weight
        contiguity = replace(contiguity, limits=limits)
    pieces = find_components(contiguity, parts)
    reassigned = reassign_parts(contiguity, parts, pieces)
    kept = pieces.components[pieces.kept].tolist()
    without, doubles = {*pieces.components.tolist()} - {*kept}, len(kept) - len({*kept})
    if reassigned is None:
        assert not is_roomy or not contiguity.movable.all() or not without or not doubles
        return
    found, after = reassigned
    kept_after = after.components[after.kept].tolist()
    assert len(kept_after) == len(kept)
    assert len({*kept_after}) == min(len(kept), len({*pieces.components.tolist()}))
    assert sorted(after.parts[after.kept].tolist()) == sorted(pieces.parts[pieces.kept].tolist())
    assert contiguity.movable[found != parts].all()
    new = {*kept_after} - {*kept}
    assert ({*contiguity.components[found != parts].tolist()}) <= new <= without
    for component in new:
        inside = contiguity.components == component
        [p] = {*found[inside].tolist()}
        assert contiguity.graph.vertex_weights[inside].sum() <= contiguity.limits[p]


@pytest.mark.parametrize(("limit", "is_possible"), [(4, False), (6, True)])
def test_parts_leave_a_component_only_if_the_rest_has_room(limit: int, is_possible: bool) -> None:
    """Two of three parts must leave a path that weighs 6."""
    graph = from_edges(5, [(0, 1), (1, 2)], vertex_weights=[1, 1, 4, 1, 1])
    contiguity = ContiguityProblem(
        graph, np.full(3, limit), np.zeros(3, np.int64), np.ones(5, np.bool_)
    )
    parts = np.array([0, 1, 2, 2, 2], np.int32)
    reassigned = reassign_parts(contiguity, parts, find_components(contiguity, parts))
    assert (reassigned is not None) == is_possible


@pytest.mark.parametrize(
    ("limits", "fixed", "kept"),
    [
        ([9, 9], [], {0: [0, 1, 2], 1: [4]}),
        ([7, 2], [], {0: [0, 1, 2], 1: [4]}),
        ([6, 9], [], {0: [4], 1: [3]}),  # the path is too heavy for part 0
        ([9, 9], [3], {0: [4], 1: [3]}),
        ([6, 6], [], None),
        ([7, 1], [], None),  # vertex 4 is too heavy for part 1
        ([9, 9], [0, 3], None),
    ],
)
def test_reassigned_part_leaves_a_path(
    limits: list[int], fixed: list[int], kept: dict[int, list[int]] | None
) -> None:
    """The part with less weight on the path gets the heavier of two isolated vertices if it can."""
    graph = from_edges(6, [(0, 1), (1, 2), (2, 3)], vertex_weights=[2, 1, 1, 3, 2, 1])
    contiguity = ContiguityProblem(
        graph, np.array(limits), np.zeros(2, np.int64), ~np.isin(np.arange(6), fixed)
    )
    parts = np.array([0, 0, 0, 1, 0, 0], np.int32)
    reassigned = reassign_parts(contiguity, parts, find_components(contiguity, parts))
    if kept is None:
        assert reassigned is None
    else:
        assert reassigned is not None
        found, pieces = reassigned
        is_kept = pieces.kept[pieces.labels]
        assert kept == {p: np.flatnonzero(is_kept & (found == p)).tolist() for p in (0, 1)}


# Larger graphs


def copies(graph: Graph, count: int) -> Graph:
    """Return a graph of `count` equal components."""
    edges = [
        (u + i * graph.n, v + i * graph.n)
        for i in range(count)
        for u, row in enumerate(rows_of(graph))
        for v in row
        if u < v
    ]
    return from_edges(count * graph.n, edges)


CONNECTED = {
    "grid": jetpy.generators.grid(40, 50),
    "mesh": jetpy.generators.delaunay(2500, seed=3),
    "ring": from_edges(1500, [(v, (v + 1) % 1500) for v in range(1500)]),
}


@pytest.mark.parametrize("are_weighted", [False, True])
@pytest.mark.parametrize("k", [3, 20])
@pytest.mark.parametrize("name", CONNECTED)
def test_parts_of_connected_graphs_are_connected(name: str, k: int, are_weighted: bool) -> None:
    graph = CONNECTED[name]
    weights = np.random.default_rng(k).integers(1, 10 if are_weighted else 2, graph.n)
    result = jetpy.partition(graph, k, vertex_weights=weights, connected=True, **ENGINE)
    assert components_per_part(graph, result.parts, k).tolist() == [1] * k
    assert np.bincount(result.parts, weights).max() <= result.limit
    assert result.disconnected == {}


def test_more_components_than_parts_stay_whole() -> None:
    """Every part has room, so no edge is cut."""
    graph = copies(jetpy.generators.grid(5, 7), 30)
    result = jetpy.partition(graph, 6, connected=True, **ENGINE)
    assert result.cut == 0
    assert components_per_part(graph, result.parts, 6).tolist() == [5] * 6
    assert result.feasible
    assert set(result.disconnected) == set(range(6))


def test_fewer_components_than_parts_give_connected_parts() -> None:
    graph = copies(jetpy.generators.grid(20, 20), 3)
    result = jetpy.partition(graph, 6, connected=True, **ENGINE)
    assert components_per_part(graph, result.parts, 6).tolist() == [1] * 6
    assert result.feasible
