"""Graphs beyond 32 bits: a cube with more directed edges, or weights of a larger sum, than 2^31.

    python -m bench.large 720 --k 64 --backend cuda

makes a cube of that side, partitions it, and recomputes the cut and the part weights on the host.
A cube of side 720 has 2.24e9 directed edges and takes some 80 GB of a GPU's memory, and 60 GB of
the host's; --weight gives each edge and vertex that weight, so that small ones need 64 bits, too.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace

import numpy as np

import jetpy
from jetpy.metrics import edge_cut


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("side", type=int)
    parser.add_argument("--k", type=int, default=64)
    parser.add_argument("--backend", default="auto")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--preset", default="default")
    parser.add_argument("--weight", type=int, default=1)
    options = parser.parse_args()
    started = time.perf_counter()
    graph = jetpy.generators.cube(options.side, options.side, options.side)
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
