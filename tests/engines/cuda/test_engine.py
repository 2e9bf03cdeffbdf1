"""The back end `cuda` on a fake CuPy: devices, modules, full memory."""

from __future__ import annotations

import ctypes
import re
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from threading import Thread
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

import jetpy
from jetpy.device.backends import forget_backends, get_backend, kernel_modules
from jetpy.engines import gpu, gpu_memory, index
from jetpy.engines.base import Backend
from jetpy.engines.cpu.engine import CpuBackend
from jetpy.engines.cuda import code, engine, kernels, nvrtc
from jetpy.engines.cuda.templates import FOR_THREADS
from jetpy.engines.gpu import HOST_THREADS
from jetpy.engines.gpu_memory import STAGE_BYTES, STAGED_BYTES, CudaMemory
from jetpy.engines.oom_message import explain_oom
from jetpy.errors import BackendError, JetpyError, OptionError, OutOfMemoryError
from jetpy.workloads.common import selfcheck
from tests.engines.cuda.test_diagnosis import SOUND
from tests.engines.cuda.test_kernels import StandIn
from tests.modules import modules

GIB = 1 << 30


class Full(MemoryError):
    """Stands in for CuPy's OutOfMemoryError."""


class DriverError(RuntimeError):
    """Stands in for CuPy's CUDADriverError."""


class RuntimeFault(RuntimeError):
    """Stands in for CuPy's CUDARuntimeError."""


class Stream:
    """A stream of the fake CuPy."""

    ptr = 5
    null: AbstractContextManager[None] = nullcontext()

    def __init__(self, **_: Any) -> None:
        pass

    def synchronize(self) -> None:
        pass

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        pass


