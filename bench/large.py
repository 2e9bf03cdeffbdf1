"""Large graphs: seconds and memory, also where sums of edges or weights exceed 2^31.

The program generates a cube or a ring and partitions it. It prints the peak memory of a first run,
which also loads kernels, and the seconds of each run. It recomputes the cut and the part weights
on the host. The cube of side 720 has 2.24e9 directed edges and needs about 100 GB of GPU memory and
60 GB of host memory. The ring has 3.02e9 directed edges.
"""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace

import numpy as np

import jetpy
from bench.harness import Option, parser
from bench.memory import gpu_memory_reader, process_bytes, reset_peak, sampled
from bench.tables import note
from jetpy.device.backends import ON_GPU, get_backend
from jetpy.graph.csr import INT32_MAX, Graph
from jetpy.problem.metrics import edge_cut


def ring(n: int, reach: int) -> Graph:
    """Return a ring of n vertices, each adjacent to the `reach` nearest vertices on each side."""
    offsets = np.concatenate([np.arange(-reach, 0), np.arange(1, reach + 1)]).astype(np.int32)
    neighbours = np.arange(n, dtype=np.int32)[:, None] + offsets
    neighbours[:reach] %= n
    neighbours[n - reach :] %= n
    indptr = np.arange(n + 1, dtype=np.int64) * (2 * reach)
    indices = neighbours.ravel()
    if len(indices) <= INT32_MAX:
        indptr = indptr.astype(np.int32)
    ones = np.ones(len(indices), np.int32)
    return Graph(indptr, indices, ones, np.ones(n, np.int32), f"ring-{n}-{reach}")


def print_memory(partition: Callable[[], jetpy.Partition], *, on_gpu: bool) -> jetpy.Partition:
    """Call `partition`, print the peak memory of the process and of the GPU, and return the result.

    The memory that the process uses before the call, the graph included, is part of the peak. What
    cannot be measured is left out, with the reason on standard error.
    """
    before: int | None = None
    gpu: list[int] | None = None
    with ExitStack() as stack:
        if on_gpu:
            try:
                gpu = stack.enter_context(sampled(gpu_memory_reader()))
            except OSError as error:
                note(f"the memory of the GPU is not measured: {error}")
        try:
            reset_peak()
            before = process_bytes("VmHWM")
        except OSError as error:
            note(f"the memory of the process is not measured: {error}")
        result = partition()
    if before is not None:
        peak = process_bytes("VmHWM")
        print(f"peak memory of the process: {_gib(peak)}, before the run {_gib(before)}")
    if gpu is not None:
        first, most = gpu
        print(f"peak memory in use on the GPU: {_gib(most)}, before the run {_gib(first)}")
    if on_gpu:
        pool = importlib.import_module("cupy").get_default_memory_pool()
        print(f"memory that CuPy's pool has reserved: {_gib(pool.total_bytes())}")
    return result


def _gib(size: int) -> str:
    return f"{size / 2**30:.2f} GiB"


def print_result(label: str, result: jetpy.Partition) -> None:
    """Print a line about a run."""
    seconds = ", ".join(f"{stage} {elapsed:.3f}" for stage, elapsed in result.seconds.items())
    print(
        f"{label}: {result.backend}, cut {result.cut}, feasible {result.feasible}; "
        f"seconds: {seconds}",
        flush=True,
    )


OPTIONS = {
    "side": Option(
        None,
        "side of the cube; with --ring, number of vertices of the ring",
        type=int,
        is_positional=True,
    ),
    "ring": Option(None, "neighbours on each side in a ring", type=int, metavar="R"),
    "k": 64,
    "backend": "auto",
    "threads": Option(None, type=int),
    "preset": "default",
    "weight": Option(
        1, "weight of every vertex and edge; a large weight makes small graphs need 64 bits"
    ),
    "repeat": Option(1, "runs after the first, which loads kernels"),
}


def main() -> None:
    """Generate a graph, partition it and check the result."""
    options = parser("large", __doc__, OPTIONS).parse_args()
    start = time.perf_counter()
    graph = (
        ring(options.side, options.ring)
        if options.ring
        else jetpy.generators.cube(options.side, options.side, options.side)
    )
    if options.weight > 1:
        graph = replace(
            graph,
            edge_weights=np.full_like(graph.edge_weights, options.weight),
            vertex_weights=np.full_like(graph.vertex_weights, options.weight),
        )
    print(
        f"{graph.name}: {graph.n} vertices, {2 * graph.m} directed edges of total weight "
        f"{2 * graph.total_edge_weight}, generated in {time.perf_counter() - start:.1f} s",
        flush=True,
    )
    backend = get_backend(options.backend, options.threads).name

    def partition() -> jetpy.Partition:
        return jetpy.partition(
            graph,
            options.k,
            backend=backend,
            threads=options.threads,
            preset=options.preset,
        )

    result = print_memory(partition, on_gpu=backend in ON_GPU)
    print_result("first run", result)
    for number in range(options.repeat):
        again = partition()
        print_result(f"run {number + 1}", again)
        assert np.array_equal(again.parts, result.parts)
    start = time.perf_counter()
    weights = np.bincount(result.parts, graph.vertex_weights, options.k).astype(np.int64)
    assert result.cut == edge_cut(graph, result.parts)
    assert (result.part_weights == weights).all()
    elapsed = time.perf_counter() - start
    print(f"the recomputed cut and part weights are equal ({elapsed:.1f} s)")


if __name__ == "__main__":
    main()
