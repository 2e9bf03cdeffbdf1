"""Recursive bisection of a level by copies behind it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jetpy.device.backends import get_backend
from jetpy.graph.csr import Graph
from jetpy.graph.generators import delaunay, grid, rmat
from jetpy.workloads.common.groups import NO_PART, NO_VERTEX
from jetpy.workloads.common.heaps import Field
from tests.graphs import clique, isolated, path, random_graph, star, two_cliques
from tests.strategies import weighted_graphs
from tests.tasks.workers import HERE, INNER, RUBBISH, Worker, rows_of

LEVEL = ("rows", "weights", "pinned", "coarse_of")
"""Arrays of vertices of a level that bisections read or leave alone."""


def worker_of(
    graph: Graph, k: int, pins: dict[int, int] | None = None, shares: list[int] | None = None
) -> Worker:
    """Return a level without a partition, with limits of a tenth above the shares."""
    pins, shares = pins or {}, shares or [1] * k
    parts = [pins.get(v, NO_PART) for v in range(graph.n)]
    worker = Worker.of(get_backend("cpu", 1), graph, k, parts, 3, pins)
    most = [11 * graph.total_vertex_weight * s // (10 * sum(shares)) + 1 for s in shares]
    worker.set_sums(shares, most, [0] * k)
    return worker


def level_of(worker: Worker) -> dict[str, list[int]]:
    """Return the arrays of the level."""
    entries = slice(worker.rooms.entries, worker.rooms.entries + len(worker.graph.indices))
    own = slice(worker.begin, worker.end)
    found = {name: getattr(worker.state, name)[own].tolist() for name in LEVEL}
    found["last row"] = [int(worker.state.rows[worker.end])]
    return found | {
        name: getattr(worker.state, name)[entries].tolist() for name in ("ends", "edge_weights")
    }


def bisected(worker: Worker, tries: int = 2, growings: int = 3, seed: int = 5) -> list[int]:
    """Return the parts of recursive bisection, which leaves the level unchanged."""
    before, fields = level_of(worker), worker.state.numbers[HERE:INNER].tolist()
    worker.run("bisect_level", tries=tries, growings=growings, seed=seed)
    assert level_of(worker) == before
    assert worker.state.numbers[HERE:INNER].tolist() == fields
    worker.check_other_worker()
    return worker.parts


GRAPHS: dict[str, Callable[[], Graph]] = {
    "grid": lambda: grid(12, 13),
    "delaunay": lambda: delaunay(300),
    "rmat": lambda: rmat(7, 6),
    "path": lambda: path(120),
    "isolated": lambda: isolated(90),
    "two_cliques": lambda: two_cliques(40),
    "star": lambda: star(100),
    "clique": lambda: clique(64),
}


@pytest.mark.parametrize("k", [1, 2, 3, 5, 8, 16])
@pytest.mark.parametrize("name", GRAPHS)
def test_parts_have_about_the_same_weight(name: str, k: int) -> None:
    graph = GRAPHS[name]()
    parts = bisected(worker_of(graph, k))
    sizes = np.bincount(parts, minlength=k)
    assert len(sizes) == k
    share = graph.n / k
    assert 0.7 * share - 2 <= sizes.min() <= sizes.max() <= 1.2 * share + 1


def test_parts_have_weights_like_their_shares() -> None:
    graph, shares = grid(20, 30), [1, 4, 2, 3]
    sizes = np.bincount(bisected(worker_of(graph, 4, shares=shares)), minlength=4)
    assert (sizes <= 66 * np.array(shares) + 2).all()
    assert (sizes >= 30 * np.array(shares)).all()


def test_more_tries_and_growings_find_no_larger_cuts_on_average() -> None:
    graph = delaunay(200)
    rows = rows_of(graph)

    def cut(tries: int, growings: int, seed: int) -> int:
        parts = bisected(worker_of(graph, 4), tries, growings, seed)
        return sum(parts[u] != parts[v] for v in range(graph.n) for u, _ in rows[v]) // 2

    few, many = (sum(cut(t, g, seed) for seed in range(6)) for t, g in ((1, 1), (4, 4)))
    assert many <= few


@given(weighted_graphs(), st.integers(1, 9), st.integers(0, 10**6))
def test_no_part_is_empty_if_there_are_enough_vertices(graph: Graph, k: int, seed: int) -> None:
    parts = bisected(worker_of(graph, k), seed=seed)
    assert set(parts) <= set(range(k))
    assert len(set(parts)) == min(k, graph.n)


@given(weighted_graphs(), st.integers(1, 7), st.data())
def test_pinned_vertices_get_their_parts(graph: Graph, k: int, data: st.DataObject) -> None:
    vertices, every = st.integers(0, graph.n - 1), st.integers(0, k - 1)
    pins = data.draw(st.dictionaries(vertices, every))
    parts = bisected(worker_of(graph, k, pins))
    assert set(parts) <= set(range(k))
    assert {v: parts[v] for v in pins} == pins


@given(weighted_graphs(), st.data())
def test_copy_is_the_induced_subgraph(graph: Graph, data: st.DataObject) -> None:
    k, n = 4, graph.n
    pins = data.draw(st.dictionaries(st.integers(0, n - 1), st.integers(0, k - 1)))
    order = data.draw(st.permutations(range(n)))
    low, high = sorted(data.draw(st.tuples(st.integers(0, n), st.integers(0, n))))
    middle = data.draw(st.integers(0, k))
    worker = worker_of(graph, k, pins)
    state, begin = worker.state, worker.begin
    state.heap[begin : worker.end] = np.array(order) + begin
    before = level_of(worker)
    worker.run("copy_range", low=begin + low, high=begin + high, middle=middle)
    assert level_of(worker) == before
    assert state.heap[begin : worker.end].tolist() == [begin + v for v in order]
    assert (state.positions[begin : worker.end] == NO_VERTEX).all()
    chosen, first = order[low:high], worker.end + 1
    fields = state.numbers[INNER:]
    assert fields[Field.LEVEL_BEGINS] == fields[Field.ORIGIN] == first
    assert fields[Field.TOTAL] == graph.vertex_weights[chosen].sum()
    assert fields[Field.PINNED] == len(pins.keys() & set(chosen))
    rows, place = rows_of(graph), {v: j for j, v in enumerate(chosen)}
    assert state.rows[first] == state.rows[worker.end]
    for j, v in enumerate(chosen):
        assert state.weights[first + j] == graph.vertex_weights[v]
        side = int(pins[v] >= middle) if v in pins else NO_PART
        assert state.pinned[first + j] == side
        inside = [(first + place[u] - begin, w) for u, w in rows[v] if u in place]
        assert worker.row(first + j) == inside
    assert (state.weights[first + len(chosen) :] == RUBBISH).all()
    assert (state.ends[state.rows[first + len(chosen)] :] == RUBBISH).all()


@given(
    st.lists(
        st.tuples(st.integers(0, 1), st.integers(0, 3), st.booleans()), min_size=1, max_size=12
    ),
    st.integers(0, 1),
    st.integers(0, 14),
)
def test_the_lightest_free_vertices_fill_a_side(
    vertices: list[tuple[int, int, bool]], side: int, least: int
) -> None:
    size = len(vertices)
    worker = worker_of(isolated(size), 2)
    state, first = worker.state, worker.end + 1
    worker.set_fields(INNER, {Field.BEGIN: first, Field.END: first + size})
    own = slice(first, first + size)
    state.weights[own] = [w for _, w, _ in vertices]
    state.pinned[own] = [s if is_pinned else NO_PART for s, _, is_pinned in vertices]
    state.sides[own] = [s for s, _, _ in vertices]
    worker.run("fill_one", side=side, least=least)
    expected = [s for s, _, _ in vertices]
    free = [j for j, (s, _, is_pinned) in enumerate(vertices) if s != side and not is_pinned]
    lacking = max(0, least - expected.count(side))
    for j in sorted(free, key=lambda j: vertices[j][1])[:lacking]:
        expected[j] = side
    assert state.sides[own].tolist() == expected


@given(st.lists(st.integers(0, 1), max_size=20), st.integers(0, 3))
def test_an_order_is_divided_stably(sides: list[int], before: int) -> None:
    worker = worker_of(isolated(30), 2)
    state, low, first = worker.state, worker.begin + before, worker.end + 1
    high = low + len(sides)
    order = np.random.default_rng(len(sides)).permutation(30) + worker.begin
    state.heap[worker.begin : worker.end] = order
    state.sides[first : first + len(sides)] = sides
    boundary = worker.run("divide_one", low=low, high=high, first=first)
    own: list[Any] = order[before : before + len(sides)].tolist()
    by_side = [[v for v, s in zip(own, sides, strict=True) if s == side] for side in (0, 1)]
    assert boundary == low + len(by_side[0])
    assert state.heap[low:high].tolist() == by_side[0] + by_side[1]
    assert state.heap[worker.begin : low].tolist() == order[:before].tolist()
    assert state.heap[high : worker.end].tolist() == order[before + len(sides) :].tolist()


def test_edges_of_weight_0_and_heavy_vertices_are_bisected() -> None:
    graph = random_graph(60, 150, 2, weighted=True)
    graph.edge_weights[:] = 0
    graph.vertex_weights[:5] = 100
    parts = bisected(worker_of(graph, 4))
    assert set(parts) == {0, 1, 2, 3}
