"""Tables of a study by `jetpy study`: times, cuts and efficiencies on several platforms."""

from __future__ import annotations

from itertools import chain
from pathlib import Path
from statistics import geometric_mean

from bench.pages.table import Cells
from bench.pages.times import KAMINPAR, PRESETS, cores_cells
from bench.records import read_records
from bench.speedups import METIS, by_threads
from jetpy.errors import count as count_text
from jetpy.study.efficiency import Cell
from jetpy.study.metrics import Values
from jetpy.study.results import read_results

WITH_PROGRAM = {
    "jetpy/fast": "jetpy, `fast`",
    "jetpy/default": "jetpy, `default`",
    "gpu-heipa": "GPU-HeiPa, `default`",
    "gpu-heipa-ultra": "GPU-HeiPa, `ultra`",
    "kaminpar": "KaMinPar",
    "metis": "METIS (one thread)",
}
"""Tools of the studies with the C++ Jet."""
BANDWIDTH = {
    "20553809 cpu-16": "`cpu`, Xeon, 16 threads",
    "20553809 gpu": "`cuda`, H100",
}
"""Platforms whose kernels were timed."""


def ratios(values: Values, ours: str, platform: str, theirs: str, there: str) -> list[float]:
    """Return the ratios of two applications, each on its platform, for all problems of both."""
    pairs = [
        (value, values[theirs].get(Cell(cell.problem, there)))
        for cell, value in values[ours].items()
        if cell.platform == platform
    ]
    return [ours / theirs for ours, theirs in pairs if theirs]


def mean_ratio(values: Values, ours: str, platform: str, theirs: str, there: str) -> float | None:
    """Return the geometric mean of `ratios`; None if the two solved no problem in common."""
    known = ratios(values, ours, platform, theirs, there)
    return geometric_mean(known) if known else None


def _text(ratio: float | None) -> str:
    return "" if ratio is None else f"{ratio:.2f}"


def over_program(performance: Path) -> Cells:
    """Return a row per tool of a study with the C++ Jet: times and cuts over those of that program.

    Times and cuts are geometric means over the problems that both solved; their number is a column.
    """
    found = read_results(performance.parent)
    [there] = {cell.platform for cell in found.seconds["jet"]}
    rows = []
    for name, title in WITH_PROGRAM.items():
        for platform in sorted({cell.platform for cell in found.seconds.get(name, {})}):
            times, cuts = (
                ratios(values, name, platform, "jet", there)
                for values in (found.seconds, found.cuts)
            )
            place = "GPU" if platform == there else f"{platform.rpartition('-')[2]} threads"
            numbers = geometric_mean(times), max(times), geometric_mean(cuts)
            texts = (f"{number:.3f}" for number in numbers)
            rows.append([f"{title}, {place}", str(len(times)), *texts])
    return Cells(["", "problems", "time", "worst time", "cut"], rows)


def by_bandwidth(*kernels: Path) -> Cells:
    """Return a row per platform: the share of the bandwidth that each preset of jetpy uses.

    The files are of studies of one machine each. Shares are harmonic means over the problems.
    """
    rows = []
    for path in kernels:
        found = read_results(path.parent)
        for platform in found.platforms:
            title = BANDWIDTH[platform]
            own = (found.by_bandwidth.by_platform[f"jetpy/{preset}"] for preset in PRESETS)
            rows.append([title, *(_text(shares.get(platform)) for shares in own)])
    return Cells(["", *(f"`{preset}`" for preset in PRESETS)], rows)


def overview(cores: Path, performance: Path) -> Cells:
    """Return time and cut over METIS's on one thread and KaMinPar's.

    The first rows are of `bench.cores`, the last two of a study with a GPU. KaMinPar runs on its
    host.
    """
    runs, found = by_threads(read_records(cores)), read_results(performance.parent)
    rows = []
    for count in (1, 16):
        for preset in reversed(PRESETS):
            tools = [cores_cells(runs, preset, count, peer) for peer in (METIS, KAMINPAR)]
            rows.append(["12", f"`{preset}`", count_text(count, "thread"), *chain(*tools)])
    gpu, host = "20553809 gpu", "20553809 cpu-16"
    for preset in reversed(PRESETS):
        values = [
            _text(mean_ratio(known, f"jetpy/{preset}", gpu, peer, host))
            for peer in ("metis", "kaminpar")
            for known in (found.seconds, found.cuts)
        ]
        rows.append(["6", f"`{preset}`", "one H100", *values])
    headers = ["graphs", "preset", "jetpy runs on", "METIS: time", "cut", "KaMinPar: time", "cut"]
    return Cells(headers, rows)
