"""Graphs whose number of directed edges, or whose sum of weights, exceeds 2^31.

    python -m bench.large 720 --k 64 --backend cuda
    python -m bench.large 16777216 --ring 90 --k 64 --backend cuda

The program generates a cube or a ring, partitions it, and recomputes the cut and the part weights
on the host. The first graph has 2.24e9 directed edges and needs about 100 GB of GPU memory and
60 GB of host memory. The second graph has 3.02e9 directed edges.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace

import numpy as np

import jetpy
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


def main() -> None:
    """Generate a graph, partition it and check the result."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.large",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "side", type=int, help="side of the cube; with --ring, number of vertices of the ring"
    )
    parser.add_argument(
        "--ring", type=int, metavar="R", help="generate a ring with R neighbours on each side"
    )
    parser.add_argument("--k", type=int, default=64)
    parser.add_argument("--backend", default="auto")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--preset", default="default")
    parser.add_argument(
        "--weight",
        type=int,
        default=1,
        help="weight of every vertex and edge; a large weight makes small graphs need 64 bits",
    )
    options = parser.parse_args()
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
    result = jetpy.partition(
        graph,
        options.k,
        backend=options.backend,
        threads=options.threads,
        preset=options.preset,
    )
    seconds = ", ".join(f"{stage} {elapsed:.2f}" for stage, elapsed in result.seconds.items())
    print(f"{result.backend}: cut {result.cut}, feasible {result.feasible}; seconds: {seconds}")
    start = time.perf_counter()
    weights = np.bincount(result.parts, graph.vertex_weights, options.k).astype(np.int64)
    assert result.cut == edge_cut(graph, result.parts)
    assert (result.part_weights == weights).all()
    elapsed = time.perf_counter() - start
    print(f"the recomputed cut and part weights are equal ({elapsed:.1f} s)")


if __name__ == "__main__":
    main()
