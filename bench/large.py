"""Graphs beyond 32 bits: with more directed edges, or weights of a larger sum, than 2^31.

    python -m bench.large 720 --k 64 --backend cuda
    python -m bench.large 16777216 --ring 90 --k 64 --backend cuda

makes a cube of that side, or a ring of so many vertices with twice as many neighbours each,
partitions it, and recomputes the cut and the part weights on the host. The first has 2.24e9
directed edges and takes some 100 GB of a GPU's memory, and 60 GB of the host's; the second has
3.02e9. --weight gives each edge and vertex that weight, so that small ones need 64 bits, too.
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
    """Return a graph of n vertices in a ring, neighbours of those at most `reach` places away."""
    apart = np.concatenate([np.arange(-reach, 0), np.arange(1, reach + 1)]).astype(np.int32)
    neighbours = np.arange(n, dtype=np.int32)[:, None] + apart
    neighbours[:reach] %= n
    neighbours[n - reach :] %= n
    indptr = np.arange(n + 1, dtype=np.int64) * (2 * reach)
    indices = neighbours.ravel()
    if len(indices) <= INT32_MAX:
        indptr = indptr.astype(np.int32)
    ones = np.ones(len(indices), np.int32)
    return Graph(indptr, indices, ones, np.ones(n, np.int32), f"ring-{n}-{reach}")


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("side", type=int, help="of a cube; with --ring the number of vertices")
    parser.add_argument("--ring", type=int, metavar="R", help="vertices in a ring, 2 R neighbours")
    parser.add_argument("--k", type=int, default=64)
    parser.add_argument("--backend", default="auto")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--preset", default="default")
    parser.add_argument("--weight", type=int, default=1)
    options = parser.parse_args()
    started = time.perf_counter()
    graph = (
        ring(options.side, options.ring)
        if options.ring
        else jetpy.generators.cube(options.side, options.side, options.side)
    )
    if options.weight > 1:
        weights = (
            np.full_like(a, options.weight) for a in (graph.edge_weights, graph.vertex_weights)
        )
        graph = replace(
            graph, **dict(zip(("edge_weights", "vertex_weights"), weights, strict=True))
        )
    print(
        f"{graph.name}: {graph.n} vertices, {2 * graph.m} directed edges of total weight "
        f"{2 * graph.total_edge_weight}, made in {time.perf_counter() - started:.1f} s",
        flush=True,
    )
    result = jetpy.partition(
        graph,
        options.k,
        backend=options.backend,
        threads=options.threads,
        preset=options.preset,
    )
    seconds = ", ".join(f"{stage} {spent:.2f}" for stage, spent in result.seconds.items())
    print(f"{result.backend}: cut {result.cut}, feasible {result.feasible}; seconds: {seconds}")
    started = time.perf_counter()
    weights = np.bincount(result.parts, graph.vertex_weights, options.k).astype(np.int64)
    assert result.cut == edge_cut(graph, result.parts)
    assert (result.part_weights == weights).all()
    print(f"recomputed in {time.perf_counter() - started:.1f} s: the same")


if __name__ == "__main__":
    main()
