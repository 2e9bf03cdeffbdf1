"""Mapping methods of jetpy and other tools, and a summary of the runs of one on one graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from statistics import median
from typing import Any

import jetpy
from bench.records import Record
from jetpy import Options
from jetpy.device.backends import check_backend
from jetpy.problem.limits import limit_of_pes
from jetpy.problem.machine import Machine
from jetpy.study import mappers
from jetpy.study.mappers import MapOnto, MappingRun
from jetpy.study.tools import Job


def _jetpy(method: Any, job: Job, backend: Any, options: Options | None = None) -> MapOnto:
    check_backend(backend, job.threads)

    def map_onto(target: Machine, seed: int) -> MappingRun:
        mapping = jetpy.map_processes(
            job.graph,
            target.hierarchy,
            target.distances,
            method=method,
            imbalance=job.imbalance,
            seed=seed,
            options=options,
            backend=backend,
            threads=job.threads,
        )
        return MappingRun(mapping.pe, mapping.seconds["total"], mapping.cost)

    return map_onto


def by_partition(job: Job, backend: Any) -> MapOnto:
    """Prepare `jetpy.partition`, with part p on PE p."""
    check_backend(backend, job.threads)

    def map_onto(target: Machine, seed: int) -> MappingRun:
        result = jetpy.partition(
            job.graph,
            target.k,
            imbalance=mappers.equivalent_imbalance(job, target.k),
            seed=seed,
            preset=job.preset,
            backend=backend,
            threads=job.threads,
        )
        return MappingRun(result.parts, result.seconds["total"])

    return map_onto


def _other(prepare: Callable[[Job], MapOnto], job: Job, backend: str) -> MapOnto:
    return prepare(job)


Prepare = Callable[[Job, str], MapOnto]
"""Prepares a mapping method, with a back end of jetpy."""

PEERS: dict[str, Prepare] = {
    "KaHIP multisection, strong": partial(_other, partial(mappers.prepare_kahip, "strong")),
    "KaHIP multisection, fast": partial(_other, partial(mappers.prepare_kahip, "fast")),
    "Mt-KaHyPar": partial(_other, mappers.prepare_mtkahypar),
    "Scotch": partial(_other, mappers.prepare_scotch),
}
"""Other tools by name. Each module is imported only when its method is prepared."""

GPU_IM_OPTIONS = {
    "coarsen.rating": "expansion",
    "coarsen.bounded": True,
    "refine.finest_ratios": (0,),
    "refine.coarse_ratios": (0,),
    "refine.rebalance_by": "cut",
    "cut_share": 1,
}
"""Options of GPU-IM that differ from the preset `jet`."""
AS_PUBLISHED: dict[str, Prepare] = {
    name: partial(_jetpy, method, options=options)
    for name, method, options in (
        ("GPU-HM", "hm", jetpy.preset("jet")),
        ("GPU-HM-ULTRA", "hm", jetpy.preset("jet-ultra")),
        ("GPU-IM", "im", jetpy.preset("jet").changed(GPU_IM_OPTIONS)),
    )
}
"""jetpy's mapping methods with the options of GPU-HeiPa (Samoldekin, Schulz, Woydt, 2025)."""


def summary(job: Job, map_onto: MapOnto, target: Machine, seeds: Sequence[int]) -> Record:
    """Map onto a machine with each seed, check the runs and return a summary.

    Raises
    ------
    RuntimeError
        If the method reports another cost than the cost of its mapping.
    """
    costs, cuts, heaviest, seconds = [], [], [], []
    for seed in seeds:
        run = map_onto(target, seed)
        found = jetpy.evaluate(
            job.graph, run.pe, hierarchy=target.hierarchy, distances=target.distances
        )
        if run.cost not in (None, found.cost):
            raise RuntimeError(f"the method reports cost {run.cost}, but the cost is {found.cost}")
        costs.append(found.cost)
        cuts.append(found.cut)
        heaviest.append(int(found.part_weights.max()))
        seconds.append(round(run.seconds, 6))
    limit = limit_of_pes(job.graph.total_vertex_weight, target.k, job.imbalance)
    return {
        "costs": costs,
        "median_cost": median(costs),
        "cuts": cuts,
        "median_cut": median(cuts),
        "max_load": round(max(heaviest) / limit, 5),
        "feasible": sum(weight <= limit for weight in heaviest),
        "seconds": seconds,
        "median_seconds": round(median(seconds), 6),
    }
