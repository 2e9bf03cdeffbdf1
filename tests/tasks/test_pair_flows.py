"""Flows between pairs of parts by one index."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_flow

from jetpy.device.backends import get_backend
from jetpy.graph.csr import Graph
from jetpy.graph.generators import delaunay, grid
from jetpy.problem.metrics import edge_cut, part_weights
from jetpy.workloads.tasks.kway import UNREAD
from jetpy.workloads.tasks.pair_flows import MAX_CUT_SHARE
from tests.graphs import from_edges
from tests.strategies import weighted_graphs
from tests.tasks.oracle import KWay
from tests.tasks.workers import Worker

ANCHOR = 100
"""Weight of a vertex that is too heavy for a region."""
lazily = pytest.mark.parametrize("lazy", [0, 1], ids=["read", "unread"])


def worker_of(graph: Graph, start: list[int], k: int, pinned: set[int] | None = None) -> Worker:
    worker = Worker.of(get_backend("cpu", 1), graph, k, start, 1, pinned or set())
    worker.set_limits([graph.total_vertex_weight] * k, [0] * k)
    return worker


def check_state(worker: Worker) -> None:
    """Compare the cut, the weights and the slots of all vertices that have been read."""
    k, found = worker.k, KWay(worker.graph, worker.parts, [0] * worker.k, [], set(), 0)
    assert worker.cut == edge_cut(worker.graph, np.array(found.parts, np.int32))
    assert worker.of_parts("part_weights") == found.part_weights()
    assert worker.of_parts("part_sizes") == [found.parts.count(p) for p in range(k)]
    for v in range(worker.graph.n):
        if worker.state.internal[worker.begin + v] == UNREAD:
            assert set(found.weights_to(v)) <= {found.parts[v]}
        else:
            positive = {p: w for p, w in worker.slots_of(v).items() if w > 0}
            assert positive == {p: w for p, w in found.adjacent(v).items() if w > 0}
            assert worker.state.internal[worker.begin + v] == found.internal(v)
    worker.check_other_worker()


@lazily
@settings(max_examples=200)
@given(weighted_graphs(least=2), st.integers(0, 10**6), st.integers(0, 3))
def test_flows_keep_limits_and_never_raise_the_cut(
    lazy: int, graph: Graph, seed: int, hops: int
) -> None:
    rng = np.random.default_rng(seed)
    k = int(rng.integers(2, 5))
    start = rng.integers(0, k, graph.n)
    a, b = sorted(rng.permutation(k)[:2].tolist())
    pinned = set(np.flatnonzero(rng.random(graph.n) < rng.choice([0, 0.3])).tolist())
    share = graph.total_vertex_weight // k
    most = share + rng.integers(-1, share + 2, k)
    least = share - rng.integers(-1, share + 2, k)
    worker = worker_of(graph, start.tolist(), k, pinned)
    worker.set_limits(most.tolist(), least.tolist())
    has_changed = worker.run("flow_between", a=a, b=b, lazy=lazy, hops=hops)
    check_state(worker)
    parts = np.array(worker.parts)
    before = edge_cut(graph, start.astype(np.int32))
    assert worker.cut < before if has_changed else (parts == start).all()
    assert {(a, a), (b, b), (a, b), (b, a)} >= set(
        zip(start[parts != start], parts[parts != start], strict=True)
    )
    assert all(parts[v] == start[v] for v in pinned)
    old, new = (part_weights(graph, p.astype(np.int32), k) for p in (start, parts))
    assert (new <= np.maximum(old, most)).all()
    assert (new >= np.minimum(old, least)).all()


def anchored(seed: int, zeros: bool, most: int = 20) -> tuple[Graph, list[int]]:
    """Return a graph with a heavy vertex in each of two parts, which are the last two vertices."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, most))
    edges = [(u, v) for u in range(n) for v in range(u) if rng.random() < 3 / n]
    edges += [(v, int(n + rng.integers(0, 2))) for v in range(n) if rng.random() < 0.4]
    weights = rng.integers(0 if zeros else 1, 6, len(edges)).tolist()
    graph = from_edges(n + 2, edges, weights, [*rng.integers(0, 2, n).tolist(), ANCHOR, ANCHOR])
    return graph, [*rng.integers(0, 2, n).tolist(), 0, 1]


def max_flow(graph: Graph) -> int:
    """Return the maximum flow between the last two vertices."""
    size = graph.n, graph.n
    network = csr_array((graph.edge_weights, graph.indices, graph.indptr), size)
    return int(maximum_flow(network, graph.n - 2, graph.n - 1).flow_value)