class Cupy(ModuleType):
    """A fake CuPy with two GPUs that records loads and launches."""

    def __init__(self) -> None:
        super().__init__("cupy")
        self.current, self.loaded, self.launched, self.shapes = 0, [], [], []
        self.ndarray, self.zeros, self.empty = np.ndarray, np.zeros, np.empty
        self.refused = False
        self.cuda = SimpleNamespace(
            Stream=Stream,
            Device=lambda _: SimpleNamespace(attributes={"MultiProcessorCount": 4}),
            runtime=SimpleNamespace(
                deviceSynchronize=lambda: None,
                getDevice=lambda: self.current,
                setDevice=self.set_device,
                memGetInfo=lambda: (GIB, 4 * GIB),
                CUDARuntimeError=RuntimeFault,
            ),
            function=SimpleNamespace(Module=lambda: SimpleNamespace(**self.module())),
            driver=SimpleNamespace(launchKernel=self.launch, CUDADriverError=DriverError),
            memory=SimpleNamespace(OutOfMemoryError=Full),
        )

    def set_device(self, number: int) -> None:
        self.current = number

    def module(self) -> dict[str, Any]:
        return {
            "load": self.load,
            "get_function": lambda name: SimpleNamespace(ptr=hash(name) % 1000),
        }

    def load(self, cubin: bytes) -> None:
        if self.refused:
            raise DriverError("CUDA_ERROR_INVALID_IMAGE")
        self.loaded.append(self.current)

    def launch(self, *given: int) -> None:
        self.launched.append((self.current, given[0]))
        self.shapes.append((given[1], given[4]))

    def get_default_memory_pool(self) -> SimpleNamespace:
        return SimpleNamespace(total_bytes=lambda: GIB // 2)


class Array(np.ndarray):
    """An array with an address, like CuPy's."""

    @property
    def data(self) -> Any:
        return SimpleNamespace(ptr=self.ctypes.data)


@pytest.fixture
def cupy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cupy]:
    made = Cupy()
    made.ndarray = Array
    made.zeros = lambda n, dtype: np.zeros(n, dtype).view(Array)
    cupyx = ModuleType("cupyx")
    cupyx.empty_pinned, cupyx.zeros_pinned = np.empty, np.zeros
    monkeypatch.setitem(sys.modules, "cupy", made)
    monkeypatch.setitem(sys.modules, "cupyx", cupyx)
    monkeypatch.setattr(engine, "examine", lambda: SOUND)
    monkeypatch.setattr(nvrtc, "load", lambda majors: StandIn())
    monkeypatch.setenv("JETPY_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(CpuBackend, "compile", lambda self, jobs: 0.0)
    forget_code(monkeypatch)
    yield made
    forget_backends()


def forget_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """Clear the loaded code and the known index, as in a new process."""
    monkeypatch.setattr(code, "_codes", {})
    index._known.cache_clear()
    forget_backends()


def test_cuda_has_the_properties_of_a_gpu(cupy: Cupy) -> None:
    backend = get_backend("cuda")
    assert (backend.name, backend.threads, backend.copies) == ("cuda", 1, True)
    assert backend.is_asynchronous
    assert backend.host_engine is not None
    assert backend.host_engine.threads == HOST_THREADS


def test_device_selects_the_gpu(cupy: Cupy) -> None:
    for arguments in (("cuda",), ("cuda", None, 0), ("cuda", 3), ("auto",), ("auto", None, 0)):
        assert get_backend(*arguments).gpu == 0
    for arguments in (("cuda", None, 1), ("auto", 2, 1)):
        assert get_backend(*arguments).gpu == 1
    with pytest.raises(OptionError, match=r"device is 2; it must be 0\.\.1"):
        get_backend("cuda", device=2)
    with pytest.raises(OptionError, match="device is 1; it must be 0 on"):
        gpu.check_device(1, 1)


def test_device_is_current_only_while_in_use(cupy: Cupy) -> None:
    backend = get_backend("cuda", device=1)
    assert cupy.current == 0
    backend.compile(kernel_modules())
    assert cupy.loaded == [1] * len(modules())
    with suppress(KeyError), backend.using():
        assert cupy.current == 1
        raise KeyError
    assert cupy.current == 0

    def launch() -> None:
        numbers = cupy.zeros(5, np.int32)
        with explain_oom(backend, 5, 4):
            assert backend.reduce(5, selfcheck.add_up, numbers=numbers) == 0

    thread = Thread(target=launch)
    thread.start()
    thread.join()
    assert [device for device, _ in cupy.launched] == [1]
    assert cupy.current == 0


def test_unsupported_gpu_is_refused_next_to_a_supported_one(
    cupy: Cupy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "examine", lambda: replace(SOUND, capabilities=(70, 90)))
    with pytest.raises(BackendError, match=r"does not support this GPU \(sm_70\)"):
        get_backend("cuda")
    assert get_backend("cuda", device=1).name == "cuda"


def test_kernels_are_loaded_on_first_launch(cupy: Cupy) -> None:
    backend, numbers = get_backend("cuda"), cupy.zeros(5, np.int32)
    for _ in range(2):
        backend.reduce(5, selfcheck.add_up, numbers=numbers)
    assert len(cupy.loaded) == 1
    assert len(cupy.launched) == backend.launches == 2


def test_each_task_has_a_warp(cupy: Cupy) -> None:
    backend, (three, seven) = get_backend("cuda"), (cupy.zeros(n, np.int32) for n in (3, 7))
    tallies = selfcheck.Tallies(seven, cupy.zeros(7, np.int64), seven, seven)
    arguments = {"numbers": three, "tallies": tallies, "buckets": 7}
    backend.run_tasks(3, selfcheck.tally, **arguments)
    backend.parallel_for(3, selfcheck.tally, **arguments)
    backend.run_tasks(0, selfcheck.tally, **arguments)
    assert cupy.shapes == [(3, 1), (1, FOR_THREADS)]
    assert backend.tasks_at_once == 4 * engine.TASKS_PER_MULTIPROCESSOR


def test_warm_cache_is_loaded_on_first_launch(cupy: Cupy, monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels are neither read nor loaded before the first launch."""
    get_backend("cuda").compile(kernel_modules())
    assert len(cupy.loaded) == len(modules())
    forget_code(monkeypatch)
    cupy.loaded.clear()
    monkeypatch.setattr(kernels, "compiled", lambda *_, **__: pytest.fail("reads kernels"))
    backend = get_backend("cuda")
    backend.compile(kernel_modules())
    assert cupy.loaded == []
    backend.reduce(5, selfcheck.add_up, numbers=cupy.zeros(5, np.int32))
    assert len(cupy.loaded) == 1


@pytest.mark.parametrize("damage", [Path.unlink, lambda file: file.write_bytes(b"damaged")])
def test_missing_or_damaged_cubin_is_recompiled(
    cupy: Cupy, tmp_path: Path, damage: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A missing cubin is recompiled with the others, a damaged one on first use."""
    get_backend("cuda").compile(kernel_modules())
    [cubin] = tmp_path.rglob("selfcheck-*.cubin")
    before = cubin.read_bytes()
    damage(cubin)
    forget_code(monkeypatch)
    backend = get_backend("cuda")
    backend.compile(kernel_modules())
    backend.reduce(5, selfcheck.add_up, numbers=cupy.zeros(5, np.int32))
    assert cubin.read_bytes() == before


def test_cubins_of_other_sources_are_recompiled(
    cupy: Cupy, monkeypatch: pytest.MonkeyPatch
) -> None:
    get_backend("cuda").compile(kernel_modules())
    monkeypatch.setattr(code, "_codes", {})
    monkeypatch.setattr(index, "digest_of_kernels", lambda engine: "of another version")
    forget_backends()
    cupy.loaded.clear()
    get_backend("cuda").compile(kernel_modules())
    assert len(cupy.loaded) == len(modules())


def test_load_error_of_the_driver_is_raised(cupy: Cupy) -> None:
    cupy.refused = True
    with pytest.raises(BackendError, match="cannot load the kernels: CUDA_ERROR_INVALID_IMAGE"):
        get_backend("cuda").compile(kernel_modules())


def test_forked_processes_have_no_gpu(cupy: Cupy, monkeypatch: pytest.MonkeyPatch) -> None:
    backend = get_backend("cuda")
    monkeypatch.setattr(gpu, "_is_lost", True)
    engine._leave_gpu()
    for use in (
        lambda: backend.compile([]),
        backend.synchronize,
        lambda: backend.empty(3),
        lambda: backend.parallel_for(3, selfcheck.tally),
        lambda: backend.using().__enter__(),
        lambda: engine.CudaBackend(0, CpuBackend),
    ):
        with pytest.raises(
            BackendError, match="CUDA cannot be used in a process that was forked from"
        ):
            use()


# Captured launches


@pytest.mark.parametrize("fails_at", [None, "launch", "one launch", "copy", "end"])
def test_disturbed_capture_is_launched_and_repeated(
    cupy: Cupy, fails_at: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An incomplete capture is launched one by one and captured the next time."""
    did: list[str] = []
    errors: dict[str | None, Exception] = {
        "launch": DriverError("CUDA_ERROR_STREAM_CAPTURE_INVALIDATED"),
        "one launch": DriverError("CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"),  # the capture continues
        "copy": RuntimeFault("cudaErrorInvalidValue"),
    }

    def end_capture(stream: Stream) -> SimpleNamespace:
        did.append("end")
        if fails_at in ("launch", "end"):
            raise RuntimeFault("cudaErrorStreamCaptureInvalidated")
        return SimpleNamespace(launch=lambda _: did.append("graph"))

    def launches() -> None:
        if fails_at in errors and did[-1:] == ["begin"]:
            raise errors[fails_at]
        did.append("launches")

    monkeypatch.setattr(Stream, "begin_capture", lambda stream: did.append("begin"), raising=False)
    monkeypatch.setattr(Stream, "end_capture", end_capture, raising=False)
    memory = CudaMemory(0, captures_apart=True)
    stream, repeat = memory.stream, memory.repeatable(launches, lambda: True)
    repeat()
    assert memory.stream is stream
    captured = ["begin", *([] if fails_at in errors else ["launches"]), "end"]
    assert did == [*captured, "graph" if fails_at is None else "launches"]
    fails_at, did[:] = None, []
    repeat()
    assert did[-1] == "graph"
    repeat()
    assert did[-1] == "graph"


# Short arrays


def test_short_arrays_share_a_staging_buffer(cupy: Cupy) -> None:
    """The fake copies happen as late as possible: at the next synchronisation."""
    due: list[tuple[int, int, int]] = []

    def synchronize() -> None:
        for copy in due:
            ctypes.memmove(*copy)
        due.clear()

    runtime = cupy.cuda.runtime
    runtime.memcpyHostToDevice, runtime.deviceSynchronize = 1, synchronize
    runtime.memcpyAsync = lambda to, source, size, kind, stream: due.append((to, source, size))
    cupy.empty = lambda n, dtype: np.empty(n, dtype).view(Array)
    memory, rng = CudaMemory(0), np.random.default_rng(0)
    lengths = [1, 3, *rng.integers(1, STAGED_BYTES // 4 + 1, 100).tolist(), STAGED_BYTES // 4]
    arrays = [rng.integers(0, 2**31, n).astype(np.int32) for n in lengths]
    assert sum(array.nbytes for array in arrays) > 2 * STAGE_BYTES
    copies = [memory.from_host(array) for array in arrays]
    assert due
    synchronize()
    for array, copy in zip(arrays, copies, strict=True):
        assert np.array_equal(array, copy)


# Long arrays


@pytest.mark.parametrize("length", [16, 17, 64, 65, 129, 1000])
def test_long_arrays_are_copied_in_chunks(
    cupy: Cupy, monkeypatch: pytest.MonkeyPatch, length: int
) -> None:
    monkeypatch.setattr(gpu_memory, "CHUNK_BYTES", 64)
    monkeypatch.setattr(gpu_memory, "STAGED_BYTES", 0)
    monkeypatch.setattr(gpu_memory, "COPIERS", 3)
    sizes, due = [], {}

    class LateStream(Stream):
        """A stream whose copies happen at the next synchronisation."""

        @property
        def ptr(self) -> int:
            return id(self)

        def synchronize(self) -> None:
            for copied in due.pop(self.ptr, []):
                ctypes.memmove(*copied)

    def copy(to: int, source: int, size: int, kind: int, stream: int) -> None:
        sizes.append(size)
        due.setdefault(stream, []).append((to, source, size))

    runtime = cupy.cuda.runtime
    cupy.cuda.Stream = LateStream
    runtime.memcpyHostToDevice = runtime.memcpyDeviceToHost = 1
    runtime.memcpyAsync = copy
    cupy.empty = lambda n, dtype: np.empty(n, dtype).view(Array)
    cupy.asarray = cupy.asnumpy = lambda array, out=None: array.copy()
    memory, array = CudaMemory(0), np.arange(length, dtype=np.int32)
    waits: list[str] = []
    monkeypatch.setattr(memory, "synchronize", lambda: waits.append("all launches"))
    there = memory.from_host(array).view(Array)
    buffers = [*memory._buffers]
    assert np.array_equal(memory.to_host(there), array)
    into = np.zeros_like(array)
    memory.to_host(there, into)
    is_long = array.nbytes > 64
    assert not is_long or np.array_equal(into, array)
    assert len(waits) == (3 if is_long else 0)
    assert not due
    assert sum(sizes) == (3 * array.nbytes if is_long else 0)
    assert max(sizes, default=0) <= 64
    chunks = -(-array.nbytes // 64)
    assert len(buffers) == ((6 if chunks > 2 else chunks) if is_long else 0)
    assert all(one is other for one, other in zip(buffers, memory._buffers, strict=True))


# Memory that is full


def test_out_of_memory_estimates_the_size_that_fits(cupy: Cupy) -> None:
    backend = get_backend("cuda")
    with pytest.raises(OutOfMemoryError) as caught, explain_oom(backend, 10**8, 10**8):
        raise Full("Out of memory allocating 4,000 bytes")
    assert isinstance(caught.value, JetpyError)
    assert isinstance(caught.value, MemoryError)
    assert str(caught.value) == (
        "the memory of the GPU is full: a graph of 100,000,000 vertices and 100,000,000 edges "
        "needs more than the 1.5 GiB available; about 12,000,000 vertices and 12,000,000 "
        "edges would fit"
    )
    with pytest.raises(OutOfMemoryError, match="about 9 vertices"), explain_oom(backend, 10, 0):
        raise Full
    with pytest.raises(Full, match="of another process"), explain_oom(backend, 0, 0):
        raise Full("of another process")
    with pytest.raises(MemoryError, match="of the host"), explain_oom(backend, 10, 0):
        raise MemoryError("of the host")


def test_out_of_memory_is_explained_by_every_entry_point(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: Backend, n: int, dtype: object = None) -> None:
        raise Full

    monkeypatch.setattr(CpuBackend, "empty", fail)
    monkeypatch.setattr(CpuBackend, "available_bytes", lambda self, error: 50_000)
    grid = jetpy.generators.grid(30, 30)
    live = re.escape("900 vertices and 1,740 edges needs more than the 0.0 GiB")
    for work in (
        lambda: jetpy.partition(grid, 4, backend="cpu"),
        lambda: jetpy.map_processes(grid, "2:2", "1:10", backend="cpu"),
        lambda: jetpy.IncrementalPartitioner(grid, 4, backend="cpu"),
    ):
        with pytest.raises(OutOfMemoryError, match=live):
            work()
