"""Recombination: spanning trees, cuts of them, and parts that keep both limits."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jetpy
from jetpy.api.request import make_request
from jetpy.constraints.connected import tree_cuts
from jetpy.constraints.connected.contiguity import ContiguityProblem
from jetpy.constraints.connected.recombination import recombine, split
from jetpy.constraints.connected.spanning_trees import draw_trees, region_of
from jetpy.constraints.connected.tree_cuts import Side, TreeCuts
from jetpy.device.backends import get_backend
from jetpy.graph.csr import Graph
from jetpy.problem.metrics import components_per_part, edge_cut, part_weights
from jetpy.progress import no_progress
from tests.graphs import from_edges
from tests.incremental.oracle import as_networkx
from tests.strategies import weighted_graphs

quick = settings(max_examples=60)
EFFORT = 1 << 20


def free(graph: Graph) -> np.ndarray:
    return np.full(graph.n, -1, np.int32)


@st.composite
def connected_graphs(draw: st.DrawFn) -> Graph:
    """Draw a connected graph with weights, some of them 0."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    n = draw(st.integers(2, 14))
    tree = {(int(rng.integers(0, v)), v) for v in range(1, n)}
    others = {(int(u), int(v)) for u, v in rng.integers(0, n, (n, 2)) if u < v}
    edges = sorted(tree | others)
    edge_weights, weights = rng.integers(1, 6, len(edges)), rng.integers(0, 6, n)
    return from_edges(n, edges, edge_weights.tolist(), weights.tolist())


@quick
@given(weighted_graphs(most=14), st.integers(1, 5), st.integers(0, 99))
def test_trees_span_the_region_and_branches_are_sums(graph: Graph, count: int, seed: int) -> None:
    vertices = np.flatnonzero(np.random.default_rng(seed).random(graph.n) < 0.8)
    inside = as_networkx(graph).subgraph(vertices.tolist())
    if len(vertices) < 2:
        return
    region = region_of(graph, vertices)
    assert len(region.tails) == inside.number_of_edges()
    forest = draw_trees(region, np.zeros(len(vertices)), count, 3, seed)
    if not nx.is_connected(inside):
        assert forest is None
        return
    assert forest is not None
    sums = forest.sums(region.weights)
    for tree in range(count):
        parents = forest.parents[tree * forest.r : (tree + 1) * forest.r] - tree * forest.r
        found = nx.Graph([(v, int(p)) for v, p in enumerate(parents) if v])
        assert nx.is_tree(found)
        for u, v in found.edges:
            assert inside.has_edge(vertices[u], vertices[v])
        for v in range(1, forest.r):
            below = found.copy()
            below.remove_edge(v, int(parents[v]))
            branch = sorted(nx.node_connected_component(below, v))
            node = tree * forest.r + v
            assert np.flatnonzero(forest.branches(np.array([node]))[0]).tolist() == branch
            assert sums[node] == region.weights[branch].sum()


def test_trees_depend_on_their_index_and_half_follow_the_sides() -> None:
    grid = jetpy.generators.grid(6, 6)
    region, sides = region_of(grid, np.arange(36)), np.arange(36) // 18
    both = draw_trees(region, sides, 4, 10, 7)
    last = draw_trees(region, sides, 1, 13, 7)
    assert both is not None
    assert last is not None
    assert (both.parents[108:144] - 108)[1:].tolist() == last.parents[1:36].tolist()
    parents = both.parents[:144].reshape(4, 36)[:, 1:] - 36 * np.arange(4)[:, None]
    crossing = (sides[1:] != sides[parents]).sum(1)
    assert crossing[1::2].tolist() == [1, 1]
    assert crossing[::2].max() > 1


def connected_sets(graph: Graph) -> set[int]:
    """Return the sets of vertices that induce a connected subgraph, as sums of powers of 2."""
    rows = np.split(graph.indices, graph.indptr[1:-1])
    found = new = {1 << v for v in range(graph.n)}
    while new:
        new = {
            code | 1 << int(u)
            for code in new
            for v, row in enumerate(rows)
            if code >> v & 1
            for u in row
        } - found
        found = found | new
    return found


@quick
@given(connected_graphs(), st.integers(0, 99))
def test_bisection_equals_the_best_cut_of_all_trees(graph: Graph, seed: int) -> None:
    """Small graphs have few cuts into two connected sides, and the trees find the best."""
    rng = np.random.default_rng(seed)
    pinned = np.where(rng.random(graph.n) < 0.1, rng.integers(0, 2, graph.n), -1)
    lower, upper = sorted(rng.integers(0, graph.total_vertex_weight + 1, 2).tolist())
    sides = Side(lower, upper, (0,)), Side(0, graph.total_vertex_weight, (1,))
    options, connected = [], connected_sets(graph)
    for code in connected & {2**graph.n - 1 - code for code in connected}:
        mask = (code >> np.arange(graph.n) & 1).astype(bool)
        if not ((pinned[mask] == 1).any() or (pinned[~mask] == 0).any()):
            weight = int(graph.vertex_weights[mask].sum())
            options.append(max(lower - weight, weight - upper, 0))
    region = region_of(graph, np.arange(graph.n))
    mask = TreeCuts(pinned, seed, EFFORT).bisect(region, sides, np.zeros(graph.n))
    assert (mask is None) == (not options)
    if mask is not None:
        weight = int(graph.vertex_weights[mask].sum())
        assert max(lower - weight, weight - upper, 0) == min(options)
        assert components_per_part(graph, mask.astype(np.int32), 2).tolist() == [1, 1]
        assert not (pinned[mask] == 1).any()
        assert not (pinned[~mask] == 0).any()


