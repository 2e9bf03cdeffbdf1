"""Hashes of partitions of several graphs, in a process of its own (see `bench.determinism`)."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

import jetpy
from bench.modifiers import random_batch
from jetpy.device.backends import get_backend
from jetpy.study.answers import answering
from jetpy.study.arrays import checksum_of_parts, load_arrays

HEAVIEST = 9
ON_BACK_END = jetpy.IncrementalOptions(tries=1, on_host=False)
"""For changing graphs: the kernels of the bucket list run on the back end, not beside it."""

Parts = np.ndarray[tuple[int, ...], np.dtype[np.int32]]
Engine = dict[str, Any]
"""Back end, threads and seed."""


def digest(parts: Parts) -> str:
    """First 12 digits of the SHA-256 of the parts."""
    return checksum_of_parts(parts)[:12]


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


def partition(k: int, preset: str, graph: jetpy.Graph, engine: Engine) -> Parts:
    """Return the parts of a graph."""
    return jetpy.partition(graph, k, preset=preset, **engine).parts


def mapping(hierarchy: str, method: str, graph: jetpy.Graph, engine: Engine) -> Parts:
    """Return the PEs that the vertices of a graph are mapped to."""
    distances = [10**level for level in range(len(hierarchy.split(":")))]
    return jetpy.map_processes(graph, hierarchy, distances, method=method, **engine).pe


def updates(k: int, modifiers: int, batches: int, graph: jetpy.Graph, engine: Engine) -> Parts:
    """Return the parts and the cut after each batch of modifiers, one after the other."""
    rng, found = np.random.default_rng(0), []
    live = jetpy.IncrementalPartitioner(graph, k, options=ON_BACK_END, **engine)
    for number in range(batches):
        live.update(random_batch(rng, live, live.graph, modifiers, near=number % 2 == 1))
        found += [live.partition, np.array([live.cut], np.int32)]
    return np.concatenate(found)


Case = tuple[str, str]
"""Number of parts or hierarchy; and preset, modifiers in a batch, or method of mapping."""


def cases(options: argparse.Namespace) -> dict[Case, Callable[[jetpy.Graph, Engine], Parts]]:
    """What is solved, and how: partitions, then changing graphs, then mappings."""
    return {
        **{
            (k, how): partial(partition, int(k), how)
            for k, how in product(options.ks, options.presets)
        },
        **{
            (k, f"{b} modifiers"): partial(updates, int(k), int(b), options.batches)
            for k, b in product(options.ks, options.modifiers)
        },
        **{
            (what, how): partial(mapping, what, how)
            for what, how in product(options.hierarchies, options.methods)
        },
    }


def main() -> None:
    """Answer with one hash for each graph, weights and case; or with what is absent."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="holds a folder of arrays for each graph")
    parser.add_argument("backend")
    parser.add_argument("threads", type=int)
    parser.add_argument("seed", type=int)
    for name in ("--graphs", "--weights"):
        parser.add_argument(name, nargs="+", required=True)
    for name in ("--ks", "--presets", "--modifiers", "--hierarchies", "--methods"):
        parser.add_argument(name, nargs="*", default=[])
    parser.add_argument("--batches", type=int, default=1)
    options = parser.parse_args()
    answer = answering()
    try:
        get_backend(options.backend, options.threads)
    except jetpy.BackendError as error:
        answer({"absent": str(error)})
        return
    engine = {"seed": options.seed, "threads": options.threads, "backend": options.backend}
    for name in options.graphs:
        plain = load_arrays(options.folder / name)
        for weights in options.weights:
            graph = WEIGHTS[weights](plain)
            for case, solve in cases(options).items():
                answer({"case": (name, weights, *case), "hash": digest(solve(graph, engine))})


if __name__ == "__main__":
    main()
