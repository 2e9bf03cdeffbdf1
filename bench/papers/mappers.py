"""Mapping methods of jetpy and other tools."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import jetpy
from jetpy.device.backends import check_backend
from jetpy.problem.machine import Machine
from jetpy.study import mappers
from jetpy.study.mappers import MapOnto, MappingRun
from jetpy.study.tools import Job, run_jetpy

Prepare = Callable[[Job, Any], MapOnto]
"""Prepares a mapping method, with a back end of jetpy."""


def by_partition(job: Job, backend: Any) -> MapOnto:
    """Prepare `jetpy.partition`, with part p on PE p."""
    check_backend(backend, job.threads)

    def map_onto(target: Machine, seed: int) -> MappingRun:
        own = replace(job, imbalance=mappers.equivalent_imbalance(job, target.k))
        result = run_jetpy(backend, own, target.k, seed, profile=False)
        return MappingRun(result.parts, result.seconds["total"])

    return map_onto


PEERS: dict[str, Prepare] = {
    "KaHIP multisection, strong": lambda job, backend: mappers.prepare_kahip("strong", job),
    "KaHIP multisection, fast": lambda job, backend: mappers.prepare_kahip("fast", job),
    "Mt-KaHyPar": lambda job, backend: mappers.prepare_mtkahypar(job),
    "Scotch": lambda job, backend: mappers.prepare_scotch(job),
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


def _published(method: Any, options: jetpy.Options) -> Prepare:
    return lambda job, backend: mappers.prepare_jetpy(backend, method, job, options)


AS_PUBLISHED: dict[str, Prepare] = {
    "GPU-HM": _published("hm", jetpy.preset("jet")),
    "GPU-HM-ULTRA": _published("hm", jetpy.preset("jet-ultra")),
    "GPU-IM": _published("im", jetpy.preset("jet").changed(GPU_IM_OPTIONS)),
}
"""jetpy's mapping methods with the options of GPU-HeiPa (Samoldekin, Schulz, Woydt, 2025)."""