@lazily
@pytest.mark.parametrize("zeros", [False, True], ids=["weights", "weights of 0"])
@pytest.mark.parametrize("group", range(4))
def test_the_cut_is_a_minimum_cut_if_the_region_has_all_vertices(
    group: int, zeros: bool, lazy: int
) -> None:
    """Without limits, only the heavy vertices stay; a cut of 0 stays, too."""
    gains = 0
    for seed in range(50 * group, 50 * group + 50):
        graph, start = anchored(seed, zeros)
        worker = worker_of(graph, start, 2)
        worker.run("flow_between", a=0, b=1, lazy=lazy, hops=graph.n)
        check_state(worker)
        assert worker.parts[-2:] == [0, 1]
        assert worker.cut == max_flow(graph)
        gains += worker.parts != start
    assert gains > 20


@lazily
@pytest.mark.parametrize("seed", range(60))
def test_a_cut_within_limits_is_not_smaller_than_the_best_balanced_one(
    seed: int, lazy: int
) -> None:
    """Compared with all cuts. Flows may miss the best one."""
    graph, start = anchored(seed, zeros=False, most=10)
    n = graph.n - 2
    weights = part_weights(graph, np.array(start, np.int32), 2)
    most = weights + seed % 3
    worker = worker_of(graph, start, 2)
    worker.set_limits(most.tolist(), [0, 0])
    worker.run("flow_between", a=0, b=1, lazy=lazy, hops=graph.n)
    check_state(worker)
    cuts = [edge_cut(graph, np.array(start, np.int32))]
    for number in range(1 << n):
        parts = np.array([*(number >> v & 1 for v in range(n)), 0, 1], np.int32)
        if (part_weights(graph, parts, 2) <= most).all():
            cuts.append(edge_cut(graph, parts))
    assert min(cuts) <= worker.cut <= cuts[0]


@pytest.mark.parametrize("mirrored", [False, True])
def test_a_vertex_is_read_before_it_moves(mirrored: bool) -> None:
    """Vertex 2 is in the region at distance 1, with only an edge of weight 0, and unread."""
    edges, weights = [(0, 3), (0, 4), (0, 2), (1, 3), (1, 4)], [5, 1, 0, 1, 5]
    graph = from_edges(5, edges, weights, [1, 1, 1, ANCHOR, ANCHOR])
    start = [0, 0, 0, 0, 1]
    if mirrored:
        start = [1 - p for p in start]
    worker = worker_of(graph, start, 2)
    assert worker.run("flow_between", a=0, b=1, lazy=1, hops=2) == 1
    assert worker.cut == 2
    check_state(worker)


def test_a_vertex_that_moves_before_its_neighbours_is_read() -> None:
    """Vertices 1, 2 and 3 move in this order; 2 is adjacent to 0, which stays, and to 3."""
    edges = [(0, 4), (0, 5), (1, 5), (0, 2), (1, 3), (2, 3)]
    graph = from_edges(6, edges, [9, 1, 5, 1, 5, 5], [1, 1, 1, 1, ANCHOR, ANCHOR])
    worker = worker_of(graph, [0, 0, 0, 0, 0, 1], 2)
    assert worker.run("flow_between", a=0, b=1, lazy=1, hops=1) == 1
    assert worker.parts == [0, 1, 1, 1, 0, 1]
    check_state(worker)


def in_stripes(graph: Graph, k: int, seed: int) -> list[int]:
    """Return stripes of vertices by their first coordinate, with some vertices in random parts."""
    rng = np.random.default_rng(seed)
    assert graph.coordinates is not None
    parts = graph.coordinates[:, 0].argsort(kind="stable").argsort() * k // graph.n
    anywhere = rng.random(graph.n) < 0.01
    parts[anywhere] = rng.integers(0, k, int(anywhere.sum()))
    return list(parts.tolist())


@lazily
@pytest.mark.parametrize("k", [2, 3, 4])
@pytest.mark.parametrize(
    "make", [lambda: grid(12, 60), lambda: delaunay(2000)], ids=["grid", "delaunay"]
)
def test_flows_between_all_pairs_lower_the_cut(
    make: Callable[[], Graph], k: int, lazy: int
) -> None:
    graph = make()
    start = in_stripes(graph, k, k)
    before = edge_cut(graph, np.array(start, np.int32))
    assert MAX_CUT_SHARE * before <= graph.total_edge_weight
    pinned = set(range(0, graph.n, 9))
    worker = worker_of(graph, start, k, pinned)
    most = int(1.1 * graph.n / k)
    worker.set_limits([most] * k, [graph.n // k - 10] * k)
    worker.run("flow_pairs", lazy=lazy, hops=3)
    check_state(worker)
    assert worker.cut < before
    assert all(worker.parts[v] == start[v] for v in pinned)
    sizes = np.bincount(worker.parts, minlength=k)
    assert graph.n // k - 10 <= sizes.min() <= sizes.max() <= most


def test_there_are_no_flows_if_much_is_cut() -> None:
    graph = grid(12, 12)
    start = np.random.default_rng(1).integers(0, 2, graph.n).tolist()
    worker = worker_of(graph, start, 2)
    worker.run("flow_pairs", lazy=0, hops=2)
    assert worker.parts == start
    assert MAX_CUT_SHARE * worker.cut > graph.total_edge_weight
