"""Parts below their lower limits: filled by kernels, kept by flows, raised on the host."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jetpy.device.device_graph import upload
from jetpy.engines.base import Backend
from jetpy.graph.csr import Graph
from jetpy.graph.generators import delaunay, grid
from jetpy.problem.metrics import edge_cut, part_weights
from jetpy.problem.options import Options
from jetpy.problem.problem import Problem
from jetpy.refinement.flows import Flows
from jetpy.refinement.jet import Refinement
from jetpy.refinement.measures import Measures
from jetpy.refinement.raising import raise_to_lower_limits
from jetpy.workloads.common.control_block import Tasks
from tests.graphs import from_edges, isolated, path
from tests.refinement.oracle import check_state, connections, finish_iteration, parts_of
from tests.strategies import weighted_graphs

FEW_EXAMPLES = settings(max_examples=60)


def problem_with(graph: Graph, limits: list[int], lower: list[int], seed: int = 1) -> Problem:
    k, upper = len(limits), np.array(limits, np.int64)
    problem = Problem(k, 0.0, graph.total_vertex_weight, max(limits), seed, Options())
    low = np.array(lower, np.int64)
    return replace(problem, targets=np.ones(k, np.int64), part_limits=upper, part_lower_limits=low)


def fill(backend: Backend, graph: Graph, parts: object, problem: Problem) -> np.ndarray:
    """Run one iteration, which fills underloaded parts; return the parts."""
    refinement = Refinement(backend, upload(backend, graph), problem)
    refinement.start(backend.from_host(np.array(parts, np.int32)), 25, 0.999, None)
    if backend.is_asynchronous:
        refinement.iterate(Tasks.REBALANCING)
    else:
        refinement.launch(Tasks.REBALANCING)
    assert refinement.wait_and_serve()
    before = np.array(parts)
    assert finish_iteration(refinement.state) == (parts_of(refinement.state) != before).sum()
    check_state(refinement.state, graph)
    return parts_of(refinement.state)


@FEW_EXAMPLES
@given(graph=weighted_graphs(least=4, most=40), k=st.integers(2, 5), seed=st.integers(0, 10**6))
def test_only_parts_that_lack_weight_gain_it(
    backend: Backend, graph: Graph, k: int, seed: int
) -> None:
    """They gain no more than they lack and the last vertex; a giver lacks half as much at most."""
    rng = np.random.default_rng(seed)
    before = np.minimum(rng.integers(0, 2 * k, graph.n), k - 1).astype(np.int32)
    old, weights = part_weights(graph, before, k), graph.vertex_weights
    lower = rng.integers(0, graph.total_vertex_weight // k + 1, k)
    if (old >= lower).all():
        lower[int(old.argmin())] = old.min() + 1
    problem = problem_with(graph, [graph.total_vertex_weight] * k, lower.tolist(), seed)
    after = fill(backend, graph, before, problem)
    lacks, changed = lower - old, np.flatnonzero(before != after)
    rows = connections(graph, before)
    for v in changed.tolist():
        p, q = int(before[v]), int(after[v])
        assert lacks[p] <= 0 < lacks[q]
        assert rows[v][q] == max(rows[v][o] for o in rows[v] if lacks[o] > 0)
        assert lacks[p] + weights[v] <= lacks[q] // 2
    for q in np.flatnonzero(lacks > 0).tolist():
        arrived = weights[changed[after[changed] == q]]
        assert arrived.sum() < lacks[q] + arrived.max(initial=1)
    candidates = {
        (v, max((w, -o) for o, w in row.items() if lacks[o] > 0)[0])
        for v, row in enumerate(rows)
        if weights[v] > 0 and lacks[before[v]] <= 0 and any(lacks[o] > 0 for o in row)
    }
    may = [
        v
        for v, _ in candidates
        if lacks[before[v]] + weights[v] <= min(lacks[o] for o in rows[v] if lacks[o] > 0) // 2
    ]
    assert len(changed) > 0 or not may


def test_the_vertices_that_lose_least_fill_a_part(backend: Backend) -> None:
    """On a path in two parts, the vertex at the cut moves; of two neighbours, the lighter edge."""
    problem = problem_with(path(100), [100, 100], [0, 40])
    assert fill(backend, path(100), np.arange(100) >= 99, problem).tolist() == [0] * 98 + [1] * 2
    graph = from_edges(5, [(0, 1), (1, 2), (2, 3), (3, 4)], [1, 5, 5, 3])
    problem = problem_with(graph, [5, 5], [0, 2])
    assert fill(backend, graph, [0, 0, 1, 0, 0], problem).tolist() == [0, 1, 1, 0, 0]


def test_a_part_takes_no_vertex_beyond_its_limit(backend: Backend) -> None:
    """Part 1 has room for 3: vertex 1 weighs 4, vertex 2 weighs 3 and costs more."""
    graph = from_edges(5, [(1, 3), (2, 3), (0, 2), (1, 4)], [9, 5, 3, 1], [8, 4, 3, 1, 9])
    problem = problem_with(graph, [30, 4, 30], [0, 3, 0])
    assert fill(backend, graph, [0, 0, 0, 1, 2], problem).tolist() == [0, 0, 1, 1, 2]


@pytest.mark.parametrize("tolerance", [0, 1, 5])
@pytest.mark.parametrize("k", [2, 5, 16])
@pytest.mark.parametrize("make", [lambda: grid(25, 24), lambda: delaunay(600)], ids=["grid", "d"])
def test_refinement_restores_both_limits(
    backend: Backend, make: Callable[[], Graph], k: int, tolerance: int
) -> None:
    """Parts grow by slices from very different sizes."""
    graph = make()
    size = graph.n // k
    if tolerance == 0:
        size, tolerance = graph.n // k, graph.n - k * (graph.n // k)
    sizes = np.linspace(1, 2, k)
    starts = np.floor(np.cumsum(sizes / sizes.sum()) * graph.n).astype(int)[:-1]
    order = np.arange(graph.n)
    if graph.coordinates is not None:
        order = np.lexsort(graph.coordinates.T)
    parts = np.empty(graph.n, np.int32)
    for p, own in enumerate(np.split(order, starts)):
        parts[own] = p
    problem = problem_with(graph, [size + tolerance] * k, [size - tolerance] * k)
    refinement = Refinement(backend, upload(backend, graph), problem)
    refined = refinement.refine(backend.from_host(parts), finest=True)
    found = backend.to_host(refined.parts)
    weights = part_weights(graph, found, k)
    assert refined.measures.part_weights.tolist() == weights.tolist()
    assert refined.measures.cut == edge_cut(graph, found)
    assert refined.measures.overload(problem) <= 0
    assert weights.min() >= size - tolerance
    assert weights.max() <= size + tolerance


def test_flows_keep_lower_limits(backend: Backend) -> None:
    """A waist of one edge lies below the lower limit of part 0; without it, flows cut there."""
    half = grid(10, 10)
    ends = zip(half.sources(0, 100).tolist(), half.indices.tolist(), strict=True)
    edges = [(u, v) for u, v in ends if u < v]
    edges += [(u + 100, v + 100) for u, v in edges]
    graph = from_edges(200, [*edges, (99, 100)])
    parts = np.zeros(200, np.int32)
    parts[110:] = 1
    cuts = []
    for least in (0, 105):
        problem = problem_with(graph, [140, 140], [least, 0])
        measures = Measures(edge_cut(graph, parts), part_weights(graph, parts, 2))
        flows = Flows(backend, upload(backend, graph), problem)
        found, after = flows.improve(backend.from_host(parts.copy()), measures)
        host = backend.to_host(found)
        assert after.cut == edge_cut(graph, host)
        assert after.part_weights.tolist() == part_weights(graph, host, 2).tolist()
        assert after.part_weights[0] >= least
        cuts.append(after.cut)
    assert cuts[0] == 1 < cuts[1]


@settings(max_examples=100)
@given(weighted_graphs(least=1, most=30), st.integers(2, 6), st.integers(0, 10**6))
def test_raising_keeps_what_is_kept(graph: Graph, k: int, seed: int) -> None:
    """No part breaks a limit that it kept, and no single vertex could help a part that lacks."""
    rng = np.random.default_rng(seed)
    parts = rng.integers(0, k, graph.n).astype(np.int32)
    old, weights = part_weights(graph, parts, k), graph.vertex_weights
    lower = rng.integers(0, graph.total_vertex_weight // k + 1, k)
    limits = np.maximum(lower, rng.integers(0, graph.total_vertex_weight + 1, k))
    free = rng.random(graph.n) < 0.8
    problem = problem_with(graph, limits.tolist(), lower.tolist())
    found = raise_to_lower_limits(graph, parts, problem, free)
    new = part_weights(graph, found, k)
    assert (found[~free] == parts[~free]).all()
    assert (np.maximum(new - limits, 0) <= np.maximum(old - limits, 0)).all()
    assert (np.minimum(new - lower, 0) >= np.minimum(old - lower, 0)).all()
    for q in np.flatnonzero(new < lower).tolist():
        fits = free & (found != q) & (weights > 0) & (new[q] + weights <= limits[q])
        assert not (fits & (new[found] - weights >= lower[found])).any()


def test_raising_takes_adjacent_vertices_first() -> None:
    graph = path(12)
    parts = np.array([0] * 6 + [1] * 6, np.int32)
    problem = problem_with(graph, [12, 12], [8, 0])
    free = np.ones(12, np.bool_)
    found = raise_to_lower_limits(graph, parts, problem, free)
    assert found.tolist() == [0] * 8 + [1] * 4
    apart = raise_to_lower_limits(isolated(12), parts, problem, free)
    assert np.bincount(apart).tolist() == [8, 4]
