"""Partitioners, including jetpy's back ends, prepared for one graph with one preset."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import perf_counter

import numpy.typing as npt

from jetpy import choices
from jetpy.api.partitioning import partition
from jetpy.device.backends import check_backend
from jetpy.evaluation.metis_baseline import metis
from jetpy.graph.csr import Graph
from jetpy.io import write_graph
from jetpy.multilevel.execution import STAGES
from jetpy.problem.presets import preset
from jetpy.problem.problem import make_problem
from jetpy.result.partition import Partition

IMBALANCE = 0.03

Seconds = Mapping[str, float]
"""Seconds of partitioning alone: "total", and for jetpy also those of each stage."""
Solve = Callable[[int, int], tuple[npt.ArrayLike, Seconds]]
"""Called as `solve(k, seed)`; returns the parts and the seconds."""


@dataclass(frozen=True)
class Job:
    """The input of a tool: a graph, a folder for its files, and options."""

    graph: Graph
    folder: Path
    preset: choices.Preset
    threads: int
    imbalance: float = IMBALANCE

    def limit(self, k: int) -> int:
        """Return the maximum weight of each of k parts."""
        return make_problem(
            self.graph.total_vertex_weight, k, self.imbalance, 0, preset("default")
        ).limit

    def metis_file(self) -> str:
        """Return the path of a METIS file of the graph, which the first call writes."""
        file = self.folder / "graph.graph"
        if not file.exists():
            write_graph(file, self.graph)
        return str(file)


@dataclass(frozen=True)
class Tool:
    """A partitioner: its preparation, whether it uses threads, and its preset if fixed."""

    prepare: Callable[[Job], Solve]
    threaded: bool
    preset: str | None = None


def run_jetpy(backend: choices.Backend, job: Job, k: int, seed: int, profile: bool) -> Partition:
    """Partition with one of jetpy's back ends."""
    return partition(
        job.graph,
        k,
        imbalance=job.imbalance,
        seed=seed,
        preset=job.preset,
        backend=backend,
        threads=job.threads,
        profile=profile,
    )


def prepare_jetpy(backend: choices.Backend, job: Job) -> Solve:
    """Prepare one of jetpy's back ends."""
    check_backend(backend, job.threads)

    def solve(k: int, seed: int) -> tuple[npt.ArrayLike, Seconds]:
        result = run_jetpy(backend, job, k, seed, profile=False)
        return result.parts, {name: result.seconds[name] for name in ("total", *STAGES)}

    return solve


def prepare_metis(job: Job) -> Solve:
    """Prepare METIS: k-way, with the largest imbalance that keeps the limit."""

    def solve(k: int, seed: int) -> tuple[npt.ArrayLike, Seconds]:
        baseline = metis(job.graph, k, job.limit(k), seed)
        return baseline.parts, {"total": baseline.seconds}

    return solve


def prepare_kaminpar(job: Job) -> Solve:
    """Prepare KaMinPar with its default preset."""
    import kaminpar

    graph = kaminpar.load_graph(job.metis_file(), kaminpar.GraphFileFormat.METIS)
    eps = max(job.imbalance, 1e-9)  # for KaMinPar, 0 means no limit

    def solve(k: int, seed: int) -> tuple[npt.ArrayLike, Seconds]:
        kaminpar.reseed(seed)
        partitioner = kaminpar.KaMinPar(job.threads, kaminpar.default_context())
        start = perf_counter()
        parts = partitioner.compute_partition(graph, k=k, eps=eps)
        return parts, {"total": perf_counter() - start}

    return solve


def prepare_mtkahypar(quality: str, job: Job) -> Solve:
    """Prepare Mt-KaHyPar with one of its presets for graphs."""
    import mtkahypar

    library = mtkahypar.initialize(job.threads, False)
    context = library.context_from_preset(getattr(mtkahypar.PresetType, quality))
    context.logging = False
    load = partial(library.graph_from_file, job.metis_file(), context)
    loaded = load()

    def solve(k: int, seed: int) -> tuple[npt.ArrayLike, Seconds]:
        # a second run on the same graph crashes with HIGHEST_QUALITY
        graph = load() if quality == "HIGHEST_QUALITY" else loaded
        context.set_partitioning_parameters(k, job.imbalance, mtkahypar.Objective.CUT)
        mtkahypar.set_seed(seed)
        start = perf_counter()
        result = graph.partition(context)
        return result.get_partition(), {"total": perf_counter() - start}

    return solve


def prepare_kahip(mode: str, job: Job) -> Solve:
    """Prepare KaHIP: KaFFPa in one of its modes."""
    import kahip

    indptr, indices, edge_weights, vertex_weights = (
        getattr(job.graph, name).tolist()
        for name in ("indptr", "indices", "edge_weights", "vertex_weights")
    )

    def solve(k: int, seed: int) -> tuple[npt.ArrayLike, Seconds]:
        start = perf_counter()
        graph = vertex_weights, indptr, edge_weights, indices
        _, parts = kahip.kaffpa(*graph, k, job.imbalance, True, seed, getattr(kahip, mode))
        return parts, {"total": perf_counter() - start}

    return solve


PEERS = {
    "metis": Tool(prepare_metis, threaded=False, preset="k-way"),
    "kaminpar": Tool(prepare_kaminpar, threaded=True, preset="default"),
    "mtkahypar": Tool(partial(prepare_mtkahypar, "DEFAULT"), threaded=True, preset="default"),
    "mtkahypar-quality": Tool(
        partial(prepare_mtkahypar, "QUALITY"), threaded=True, preset="quality"
    ),
    "kahip": Tool(partial(prepare_kahip, "FAST"), threaded=False, preset="fast"),
}
"""Other partitioners by name; each is imported only when it is prepared."""
PACKAGES = {
    "metis": "pymetis",
    "kaminpar": "kaminpar",
    "mtkahypar": "mtkahypar",
    "mtkahypar-quality": "mtkahypar",
    "kahip": "kahip",
    "scotch": "pyscotch",
}
"""Module of each of these partitioners, and of Scotch, which maps."""
