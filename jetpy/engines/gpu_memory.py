"""CuPy arrays on a GPU, and their addresses for kernels."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, contextmanager, suppress
from itertools import cycle
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from jetpy.engines.base import Array, DualView
from jetpy.engines.memory import Memory
from jetpy.engines.threads import available_threads
from jetpy.engines.turns import turn_on_gpu
from jetpy.lazy import cached_property

CHUNK_BYTES = 1 << 22
"""Several threads copy arrays that are longer than this to and from the GPU, in shorter chunks."""
COPIERS = min(8, available_threads())
"""Maximum number of these threads."""
STAGED_BYTES, STAGE_BYTES = 1 << 16, 1 << 20
"""Maximum size of arrays copied to the GPU through a page-locked stage, and size of the stage."""

_Chunk = tuple[npt.NDArray[np.uint8], int]
"""A chunk of an array on the host, and the address of its copy on the GPU."""


class CopyBuffer(NamedTuple):
    """Page-locked memory for a chunk, and the stream on which it is copied."""

    memory: npt.NDArray[np.uint8]
    stream: Any


class CudaMemory(Memory):
    """CuPy arrays on the GPU.

    Launches use a separate stream, because the default stream cannot be captured into a graph. It
    is a blocking stream: it and the default stream, which CuPy uses, wait for each other.

    Parameters
    ----------
    device : int
        Index of the GPU. It must be the thread's current device (`using`) whenever arrays are
        created or kernels launched.
    captures_apart : bool
        Whether launches use the current value of `stream`. Then graphs are captured from a
        non-blocking stream, so that work of other threads on the default stream cannot disturb the
        capture.
    """

    def __init__(self, device: int, *, captures_apart: bool = False) -> None:
        super().__init__()
        self.xp = importlib.import_module("cupy")
        self.device = device
        self._buffers: list[CopyBuffer] = []
        self._staged = 0
        with self.using():
            self.stream = self.xp.cuda.Stream()
            self._capture_stream = self.stream
            if captures_apart:
                self._capture_stream = self.xp.cuda.Stream(non_blocking=True)
            self._stage = importlib.import_module("cupyx").empty_pinned(STAGE_BYTES, np.uint8)

    @contextmanager
    def using(self) -> Iterator[None]:
        """Reserve the GPU for this run and make it the thread's current device.

        Launches are in order with the default stream only, which CuPy uses meanwhile. The context
        waits for the caller's work on other streams at its start, and for the run's at its end.
        """
        runtime = self.xp.cuda.runtime
        with turn_on_gpu(self.device):
            before = runtime.getDevice()
            runtime.setDevice(self.device)
            try:
                runtime.deviceSynchronize()
                with self.xp.cuda.Stream.null:
                    yield
                runtime.deviceSynchronize()
            finally:
                runtime.setDevice(before)

    def in_order(self) -> AbstractContextManager[Any]:
        """Make CuPy use the stream of the launches within the context."""
        stream: AbstractContextManager[Any] = self.stream
        return stream

    def available_bytes(self, error: MemoryError) -> int | None:
        """Return the bytes for arrays, if `error` says that the memory is full; else None."""
        if not isinstance(error, self.xp.cuda.memory.OutOfMemoryError):
            return None
        with self.using():
            free, _ = self.xp.cuda.runtime.memGetInfo()
            return int(free + self.xp.get_default_memory_pool().total_bytes())

    def from_host(self, array: npt.NDArray[Any]) -> Array:
        """Copy an array to the GPU."""
        if 0 < array.nbytes <= STAGED_BYTES and array.ndim == 1:
            return self._upload_staged(array)
        if array.nbytes <= CHUNK_BYTES:
            return self.xp.asarray(array)
        copy = self.xp.empty(len(array), array.dtype)
        self._copy(array, copy, upload=True)
        return copy

    def _upload_staged(self, array: npt.NDArray[Any]) -> Array:
        """Copy a short array to the GPU, in order with launches and without waiting for them."""
        if self._staged + array.nbytes > STAGE_BYTES:
            self.synchronize()
            self._staged = 0
        place = self._stage[self._staged : self._staged + array.nbytes]
        place[:] = array.view(np.uint8)
        self._staged += -(-array.nbytes // 16) * 16
        copy = self.xp.empty(len(array), array.dtype)
        runtime = self.xp.cuda.runtime
        addresses = copy.data.ptr, place.ctypes.data
        runtime.memcpyAsync(*addresses, array.nbytes, runtime.memcpyHostToDevice, self.stream.ptr)
        return copy

    def to_host(self, array: Array, out: npt.NDArray[Any] | None = None) -> npt.NDArray[Any]:
        """Copy an array from the GPU, after all earlier launches."""
        if array.nbytes <= CHUNK_BYTES:
            host: npt.NDArray[Any] = self.xp.asnumpy(array, out=out)
            return host
        copy = np.empty(len(array), array.dtype) if out is None else out
        self._copy(copy, array, upload=False)
        return copy

    def _copy(self, host: npt.NDArray[Any], device: Array, *, upload: bool) -> None:
        """Copy a long array to or from the GPU.

        Several threads copy chunks through page-locked memory, because CUDA copies to and from
        other host memory with a single thread. For an array of one chunk, CUDA is faster.
        """
        self.synchronize()
        values, address = host.view(np.uint8), device.data.ptr
        copy_chunks = self._upload_chunks if upload else self._download_chunks
        count = -(-len(values) // CHUNK_BYTES)
        copiers = min(COPIERS, count)
        size = -(-len(values) // (copiers * -(-count // copiers)))
        chunks = [
            (values[start : start + size], address + start) for start in range(0, len(values), size)
        ]
        buffers = self._first_buffers(min(2 * copiers, len(chunks)))
        copies = [
            self._copiers.submit(copy_chunks, buffers[i::copiers], chunks[i::copiers])
            for i in range(copiers)
        ]
        wait(copies)
        for copy in copies:
            copy.result()

    @cached_property
    def _copiers(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(COPIERS, "jetpy-copier")

    def _first_buffers(self, count: int) -> list[CopyBuffer]:
        """Return the first `count` buffers; make those that are missing."""
        while len(self._buffers) < count:
            memory = importlib.import_module("cupyx").empty_pinned(CHUNK_BYTES, np.uint8)
            self._buffers.append(CopyBuffer(memory, self.xp.cuda.Stream(non_blocking=True)))
        return self._buffers[:count]

    def _upload_chunks(self, buffers: Sequence[CopyBuffer], chunks: Sequence[_Chunk]) -> None:
        """Copy chunks from the host to the GPU; one buffer is filled while another is copied."""
        runtime = self.xp.cuda.runtime
        runtime.setDevice(self.device)
        for (values, address), (memory, stream) in zip(chunks, cycle(buffers), strict=False):
            stream.synchronize()
            memory[: len(values)] = values
            addresses = address, memory.ctypes.data
            runtime.memcpyAsync(*addresses, len(values), runtime.memcpyHostToDevice, stream.ptr)
        for _, stream in buffers:
            stream.synchronize()

    def _download_chunks(self, buffers: Sequence[CopyBuffer], chunks: Sequence[_Chunk]) -> None:
        """Copy chunks from the GPU to the host."""
        runtime, (memory, stream) = self.xp.cuda.runtime, buffers[0]
        runtime.setDevice(self.device)
        for values, address in chunks:
            addresses = memory.ctypes.data, address
            runtime.memcpyAsync(*addresses, len(values), runtime.memcpyDeviceToHost, stream.ptr)
            stream.synchronize()
            values[:] = memory[: len(values)]

    def fill(self, array: Array, value: int) -> None:
        """Set each element of a contiguous array to the same value, in order with launches.

        If all its bytes are equal, CUDA does so on the stream of the launches. CuPy would launch a
        kernel on the default stream, so that each stream has to wait for the other one.
        """
        byte = {0: 0, -1: 0xFF}.get(value)
        if byte is None or array.dtype.kind != "i":
            array.fill(value)
        else:
            self.xp.cuda.runtime.memsetAsync(array.data.ptr, byte, array.nbytes, self.stream.ptr)

    def dual_view(self, n: int) -> DualView:
        """Return a dual view; its host array is page-locked, so that copies are asynchronous."""
        host = importlib.import_module("cupyx").zeros_pinned(n, np.int64)
        return DualView(host, self.xp.zeros(n, np.int64))

    def sync_device(self, array: DualView) -> None:
        """Copy a dual view to the GPU, asynchronously."""
        runtime = self.xp.cuda.runtime
        addresses = array.device.data.ptr, array.host.ctypes.data
        runtime.memcpyAsync(
            *addresses, array.host.nbytes, runtime.memcpyHostToDevice, self.stream.ptr
        )

    def sync_host(self, array: DualView) -> None:
        """Copy a dual view from the GPU, asynchronously."""
        runtime = self.xp.cuda.runtime
        addresses = array.host.ctypes.data, array.device.data.ptr
        runtime.memcpyAsync(
            *addresses, array.host.nbytes, runtime.memcpyDeviceToHost, self.stream.ptr
        )

    def repeatable(
        self, launches: Callable[[], None], are_loaded: Callable[[], bool]
    ) -> Callable[[], None]:
        """Return a function that launches from a CUDA graph, captured once kernels are loaded."""
        graph: Any = None

        def repeat() -> None:
            nonlocal graph
            if graph is None and are_loaded():
                graph = self._capture(launches)
            if graph is None:
                with self.in_order():
                    launches()
            else:
                graph.launch(self.stream)

        return repeat

    def _capture(self, launches: Callable[[], None]) -> Any:
        """Return a CUDA graph of `launches`; None if a launch or the capture fails.

        The capture fails if another thread synchronises the device meanwhile.
        """
        usual, self.stream = self.stream, self._capture_stream
        cuda, graph, is_whole = self.xp.cuda, None, False
        try:
            with self.in_order(), suppress(cuda.runtime.CUDARuntimeError):
                self.stream.begin_capture()
                try:
                    with suppress(cuda.driver.CUDADriverError):
                        launches()
                        is_whole = True
                finally:
                    graph = self.stream.end_capture()
        finally:
            self.stream = usual
        return graph if is_whole else None

    def synchronize(self) -> None:
        """Wait until all launches have finished."""
        self.xp.cuda.runtime.deviceSynchronize()

    def locate(self, array: Array) -> int:
        """Return the address of an array on the GPU."""
        address: int = array.data.ptr
        return address
