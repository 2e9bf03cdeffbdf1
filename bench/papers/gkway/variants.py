"""Variants of G-kway: its score (Table 4), coarsening threshold (5) and imbalance (8)."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any

from bench.papers.experiment import Cell, Values, experiment
from bench.papers.gkway.measures import BENCHMARKS, JOURNAL, PRESET, computed, cut, number, seconds
from bench.papers.setting import Setting
from bench.papers.stand_ins import described

SCORED = ("ldoor", "delaunay")
"""Graphs of Table 4."""
SCORE_KS = (2, 8, 32)
SELECTED = ("pci_bridge", "tv80", "NLR", "delaunay")
"""Graphs of Tables 5 and 8."""
EXTREMES = (2, 32)
WITHOUT_SCORE = {
    "G-kway-s": {"coarsen.score": False},
    "G-kway-s, any weight": {"coarsen.score": False, "coarsen.bounded": False},
}
"""Options without the score. Only the second is as in the paper: coarse vertices may be heavier
than a part."""
THRESHOLDS = {
    "gamma = k": {"preset": JOURNAL, "options": {"coarsen.per_part": 1}},
    "gamma = 160 k": {"preset": JOURNAL},
    "gamma = |V| / (20 log2 k)": {"preset": PRESET},
}
"""Arguments of runs for each coarsening threshold."""
IMBALANCES = {
    f"imbalance {imbalance}": {"preset": JOURNAL, "imbalance": imbalance}
    for imbalance in (0.03, 0.3)
}
"""Arguments of runs for each imbalance."""


NEEDS = "any machine; no peers"


@experiment("gkway.table4", NEEDS, 5)
def table4(setting: Setting) -> Values:
    """Return cuts with and without the score, and the reduction by the score (section 5.6).

    The reduction is in percent of the cut with the score, as in the paper.
    """
    values: dict[Cell, float | str] = {}
    for name in SCORED:
        instance = BENCHMARKS[name].find(setting)
        for k in SCORE_KS:
            case = setting, setting.jetpy, instance, k
            row, scored = str(k), number(cut, *case, preset=PRESET)
            values[row, f"{name}, G-kway"] = scored
            for variant, options in WITHOUT_SCORE.items():
                found = number(cut, *case, preset=PRESET, options=options)
                values[row, f"{name}, {variant}"] = found
            unscored = values[row, f"{name}, G-kway-s"]
            values[row, f"{name}, reduction, %"] = computed(_reduction, unscored, scored)
        values["graph", f"{name}, G-kway"] = described(setting, instance)
    return values


def _reduction(unscored: float, scored: float) -> float:
    return 100 * (unscored - scored) / scored


@experiment("gkway.table5", NEEDS, 10)
def table5(setting: Setting) -> Values:
    """Return cuts and seconds for three coarsening thresholds (section 5.7).

    jetpy rebalances every partition, so that cases without a balanced one are rarer.
    """
    return _by_variant(setting, THRESHOLDS)


@experiment("gkway.table8", NEEDS, 5)
def table8(setting: Setting) -> Values:
    """Return cuts and seconds for an imbalance of 3 % and of 30 % (section 5.11)."""
    return _by_variant(setting, IMBALANCES)


def _by_variant(setting: Setting, variants: Mapping[str, Mapping[str, Any]]) -> Values:
    """Return cuts and seconds of the selected graphs for each extreme k and variant."""
    values: dict[Cell, float | str] = {}
    for row in SELECTED:
        instance = BENCHMARKS[row].find(setting)
        for k, (variant, how) in product(EXTREMES, variants.items()):
            for what, measure in (("cut", cut), ("s", seconds)):
                found = number(measure, setting, setting.jetpy, instance, k, **how)
                values[row, f"k = {k}, {variant}, {what}"] = found
        values[row, "graph"] = described(setting, instance)
    return values


EXPERIMENTS = [table4, table5, table8]
