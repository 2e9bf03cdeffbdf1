"""Memory of this process and of GPUs."""

from __future__ import annotations

import ctypes
import importlib
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

INTERVAL = 0.002
"""Seconds between two samples of a GPU's memory."""


def process_bytes(field: str) -> int:
    """Return a field of this process's memory statistics, in bytes.

    `resource.getrusage` is no substitute, because its peak includes the parent's memory.

    Raises
    ------
    OSError
        If the operating system does not provide the field.
    """
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{field}:"):
            return 1024 * int(line.split()[1])
    raise OSError(f"/proc/self/status has no {field}")


def reset_peak() -> None:
    """Make the peak memory of this process, the field `VmHWM`, its current memory.

    Raises
    ------
    OSError
        If the operating system does not support this.
    """
    Path("/proc/self/clear_refs").write_text("5")


class _MemoryInfo(ctypes.Structure):
    """The structure nvmlMemory_t: bytes."""

    _fields_ = [(name, ctypes.c_ulonglong) for name in ("total", "free", "used")]


def gpu_memory_reader(device: int = 0) -> Callable[[], int]:
    """Return a function that returns the bytes in use on a GPU, by all processes.

    It asks the driver by NVML, not by CUDA, because some calls of CUDA make the capture of a graph
    in another thread fail.

    Raises
    ------
    OSError
        If NVML is not installed or fails.
    """
    nvml = ctypes.CDLL("libnvidia-ml.so.1")
    bus = importlib.import_module("cupy").cuda.runtime.deviceGetPCIBusId(device)
    handle, memory = ctypes.c_void_p(), _MemoryInfo()

    def call(name: str, *arguments: object) -> None:
        code = getattr(nvml, name)(*arguments)
        if code != 0:
            raise OSError(f"{name} fails with code {code}")

    def used() -> int:
        call("nvmlDeviceGetMemoryInfo", handle, ctypes.byref(memory))
        return int(memory.used)

    call("nvmlInit_v2")
    call("nvmlDeviceGetHandleByPciBusId_v2", bus.encode(), ctypes.byref(handle))
    return used


@contextmanager
def sampled(read: Callable[[], int]) -> Iterator[list[int]]:
    """Call `read` every `INTERVAL` seconds in a thread; yield the first and the largest value."""
    first = read()
    values, ended = [first, first], threading.Event()

    def sample() -> None:
        while not ended.wait(INTERVAL):
            values[1] = max(values[1], read())

    sampler = threading.Thread(target=sample)
    sampler.start()
    try:
        yield values
    finally:
        ended.set()
        sampler.join()
        values[1] = max(values[1], read())
