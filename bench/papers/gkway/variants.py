"""G-kway with and without its score (Table 4)."""

from __future__ import annotations

from bench.papers.experiment import Cell, Values, experiment
from bench.papers.gkway.measures import BENCHMARKS, PRESET, Unbalanced, cut, number
from bench.papers.setting import Setting
from bench.papers.stand_ins import described

SCORED = ("ldoor", "delaunay")
"""Graphs of Table 4."""
SCORE_KS = (2, 8, 32)
WITHOUT_SCORE = {
    "G-kway-s": {"coarsen.score": False},
    "G-kway-s, any weight": {"coarsen.score": False, "coarsen.bounded": False},
}
"""Options without the score. Only the second is as in the paper: coarse vertices may be heavier
than a part."""
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
            values[row, f"{name}, reduction, %"] = number(_reduction, unscored, scored)
        values["graph", f"{name}, G-kway"] = described(setting, instance)
    return values


def _reduction(unscored: float | str, scored: float | str) -> float:
    if isinstance(unscored, str) or isinstance(scored, str):
        raise Unbalanced
    return 100 * (unscored - scored) / scored


EXPERIMENTS = [table4]
