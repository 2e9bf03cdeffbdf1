"""Peak memory and time of one run of `jetpy.partition`; other benchmarks start this as a child."""

from __future__ import annotations

import argparse
from pathlib import Path

import jetpy
from bench.memory import process_bytes, reset_peak
from jetpy.study.answers import answering
from jetpy.study.arrays import load_arrays


def main() -> None:
    """Answer with the memory before a graph is loaded, and the peak until it is partitioned, kB."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="folder with the arrays of a graph")
    parser.add_argument("k", type=int)
    parser.add_argument("preset")
    parser.add_argument("threads", type=int)
    parser.add_argument("backend")
    options = parser.parse_args()
    answer = answering()

    def partition(graph: jetpy.Graph, k: int) -> jetpy.Partition:
        return jetpy.partition(
            graph, k, preset=options.preset, threads=options.threads, backend=options.backend
        )

    partition(jetpy.generators.grid(64, 64), 2)  # warm-up: loads all kernels
    before = process_bytes("VmRSS") // 1024
    reset_peak()
    result = partition(load_arrays(options.folder), options.k)
    answer(
        {
            "before": before,
            "peak": process_bytes("VmHWM") // 1024,
            "seconds": result.seconds["total"],
            "cut": result.cut,
            "feasible": result.feasible,
            "empty": result.empty_parts,
        }
    )


if __name__ == "__main__":
    main()
