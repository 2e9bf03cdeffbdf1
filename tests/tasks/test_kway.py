"""K-way passes of Fiduccia and Mattheyses, compared with plain Python."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jetpy.device.backends import get_backend
from jetpy.graph.csr import Graph
from jetpy.graph.generators import delaunay, grid, rmat
from jetpy.workloads.common.heaps import Field
from jetpy.workloads.tasks.kway import GAIN_UNITS, UNREAD
from tests.graphs import clique, from_edges, isolated, path, random_graph, star, two_cliques
from tests.strategies import weighted_graphs
from tests.tasks import oracle
from tests.tasks.oracle import KWay
from tests.tasks.workers import HERE, Worker, probes


def weighted(n: int, m: int, seed: int, most: int = 5) -> Graph:
    """Return a random graph with weights from 0 to `most`."""
    plain, rng = random_graph(n, m, seed), np.random.default_rng(seed)
    starts = np.repeat(np.arange(n), np.diff(plain.indptr))
    upper = starts < plain.indices
    edges = np.stack([starts[upper], plain.indices[upper]], axis=1).tolist()
    return from_edges(
        n,
        [(u, v) for u, v in edges],
        rng.integers(0, most + 1, m).tolist(),
        rng.integers(0, most + 1, n).tolist(),
    )


def random_start(graph: Graph, seed: int) -> KWay:
    """Return a partition into 2 to 5 parts with random limits, tight or loose."""
    rng = np.random.default_rng(seed)
    k = int(rng.integers(2, 6))
    parts = rng.integers(0, k, graph.n).tolist()
    if rng.random() < 0.5:
        parts = (np.arange(graph.n) * k // max(graph.n, 1)).tolist()
    share = graph.total_vertex_weight // k
    most = (share + rng.integers(-1, rng.integers(1, share + 3), k)).tolist()
    least = [[0] * k, [share // 2] * k, (share - rng.integers(0, 3, k)).tolist()][seed % 3]
    pinned = set(np.flatnonzero(rng.random(graph.n) < rng.choice([0.0, 0.0, 0.2])).tolist())
    return KWay(graph, parts, most, least, pinned, seed, int(rng.choice([1, 1, 3])))


def worker_of(start: KWay) -> Worker:
    backend = get_backend("cpu", 1)
    made = Worker.of(backend, start.graph, start.k, start.parts, start.seed, start.pinned)
    made.set_limits(start.most, start.least)
    made.set_fields(HERE, {Field.UNIT: start.unit})
    return made


def check_state(worker: Worker, expected: KWay) -> None:
    """Compare parts, cut, weights and slots."""
    assert worker.parts == expected.parts
    assert worker.cut == expected.cut
    assert worker.of_parts("part_weights") == expected.part_weights()
    counts = [expected.parts.count(p) for p in range(expected.k)]
    assert worker.of_parts("part_sizes") == counts
    for v in range(worker.graph.n):
        if worker.state.internal[worker.begin + v] != UNREAD:
            assert worker.slots_of(v) == expected.adjacent(v)
            assert worker.state.internal[worker.begin + v] == expected.internal(v)
        else:
            assert worker.state.slots[worker.begin + v] == 0
            assert set(expected.weights_to(v)) <= {expected.parts[v]}
    worker.check_other_worker()


def check_passes(graph: Graph, seed: int, lazy: int) -> None:
    rng = np.random.default_rng(seed + 1)
    start = random_start(graph, seed)
    for _ in range(3):
        slack, vain = int(rng.integers(0, 6)), int(rng.integers(1, 2 * graph.n + 2))
        worker = worker_of(start)
        answer = worker.run("pass_once", slack=slack, vain=vain, lazy=lazy)
        # each pass measures the level again
        expected = KWay(
            graph, list(start.parts), start.most, start.least, start.pinned, seed, start.unit
        )
        before = expected.quality
        assert answer == expected.improve(slack, vain)
        check_state(worker, expected)
        assert expected.quality < before if answer else expected.quality == before
        assert all(expected.parts[v] == start.parts[v] for v in start.pinned)
        start = expected


@pytest.mark.parametrize("lazy", [0, 1], ids=["read", "unread"])
@given(weighted_graphs(), st.integers(0, 10**6))
def test_passes_on_small_graphs_equal_the_oracle(lazy: int, graph: Graph, seed: int) -> None:
    check_passes(graph, seed, lazy)


@pytest.mark.parametrize("lazy", [0, 1], ids=["read", "unread"])
@pytest.mark.parametrize("seed", range(60))
def test_passes_with_weights_of_0_equal_the_oracle(seed: int, lazy: int) -> None:
    n = 8 + seed % 25
    check_passes(weighted(n, min(3 * n, n * (n - 1) // 2) // (1 + seed % 3), seed), seed, lazy)


@pytest.mark.parametrize("seed", range(8))
def test_passes_that_end_early_equal_the_oracle(seed: int) -> None:
    """These passes have enough moves for the rule of `is_hopeless`."""
    check_passes(weighted(90, 250, seed, most=9 if seed % 2 else 20_000), seed, seed % 2)


@pytest.mark.parametrize(
    "graph", [star(12), clique(9), path(20), isolated(8), two_cliques(6)], ids=lambda g: g.name
)
@pytest.mark.parametrize("seed", range(6))
def test_passes_on_special_graphs_equal_the_oracle(graph: Graph, seed: int) -> None:
    check_passes(graph, seed, seed % 2)


@pytest.mark.parametrize("lazy", [0, 1], ids=["read", "unread"])
@pytest.mark.parametrize(
    "make",
    [lambda: grid(9, 10), lambda: delaunay(100), lambda: rmat(6, 4), lambda: weighted(80, 200, 5)],
    ids=["grid", "delaunay", "rmat", "weighted"],
)
def test_refinement_of_a_level_equals_the_oracle(make: Callable[[], Graph], lazy: int) -> None:
    graph = make()
    for seed in range(3):
        expected = random_start(graph, seed)
        worker = worker_of(expected)
        worker.run("refine_level", lazy=lazy)
        expected.refine()
        check_state(worker, expected)


@pytest.mark.parametrize("lazy", [0, 1], ids=["read", "unread"])
@given(weighted_graphs(), st.data())
def test_slots_and_weights_follow_moves(lazy: int, graph: Graph, data: st.DataObject) -> None:
    """After moves, they equal recounted ones, also of vertices whose rows are read late."""
    start = random_start(graph, data.draw(st.integers(0, 10**6)))
    move = st.tuples(st.integers(0, graph.n - 1), st.integers(0, start.k - 1))
    moves = data.draw(st.lists(move, max_size=30))
    worker = worker_of(start)
    vertices, targets = np.array([*moves, (0, 0)], np.int32).T.copy()
    vertices += worker.begin
    worker.run("move_all", lazy=lazy, count=len(moves), vertices=vertices, targets=targets)
    for v, p in moves:
        if start.parts[v] != p:
            start.move(v, p)
    check_state(worker, start)


@settings(max_examples=300)
@given(st.lists(st.integers(-4096, 4096), min_size=1, max_size=300), st.integers(-60, 0))
def test_moves_are_hopeless_by_the_rule_of_osipov_and_sanders(gains: list[int], drift: int) -> None:
    shifted = [max(-4096, gain // 64 + drift) for gain in gains]
    sums = len(shifted), sum(shifted), sum(g * g for g in shifted)
    backend = get_backend("cpu", 1)
    answers = backend.full(1, 0, np.int64)
    counts, totals, squares = (np.array([value], np.int64) for value in sums)
    launch = {"counts": counts, "totals": totals, "squares": squares, "answers": answers}
    backend.run_tasks(1, probes().judge, **launch)
    assert answers[0] == oracle.is_hopeless(*sums)


@given(st.integers(-(2**31), 2**31), st.integers(1, 2**20))
def test_gains_in_units_are_rounded_towards_0_and_bounded(gain: int, unit: int) -> None:
    backend = get_backend("cpu", 1)
    answers = backend.full(1, 0, np.int64)
    backend.run_tasks(1, probes().round_gain, gain=gain, unit=unit, answers=answers)
    units = min(abs(gain) // unit, GAIN_UNITS)
    assert answers[0] == (units if gain > 0 else -units)
