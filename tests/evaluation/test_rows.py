"""Rows of summaries."""

from __future__ import annotations

from dataclasses import replace

import jetpy
from jetpy.cli.json_summary import stats
from jetpy.engines.cpu.engine import CpuBackend
from jetpy.multilevel.outcome import cpu_threads
from jetpy.result.partition import partition_rows
from tests.device_backend import DeviceBackend


def test_row_names_the_gpu_and_counts_host_threads() -> None:
    on_cpu = jetpy.partition(jetpy.generators.grid(2, 2), 1, backend="cpu", threads=1)
    on_gpu = replace(on_cpu, backend="cuda", gpu=3, threads=8)
    for result, words, gpu in (
        (on_cpu, "cpu, 1 thread", None),
        (on_gpu, "cuda (GPU 3), 8 host threads", 3),
    ):
        assert dict(partition_rows(result))["run"].endswith(f"preset default, {words}")
        found = stats(result, 0.0)
        assert (found["gpu"], found["threads"]) == (gpu, result.threads)


def test_volume_has_a_row_if_it_was_the_objective() -> None:
    result = jetpy.partition(jetpy.generators.grid(4, 4), 2, backend="cpu", threads=1)
    assert "communication volume" not in dict(partition_rows(result))
    by_volume = replace(result, objective="volume")
    row = dict(partition_rows(by_volume))["communication volume"]
    assert row == str(result.communication_volume) != "0"


def test_cpu_threads_include_the_host_engine() -> None:
    device = DeviceBackend(1)
    device.host_engine = CpuBackend(2)
    assert cpu_threads(device) == 2
    assert cpu_threads(CpuBackend(2)) == 2
