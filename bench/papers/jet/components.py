"""Components of Jetlp (Table 3) and the tolerance of refinement (phi), of section 7.1.4."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

from bench.instances import Instance
from bench.papers.classes import all_row, class_rows
from bench.papers.experiment import Cell, Values, experiment
from bench.papers.jet.partitioners import Measure, configurations, mean
from bench.papers.setting import Run, Setting, median_cut, median_seconds

NO_NEGATIVE_GAINS = {"refine.finest_ratios": (0,), "refine.coarse_ratios": (0,)}
BASELINE = "label propagation"
VARIANTS: dict[str, Mapping[str, Any]] = {
    BASELINE: {"refine.afterburner": False, "refine.locks": False, **NO_NEGATIVE_GAINS},
    "locks": {"refine.afterburner": False, **NO_NEGATIVE_GAINS},
    "weak afterburner": {"refine.locks": False, **NO_NEGATIVE_GAINS},
    "full afterburner": {"refine.locks": False},
    "Jetlp": {},
    "weak rebalancing": {"refine.weak_rounds": None},
    "strong rebalancing": {"refine.weak_rounds": 0},
    "phi = 0.99": {"refine.tolerance": 0.99},
    "phi = 0.9999": {"refine.tolerance": 0.9999},
}
"""Options of the preset jet that each variant changes."""
PAPER = {
    "locks": 1.000,
    "weak afterburner": 1.009,
    "full afterburner": 1.030,
    "Jetlp": 1.052,
    "phi = 0.99": 1.052 / 1.011,
    "phi = 0.9999": 1.052 * 1.005,
}
"""Cut of the baseline divided by that of each variant in the paper (Table 3 and section 7.1.4)."""
COLUMNS = {
    "Baseline + Locks": "locks",
    "Baseline + Weak Afterburner": "weak afterburner",
    "Baseline + Full Afterburner": "full afterburner",
    "Full Jetlp": "Jetlp",
    "Only weak rebalancing": "weak rebalancing",
    "Only strong rebalancing": "strong rebalancing",
}
"""Columns and their variants: those of Table 3, and two of jetpy's own."""
PHIS = {"0.99": "phi = 0.99", "0.999": "Jetlp", "0.9999": "phi = 0.9999"}
"""Values of phi and their variants; 0.999 is the paper's default."""
DEFAULT_PHI = "0.999"


@experiment("jet.table3", "no peers", 15)
def table3(setting: Setting) -> Values:
    """Return the cut of label propagation alone over that of each variant; above 1 is better."""

    def ratio(variant: str, instances: list[Instance]) -> float:
        baseline, cut = (_mean(setting, median_cut, v, instances) for v in (BASELINE, variant))
        return baseline / cut

    columns = {column: partial(ratio, variant) for column, variant in COLUMNS.items()}
    return {
        **all_row("All", setting.instances, columns),
        **class_rows(setting.instances, columns),
    }


@experiment("jet.phi", "no peers", 10)
def phi(setting: Setting) -> Values:
    """Return time of uncoarsening and cut with each phi, and their change from the default.

    Where the paper says that a time or cut improves by 55 %, its number here is -55.
    """
    quantities: dict[str, tuple[str, Measure]] = {
        "uncoarsening": ("uncoarsening (s)", _uncoarsening),
        "cut": ("cut", median_cut),
    }
    cases = len(setting.instances) * len(configurations(setting))
    values: dict[Cell, float | str] = {}
    for name, (column, measure) in quantities.items():
        means = {
            row: _mean(setting, measure, variant, setting.instances)
            for row, variant in PHIS.items()
        }
        for row, value in means.items():
            values[row, f"{name}, change (%)"] = 100 * (value / means[DEFAULT_PHI] - 1)
            values[row, column] = value
    return {**values, **{(row, "cases"): cases for row in PHIS}}


def _uncoarsening(found: Iterable[Run]) -> float:
    return median_seconds(found, "refine")


def _mean(setting: Setting, measure: Measure, variant: str, instances: list[Instance]) -> float:
    """Return the geometric mean of a variant's cuts or seconds over all cases."""
    names = configurations(setting)
    return mean(setting, measure, instances, names, options=VARIANTS[variant])


EXPERIMENTS = [table3, phi]
