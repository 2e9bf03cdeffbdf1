"""Partitioners beside jetpy, and one run of one of them in its own process."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import numpy as np

import jetpy

IMBALANCE = 0.03


@dataclass(frozen=True)
class Task:
    """What to partition: a graph, which is also in a METIS file, and how."""

    graph: jetpy.Graph
    file: Path
    k: int
    seed: int
    threads: int


Answer = tuple[Sequence[int], float]
"""Part of each vertex, and the seconds of the partitioning alone."""


def _jetpy(task: Task) -> Answer:
    result = jetpy.partition(
        task.graph, task.k, imbalance=IMBALANCE, seed=task.seed, threads=task.threads
    )
    return result.parts.tolist(), result.seconds["total"]


def _pymetis(task: Task) -> Answer:
    import pymetis

    adjacency = pymetis.CSRAdjacency(
        task.graph.indptr.astype(np.int64), task.graph.indices.astype(np.int64)
    )
    settings = pymetis.Options(ufactor=round(1000 * IMBALANCE), seed=task.seed)
    start = perf_counter()
    parts = pymetis.part_graph(
        task.k,
        adjacency,
        vweights=task.graph.vertex_weights.astype(np.int64),
        eweights=task.graph.edge_weights.astype(np.int64),
        options=settings,
        recursive=False,
    ).vertex_part
    return parts, perf_counter() - start


def _kaminpar(task: Task) -> Answer:
    import kaminpar

    graph = kaminpar.load_graph(str(task.file), kaminpar.GraphFileFormat.METIS)
    kaminpar.reseed(task.seed)
    partitioner = kaminpar.KaMinPar(task.threads, kaminpar.default_context())
    start = perf_counter()
    parts = partitioner.compute_partition(graph, k=task.k, eps=IMBALANCE)
    return parts, perf_counter() - start


def _mtkahypar(task: Task) -> Answer:
    import mtkahypar

    library = mtkahypar.initialize(task.threads, False)
    context = library.context_from_preset(mtkahypar.PresetType.DEFAULT)
    context.set_partitioning_parameters(task.k, IMBALANCE, mtkahypar.Objective.CUT)
    context.logging = False
    mtkahypar.set_seed(task.seed)
    graph = library.graph_from_file(str(task.file), context)
    start = perf_counter()
    result = graph.partition(context)
    return result.get_partition(), perf_counter() - start


def _kahip(task: Task) -> Answer:
    import kahip

    arrays = (
        task.graph.vertex_weights.tolist(),
        task.graph.indptr.tolist(),
        task.graph.edge_weights.tolist(),
        task.graph.indices.tolist(),
    )
    start = perf_counter()
    _, parts = kahip.kaffpa(*arrays, task.k, IMBALANCE, True, task.seed, kahip.FAST)
    return parts, perf_counter() - start


TOOLS: dict[str, Callable[[Task], Answer]] = {
    "jetpy": _jetpy,
    "pymetis": _pymetis,
    "kaminpar": _kaminpar,
    "mtkahypar": _mtkahypar,
    "kahip": _kahip,
}
"""Function of each tool; the tool is imported only when it is called."""


def main() -> None:
    """Print cut, imbalance and seconds of one run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tool", choices=TOOLS)
    parser.add_argument("folder", type=Path, help="holds graph.npz and graph.graph")
    parser.add_argument("k", type=int)
    parser.add_argument("seed", type=int)
    parser.add_argument("threads", type=int)
    options = parser.parse_args()
    graph = jetpy.read_graph(options.folder / "graph.npz")
    file = options.folder / "graph.graph"
    task = Task(graph, file, options.k, options.seed, options.threads)
    parts, seconds = TOOLS[options.tool](task)
    result = jetpy.evaluate(graph, parts, options.k)
    print(json.dumps({"cut": result.cut, "imbalance": result.imbalance, "seconds": seconds}))


if __name__ == "__main__":
    main()
