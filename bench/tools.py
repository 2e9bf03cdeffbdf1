"""Partitioners, jetpy's back ends among them, and the runs of one of them on one graph."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt

import jetpy
from bench.arrays import load_arrays
from bench.child import answering
from jetpy.backends import BACKENDS, get_backend
from jetpy.metrics import edge_cut, part_weights
from jetpy.presets import preset
from jetpy.problem import pose

IMBALANCE = 0.03

Solve = Callable[[int, int], tuple[npt.ArrayLike, float]]
"""Partitions into k parts with a seed; returns the parts and the seconds of that alone."""


@dataclass(frozen=True)
class Job:
    """What a tool gets ready for: a graph, which lies in a folder, and how to partition it."""

    graph: jetpy.Graph
    folder: Path
    preset: str
    threads: int
    imbalance: float = IMBALANCE

    def metis_file(self) -> str:
        """Return the name of a METIS file of the graph, written by the first that asks."""
        file = self.folder / "graph.graph"
        if not file.exists():
            jetpy.write_graph(file, self.graph)
        return str(file)


@dataclass(frozen=True)
class Tool:
    """A partitioner: what gets it ready, whether it uses threads, and its only preset, if one."""

    prepare: Callable[[Job], Solve]
    threaded: bool
    preset: str | None = None


def _jetpy(backend: str, job: Job) -> Solve:
    get_backend(backend, job.threads)

    def solve(k: int, seed: int) -> tuple[npt.ArrayLike, float]:
        result = jetpy.partition(
            job.graph,
            k,
            imbalance=job.imbalance,
            seed=seed,
            preset=job.preset,
            backend=backend,
            threads=job.threads,
        )
        return result.parts, result.seconds["total"]

    return solve


def _pymetis(job: Job) -> Solve:
    import pymetis

    indptr, indices, edge_weights, vertex_weights = (
        getattr(job.graph, name).astype(np.int64)
        for name in ("indptr", "indices", "edge_weights", "vertex_weights")
    )
    adjacency = pymetis.CSRAdjacency(indptr, indices)
    ufactor = max(1, round(1000 * job.imbalance))  # METIS takes no smaller one

    def solve(k: int, seed: int) -> tuple[npt.ArrayLike, float]:
        options = pymetis.Options(ufactor=ufactor, seed=seed)
        start = perf_counter()
        parts = pymetis.part_graph(
            k,
            adjacency,
            vweights=vertex_weights,
            eweights=edge_weights,
            options=options,
            recursive=False,
        ).vertex_part
        return parts, perf_counter() - start

    return solve


def _kaminpar(job: Job) -> Solve:
    import kaminpar

    graph = kaminpar.load_graph(job.metis_file(), kaminpar.GraphFileFormat.METIS)
    eps = max(job.imbalance, 1e-9)  # 0 stands for no limit given

    def solve(k: int, seed: int) -> tuple[npt.ArrayLike, float]:
        kaminpar.reseed(seed)
        partitioner = kaminpar.KaMinPar(job.threads, kaminpar.default_context())
        start = perf_counter()
        parts = partitioner.compute_partition(graph, k=k, eps=eps)
        return parts, perf_counter() - start

    return solve


def _mtkahypar(quality: str, job: Job) -> Solve:
    import mtkahypar

    library = mtkahypar.initialize(job.threads, False)
    context = library.context_from_preset(getattr(mtkahypar.PresetType, quality))
    context.logging = False
    load = partial(library.graph_from_file, job.metis_file(), context)
    loaded = load()

    def solve(k: int, seed: int) -> tuple[npt.ArrayLike, float]:
        # a second run on the same graph crashes with HIGHEST_QUALITY
        graph = load() if quality == "HIGHEST_QUALITY" else loaded
        context.set_partitioning_parameters(k, job.imbalance, mtkahypar.Objective.CUT)
        mtkahypar.set_seed(seed)
        start = perf_counter()
        result = graph.partition(context)
        return result.get_partition(), perf_counter() - start

    return solve


def _kahip(mode: str, job: Job) -> Solve:
    import kahip

    indptr, indices, edge_weights, vertex_weights = (
        getattr(job.graph, name).tolist()
        for name in ("indptr", "indices", "edge_weights", "vertex_weights")
    )

    def solve(k: int, seed: int) -> tuple[npt.ArrayLike, float]:
        start = perf_counter()
        graph = vertex_weights, indptr, edge_weights, indices
        _, parts = kahip.kaffpa(*graph, k, job.imbalance, True, seed, getattr(kahip, mode))
        return parts, perf_counter() - start

    return solve


TOOLS = {
    **{
        f"jetpy/{backend}": Tool(
            partial(_jetpy, backend), threaded=backend in ("numba", "kokkos-openmp")
        )
        for backend in reversed(BACKENDS)
    },
    "pymetis": Tool(_pymetis, threaded=False, preset="k-way"),
    "kaminpar": Tool(_kaminpar, threaded=True, preset="default"),
    "mtkahypar": Tool(partial(_mtkahypar, "DEFAULT"), threaded=True, preset="default"),
    "mtkahypar-quality": Tool(partial(_mtkahypar, "QUALITY"), threaded=True, preset="quality"),
    "kahip": Tool(partial(_kahip, "FAST"), threaded=False, preset="fast"),
}
"""Tools by name; each is imported only when it is to get ready."""

STRONGEST = {
    "mtkahypar-highest-quality": Tool(partial(_mtkahypar, "HIGHEST_QUALITY"), threaded=True),
    "kahip-strong": Tool(partial(_kahip, "STRONG"), threaded=False),
}
"""Peers whose cuts are smallest, whatever the time."""


def summary(job: Job, solve: Solve, k: int, seeds: list[int]) -> dict[str, Any]:
    """Partition into k parts once per seed and summarise the runs, which are checked here."""
    graph = job.graph
    limit = pose(graph.total_vertex_weight, k, job.imbalance, 0, preset("default")).limit
    cuts, heaviest, seconds = [], [], []
    for seed in seeds:
        parts, elapsed = solve(k, seed)
        seconds.append(elapsed)
        cuts.append(edge_cut(graph, parts))
        heaviest.append(int(part_weights(graph, parts, k).max()))
    share = -(-graph.total_vertex_weight // k)
    return {
        "k": k,
        "cuts": cuts,
        "balanced": [weight <= limit for weight in heaviest],
        "seconds": [round(elapsed, 6) for elapsed in seconds],
        "median_cut": median(cuts),
        "max_imbalance": round(max(heaviest) / share - 1, 5),
        "feasible": sum(weight <= limit for weight in heaviest),
        "median_seconds": round(median(seconds), 6),
    }


def main() -> None:
    """Answer with a summary for each k, or with why the tool is absent."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tool", choices=TOOLS)
    parser.add_argument("folder", type=Path, help="holds the arrays of a graph")
    parser.add_argument("preset")
    parser.add_argument("threads", type=int)
    parser.add_argument("--ks", nargs="+", type=int, required=True)
    parser.add_argument("--seeds", nargs="+", type=int, required=True)
    parser.add_argument("--imbalance", type=float, default=IMBALANCE)
    options = parser.parse_args()
    answer = answering()
    job = Job(
        load_arrays(options.folder),
        options.folder,
        options.preset,
        options.threads,
        options.imbalance,
    )
    try:
        solve = TOOLS[options.tool].prepare(job)
    except (ImportError, jetpy.BackendError) as error:
        answer({"absent": str(error)})
        return
    solve(options.ks[0], options.seeds[0])  # warm-up
    for k in options.ks:
        answer(summary(job, solve, k, options.seeds))


if __name__ == "__main__":
    main()
