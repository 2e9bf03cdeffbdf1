"""When `auto` starts a GPU: a fake GPU counts how often it is started."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
from click.testing import CliRunner

import jetpy
from jetpy.api.run import backend_for
from jetpy.cli.main import main
from jetpy.device import backends
from jetpy.device.backends import BACKENDS, CPU, device_of, forget_backends, lease
from jetpy.graph.on_gpu import GraphOnGpu, OnGpu
from jetpy.result.mapping import mapping_rows
from jetpy.result.partition import partition_rows
from tests.device_backend import DeviceBackend
from tests.graphs import MULTILEVEL

GRID = jetpy.generators.grid(8, 8)
WORK = 64 + 2 * GRID.m
SMALL = "(small graph: starting a GPU would take longer)"


class Gpu(DeviceBackend):
    """Numba in place of `cuda`."""

    name = "cuda"
    gpu = 0


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int | None]]:
    """Yield the devices of the GPUs that were started, as if no other test had used a GPU."""
    monkeypatch.delitem(sys.modules, "cupy", raising=False)
    found: list[int | None] = []

    def make(threads: int | None, device: int | None) -> Gpu:
        found.append(device)
        return Gpu(1)

    monkeypatch.setitem(BACKENDS, "cuda", make)
    forget_backends()
    yield found
    forget_backends()


def cupy_with(monkeypatch: pytest.MonkeyPatch, context: object) -> None:
    """Install a fake CuPy with a current context, or one that raises an error."""

    def current() -> object:
        if isinstance(context, Exception):
            raise context
        return context

    cupy = ModuleType("cupy")
    cupy.cuda = SimpleNamespace(driver=SimpleNamespace(ctxGetCurrent=current))
    monkeypatch.setitem(sys.modules, "cupy", cupy)


@pytest.mark.parametrize("context", [0, RuntimeError("CUDA_ERROR_NOT_INITIALIZED")])
def test_small_graph_starts_no_gpu(
    started: list[int | None], context: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    cupy_with(monkeypatch, context)
    found = jetpy.partition(GRID, 4, threads=1)
    assert (found.backend, found.gpu, found.gpu_skipped) == (CPU, None, True)
    assert jetpy.refine(GRID, found.parts, threads=1).gpu_skipped
    assert jetpy.map_processes(GRID, "2:2", "1:10", threads=1).partition.gpu_skipped
    assert started == []


@pytest.mark.parametrize(
    ("options", "device"),
    [
        ({"backend": "cuda"}, 0),
        ({"device": 0}, 0),
        ({"time_limit": 0.01}, 0),
        ({"generations": 3}, 0),
    ],
    ids=str,
)
def test_explicit_and_long_runs_start_a_gpu(
    started: list[int | None],
    options: dict[str, object],
    device: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The graph is small, but the user selects the GPU, or the run takes long."""
    monkeypatch.setattr(backends, "MIN_GPU_WORK", 2 * WORK + 1)
    found = jetpy.partition(GRID, 4, **options)
    assert (started, found.backend, found.gpu_skipped) == ([device], "cuda", False)
    assert jetpy.partition(GRID, 4, generations=2, backend=CPU).gpu_skipped is False


def test_gpu_starts_from_the_minimum_work(
    started: list[int | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backends, "MIN_GPU_WORK", WORK + 1)
    assert jetpy.partition(GRID, 4, threads=1, options=MULTILEVEL).backend == CPU
    monkeypatch.setattr(backends, "MIN_GPU_WORK", WORK)
    assert jetpy.partition(GRID, 4, threads=1, options=MULTILEVEL).backend == "cuda"


def test_started_gpu_is_reused(started: list[int | None]) -> None:
    first = jetpy.partition(GRID, 4, threads=1, options=MULTILEVEL)
    with lease("cuda"):
        pass
    second = jetpy.partition(GRID, 4, threads=1, options=MULTILEVEL)
    assert [first.backend, second.backend, second.gpu_skipped] == [CPU, "cuda", False]
    np.testing.assert_array_equal(first.parts, second.parts)
    assert started == [0]


def test_gpu_with_a_cupy_context_is_used(
    started: list[int | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    cupy_with(monkeypatch, 94_000)
    assert jetpy.partition(GRID, 4, options=MULTILEVEL).backend == "cuda"


def test_tasks_run_on_the_cpu(started: list[int | None]) -> None:
    """Also if the process has started a GPU, whose turn other threads would wait for."""
    with lease("cuda"):
        pass
    found = jetpy.partition(GRID, 4, threads=1)
    assert (found.backend, found.gpu_skipped) == (CPU, True)
    assert jetpy.partition(GRID, 4, backend="cuda").backend == "cuda"


def test_graph_on_the_gpu_uses_the_gpu(started: list[int | None]) -> None:
    class There(np.ndarray):
        device = SimpleNamespace(id=1)

        def get(self) -> np.ndarray:
            return self.view(np.ndarray)

    arrays = (GRID.indptr, GRID.indices, GRID.edge_weights, GRID.vertex_weights)
    on_gpu = OnGpu(*(array.view(There) for array in arrays), 2 * GRID.total_edge_weight, 64)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(GraphOnGpu, "on_gpu", None)
        graph = GraphOnGpu.of(on_gpu, "grid")
        assert backend_for(graph, "auto", None) == "auto"
        assert backend_for(GRID, "auto", None) == CPU
        assert [device_of(graph, name, None) for name in ("auto", "cuda", "cpu")] == [1, 1, None]
        assert [device_of(graph, "cuda", device) for device in (True, 0)] == [1, 0]
        assert [device_of(GRID, "cuda", device) for device in (True, None)] == [0, None]


def test_session_starts_the_gpu(started: list[int | None]) -> None:
    """A session is long-lived and has many updates."""
    jetpy.IncrementalPartitioner(GRID, 4)
    assert started == [0]


def test_command_line_checks_options_without_a_gpu(
    started: list[int | None], tmp_path: object
) -> None:
    jetpy.write_graph(f"{tmp_path}/grid.graph", GRID)
    outcome = CliRunner().invoke(main, ["partition", f"{tmp_path}/grid.graph", "-k", "4"])
    assert (outcome.exit_code, started) == (0, [])
    wrong = ["partition", f"{tmp_path}/grid.graph", "-k", "4", "--threads", "0"]
    assert "threads is 0" in CliRunner().invoke(main, wrong).output


@pytest.mark.parametrize(("cupy", "is_shown"), [(None, False), (object(), True)])
def test_summary_says_why_no_gpu_was_started(
    started: list[int | None], cupy: object, is_shown: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jetpy.evaluation.rows.find_spec", lambda name: cupy)
    found = jetpy.partition(GRID, 4, threads=1)
    mapped = jetpy.map_processes(GRID, "2:2", "1:10", threads=1)
    for rows in (partition_rows(found), mapping_rows(mapped)):
        assert dict(rows)["run"].endswith(f"{CPU}, 1 thread {SMALL}" if is_shown else "1 thread")
    asked_for = jetpy.partition(GRID, 4, threads=1, backend=CPU)
    assert SMALL not in dict(partition_rows(asked_for))["run"]
