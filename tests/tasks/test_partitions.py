"""Partitions of whole graphs by one index each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import InitVar, dataclass, field, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import jetpy
from jetpy.device.backends import get_backend
from jetpy.engines.base import Arena
from jetpy.engines.cpu.engine import CpuBackend
from jetpy.graph.csr import INT32_MAX, Graph
from jetpy.graph.generators import cube, delaunay, grid, rmat, road
from jetpy.initial import tasks
from jetpy.initial.tasks import Batch, Found, Job
from jetpy.problem.metrics import edge_cut, part_weights
from jetpy.problem.options import SmallOptions
from jetpy.problem.presets import preset
from jetpy.problem.problem import Problem, make_problem
from tests.graphs import (
    SMALL_GRAPHS,
    clique,
    from_edges,
    isolated,
    path,
    random_graph,
    star,
    two_cliques,
)
from tests.strategies import weighted_graphs
from tests.tasks.weights import permuted, reweighted

EFFORTS = {
    "fast": preset("fast").small,
    "default": preset("default").small,
    "all levels": SmallOptions(
        coarsest=2,
        per_part=1,
        min_tries=2,
        max_tries=2,
        bisections=3,
        cycles=2,
        flow_levels=99,
        hops=4,
    ),
    "one try": SmallOptions(coarsest=9, per_part=3, bisections=3, growings=2, hops=2),
}
efforts = pytest.mark.parametrize("effort", EFFORTS)
CANARIES, CANARY = 5000, -123456
"""Number of elements on both sides of an array that must not change, and their value."""

GENERATED: dict[str, Callable[[], Graph]] = {
    "delaunay": lambda: delaunay(1500),
    "grid": lambda: grid(40, 30),
    "cube": lambda: cube(10, 9, 8),
    "rmat": lambda: rmat(9, 5),
    "road": lambda: road(1200),
    "weighted": lambda: random_graph(700, 2000, 1, weighted=True),
    "weights of 0": lambda: reweighted(delaunay(900, 2), 3),
    "mostly 0": lambda: reweighted(grid(30, 30), 3, most=1),
}


@pytest.fixture(scope="module", autouse=True)
def share_all_bisections() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tasks, "MIN_SHARED", 0)
        yield


def problem_of(graph: Graph, k: int, seed: int = 0, **options: Any) -> Problem:
    return make_problem(graph.total_vertex_weight, k, 0.03, seed, preset("fast"), **options)


def found_by(
    graphs: Sequence[Graph], problems: Sequence[Problem], effort: str, threads: int = 1
) -> list[Found]:
    backend = get_backend("cpu", threads)
    batch = Batch.of(list(map(Job.of_problem, graphs, problems)), backend)
    return batch.run(backend, EFFORTS[effort])


def check_found(found: Found, graph: Graph, problem: Problem) -> None:
    """Compare the numbers of a partition with recounted ones."""
    assert found.parts.shape == (graph.n,)
    assert graph.n == 0 or 0 <= found.parts.min() <= found.parts.max() < problem.k
    assert found.cut == edge_cut(graph, found.parts)
    weights = part_weights(graph, found.parts, problem.k)
    assert found.part_weights.tolist() == weights.tolist()
    assert found.excess == problem.excess_of(weights).sum()
    assert found.empty == problem.k - len(np.unique(found.parts))


@efforts
@pytest.mark.parametrize("k", [2, 5, 12])
@pytest.mark.parametrize("name", GENERATED)
def test_numbers_are_recounted_and_entries_may_have_any_order(
    name: str, k: int, effort: str
) -> None:
    graph = GENERATED[name]()
    for seed in range(2):
        problem = problem_of(graph, k, seed)
        others = [permuted(graph, seed + 7), permuted(graph, seed + 8)]
        first, *more = found_by([graph, *others], [problem] * 3, effort)
        check_found(first, graph, problem)
        for found in more:
            assert (found.parts == first.parts).all()
            assert (found.cut, found.excess) == (first.cut, first.excess)


@pytest.mark.parametrize("name", ["fast", "default"])
@given(weighted_graphs(most=40), st.integers(1, 6), st.integers(0, 10**6))
def test_partitions_of_random_graphs_do_not_depend_on_the_order_of_entries(
    name: str, graph: Graph, k: int, seed: int
) -> None:
    problem = problem_of(graph, k, seed % 1000)
    first, other = found_by([graph, permuted(graph, seed)], [problem] * 2, name)
    check_found(first, graph, problem)
    assert (first.parts == other.parts).all()


@efforts
def test_graphs_of_a_batch_are_partitioned_as_one_by_one(effort: str) -> None:
    """Also with other numbers of parts and of threads."""
    graphs = [make() for make in (*GENERATED.values(), *SMALL_GRAPHS.values())]
    graphs = [graph for graph in graphs if graph.n > 0]
    problems = [problem_of(graph, 2 + number % 7, number) for number, graph in enumerate(graphs)]
    alone = [found_by([g], [p], effort)[0] for g, p in zip(graphs, problems, strict=True)]
    for graph, problem, found in zip(graphs, problems, alone, strict=True):
        check_found(found, graph, problem)
    for threads in (1, 2, 3):
        together = found_by(graphs, problems, effort, threads)
        for one, other in zip(alone, together, strict=True):
            assert (one.parts == other.parts).all()
            assert (one.cut, one.excess) == (other.cut, other.excess)


@pytest.mark.parametrize("name", ["fast", "default"])
@pytest.mark.parametrize("make", GENERATED.values(), ids=GENERATED)
def test_results_are_equal_with_any_number_of_threads(make: Callable[[], Graph], name: Any) -> None:
    graph = make()
    first, *others = [
        jetpy.partition(graph, 6, seed=4, preset=name, backend="cpu", threads=threads)
        for threads in (1, 2, 3)
    ]
    for other in others:
        assert (other.parts == first.parts).all()
    moved = jetpy.partition(permuted(graph, 1), 6, seed=4, preset=name, backend="cpu")
    assert (moved.parts == first.parts).all()
    assert first.cut == edge_cut(graph, first.parts)


@efforts
@pytest.mark.parametrize("k", [2, 3, 7, 16])
@pytest.mark.parametrize("name", ["delaunay", "grid", "cube", "rmat", "road"])
def test_limits_are_kept(name: str, k: int, effort: str) -> None:
    graph = GENERATED[name]()
    for seed in range(3):
        problem = problem_of(graph, k, seed)
        [found] = found_by([graph], [problem], effort)
        assert found.excess == 0
        check_found(found, graph, problem)


@efforts
def test_parts_have_weights_by_their_targets(effort: str) -> None:
    graph, targets = delaunay(2000), [1, 3, 2, 4]
    problem = problem_of(graph, 4, targets=targets)
    [found] = found_by([graph], [problem], effort)
    check_found(found, graph, problem)
    assert found.excess == 0
    assert (part_weights(graph, found.parts, 4) <= 206 * np.array(targets)).all()


@efforts
def test_lower_limits_are_kept(effort: str) -> None:
    graph = grid(30, 40)
    lower = np.full(6, 196, np.int64)
    problem = replace(problem_of(graph, 6), part_lower_limits=lower)
    [found] = found_by([graph], [problem], effort)
    check_found(found, graph, problem)
    assert found.excess == 0
    assert np.bincount(found.parts).min() >= 196


def stars(count: int, leaves: int) -> Graph:
    """Return several stars."""
    each = leaves + 1
    edges = [(c * each, c * each + v) for c in range(count) for v in range(1, each)]
    return from_edges(count * each, edges, name=f"{count} stars")


def hubs() -> Graph:
    """Return vertices that all have the same 6 neighbours."""
    edges = [(hub, v) for hub in range(6) for v in range(6, 300)]
    return from_edges(300, edges, name="hubs")


def heavy_clique() -> Graph:
    """Return a clique of vertices that are too heavy to merge, so that levels keep its entries."""
    edges = [(u, v) for u in range(40) for v in range(u)]
    return from_edges(2040, edges, None, [100] * 40 + [1] * 2000, "heavy clique")


DENSE: dict[str, Callable[[], Graph]] = {
    "rmat": lambda: rmat(9, 32),
    "clique": lambda: clique(150),
    "weighted clique": lambda: reweighted(clique(90), 1, most=100),
    "star": lambda: star(500),
    "isolated": lambda: isolated(700),
    "two_cliques": lambda: two_cliques(60),
    "stars": lambda: stars(40, 12),
    "hubs": hubs,
    "heavy clique": heavy_clique,
    "heavy vertices": lambda: replace(
        star(300), vertex_weights=np.arange(301, dtype=np.int32) ** 2
    ),
    "random": lambda: random_graph(300, 9000, 1, weighted=True),
    "sparse": lambda: random_graph(600, 300, 1),
    "path": lambda: path(800),
    "delaunay": lambda: delaunay(800),
}


@dataclass
class Guarded(CpuBackend):
    """A back end whose arrays have canaries on both sides."""

    most_threads: InitVar[int] = 1
    whole: list[np.ndarray] = field(default_factory=list)

    def __post_init__(self, most_threads: int) -> None:
        super().__init__(most_threads)

    def empty(self, n: int, dtype: Any = np.int32) -> np.ndarray:
        self.whole.append(np.full(n + 2 * CANARIES, CANARY, dtype))
        return self.whole[-1][CANARIES : CANARIES + n]

    def arena(self, sizes: Sequence[tuple[int, Any]]) -> Arena:
        return Arena([self.empty(n, dtype) for n, dtype in sizes])

    def check(self) -> None:
        assert len(self.whole) > 40
        for array in self.whole:
            assert (array[:CANARIES] == CANARY).all()
            assert (array[-CANARIES:] == CANARY).all()


def check_bounds(graph: Graph, k: int, effort: str, seed: int = 0) -> Found:
    """Check that a partition is right, and that nothing is written outside of the arrays.

    Threads that share bisections find the same.
    """
    problem = problem_of(graph, k, seed)
    one, shared = (guarded_run(graph, problem, effort, threads) for threads in (1, 8))
    check_found(one, graph, problem)
    assert (one.parts == shared.parts).all()
    assert (one.cut, one.excess, one.empty) == (shared.cut, shared.excess, shared.empty)
    return one


def guarded_run(graph: Graph, problem: Problem, effort: str, threads: int) -> Found:
    backend = Guarded(threads)
    batch = Batch.of([Job.of_problem(graph, problem)], backend)
    [found] = batch.run(backend, EFFORTS[effort])
    backend.check()
    is_shared = effort in {"fast", "one try"} and threads > 1 and problem.k > 2
    assert backend.launches == (2 + (problem.k - 1).bit_length() if is_shared else 1)
    return found


@efforts
@pytest.mark.parametrize("k", [2, 3, 8, 40])
@pytest.mark.parametrize("name", DENSE)
def test_writes_are_within_bounds(name: str, k: int, effort: str) -> None:
    graph = DENSE[name]()
    for seed in range(2):
        check_bounds(graph, k, effort, seed)


@pytest.mark.parametrize(
    "more", [{"min_tries": 2}, {"max_tries": 2}, {"cycles": 1}, {"communities": 200}]
)
def test_threads_share_bisections_of_single_tries_only(more: dict[str, int]) -> None:
    """The lower bound of tries holds if it is the larger one."""
    effort = replace(EFFORTS["one try"], vertices_per_try=1, middle=100, **more)
    graph = hubs()
    found = []
    for threads in (1, 8):
        backend = Guarded(threads)
        job = Job.of_problem(graph, problem_of(graph, 5))
        found += Batch.of([job], backend).run(backend, effort)
        assert backend.launches == 1
    assert (found[0].parts == found[1].parts).all()


@efforts
@pytest.mark.parametrize("k", [1, 2, 3, 6, 17, 64, 128])
@pytest.mark.parametrize("make", [path, isolated, clique, star], ids=lambda f: f.__name__)
def test_few_vertices_per_part(make: Callable[[int], Graph], k: int, effort: str) -> None:
    """Graphs of about k vertices."""
    for n in {max(1, k // 2), max(1, k - 1), k, k + 1, k + 2, 2 * k}:
        graph = make(n)
        found = check_bounds(graph, k, effort, n)
        assert len(np.unique(found.parts)) <= min(k, graph.n)


@pytest.mark.parametrize("effort", ["fast", "all levels"])
@given(weighted_graphs(most=30), st.integers(1, 40), st.integers(0, 1000))
def test_writes_are_within_bounds_on_random_graphs(
    effort: str, graph: Graph, k: int, seed: int
) -> None:
    check_bounds(graph, k, effort, seed)


def near_the_maximum(graph: Graph, seed: int) -> Graph:
    """Return a graph whose sums of directed edge weights and of vertex weights are near 2**31."""
    rng = np.random.default_rng(seed)
    drawn = reweighted(graph, seed, most=1000)
    shares = drawn.edge_weights.astype(np.int64) ** (1 + seed % 3)
    edge_weights = shares * (INT32_MAX - 1) // shares.sum()
    if seed % 2:  # nearly all the weight at one edge
        edge_weights //= 1000
        u, v = 0, int(graph.indices[0])
        rest = (INT32_MAX - 1 - int(edge_weights.sum())) // 2
        for a, b in ((u, v), (v, u)):
            row = slice(graph.indptr[a], graph.indptr[a + 1])
            edge_weights[row][graph.indices[row] == b] += rest
    own = rng.integers(0, 1000, graph.n) ** (1 + seed % 3)
    own = own * INT32_MAX // own.sum()
    own[rng.integers(graph.n)] += INT32_MAX - own.sum()
    found = replace(
        graph, edge_weights=edge_weights.astype(np.int32), vertex_weights=own.astype(np.int32)
    )
    assert INT32_MAX - graph.n * 20 < found.edge_weights.sum(dtype=np.int64) <= INT32_MAX
    assert found.total_vertex_weight == INT32_MAX
    return found


@efforts
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("name", ["delaunay", "grid", "rmat", "weighted"])
def test_sums_of_weights_near_the_maximum(name: str, seed: int, effort: str) -> None:
    graph = near_the_maximum(GENERATED[name](), seed)
    for k in (2, 7):
        problem = problem_of(graph, k, seed)
        first, other = found_by([graph, permuted(graph, seed)], [problem] * 2, effort)
        check_found(first, graph, problem)
        assert (first.parts == other.parts).all()


@efforts
def test_one_edge_of_nearly_all_weight_is_not_cut(effort: str) -> None:
    graph = SMALL_GRAPHS["heavy_edges"]()
    problem = make_problem(graph.total_vertex_weight, 2, 0.99, 0, preset("fast"))
    [found] = found_by([graph], [problem], effort)
    check_found(found, graph, problem)


@pytest.mark.parametrize("k", [4, 10])
def test_default_finds_smaller_cuts_than_fast(k: int) -> None:
    graph = delaunay(2000)
    problems = [problem_of(graph, k, seed) for seed in range(6)]
    sums = [
        sum(found.cut for found in found_by([graph] * 6, problems, effort))
        for effort in ("fast", "default")
    ]
    assert sums[1] < sums[0]


@pytest.mark.parametrize("coarsest", [20, 60, 1000])
def test_pinned_vertices_get_their_parts_on_all_levels(coarsest: int) -> None:
    graph, k = grid(20, 20), 4
    pins = np.full(graph.n, -1, np.int32)
    pins[::3] = np.arange(len(pins[::3])) % k
    share = graph.n // k
    limits = np.full(k, share + 20, np.int64)
    job = Job(graph, np.ones(k, np.int64), limits, np.zeros(k, np.int64), [1], pins)
    backend = get_backend("cpu", 1)
    [found] = Batch.of([job], backend).run(backend, SmallOptions(coarsest=coarsest, per_part=5))
    assert (found.parts[pins >= 0] == pins[pins >= 0]).all()
    assert found.cut == edge_cut(graph, found.parts)
