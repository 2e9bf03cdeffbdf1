"""Tables and a figure that compare partitioners on several numbers of threads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from statistics import geometric_mean

from bench.comparisons import Case, case_text, cut, median_of_feasible, ratios, results, seconds
from bench.figures import set_log_ticks
from bench.records import Record, is_jetpy
from bench.tables import extreme_text, mean_text
from bench.tools import TOOLS
from jetpy.multilevel.execution import STAGES

GROUPS: Mapping[str, tuple[str, ...]] = {
    "known": ("cube128", "del20", "rgg1M", "rmat18", "netcard_aig", "mdual"),
    "unseen": (
        "grid1500x900",
        "road1200k",
        "rmat17x24",
        "stencil70",
        "tetrahedra30",
        "ibm14_star",
    ),
}
"""Graphs by group. Options of jetpy were chosen on graphs like the known ones."""
ALL = "all"
METIS = "pymetis/k-way"

Runs = Mapping[str, Mapping[int, Mapping[Case, Record]]]
"""Records of each tool (with preset) by number of threads and case."""


def by_threads(records: Iterable[Record]) -> Runs:
    """Return the last record of each tool, number of threads and case."""
    found: dict[str, dict[int, Mapping[Case, Record]]] = {}
    for label, cases in results(records).items():
        name, _, threads = label.rpartition("/")
        found.setdefault(name, {})[int(threads)] = cases
    return {name: dict(sorted(runs.items())) for name, runs in found.items()}


def in_group(values: Mapping[Case, float], group: str) -> dict[Case, float]:
    """Return the values of the cases in a group."""
    return {case: v for case, v in values.items() if group == ALL or case[0] in GROUPS[group]}


def by_group(values: Mapping[Case, float]) -> Iterator[tuple[str, dict[Case, float]]]:
    """Yield the values of each group that has any, then all values."""
    for group in (*GROUPS, ALL):
        if own := in_group(values, group):
            yield group, own


def ratio_rows(names: Iterable[str], peer: str, found: Runs) -> list[list[str]]:
    """Return a row per tool, number of threads and group: time and cut divided by those of a peer.

    The peer has the same number of threads, or one if it does not support more.
    """
    threaded = TOOLS[peer.rpartition("/")[0]].threaded
    rows = []
    for name in names:
        for threads, ours in found[name].items():
            theirs = found[peer].get(threads if threaded else 1, {})
            cuts = ratios(ours, theirs, cut)
            for group, times in by_group(ratios(ours, theirs, seconds)):
                row = [name, str(threads), group, str(len(times))]
                for values in (times, in_group(cuts, group)):
                    row += [mean_text(values.values()), extreme_text(values, case_text)]
                rows.append(row)
    return rows


def speedup_rows(found: Runs) -> list[list[str]]:
    """Return a row per tool, stage of jetpy and group: the speedup from one to the most threads.

    It is the time on one thread divided by the time on the most threads.
    """
    rows = []
    for name, runs in found.items():
        most = max(runs)
        if most == 1 or 1 not in runs:
            continue
        fields = {
            "total": "seconds",
            **({stage: stage for stage in STAGES} if is_jetpy(name) else {}),
        }
        for stage, field in fields.items():
            values = ratios(runs[1], runs[most], partial(median_of_feasible, field=field))
            for group, own in by_group(values):
                means = [mean_text(own.values(), 2), extreme_text(own, case_text, min)]
                rows.append([name, stage, group, str(most), str(len(own)), *means])
    return rows


def infeasible(found: Runs) -> list[str]:
    """Return a line for each case of a tool with infeasible runs."""
    return [
        f"{name} threads={threads} {graph} k={k}: {balanced.count(False)} of {len(balanced)}"
        for name, runs in found.items()
        for threads, records in runs.items()
        for (graph, _, k), record in records.items()
        if not all(balanced := record["balanced"])
    ]


def curves(found: Runs, group: str) -> tuple[int, dict[str, dict[int, float]]]:
    """Return the mean times of each tool by number of threads, divided by METIS's on one thread.

    The means are over the cases of a group that all tools solved with all numbers of threads. The
    number of these cases comes first. If it is 0, there are no curves.
    """
    baseline = found.get(METIS, {}).get(1, {})
    times = {
        name: {n: in_group(ratios(own, baseline, seconds), group) for n, own in runs.items()}
        for name, runs in found.items()
    }
    common = set.intersection(*(set(v) for runs in times.values() for v in runs.values()))
    return len(common), {
        name: {n: geometric_mean(values[case] for case in common) for n, values in runs.items()}
        for name, runs in times.items()
        if common
    }


def draw(found: Runs, file: Path) -> bool:
    """Draw a panel of curves for each group and save the figure. Without curves, return False."""
    from matplotlib.figure import Figure

    panels = [(group, *curves(found, group)) for group in GROUPS]
    panels = [panel for panel in panels if panel[1]]
    if not panels:
        return False
    figure = Figure(figsize=(5 * len(panels), 4), layout="constrained")
    row = figure.subplots(1, len(panels), squeeze=False, sharey=True)[0]
    for axes, (group, cases, lines) in zip(row, panels, strict=True):
        for name, line in lines.items():
            if name == METIS:
                axes.axhline(1, color="0.5", linestyle="--", label="METIS, one thread")
            else:
                axes.plot(list(line), list(line.values()), marker="o", label=name)
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        set_log_ticks(axes.yaxis)
        counts = sorted({n for line in lines.values() for n in line})
        axes.set_xticks(counts, map(str, counts), minor=False)
        axes.set(title=f"{group}, {cases} cases", xlabel="threads")
        axes.grid(alpha=0.3)
    row[0].set_ylabel("time / METIS's on one thread")
    row[0].legend(fontsize=8)
    figure.savefig(file)
    return True
