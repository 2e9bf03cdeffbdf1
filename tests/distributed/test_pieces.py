"""Pieces of a graph, per level and as a whole run, compared with one device."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jetpy
from jetpy.coarsening.constraints import WeightBounds
from jetpy.device.backends import get_backend
from jetpy.device.device_graph import upload
from jetpy.distributed.block import Block, upload_rows
from jetpy.distributed.communicator import Communicator, SelfCommunicator
from jetpy.distributed.contraction import contract_pieces
from jetpy.distributed.gathering import Gathering
from jetpy.distributed.levels import PieceLevel
from jetpy.distributed.piece import Blocks
from jetpy.distributed.run import partition_rows
from jetpy.engines.cpu.engine import CpuBackend
from jetpy.engines.stopwatch import Stopwatch
from jetpy.graph.csr import Graph
from jetpy.multilevel.evolution import evolve
from jetpy.multilevel.hierarchy import finest_level
from jetpy.multilevel.outcome import Outcome
from jetpy.problem.options import CoarsenOptions, Effort, Options
from jetpy.problem.presets import preset
from jetpy.problem.problem import Problem, make_problem
from tests.conftest import FEW_INDICES
from tests.device_backend import DeviceBackend
from tests.distributed.threads import run_on_threads
from tests.graphs import edge_dict, from_edges, modules
from tests.strategies import weighted_graphs


def block_of(graph: Graph, bounds: npt.NDArray[Any], rank: int) -> Block:
    first, end = (int(bound) for bound in bounds[rank : rank + 2])
    edges = slice(int(graph.indptr[first]), int(graph.indptr[end]))
    several = graph.constraint_weights
    return Block(
        graph.indptr[first : end + 1].astype(np.int64) - graph.indptr[first],
        graph.indices[edges].astype(np.int64),
        graph.edge_weights[edges],
        (graph.vertex_weights if several is None else several)[first:end],
        vertex_sizes=None if graph.vertex_sizes is None else graph.vertex_sizes[first:end],
    )


def evenly(n: int, size: int) -> npt.NDArray[Any]:
    return np.array([n * rank // size for rank in range(size + 1)])


def without_branches(name: str) -> Options:
    """Return a preset without second hierarchies, which need whole levels."""
    return replace(preset(name), branches=())


def weighted(graph: Graph, seed: int = 0) -> Graph:
    u, v = graph.sources(0, graph.n).astype(np.int64), graph.indices.astype(np.int64)
    weights = (np.minimum(u, v) * 7919 + np.maximum(u, v) * 104729) % 97 + 1
    random = np.random.default_rng(seed)
    return jetpy.as_graph((graph.indptr, v, weights, random.integers(1, 100, graph.n)))


def hubs(n: int) -> Graph:
    """Return a graph of three hubs with many leaves and twins, and isolated vertices."""
    edges = [(v % 3, v) for v in range(3, n)] + [(0, v) for v in range(4, n, 3)]
    return from_edges(n + 5, sorted({(min(e), max(e)) for e in edges}))


GRAPHS = {
    "grid": lambda: jetpy.generators.grid(70, 50),
    "weighted grid": lambda: weighted(jetpy.generators.grid(45, 30)),
    "rmat": lambda: jetpy.generators.rmat(11, 8),
    "weighted rmat": lambda: weighted(jetpy.generators.rmat(9, 8)),
    "hubs": lambda: hubs(1500),
    "roads": lambda: jetpy.generators.road(3000, 1),
    "modules": lambda: modules(20, 60, 1),
}
QUICK = "weighted rmat", "modules"
PROBLEMS = {
    "usual": ("default", 0.03, {}),
    "fast": ("fast", 0.03, {}),
    "tight": ("default", 0.0, {}),
    "deep": ("default", 0.03, {"initial.task_size": 0}),
}


@cache
def graph_of(name: str) -> Graph:
    return GRAPHS[name]()


def problem_by_name(name: str, problem: str, k: int) -> Problem:
    base, imbalance, changes = PROBLEMS[problem]
    options = without_branches(base).changed(changes)
    made = make_problem(graph_of(name).total_vertex_weight, k, imbalance, 5, options)
    return replace(made, fill=True)


@cache
def on_one_device(name: str, problem: str, k: int) -> Outcome:
    graph = graph_of(name)
    return evolve(get_backend("cpu", 1), graph, problem_by_name(name, problem, k), Effort(1))


ENGINES = {"lists": lambda: CpuBackend(1), "captured": lambda: DeviceBackend(1)}
"""Back ends of processes: as on a CPU, and as on a GPU, where messages are captured, too."""


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=() if n in QUICK else pytest.mark.slow) for n in GRAPHS],
)
@pytest.mark.parametrize(("size", "k"), [(1, 8), (2, 64), (3, 2), (4, 8)])
def test_parts_equal_those_of_one_device(
    name: str,
    problem: str,
    size: int,
    k: int,
    engine: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("jetpy.refinement.launches.INDICES", FEW_INDICES)
    monkeypatch.setattr("jetpy.refinement.launches.SPARE", 2)
    monkeypatch.setattr("jetpy.distributed.piece.MIN_ALIGNED", 1)
    graph, expected = graph_of(name), on_one_device(name, problem, k)
    bounds = evenly(graph.n, size)

    def run(comm: Communicator) -> tuple[npt.NDArray[np.int32], int]:
        comm.is_between_gpus = engine == "captured"
        backend, block = ENGINES[engine](), block_of(graph, bounds, comm.rank)
        rows = [upload_rows(backend, block, Blocks.of(comm, block.n))]
        found = partition_rows(rows, problem_by_name(name, problem, k), small=100)
        assert rows == [], "their memory is free"
        return found.parts, found.cut

    results = run_on_threads(size, run)
    assert np.array_equal(np.concatenate([parts for parts, _ in results]), expected.parts)
    assert {cut for _, cut in results} == {expected.cut}


@settings(max_examples=60)
@given(weighted_graphs(2, 24), st.data())
def test_coarse_graphs_equal_those_of_one_device(graph: Graph, data: st.DataObject) -> None:
    """Blocks may be empty. Matching, contraction and ids of coarse vertices are equal."""
    size = data.draw(st.integers(1, 4))
    cuts = data.draw(st.lists(st.integers(0, graph.n), min_size=size - 1, max_size=size - 1))
    bounds = np.array([0, *sorted(cuts), graph.n])
    salt = data.draw(st.integers(0, 2**31 - 1))
    weights = WeightBounds(data.draw(st.integers(1, 40)), data.draw(st.integers(1, 9)))
    options = CoarsenOptions(two_hop_share=0.0)
    backend = get_backend("cpu", 1)
    whole = finest_level(backend, upload(backend, graph))
    coarse, coarse_of = whole.contract(options, weights, salt)

    def run(comm: Communicator) -> Any:
        own, block = CpuBackend(1), block_of(graph, bounds, comm.rank)
        piece = upload_rows(own, block, Blocks.of(comm, block.n)).as_piece()
        gathering = Gathering(1e6, options)
        level = PieceLevel(own, piece, None, Stopwatch(own, "coarsen", 0), gathering=gathering)
        found, places = level.contract(options, weights, salt)
        next_level = level.next_level(found, places, level.watch)
        return next_level.graph, next_level.coarse_of

    results = run_on_threads(size, run)
    assert np.array_equal(np.concatenate([places for _, places in results]), coarse_of)
    for found, _ in results:
        assert edge_dict(found) == edge_dict(coarse)
        assert np.array_equal(found.vertex_weights, coarse.vertex_weights)


@pytest.mark.parametrize("size", [2, 3, 4])
def test_coarse_vertices_are_spread_evenly(size: int) -> None:
    """Rank 0 owns one vertex of each pair."""
    graph = jetpy.generators.grid(12 * size, 10)
    n = graph.n // size
    partners = np.full(graph.n, -1, np.int32)
    partners[:n] = np.arange(n, 2 * n)
    partners[n : 2 * n] = np.arange(n)
    bounds = np.array([0, *evenly(graph.n - n, size - 1) + n])

    def run(comm: Communicator) -> tuple[int, int]:
        own, block = CpuBackend(1), block_of(graph, bounds, comm.rank)
        piece = upload_rows(own, block, Blocks.of(comm, block.n)).as_piece()
        found, _ = contract_pieces(own, piece, partners[bounds[comm.rank] : bounds[comm.rank + 1]])
        return found.blocks.end - found.blocks.first, len(found.indices)

    vertices, entries = zip(*run_on_threads(size, run), strict=True)
    assert sum(vertices) == graph.n - n
    assert max(entries) < 1.2 * sum(entries) / size


@pytest.mark.parametrize("size", [1, 3])
def test_weight_sums_beyond_32_bits_equal_one_device(size: int) -> None:
    """The parts equal those of the wide kernels on one device."""
    graph = jetpy.generators.grid(40, 40)
    random = np.random.default_rng(2)
    of_ends = random.integers(1, 2**29, graph.n)
    u, v = graph.sources(0, graph.n), graph.indices
    heavy = jetpy.as_graph(
        (graph.indptr, v, of_ends[u] + of_ends[v], random.integers(1, 2**30, graph.n))
    )
    expected = jetpy.partition(heavy, 4, preset="fast", backend="cpu", threads=1)
    bounds = evenly(graph.n, size)

    def run(comm: Communicator) -> Any:
        block = block_of(heavy, bounds, comm.rank)
        rows = upload_rows(CpuBackend(1), block, Blocks.of(comm, block.n))
        assert rows.backend.is_wide
        problem_by_name = make_problem(heavy.total_vertex_weight, 4, 0.03, 0, preset("fast"))
        return partition_rows([rows], replace(problem_by_name, fill=True), small=100).parts

    parts = np.concatenate(run_on_threads(size, run))
    assert np.array_equal(parts, expected.parts)


@pytest.mark.parametrize("size", [1, 2, 3])
def test_counts_beyond_32_bits_equal_one_device(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a low limit, small graphs have 64-bit kernels on their finest levels."""
    graph = graph_of("rmat")
    for module in ("graph.csr", "multilevel.index_width"):
        monkeypatch.setattr(f"jetpy.{module}.MAX_NARROW", graph.m)
    expected = jetpy.partition(replace(graph), 8, preset="fast", backend="cpu", threads=1)
    bounds = evenly(graph.n, size)

    def run(comm: Communicator) -> Any:
        block = block_of(graph, bounds, comm.rank)
        rows = upload_rows(CpuBackend(1), block, Blocks.of(comm, block.n))
        assert rows.backend.is_wide
        assert rows.indptr.dtype == rows.edge_weights.dtype == np.int64
        problem = make_problem(graph.total_vertex_weight, 8, 0.03, 0, preset("fast"))
        return partition_rows([rows], replace(problem, fill=True), small=100).parts

    parts = np.concatenate(run_on_threads(size, run))
    assert np.array_equal(parts, expected.parts)


@given(st.integers(1, 5), st.lists(st.integers(0, 3000), max_size=4), st.integers(1, 3))
def test_aligned_blocks(least: int, cuts: list[int], more: int) -> None:
    """Each start moves by less than 64; small blocks stay as they are."""
    n = 1000 * more + max(cuts, default=0)
    blocks = Blocks(SelfCommunicator(), np.array([0, *sorted(cuts), n]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("jetpy.distributed.piece.MIN_ALIGNED", least)
        found = blocks.aligned()
    if n < 64 * least:
        assert found is blocks
        return
    assert found.are_aligned
    assert found.n == n
    assert (np.diff(found.starts) >= 0).all()
    assert ((blocks.starts - found.starts)[:-1] < 64).all()
    assert (blocks.starts >= found.starts).all()
