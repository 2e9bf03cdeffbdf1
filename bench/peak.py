"""Peak memory and time of one run of `jetpy.partition`; other benchmarks start this as a child."""

from __future__ import annotations

import argparse
from pathlib import Path

import jetpy
from jetpy.study.answers import answering
from jetpy.study.arrays import load_arrays


def _kilobytes(field: str) -> int:
    """Return a field of this process's memory statistics, in kB.

    `resource.getrusage` is no substitute, because its peak includes the parent's memory.
    """
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1])
    raise RuntimeError(f"no {field} in /proc/self/status")


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
    before = _kilobytes("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # reset the peak
    result = partition(load_arrays(options.folder), options.k)
    answer(
        {
            "before": before,
            "peak": _kilobytes("VmHWM"),
            "seconds": result.seconds["total"],
            "cut": result.cut,
            "feasible": result.feasible,
            "empty": result.empty_parts,
        }
    )


if __name__ == "__main__":
    main()
