"""Peak memory and time of one run of `jetpy.partition`, in a process of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jetpy
from bench.child import apart, only
from bench.memory import process_bytes, reset_peak
from jetpy.study.arrays import load_arrays


def peak(folder: str, k: int, preset: str, threads: int, backend: str) -> Any:
    """Return the `measured` values of a run on the graph in a folder, in a new process."""
    how = {"preset": preset, "threads": threads, "backend": backend}
    return only(apart(measured, folder, k, how))


def measured(folder: str, k: int, how: dict[str, Any]) -> dict[str, Any]:
    """Return the memory before a graph is loaded, and the peak until it is partitioned, kB."""
    jetpy.partition(jetpy.generators.grid(64, 64), 2, **how)  # warm-up: loads all kernels
    before = process_bytes("VmRSS") // 1024
    reset_peak()
    result = jetpy.partition(load_arrays(Path(folder)), k, **how)
    return {
        "before": before,
        "peak": process_bytes("VmHWM") // 1024,
        "seconds": result.seconds["total"],
        "cut": result.cut,
        "feasible": result.feasible,
        "empty": result.empty_parts,
    }
