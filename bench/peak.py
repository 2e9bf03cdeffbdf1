"""Peak memory of one partitioning run, in a process of its own (see `bench.timing`)."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

import jetpy

ARRAYS = ("indptr", "indices", "edge_weights", "vertex_weights")


def save_arrays(folder: Path, graph: jetpy.Graph) -> None:
    """Write each array of a graph to a file that NumPy reads straight into place."""
    for name in ARRAYS:
        np.save(folder / f"{name}.npy", getattr(graph, name))


def _kilobytes(field: str) -> int:
    """Read a field of this process's memory statistics.

    Not from `resource.getrusage`: its peak includes what the parent used before this process
    began.
    """
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1])
    raise RuntimeError(f"no {field} in /proc/self/status")


def main() -> None:
    """Print memory before the graph is loaded and the peak of loading and partitioning, kB."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("k", type=int)
    parser.add_argument("preset")
    parser.add_argument("threads", type=int)
    parser.add_argument("backend")
    options = parser.parse_args()

    def partition(graph: jetpy.Graph, k: int) -> jetpy.Partition:
        return jetpy.partition(
            graph, k, preset=options.preset, threads=options.threads, backend=options.backend
        )

    partition(jetpy.generators.grid(64, 64), 2)  # loads all kernels
    before = _kilobytes("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts again from here
    graph = jetpy.Graph(*(np.load(options.folder / f"{name}.npy") for name in ARRAYS))
    partition(graph, options.k)
    peak = _kilobytes("VmHWM")
    print(json.dumps({"before": before, "peak": peak}))


if __name__ == "__main__":
    main()
