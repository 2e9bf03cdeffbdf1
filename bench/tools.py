"""Partitioners, including jetpy's back ends, and a summary of the runs of one on one graph."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from statistics import median
from typing import Any

from jetpy.device.backends import BACKENDS
from jetpy.multilevel.execution import STAGES
from jetpy.study.tools import (
    PEERS,
    Job,
    Seconds,
    Solve,
    Tool,
    prepare_jetpy,
    prepare_kahip,
    prepare_mtkahypar,
)
from jetpy.study.verdict import judge

TOOLS = {
    **{
        f"jetpy/{backend}": Tool(
            partial(prepare_jetpy, backend), threaded=backend in ("cpu", "kokkos-openmp")
        )
        for backend in reversed(BACKENDS)
    },
    "pymetis": PEERS["metis"],
    **{name: peer for name, peer in PEERS.items() if name != "metis"},
}
"""Tools by name. Each module is imported only when its tool is prepared."""

STRONGEST = {
    "mtkahypar-highest-quality": Tool(partial(prepare_mtkahypar, "HIGHEST_QUALITY"), threaded=True),
    "kahip-strong": Tool(partial(prepare_kahip, "STRONG"), threaded=False),
}
"""The other partitioners' settings for the smallest cuts, regardless of time."""


def default_mtkahypar(threads: int) -> tuple[Any, Any]:
    """Return Mt-KaHyPar's library, and a context with its default preset and without logging."""
    import mtkahypar

    library = mtkahypar.initialize(threads, False)
    context = library.context_from_preset(mtkahypar.PresetType.DEFAULT)
    context.logging = False
    return library, context


def summary(job: Job, solve: Solve, k: int, seeds: list[int]) -> dict[str, Any]:
    """Partition into k parts with each seed, check the parts and return a summary of the runs.

    For jetpy, the summary also has the seconds of each stage: coarsen, initial and refine.
    """
    verdicts, seconds = [], []
    for seed in seeds:
        parts, spent = solve(k, seed)
        seconds.append(spent)
        verdicts.append(judge(job, parts, k))
    cuts, imbalances, feasible = map(list, zip(*verdicts, strict=True))
    totals = _rounded(seconds, "total")
    return {
        "k": k,
        "cuts": cuts,
        "balanced": feasible,
        "seconds": totals,
        **{stage: _rounded(seconds, stage) for stage in STAGES if stage in seconds[0]},
        "median_cut": median(cuts),
        "max_imbalance": max(imbalances),
        "feasible": sum(feasible),
        "median_seconds": round(median(totals), 6),
    }


def _rounded(seconds: Sequence[Seconds], name: str) -> list[float]:
    return [round(spent[name], 6) for spent in seconds]
