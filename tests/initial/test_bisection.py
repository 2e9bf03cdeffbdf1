"""Recursive bisection: complete, balanced and reproducible partitions."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jetpy.device.backends import get_backend
from jetpy.engines.base import Backend
from jetpy.graph.csr import Graph
from jetpy.graph.generators import cube, delaunay, grid, rmat, road
from jetpy.initial.coarsest import LARGEST, Tries
from jetpy.initial.metis import bisect_recursively, with_sorted_rows
from jetpy.initial.roots import divide_roots, find_roots
from jetpy.problem.options import SmallOptions
from jetpy.workloads.tasks import partitions as kernels
from tests.graphs import SMALL_GRAPHS, isolated, random_graph, star, two_cliques
from tests.kernel_language.cpp_engine import CppEngine
from tests.mapping.oracle import cut_of
from tests.refinement.oracle import problem_of
from tests.strategies import weighted_graphs


def weighted(graph: Graph, heaviest: int, seed: int = 1) -> Graph:
    weights = np.random.default_rng(seed).integers(1, heaviest + 1, graph.n)
    return replace(graph, vertex_weights=weights.astype(np.int32))


GRAPHS: dict[str, Callable[[], Graph]] = {
    "grid": lambda: grid(30, 40),
    "delaunay": lambda: delaunay(1500),
    "rmat": lambda: rmat(10, 8),
    "road": lambda: road(2000),
    "weighted": lambda: weighted(cube(9, 10, 11), 5),
    "edges too": lambda: random_graph(400, 1500, 6, weighted=True),
    "two components": lambda: two_cliques(40),
    "isolated": lambda: isolated(900),
    "star": lambda: star(700),
}


def partitions(
    backend: Backend,
    graph: Graph,
    k: int,
    imbalance: float = 0.05,
    count: int = 2,
    tries: int = 2,
    blocks: np.ndarray | None = None,
    seed: int = 5,
) -> list[np.ndarray]:
    """Partition, check that every vertex has a part and no part is empty, and return the parts."""
    groups = 1 if blocks is None else int(blocks.max()) + 1
    limit = int((1 + imbalance) * -(-graph.total_vertex_weight // (k * groups)))
    problem = problem_of(graph, k * groups, limit=limit, groups=groups)
    parts, roots = find_roots(graph, blocks, problem)
    seeds = [seed * 1009 + number for number in range(count)]
    effort = SmallOptions(coarsest=LARGEST, bisections=tries, growings=3, flow_levels=0)
    found = divide_roots(backend, graph, parts, roots, seeds, effort)
    assert len(found) == count
    for one in found:
        assert one.dtype == np.int32
        assert one.shape == (graph.n,)
        if blocks is None:
            assert set(one.tolist()) == set(range(min(k, graph.n)))
        else:
            assert (one // k).tolist() == blocks.tolist()
    return found


@pytest.fixture
def one_thread() -> Backend:
    return get_backend("cpu", 1)


@pytest.mark.parametrize("name", SMALL_GRAPHS)
@pytest.mark.parametrize("k", [2, 3, 4, 7, 100])
def test_small_graphs_are_partitioned(one_thread: Backend, name: str, k: int) -> None:
    partitions(one_thread, SMALL_GRAPHS[name](), k)


@given(weighted_graphs(), st.integers(1, 9), st.integers(0, 10**6))
def test_random_graphs_are_partitioned(graph: Graph, k: int, seed: int) -> None:
    partitions(get_backend("cpu", 1), graph, k, seed=seed)


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("k", [2, 7, 16])
def test_parts_are_balanced(one_thread: Backend, name: str, k: int) -> None:
    """A part may exceed its limit by at most twice the heaviest vertex."""
    graph = GRAPHS[name]()
    ideal = graph.total_vertex_weight / k
    for parts in partitions(one_thread, graph, k):
        weights = np.bincount(parts, graph.vertex_weights, k)
        assert weights.max() <= 1.05 * ideal + 2 * graph.vertex_weights.max()


@pytest.mark.parametrize("name", ["grid", "delaunay", "rmat", "road", "weighted", "edges too"])
@pytest.mark.parametrize("k", [2, 8, 30])
def test_cuts_are_at_most_a_tenth_above_metis(one_thread: Backend, name: str, k: int) -> None:
    graph = with_sorted_rows(GRAPHS[name]())
    ours = min(cut_of(graph, parts) for parts in partitions(one_thread, graph, k, tries=4))
    metis = min(cut_of(graph, bisect_recursively(graph, k, 0.05, seed)) for seed in range(4))
    assert ours <= 1.1 * metis


@pytest.mark.parametrize("k", [600, 1100, 1199, 1200, 5000])
def test_k_close_to_or_above_n_is_accepted(one_thread: Backend, k: int) -> None:
    for graph in (grid(30, 40), weighted(grid(30, 40), 100)):
        partitions(one_thread, graph, k)


def test_heavy_vertices_get_parts_of_their_own(one_thread: Backend) -> None:
    graph = grid(20, 20)
    weights = np.ones(400, np.int32)
    weights[[7, 90, 333]] = 1000, 500, 900
    for parts in partitions(one_thread, replace(graph, vertex_weights=weights), 8):
        sizes = np.bincount(parts)
        assert (sizes[parts[[7, 90, 333]]] == 1).all()


def test_blocks_are_partitioned_together(one_thread: Backend) -> None:
    graph = grid(30, 30)
    blocks = np.repeat([0, 2, 3, 5], [500, 3, 7, 390]).astype(np.int32)
    for parts in partitions(one_thread, graph, 6, 0.05, blocks=blocks):
        assert len(set(parts[:500].tolist())) == len(set(parts[510:].tolist())) == 6
        assert len(set(parts[500:503].tolist())) == 3
        assert len(set(parts[503:510].tolist())) == 6


@pytest.mark.parametrize("name", GRAPHS)
def test_parts_do_not_depend_on_threads_or_row_order(
    one_thread: Backend, threaded: Backend, name: str
) -> None:
    graph = GRAPHS[name]()
    expected = partitions(one_thread, graph, 21)
    assert [p.tolist() for p in partitions(threaded, graph, 21)] == [p.tolist() for p in expected]
    rows = [slice(a, b) for a, b in zip(graph.indptr[:-1], graph.indptr[1:], strict=True)]
    turned = replace(
        graph,
        indices=np.concatenate([graph.indices[row][::-1] for row in rows]),
        edge_weights=np.concatenate([graph.edge_weights[row][::-1] for row in rows]),
    )
    assert [p.tolist() for p in partitions(threaded, turned, 21)] == [p.tolist() for p in expected]


def test_no_seed_gives_no_partition(one_thread: Backend) -> None:
    assert partitions(one_thread, GRAPHS["grid"](), 4, count=0) == []


def test_partitions_of_different_seeds_differ(one_thread: Backend) -> None:
    graph = GRAPHS["delaunay"]()
    found = [*partitions(one_thread, graph, 8, count=3), *partitions(one_thread, graph, 8, seed=6)]
    assert len({parts.tobytes() for parts in found}) == len(found)


def test_more_tries_find_smaller_cuts(one_thread: Backend) -> None:
    def total(tries: int) -> int:
        found = [partitions(one_thread, GRAPHS[name](), 2, tries=tries, count=4) for name in names]
        return sum(
            cut_of(GRAPHS[name](), parts)
            for name, own in zip(names, found, strict=True)
            for parts in own
        )

    names = ("grid", "delaunay", "rmat", "road")
    assert total(6) < total(2) < total(1)


def test_tries_are_divided_into_partitions_and_bisections() -> None:
    counts = (1, 2, 3, 4, 5, 8, 32)
    expected = [(1, 1), (1, 2), (1, 3), (2, 3), (2, 3), (4, 3), (16, 3)]
    assert [(t.partitions, t.bisections) for t in map(Tries.divide, counts)] == expected


@pytest.mark.skipif(shutil.which("g++") is None, reason="no C++ compiler")
def test_kernels_printed_as_cuda_c_compute_the_same(
    one_thread: Backend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Compile the CUDA C text of the kernels for the host."""
    printed = CppEngine(kernels, tmp_path)
    for name in ("delaunay", "rmat", "edges too"):
        graph = GRAPHS[name]()
        expected = partitions(one_thread, graph, 11)
        with monkeypatch.context() as patch:
            patch.setattr(one_thread, "run_tasks", printed.parallel_for)
            found = partitions(one_thread, graph, 11)
        assert [p.tolist() for p in found] == [p.tolist() for p in expected]
