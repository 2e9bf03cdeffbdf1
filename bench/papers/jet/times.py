"""Time by stage and class (Table 2), and speedups of a GPU and of threads (Table 6)."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from statistics import geometric_mean, mean, median
from typing import Any

from bench.instances import Instance
from bench.papers.classes import class_rows
from bench.papers.experiment import NOT_MEASURED, Values, experiment
from bench.papers.jet.partitioners import CONFIGURATIONS, JET, PRESET, Measure, configurations, runs
from bench.papers.setting import Run, Setting, median_seconds, or_missing

STAGES = {"Uncoarsen (%)": "refine", "Coarsen (%)": "coarsen", "InitPart (%)": "initial"}
"""Columns of Table 2 and jetpy's stages."""
CPU, GPU = "jetpy/cpu", "jetpy/cuda"


@experiment("jet.table2", "a GPU, as in the paper", 5)
def table2(setting: Setting) -> Values:
    """Return the share of each stage in the time, and the mean seconds (section 6.2.1)."""

    def seconds(stage: str, instances: list[Instance]) -> float:
        return mean(
            run.seconds[stage]
            for instance in instances
            for configuration in configurations(setting)
            for run in runs(setting, JET, instance, configuration)
        )

    def share(stage: str, instances: list[Instance]) -> float:
        return 100 * seconds(stage, instances) / seconds("total", instances)

    shares = {column: partial(share, stage) for column, stage in STAGES.items()}
    columns = {**shares, "Avg. time (s)": partial(seconds, "total")}
    return class_rows(setting.instances, columns)


@experiment("jet.table6", "a GPU, several cores", 20)
def table6(setting: Setting) -> Values:
    """Return the speedups of uncoarsening: a GPU over all threads, these over one (section 7.2).

    "Overall" is the time of uncoarsening, "finest level" that of refining the input graph.
    """
    many, one = (CPU, setting.threads), (CPU, 1)
    gpu = (GPU, setting.threads)
    columns = {
        f"{name}, {part}": partial(speedup, setting, slow, fast, measure)
        for name, slow, fast in (
            ("GPU vs multicore", many, gpu),
            ("multicore vs serial", one, many),
        )
        for part, measure in (("overall", _uncoarsening), ("finest level", _finest))
    }
    return class_rows(setting.instances, columns)


def speedup(
    setting: Setting,
    slow: tuple[str, int],
    fast: tuple[str, int],
    measure: Measure,
    instances: Iterable[Instance],
) -> float | str:
    """Return the geometric mean of the speedup of one back end and number of threads over another.

    Without the back end, or with one thread for both, it is `NOT_MEASURED`.
    """
    if slow == fast:
        return NOT_MEASURED

    def seconds(platform: tuple[str, int], instance: Instance, name: str) -> float:
        (tool, threads), (k, imbalance) = platform, CONFIGURATIONS[name]
        how: dict[str, Any] = {"preset": PRESET, "imbalance": imbalance, "threads": threads}
        return measure(setting.runs(tool, instance, k, **how))

    def ratios() -> float:
        return geometric_mean(
            seconds(slow, instance, name) / seconds(fast, instance, name)
            for instance in instances
            for name in configurations(setting)
        )

    return or_missing(ratios, NOT_MEASURED)


def _uncoarsening(found: Iterable[Run]) -> float:
    return median_seconds(found, "refine")


def _finest(found: Iterable[Run]) -> float:
    return median(run.levels[0].refine_seconds for run in found)


EXPERIMENTS = [table2, table6]
