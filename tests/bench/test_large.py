"""`bench.large` and its measurements of memory, with a stand-in for the NVIDIA library."""

from __future__ import annotations

import ctypes
import re
import sys
import time
from mmap import PAGESIZE, mmap
from types import SimpleNamespace
from typing import Any

import pytest

import jetpy
from bench import large, memory

BYTES = (5 << 30, 9 << 30, 7 << 30)


class Nvml:
    """Answers as NVML does: in turn with `BYTES`, then always with the last of them."""

    def __init__(self) -> None:
        self.code, self.asked = 0, 0

    def nvmlInit_v2(self) -> int:
        return self.code

    def nvmlDeviceGetHandleByPciBusId_v2(self, bus: bytes, handle: Any) -> int:
        assert bus == b"0000:07:00.0"
        return 0

    def nvmlDeviceGetMemoryInfo(self, handle: Any, found: Any) -> int:
        used = BYTES[min(self.asked, len(BYTES) - 1)]
        ctypes.cast(found, ctypes.POINTER(ctypes.c_ulonglong))[2] = used
        self.asked += 1
        return 0


@pytest.fixture
def nvml(monkeypatch: pytest.MonkeyPatch) -> Nvml:
    library = Nvml()
    runtime = SimpleNamespace(deviceGetPCIBusId=lambda device: f"0000:0{7 + device}:00.0")
    pool = SimpleNamespace(total_bytes=lambda: 3 << 30)
    cupy = SimpleNamespace(
        cuda=SimpleNamespace(runtime=runtime), get_default_memory_pool=lambda: pool
    )
    monkeypatch.setattr(memory.ctypes, "CDLL", lambda name: library)
    monkeypatch.setitem(sys.modules, "cupy", cupy)  # type: ignore[arg-type]
    return library


def test_largest_memory_of_the_gpu_is_found_in_between(nvml: Nvml) -> None:
    with memory.sampled(memory.gpu_memory_reader()) as values:
        end = time.monotonic() + 60
        while nvml.asked < len(BYTES) and time.monotonic() < end:
            time.sleep(memory.INTERVAL)
    assert values == [5 << 30, 9 << 30]


def test_error_of_the_library_is_raised(nvml: Nvml) -> None:
    nvml.code = 3
    with pytest.raises(OSError, match="nvmlInit_v2 fails with code 3"):
        memory.gpu_memory_reader()


def test_peak_of_the_process_is_that_since_the_reset() -> None:
    def peak() -> int:
        return memory.process_bytes("VmHWM")

    def touch(size: int) -> None:
        with mmap(-1, size) as pages:
            for page in range(0, size, PAGESIZE):
                pages[page] = 1

    touch(1 << 25)
    memory.reset_peak()
    before = peak()
    touch(1 << 24)
    assert before + (1 << 23) < peak() < before + (1 << 25)


@pytest.mark.usefixtures("compiled", "nvml")
def test_memory_of_a_gpu_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    def partition() -> jetpy.Partition:
        time.sleep(20 * memory.INTERVAL)
        return jetpy.partition(jetpy.generators.grid(4, 2), 2, backend="cpu", threads=1)

    assert large.print_memory(partition, on_gpu=True).cut == 2
    assert capsys.readouterr().out.splitlines()[1:] == [
        "peak memory in use on the GPU: 9.00 GiB, before the run 5.00 GiB",
        "memory that CuPy's pool has reserved: 3.00 GiB",
    ]


@pytest.mark.usefixtures("compiled")
def test_run_does_not_fail_where_memory_is_not_measured(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def missing() -> None:
        raise FileNotFoundError("no such file")

    monkeypatch.setattr(large, "reset_peak", missing)
    graph = jetpy.generators.grid(3, 3)
    large.print_memory(lambda: jetpy.partition(graph, 2, backend="cpu", threads=1), on_gpu=False)
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err == "the memory of the process is not measured: no such file\n"


@pytest.mark.usefixtures("compiled")
def test_seconds_and_memory_are_printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = "large 12 -k 4 --backend cpu --threads 1 --repeat 2"
    monkeypatch.setattr(sys, "argv", words.split())
    large.main()
    lines = capsys.readouterr().out.splitlines()
    assert re.fullmatch(
        r"peak memory of the process: [\d.]+ GiB, before the run [\d.]+ GiB", lines[1]
    )
    runs = [
        re.match(r"(.*): cpu, cut (\d+), feasible True; .*total [\d.]+$", line) for line in lines
    ]
    assert [run[1] for run in runs if run] == ["first run", "run 1", "run 2"]
    assert lines[-1].startswith("the recomputed cut and part weights are equal")
