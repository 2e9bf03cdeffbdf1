"""Flows that improve separators: compared with all cuts of small bands and with SciPy's flows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order, maximum_flow

from jetpy import generators
from jetpy.device.backends import lease
from jetpy.engines.base import Backend
from jetpy.graph.csr import Graph
from jetpy.ordering.dissection import dissect
from jetpy.ordering.effort import EFFORTS
from jetpy.ordering.levels import separator_levels
from jetpy.workloads.common.groups import NO_PART
from jetpy.workloads.common.heaps import Field
from jetpy.workloads.ordering import large_nodes as kernels
from jetpy.workloads.ordering.separator_flows import OUTSIDE, Band
from jetpy.workloads.ordering.separators import FAIR, RATIO_BITS, SEPARATOR, SKEW
from jetpy.workloads.ordering.tries import Search
from tests.graphs import from_edges, random_graph
from tests.strategies import weighted_graphs

Array = np.ndarray
LARGE_SKEW = 160
NO_LIMIT = 10**6
GRAPHS = {
    "delaunay": generators.delaunay(900),
    "grid": generators.grid(30, 40),
    "cube": generators.cube(8, 8, 8),
    "random": random_graph(300, 900, 4, weighted=True),
    "rmat": generators.rmat(9, 8),
}


@dataclass(frozen=True)
class Improved:
    """What one flow makes of the sides, the vertices of its band, and the fields of the try."""

    sides: Array
    is_inside: Array
    has_failed: bool
    numbers: Array


def one_flow(backend: Backend, skew: int, hops: int, limit: int) -> Search:
    """Return a search that makes one flow and no passes."""
    return Search(
        shares=backend.empty(0),
        share=0,
        skew=skew,
        growings=0,
        passes=0,
        step=1,
        flows=1,
        hops=hops,
        most_in_band=limit,
    )


def improved(
    backend: Backend, graph: Graph, sides: Array, hops: int, limit: int, largest: int
) -> Improved:
    """Improve a separator by one flow; a side may weigh `largest`."""
    weights = np.bincount(sides, graph.vertex_weights, 3).astype(np.int64)
    numbers = np.zeros(Field.COUNT, np.int64)
    numbers[Field.END] = graph.n
    numbers[[Field.WEIGHTS, Field.WEIGHTS + 1, Field.CUT]] = weights
    numbers[[Field.MOST, Field.MOST + 1, Field.TOTAL]] = largest, largest, weights.sum()
    numbers[Field.SKEW] = LARGE_SKEW
    levels = separator_levels(
        backend,
        graph.n + 1,
        len(graph.indices),
        1,
        rows=backend.from_host(graph.indptr.astype(np.int32)),
        ends=backend.from_host(graph.indices),
        weights=backend.from_host(graph.vertex_weights),
        sides=backend.from_host(sides.astype(np.int32)),
        pinned=backend.full(graph.n, NO_PART),
        numbers=backend.from_host(numbers),
    )
    bands = levels.bands
    search = one_flow(backend, LARGE_SKEW, hops, limit)
    improve = {"search": search, "levels": levels, "other": levels.other, "bands": bands}
    backend.run_tasks(1, kernels.improve_candidates, **improve)
    return Improved(
        backend.to_host(levels.sides),
        backend.to_host(bands.in_labels)[: graph.n] != OUTSIDE,
        bool(backend.to_host(bands.bands)[Band.FAILED]),
        backend.to_host(levels.numbers),
    )


def any_sides(graph: Graph, seed: int) -> Array:
    """Return sides with a random separator: one end of each edge between random sides."""
    rng = np.random.default_rng(seed)
    sides = rng.integers(0, 3 if seed % 2 else 2, graph.n)
    tails = np.repeat(np.arange(graph.n), np.diff(graph.indptr))
    for tail, head in zip(tails, graph.indices, strict=True):
        if {sides[tail], sides[head]} == {0, 1}:
            sides[[tail, head][rng.integers(2)]] = SEPARATOR
    return sides


def from_levels(graph: Graph) -> Array:
    """Return sides by breadth-first search, with needless vertices in the separator."""
    matrix = matrix_of(graph)
    order = breadth_first_order(matrix, 0, return_predecessors=False)
    sides = np.ones(graph.n, np.int64)
    sides[order[: len(order) // 2]] = 0
    sides[(sides == 1) & (matrix @ (sides == 0) > 0)] = SEPARATOR
    sides[np.random.default_rng(0).random(graph.n) < 0.1] = SEPARATOR
    return sides


def matrix_of(graph: Graph) -> csr_array:
    ones = np.ones(len(graph.indices), np.int32)
    return csr_array((ones, graph.indices, graph.indptr), shape=(graph.n, graph.n))


def judged(graph: Graph, sides: Array, largest: int) -> tuple[int, int]:
    """Return the overload and the score of a separator."""
    first, second, cut = (int(graph.vertex_weights[sides == side].sum()) for side in range(3))
    total = first + second + cut
    skew = (max(2 * max(first, second) - total, 0) << RATIO_BITS) // total
    overload = max(first - largest, second - largest, 0) if first and second else total
    return overload, cut * (FAIR + (SKEW + LARGE_SKEW * cut // total) * skew * skew)


def is_separated(graph: Graph, sides: Array) -> bool:
    tails = np.repeat(np.arange(graph.n), np.diff(graph.indptr))
    return not np.any((sides[tails] == 0) & (sides[graph.indices] == 1))


def cuts_of_band(graph: Graph, sides: Array, is_inside: Array) -> list[tuple[Array, Array]]:
    """Return the least cuts in a band: the vertices before each one, and those in it."""
    matrix = matrix_of(graph).toarray() > 0
    band = np.flatnonzero(is_inside)
    found: dict[int, list[tuple[Array, Array]]] = {}
    for bits in range(1 << len(band)):
        cut = np.zeros(graph.n, bool)
        cut[band[[bits >> i & 1 == 1 for i in range(len(band))]]] = True
        before = ~is_inside & (sides == 0)
        while (more := matrix[before].any(axis=0) & ~cut & ~before).any():
            before = before | more
        if not (before & ~is_inside & (sides == 1)).any():
            found.setdefault(int(graph.vertex_weights[cut].sum()), []).append((before, cut))
    return found[min(found)]


def best_by_all_cuts(graph: Graph, sides: Array, is_inside: Array, largest: int) -> Array:
    """Return the best of the present sides and those by the two outermost least cuts."""
    outside = [(~is_inside & (sides == side)) for side in range(2)]
    matrix = matrix_of(graph)
    if not all((is_inside & (matrix @ side > 0)).any() for side in outside):
        return sides
    cuts = cuts_of_band(graph, sides, is_inside)
    if graph.vertex_weights[cuts[0][1]].sum() == graph.vertex_weights[sides == SEPARATOR].sum():
        return sides
    candidates = [sides]
    for before, cut in (
        min(cuts, key=lambda pair: (pair[0].sum(), pair[1].sum())),
        min(cuts, key=lambda pair: (after(graph, sides, is_inside, pair[1]).sum(), pair[1].sum())),
    ):
        behind = after(graph, sides, is_inside, cut)
        new = np.where(cut, SEPARATOR, np.where(before, 0, 1))
        if len(candidates) > 1:
            new = np.where(cut, SEPARATOR, np.where(behind, 1, 0))
        candidates.append(np.where(is_inside, new, sides))
    return min(candidates, key=lambda each: judged(graph, each, largest))


def after(graph: Graph, sides: Array, is_inside: Array, cut: Array) -> Array:
    """Return the vertices that a cut leaves connected with side 1 outside the band."""
    matrix = matrix_of(graph)
    behind = ~is_inside & (sides == 1)
    while (more := (matrix @ behind > 0) & ~cut & ~behind).any():
        behind = behind | more
    return behind


@given(
    weighted_graphs(least=3, most=11),
    st.integers(0, 2**32),
    st.integers(1, 4),
    st.sampled_from([0.5, 0.75, 1.0]),
)
def test_best_outermost_cut_of_small_bands(
    graph: Graph, seed: int, hops: int, share: float
) -> None:
    sides = any_sides(graph, seed)
    largest = int(share * graph.total_vertex_weight)
    with lease("cpu", 1) as host, host.using():
        found = improved(host, graph, sides, hops, NO_LIMIT, largest)
    expected = best_by_all_cuts(graph, sides, found.is_inside, largest)
    assert np.array_equal(found.sides, expected)
    assert found.has_failed == np.array_equal(expected, sides)
    weights = np.bincount(expected, graph.vertex_weights, 3)
    fields = [Field.WEIGHTS, Field.WEIGHTS + 1, Field.CUT]
    assert np.array_equal(found.numbers[fields], weights)


def test_opposite_flows_along_an_edge_cancel() -> None:
    """The path s, y, u, v, z, t comes first; the next one turns back from v to u and y.

    Then v has room left, and the least cut is {y, z}, whose weight is 2.
    """
    names = "stuvyzabcdefg"
    paths = ["syuvzt", "sabcv", "ydefgt"]
    edges = [(names.index(a), names.index(b)) for path in paths for a, b in pairwise(path)]
    weights = [{"s": 50, "t": 50, "v": 2}.get(name, 2 if name in "abc" else 1) for name in names]
    graph = from_edges(len(names), edges, [1] * len(edges), weights)
    sides = np.array([{"v": 2, "y": 2}.get(name, int(name in "tzdefg")) for name in names])
    with lease("cpu", 1) as host, host.using():
        found = improved(host, graph, sides, 9, NO_LIMIT, 80)
    assert np.array_equal(np.flatnonzero(~found.is_inside), [0, 1])
    assert graph.vertex_weights[found.sides == SEPARATOR].sum() == 2
    assert np.array_equal(found.sides, best_by_all_cuts(graph, sides, found.is_inside, 80))


def least_cut(graph: Graph, sides: Array, is_inside: Array) -> int:
    """Return the weight of a minimum vertex cut of a band, by SciPy."""
    n, much = graph.n, graph.total_vertex_weight + 1
    tails = np.repeat(np.arange(n), np.diff(graph.indptr))
    capacities = np.where(is_inside, graph.vertex_weights, much)
    sources, sinks = (np.flatnonzero(~is_inside & (sides == side)) for side in range(2))
    a = np.concatenate([np.arange(n), n + tails, np.full(len(sources), 2 * n), n + sinks])
    b = np.concatenate([n + np.arange(n), graph.indices, sources, np.full(len(sinks), 2 * n + 1)])
    rest = np.full(len(a) - n, much)
    entries = np.concatenate([capacities, rest]).astype(np.int32)
    arcs = csr_array((entries, (a, b)), shape=(2 * n + 2, 2 * n + 2))
    return int(maximum_flow(arcs, 2 * n, 2 * n + 1).flow_value)


@pytest.mark.parametrize("hops", [2, 10])
@pytest.mark.parametrize("name", GRAPHS)
def test_least_weight_in_the_band(backend: Backend, name: str, hops: int) -> None:
    graph = GRAPHS[name]
    sides = from_levels(graph)
    largest = graph.total_vertex_weight
    found = improved(backend, graph, sides, hops, NO_LIMIT, largest)
    assert not found.has_failed
    assert is_separated(graph, sides)
    assert is_separated(graph, found.sides)
    assert judged(graph, found.sides, largest) < judged(graph, sides, largest)
    assert np.array_equal(found.sides[~found.is_inside], sides[~found.is_inside])
    weight = graph.vertex_weights[found.sides == SEPARATOR].sum()
    assert weight == least_cut(graph, sides, found.is_inside)
    again = improved(backend, graph, found.sides, hops, NO_LIMIT, largest)
    assert judged(graph, again.sides, largest) <= judged(graph, found.sides, largest)


@pytest.mark.parametrize("name", GRAPHS)
def test_no_flow_improves_a_separator_of_least_weight(name: str) -> None:
    graph = GRAPHS[name]
    sides, has_failed = from_levels(graph), False
    with lease("cpu", 1) as host, host.using():
        while not has_failed:
            found = improved(host, graph, sides, 4, NO_LIMIT, NO_LIMIT)
            sides, has_failed = found.sides, found.has_failed
    weight = graph.vertex_weights[sides == SEPARATOR].sum()
    assert least_cut(graph, sides, found.is_inside) == weight


def test_the_band_ends_at_hops_and_at_its_limit() -> None:
    graph = generators.grid(20, 40)
    columns = np.arange(graph.n) % 40
    sides = np.where(columns == 20, SEPARATOR, columns > 20)
    with lease("cpu", 1) as host, host.using():
        found = improved(host, graph, sides, 3, NO_LIMIT, graph.n)
        assert np.array_equal(found.is_inside, abs(columns - 20) <= 3)
        found = improved(host, graph, sides, 3, 50, graph.n)
    assert 50 <= found.is_inside.sum() <= 50 + 4


def test_the_band_leaves_some_of_each_side() -> None:
    graph = generators.grid(1, 40)
    sides = np.where(np.arange(40) == 5, SEPARATOR, np.arange(40) > 5)
    with lease("cpu", 1) as host, host.using():
        found = improved(host, graph, sides, 40, NO_LIMIT, 40)
    assert not found.is_inside[0]
    assert not found.is_inside[-1]
    assert found.is_inside.sum() == 38


def test_flows_write_only_to_their_own_ranges() -> None:
    """All vertices of a path are in the band of the second of three tasks."""
    n, tasks, task, unwritten = 40, 3, 1, -9
    begin, own = task * n, np.zeros(Field.COUNT, np.int64)
    sides = np.where(np.arange(n) == 5, SEPARATOR, np.arange(n) > 5)
    own[[Field.BEGIN, Field.END, Field.TOTAL]] = begin, begin + n, 3 * n
    own[[Field.WEIGHTS, Field.WEIGHTS + 1, Field.CUT]] = n + 5, n + n - 6, 9
    own[[Field.MOST, Field.MOST + 1]] = 3 * n
    path = generators.grid(1, n)
    with lease("cpu", 1) as host, host.using():
        levels = separator_levels(host, tasks * n + 1, tasks * len(path.indices), tasks)
        levels.weights[:] = 2
        levels.weights[[begin + 20, begin + 5]] = 1, 9
        levels.rows[:] = 0
        levels.rows[begin : begin + n + 1] = path.indptr
        levels.pinned[:] = NO_PART
        levels.pinned[[begin, begin + n - 1]] = 0, 1
        host.to_host(levels.ends)[: len(path.indices)] = path.indices + begin
        host.to_host(levels.sides)[begin : begin + n] = sides
        host.to_host(levels.numbers)[task * Field.COUNT : (task + 1) * Field.COUNT] = own
        failed = host.to_host(levels.bands.bands).reshape(tasks, Band.COUNT)
        failed[:, Band.FAILED] = 1
        failed[task, Band.FAILED] = 0
        counts = host.to_host(levels.bands.in_counts), host.to_host(levels.bands.out_counts)
        for each in counts:
            each[:] = unwritten
        search = one_flow(host, 0, n, NO_LIMIT)
        improve = {"search": search, "levels": levels, "other": levels.other, "bands": levels.bands}
        host.run_tasks(tasks, kernels.improve_candidates, **improve)
    assert failed[task, [Band.SIZE, Band.FAILED]].tolist() == [n, 0]
    assert np.flatnonzero(levels.sides[begin : begin + n] == SEPARATOR).tolist() == [20]
    for each in counts:
        assert (np.delete(each, np.arange(begin, begin + n)) == unwritten).all()
        assert (each[begin : begin + n] != unwritten).all()


@pytest.mark.parametrize("name", ["delaunay", "random"])
def test_threads_make_no_difference(name: str) -> None:
    found = []
    for threads in (1, 2):
        with lease("cpu", threads) as host, host.using():
            found.append(dissect(host, host, GRAPHS[name], EFFORTS["default"], 0)[0])
    assert np.array_equal(*found)


def test_flows_make_separators_smaller() -> None:
    graph = generators.delaunay(2000)
    sizes: dict[int, Any] = {}
    with lease("cpu", 1) as host, host.using():
        for hops in (0, 10):
            effort = replace(EFFORTS["fast"], hops=hops, leaf_weight=1000)
            sizes[hops] = dissect(host, host, graph, effort, 0)[1].sizes[-1]
    assert sizes[10] < sizes[0]
