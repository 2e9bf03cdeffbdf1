"""Hashes of partitions of several graphs, in a process of its own (see `bench.determinism`)."""

from __future__ import annotations

import argparse
import hashlib
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np

import jetpy
from bench.arrays import load_arrays
from bench.child import answering
from jetpy.backends import get_backend
from jetpy.presets import PRESETS

HEAVIEST = 9

Parts = np.ndarray[tuple[int, ...], np.dtype[np.int32]]


def digest(parts: Parts) -> str:
    """First 12 digits of the SHA-256 of the parts."""
    return hashlib.sha256(parts.astype("<i4").tobytes()).hexdigest()[:12]


def random_weights(graph: jetpy.Graph) -> jetpy.Graph:
    """Give vertices and edges pseudo-random weights in 1..9, the same ones every time.

    The weight of an edge comes from two numbers drawn for its ends, so that it is the same in
    both directions.
    """
    rng = np.random.default_rng(0)
    weights = rng.integers(1, HEAVIEST + 1, graph.n, np.int32)
    number = rng.integers(0, 1 << 30, graph.n, np.int32)
    ends = np.repeat(number, graph.degrees) ^ number[graph.indices]
    return replace(graph, vertex_weights=weights, edge_weights=1 + ends % np.int32(HEAVIEST))


WEIGHTS = {"unit": lambda graph: graph, "random": random_weights}
"""What makes the weights of a graph; unit leaves them as they are."""


def cases(options: argparse.Namespace) -> list[tuple[str, str]]:
    """Numbers of parts with presets, then hierarchies with methods of mapping."""
    return [
        *product(options.ks, options.presets),
        *product(options.hierarchies, options.methods),
    ]


def solve(graph: jetpy.Graph, what: str, how: str, options: argparse.Namespace) -> Parts:
    """Partition a graph, or map it."""
    engine = {"seed": options.seed, "threads": options.threads, "backend": options.backend}
    if how in PRESETS:
        return jetpy.partition(graph, int(what), preset=how, **engine).parts
    distances = [10**level for level in range(len(what.split(":")))]
    return jetpy.map_processes(graph, what, distances, method=how, **engine).pe


def main() -> None:
    """Answer with one hash for each graph, weights and case; or with what is absent."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="holds a folder of arrays for each graph")
    parser.add_argument("backend")
    parser.add_argument("threads", type=int)
    parser.add_argument("seed", type=int)
    for name in ("--graphs", "--weights"):
        parser.add_argument(name, nargs="+", required=True)
    for name in ("--ks", "--presets", "--hierarchies", "--methods"):
        parser.add_argument(name, nargs="*", default=[])
    options = parser.parse_args()
    answer = answering()
    try:
        get_backend(options.backend, options.threads)
    except jetpy.BackendError as error:
        answer({"absent": str(error)})
        return
    for name in options.graphs:
        plain = load_arrays(options.folder / name)
        for weights in options.weights:
            graph = WEIGHTS[weights](plain)
            for what, how in cases(options):
                parts = solve(graph, what, how, options)
                answer({"case": (name, weights, what, how), "hash": digest(parts)})


if __name__ == "__main__":
    main()
