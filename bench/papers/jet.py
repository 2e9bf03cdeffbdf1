"""Experiments of Jet (Gilbert, Madduri, Boman and Rajamanickam, SISC 2024)."""

from __future__ import annotations

from functools import partial
from statistics import geometric_mean

from bench.papers.drawing import bars
from bench.papers.experiment import PEER_MISSING, Cell, Experiment, Values
from bench.papers.setting import Setting, median_cut, or_missing

PEERS = {"KaMinPar": "kaminpar", "Metis": "pymetis", "Mt-KaHyPar-D": "mtkahypar"}
"""Tools that stand for the paper's partitioners."""
PRESET = "jet"
"""jetpy's preset with the paper's options."""
MISSING = ("mt-KaHIP MLS", "Mt-Metis HS")
"""The paper's partitioners without a package."""
CONFIGURATIONS = {
    "k = 32, 3%": (32, 0.03),
    "k = 64, 3%": (64, 0.03),
    "k = 128, 3%": (128, 0.03),
    "k = 256, 3%": (256, 0.03),
    "k = 128, 1%": (128, 0.01),
    "k = 128, 10%": (128, 0.1),
}
"""The paper's six numbers of parts and imbalances."""


def table1(setting: Setting) -> Values:
    """Return the mean cuts of other partitioners over jetpy's, by configuration."""
    values: dict[Cell, float | str] = {}
    for column, (k, imbalance) in CONFIGURATIONS.items():
        values |= {(row, column): PEER_MISSING for row in MISSING}
        for row, tool in PEERS.items():
            ratio = partial(_cut_ratio, setting, tool, k, imbalance)
            values[row, column] = or_missing(ratio, PEER_MISSING)
    return values


def _cut_ratio(setting: Setting, tool: str, k: int, imbalance: float) -> float:
    """Return the geometric mean of a tool's median cuts over that of jetpy's."""
    ratios = []
    for instance in setting.instances:
        theirs = median_cut(setting.runs(tool, instance, k, imbalance=imbalance))
        ours = setting.runs(setting.jetpy, instance, k, preset=PRESET, imbalance=imbalance)
        ratios.append(theirs / median_cut(ours))
    return geometric_mean(ratios)


EXPERIMENTS = [
    Experiment(
        "jet.table1",
        "cuts of other partitioners over those of Jet, geometric means",
        "KaMinPar, Mt-KaHyPar, pymetis; mt-KaHIP and Mt-Metis cannot be had",
        60,
        table1,
        bars,
    ),
]
