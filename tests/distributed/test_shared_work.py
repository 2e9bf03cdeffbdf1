"""Work on a level that every process has as a whole: each does a share of it."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jetpy.distributed
from jetpy.device.device_graph import DeviceGraph, upload
from jetpy.device.processes import ALONE, Processes, shares
from jetpy.distributed import levels
from jetpy.distributed.communicator import Communicator
from jetpy.distributed.levels import PieceLevel
from jetpy.distributed.piece import Piece
from jetpy.engines.base import Backend
from jetpy.engines.cpu.engine import CpuBackend
from jetpy.engines.oom_message import bytes_of
from jetpy.errors import OutOfMemoryError
from jetpy.graph.csr import Graph
from jetpy.graph.generators import cube, delaunay, rmat
from jetpy.initial.tasks import Batch, Found, Job, run_together
from jetpy.problem.options import SmallOptions
from jetpy.refinement import flows as module
from jetpy.refinement.flows import Flows
from jetpy.refinement.measures import Measures
from tests.distributed.test_pieces import block_of, evenly
from tests.distributed.threads import run_on_threads
from tests.refinement.test_flows import GRAPHS, flows_on, in_stripes, measures_of
from tests.strategies import weighted_graphs
from tests.tasks.test_partitions import problem_of

HOST = CpuBackend(1)
ENGINE: dict[str, Any] = {"backend": "cpu", "threads": 1}
IN_PIECES = {"branches": (), "small.max_vertices": 0}
"""Options that let small graphs be partitioned in pieces."""


@given(st.lists(st.integers(0, 9), max_size=8), st.integers(1, 5))
def test_tasks_are_divided_by_cost(costs: list[int], size: int) -> None:
    """Shares are consecutive, and exceed the average by less than the heaviest task."""
    starts = shares(np.array(costs, np.int64), size)
    assert (starts[0], starts[-1]) == (0, len(costs))
    held = [sum(costs[a:b]) for a, b in pairwise(starts.tolist())]
    assert all(has <= sum(costs) / size + max(costs, default=0) for has in held)


def improved(
    graph: Graph, parts: np.ndarray, k: int, pinned: np.ndarray | None, processes: Processes
) -> tuple[list[int], Measures]:
    """Return the parts after flows, and their measures."""
    backend = CpuBackend(1)
    _, problem = flows_on(backend, graph, k)
    kept = None if pinned is None else backend.from_host(pinned)
    flows = Flows(backend, upload(backend, graph), problem, kept, processes)
    found, measures = flows.improve(parts.copy(), measures_of(graph, parts, k))
    return found.tolist(), measures


@pytest.mark.parametrize("on_device", [False, True])
@settings(max_examples=60)
@given(graph=weighted_graphs(2, 40), seed=st.integers(0, 10**6), k=st.integers(2, 9))
def test_flows_of_several_processes_equal_those_of_one(
    on_device: bool, graph: Graph, seed: int, k: int
) -> None:
    random = np.random.default_rng(seed)
    parts = random.integers(0, k, graph.n).astype(np.int32)
    is_pinned = random.random(graph.n) < random.choice([0, 0.2])
    pinned = np.where(is_pinned, parts, -1).astype(np.int32) if is_pinned.any() else None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "builds_on_device", lambda *_: on_device)
        expected, measures = improved(graph, parts, k, pinned, ALONE)
        size = int(random.integers(2, 4))
        several = run_on_threads(size, lambda comm: improved(graph, parts, k, pinned, comm))
    for found, own in several:
        assert found == expected
        assert own.cut == measures.cut
        assert own.part_weights.tolist() == measures.part_weights.tolist()


@pytest.mark.parametrize("size", [2, 3])
@pytest.mark.parametrize("k", [5, 9])
def test_flows_of_a_mesh_equal_those_of_one(size: int, k: int) -> None:
    graph = GRAPHS["grid"]
    parts = in_stripes(graph, k, 3)
    expected, measures = improved(graph, parts, k, None, ALONE)
    assert measures.cut < measures_of(graph, parts, k).cut
    for found, own in run_on_threads(size, lambda comm: improved(graph, parts, k, None, comm)):
        assert (found, own.cut) == (expected, measures.cut)


def as_rows(found: list[Found]) -> list[Any]:
    return [
        (one.parts.tolist(), one.cut, one.excess, one.empty, one.part_weights.tolist())
        for one in found
    ]


@pytest.mark.parametrize("size", [2, 3, 8])
@pytest.mark.parametrize("seeds", [[[7]], [[1, 2, 3], [4]], [[], [5, 6]]])
def test_tasks_of_several_processes_equal_those_of_one(size: int, seeds: list[list[int]]) -> None:
    """Also if there are more processes than tasks, and jobs without any."""
    effort = SmallOptions()
    graphs = [delaunay(300, 3), rmat(7, 4)]
    jobs = []
    for graph, own in zip(graphs, seeds, strict=False):
        problem = problem_of(graph, 5)
        jobs.append(Job(graph, problem.shares, problem.limits, problem.lower_limits, own))
    expected = as_rows(Batch.of(jobs, HOST).run(HOST, effort))

    def run(comm: Communicator) -> Any:
        return as_rows(run_together(jobs, CpuBackend(1), effort, comm))

    assert run_on_threads(size, run) == [expected] * size


@pytest.mark.parametrize("preset", ["default", "ultra"])
@pytest.mark.parametrize("size", [2, 3])
def test_levels_with_flows_stay_in_pieces(
    size: int, preset: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph, levels = cube(24, 20, 20), []
    improve = PieceLevel._improved_by_flows

    def watched(self: PieceLevel, *arguments: Any, **options: Any) -> Any:
        levels.append(self.graph.global_n)
        return improve(self, *arguments, **options)

    monkeypatch.setattr(PieceLevel, "_improved_by_flows", watched)
    options: dict[str, Any] = {"preset": preset, "options": IN_PIECES, **ENGINE}
    alone = jetpy.partition(graph, 4, **options)

    def run(comm: Communicator) -> Any:
        block = block_of(graph, evenly(graph.n, comm.size), comm.rank)
        own = block.indptr, block.indices
        return jetpy.distributed.partition(comm, own, 4, small=5000, **options)

    found = run_on_threads(size, run)
    assert np.concatenate([one.parts for one in found]).tolist() == alone.parts.tolist()
    assert max(levels) == graph.n


@pytest.mark.parametrize("preset", ["fast", "default", "ultra"])
@pytest.mark.parametrize("size", [2, 3])
def test_dense_levels_are_refined_in_pieces(
    size: int, preset: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph, pieces = rmat(12, 32), []
    options: dict[str, Any] = {"preset": preset, "options": IN_PIECES, **ENGINE}
    alone = jetpy.partition(graph, 4, **options)
    cut_out = levels.cut_out

    def watched(backend: Backend, comm: Communicator, whole: DeviceGraph) -> Piece:
        pieces.append(whole.n)
        return cut_out(backend, comm, whole)

    monkeypatch.setattr(levels, "cut_out", watched)

    def run(comm: Communicator) -> Any:
        block = block_of(graph, evenly(graph.n, comm.size), comm.rank)
        own = block.indptr, block.indices, None, None
        return jetpy.distributed.partition(comm, own, 4, small=20_000, **options)

    found = run_on_threads(size, run)
    assert np.concatenate([one.parts for one in found]).tolist() == alone.parts.tolist()
    assert pieces


def test_flows_beyond_the_memory_are_one_error(monkeypatch: pytest.MonkeyPatch) -> None:
    room, options = bytes_of(4000, 12_000), {**IN_PIECES, "coarsen.communities": 0}
    monkeypatch.setattr("jetpy.distributed.gathering.available_memory", lambda: room)
    graph = delaunay(9000, 1)

    def run(comm: Communicator) -> str:
        block = block_of(graph, evenly(graph.n, 2), comm.rank)
        own = block.indptr, block.indices
        with pytest.raises(OutOfMemoryError) as error:
            jetpy.distributed.partition(comm, own, 32, small=500, options=options, **ENGINE)
        return str(error.value)

    one, other = run_on_threads(2, run)
    assert one == other
    assert "every process gathers its band for flows, of " in one


@pytest.mark.parametrize("small", [0, 10**6])
def test_levels_beyond_the_memory_are_one_error(
    small: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Small levels are gathered, and with a large limit the finest one."""
    monkeypatch.setattr("jetpy.distributed.gathering.available_memory", lambda: 1 << 10)
    graph = cube(9, 9, 9)

    def run(comm: Communicator) -> str:
        block = block_of(graph, evenly(graph.n, 2), comm.rank)
        own = block.indptr, block.indices
        with pytest.raises(OutOfMemoryError) as error:
            jetpy.distributed.partition(
                comm, own, 4, preset="fast", small=small, options=IN_PIECES, **ENGINE
            )
        return str(error.value)

    one, other = run_on_threads(2, run)
    assert one == other
    assert "every process gathers the whole graph of " in one
    assert ("729 vertices" in one) == (small > 0)


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_shares_are_consecutive_and_about_equal(size: int) -> None:
    random = np.random.default_rng(size)
    for count in (0, 1, 2, 40):
        costs = random.integers(0, 100, count)
        starts = shares(costs, size)
        assert (starts[0], starts[-1], len(starts)) == (0, count, size + 1)
        assert (np.diff(starts) >= 0).all()
        before = np.append(0, np.cumsum(costs))[starts]
        ideal = costs.sum() * np.arange(size + 1) / size
        assert (np.abs(before - ideal) <= costs.max(initial=0)).all()