@pytest.mark.parametrize("size", [1, 200, 1000])
def test_cuts_do_not_depend_on_how_many_are_computed_at_once(
    monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    graph = jetpy.generators.delaunay(60)
    region, total = region_of(graph, np.arange(60)), graph.total_vertex_weight
    forest = draw_trees(region, np.arange(60) // 30, 8, 0, 7)
    assert forest is not None
    nodes = np.arange(1, 59)
    expected = [region.cut(inside) for inside in forest.branches(nodes)]
    sides = Side(total // 3, total, (0,)), Side(total // 3, total, (1,))
    fixed = [np.zeros(60, np.bool_)] * 2
    best = tree_cuts._best_cut(region, forest, sides, fixed)
    monkeypatch.setattr(tree_cuts, "LARGE_BATCH", size)
    assert tree_cuts._cuts_of(nodes, region, forest).tolist() == expected
    again = tree_cuts._best_cut(region, forest, sides, fixed)
    assert best is not None
    assert again is not None
    assert again[:2] == best[:2]
    assert (again.first_side == best.first_side).all()


@quick
@given(connected_graphs(), st.integers(2, 4), st.integers(0, 99))
def test_recombination_connects_and_lowers_violations(graph: Graph, k: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    limits = rng.integers(0, graph.total_vertex_weight + 2, k)
    movable = rng.random(graph.n) < 0.9
    contiguity = ContiguityProblem(graph, limits, limits // 2, movable)
    parts = rng.integers(0, k, graph.n).astype(np.int32)
    trees = TreeCuts(np.where(movable, -1, parts), seed, EFFORT)
    found = recombine(contiguity, parts, trees)
    assert (found[~movable] == parts[~movable]).all()
    before, after = (contiguity.violations(contiguity.weigh(p)).sum() for p in (parts, found))
    assert after <= before
    pieces = [components_per_part(graph, p, k) for p in (parts, found)]
    assert (pieces[1] <= np.maximum(pieces[0], 1)).all()
    whole = split(
        replace(contiguity, movable=np.ones(graph.n, np.bool_)), TreeCuts(free(graph), 0, EFFORT)
    )
    assert whole is None or components_per_part(graph, whole, k).tolist() == [1] * k


def test_weight_passes_through_a_part_without_room() -> None:
    """Part 0 is too heavy, part 2 too light, and only part 1 is adjacent to both."""
    graph = from_edges(9, [(v, v + 1) for v in range(8)])
    three = np.full(3, 3)
    contiguity = ContiguityProblem(graph, three, three, np.ones(9, np.bool_))
    parts = np.array([0, 0, 0, 0, 1, 1, 1, 2, 2], np.int32)
    found = recombine(contiguity, parts, TreeCuts(free(graph), 0, EFFORT))
    assert found.tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2]


def test_empty_part_is_split_off() -> None:
    graph = from_edges(6, [(v, v + 1) for v in range(5)])
    contiguity = ContiguityProblem(graph, np.full(2, 4), np.full(2, 2), np.ones(6, np.bool_))
    found = recombine(contiguity, np.ones(6, np.int32), TreeCuts(free(graph), 0, EFFORT))
    assert sorted(np.bincount(found)) in ([2, 4], [3, 3])
    assert components_per_part(graph, found, 2).tolist() == [1, 1]


def districts(seed: int) -> Graph:
    """Return a planar graph with skewed populations; a few are large, and a few are 0."""
    rng = np.random.default_rng(seed)
    mesh = jetpy.generators.delaunay(700, seed=seed)
    people = np.round(rng.lognormal(7, 0.5, mesh.n)).astype(np.int32)
    people[rng.choice(mesh.n, 4, replace=False)] *= 5
    people[rng.choice(mesh.n, 9, replace=False)] = 0
    return replace(mesh, vertex_weights=people)


@pytest.mark.parametrize("targets", [None, [1, 2, 1, 3, 1, 1, 2]])
@pytest.mark.parametrize("seed", range(3))
def test_districts_are_connected_within_both_limits(seed: int, targets: Any) -> None:
    graph, k = districts(seed), 7
    request = make_request(
        graph,
        k,
        imbalance=0.01,
        large_imbalance=False,
        targets=targets,
        fixed=None,
        objective="cut",
        connected=True,
        seed=seed,
        preset="default",
        fill=True,
    )
    problem = request.problem
    lower = np.ceil(0.99 * problem.ideals).astype(np.int64)
    request = replace(request, problem=replace(problem, part_lower_limits=lower))
    result = request.solver.solve(get_backend("cpu", 1), request.effort, no_progress)
    weights = part_weights(graph, result.parts, k)
    assert (weights <= problem.limits).all()
    assert (weights >= lower).all()
    assert components_per_part(graph, result.parts, k).tolist() == [1] * k
    assert not result.disconnected
    assert result.cut == edge_cut(graph, result.parts)
