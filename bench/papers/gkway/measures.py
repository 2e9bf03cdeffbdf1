"""The paper's graphs, and means over the runs of one case."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from statistics import mean
from typing import Any

from bench.child import Unavailable
from bench.instances import Instance
from bench.papers.experiment import NOT_MEASURED, PEER_MISSING
from bench.papers.setting import Run, Setting
from bench.papers.stand_ins import CIRCUIT, FEM, MESH, ROAD, PaperGraph, by_name

UNBALANCED = "no balanced partition"
"""Stands for the numbers of a case without a balanced partition; the paper has a cross."""
PRESET, JOURNAL = "gkway", "gkway-journal"
"""Coarsening ends at |V| / (20 log2 k) vertices (sections 5.1 to 5.6), or at 160 k (from 5.8)."""
PEERS = {"METIS": "pymetis", "KaMinPar": "kaminpar"}
"""Partitioners that replace the paper's, by name; METIS has one thread."""

BENCHMARKS = by_name(
    PaperGraph("pci_bridge", CIRCUIT, 12_394_539, 15_809_551),
    PaperGraph("vga_lcd", CIRCUIT, 13_923_210, 24_904_499),
    PaperGraph("wb_dma", CIRCUIT, 19_686_000, 20_236_297),
    PaperGraph("usb", CIRCUIT, 25_215_939, 31_630_268),
    PaperGraph("tv80", CIRCUIT, 13_102_222, 17_759_671),
    PaperGraph("mem_ctrl", CIRCUIT, 6_422_461, 8_455_835),
    PaperGraph("ldoor", FEM, 952_203, 22_785_136),
    PaperGraph("NLR", MESH, 4_163_763, 12_487_976),
    PaperGraph("delaunay", MESH, 16_777_216, 50_331_601),
    PaperGraph("asia.osm", ROAD, 11_950_757, 12_711_603),
)
"""Table 2 by name."""


class Unbalanced(Exception):
    """No run of a case has a balanced partition."""


def cut(setting: Setting, tool: str, instance: Instance, k: int, **how: Any) -> float:
    """Return the mean cut of the balanced runs of a case; `how` as for `Setting.runs`.

    Raises
    ------
    Unbalanced
        If no run is balanced.
    Unavailable
        If the tool is not installed.
    """
    return mean(run.cut for run in _balanced(setting.runs(tool, instance, k, **how)))


def seconds(setting: Setting, tool: str, instance: Instance, k: int, **how: Any) -> float:
    """Return the mean seconds of the balanced runs of a case; otherwise as `cut`."""
    runs = _balanced(setting.runs(tool, instance, k, **how))
    return mean(run.seconds["total"] for run in runs)


def _balanced(runs: Iterable[Run]) -> Sequence[Run]:
    found = [run for run in runs if run.balanced]
    if not found:
        raise Unbalanced
    return found


def number(
    measure: Callable[..., float], *arguments: Any, missing: str = PEER_MISSING, **how: Any
) -> float | str:
    """Return a measured number, or the reason why there is none: `missing` without the tool."""
    try:
        return measure(*arguments, **how)
    except Unavailable:
        return missing
    except Unbalanced:
        return UNBALANCED


def computed(formula: Callable[..., float], *values: float | str) -> float | str:
    """Return a number computed from others, or the reason why one of them is missing."""
    reasons = [value for value in values if isinstance(value, str)]
    return reasons[0] if reasons else formula(*values)


def numbers_only(values: Iterable[float | str]) -> list[float]:
    """Return the values that are numbers."""
    return [value for value in values if not isinstance(value, str)]


def mean_of(values: Iterable[float | str], missing: str = NOT_MEASURED) -> float | str:
    """Return the arithmetic mean of the numbers, as in the paper; `missing` without numbers."""
    known = numbers_only(values)
    return mean(known) if known else missing
