"""Time and cut of partitioners: who is on the Pareto front, for each number of threads.

Reads what `bench.portability` has measured; prints a table and draws a figure.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from statistics import geometric_mean
from typing import NamedTuple

from bench.portability import Case, Row, read_rows, solved
from bench.quality import RESULTS
from bench.tables import note, show
from bench.tools import TOOLS


class Point(NamedTuple):
    """Geometric means of a competitor's seconds and cuts over those of the baseline."""

    label: str
    time: float
    cut: float


def points(rows: Sequence[Row], threads: int, baseline: str) -> tuple[int, list[Point]]:
    """Return how many cases all competitors have solved, and their points.

    Competitors are those with so many threads, and those that use one only.
    """
    own = [row for row in rows if row["threads"] == str(threads) or not _is_threaded(row)]
    cuts, seconds = solved(own, "median_cut"), solved(own, "median_seconds")
    tables = [*cuts.values(), *seconds.values()]
    common = {case for case in _common(cuts) if all(own[case] for own in tables)}
    first = next((label for label in cuts if label.startswith(baseline)), None)
    if first is None or not common:
        return 0, []
    return len(common), [
        Point(label, _mean(seconds, label, first, common), _mean(cuts, label, first, common))
        for label in cuts
    ]


def front(found: Sequence[Point]) -> list[Point]:
    """Return the points that no other one is as good as in both and better in one, by time.

    >>> front([Point("a", 1, 3), Point("b", 2, 3), Point("c", 2, 1)])
    [Point(label='a', time=1, cut=3), Point(label='c', time=2, cut=1)]
    """
    best: list[Point] = []
    for point in sorted(found, key=lambda p: (p.time, p.cut)):
        if not best or point.cut < best[-1].cut:
            best.append(point)
    return best


def _is_threaded(row: Row) -> bool:
    return TOOLS["/".join(filter(None, (row["tool"], row["backend"])))].threaded


def _common(values: Mapping[str, Mapping[Case, float]]) -> set[Case]:
    return set.intersection(*(set(own) for own in values.values())) if values else set()


def _mean(
    values: Mapping[str, Mapping[Case, float]], label: str, baseline: str, cases: set[Case]
) -> float:
    return geometric_mean(values[label][case] / values[baseline][case] for case in cases)


def draw(panels: Sequence[tuple[int, Sequence[Point]]], files: Sequence[Path]) -> None:
    """Draw a panel for each number of threads, into each of some files."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import LogLocator, NullLocator, ScalarFormatter

    figure = Figure(figsize=(5 * len(panels), 4), layout="constrained")
    row = figure.subplots(1, len(panels), squeeze=False, sharey=True)[0]
    for axes, (threads, found) in zip(row, panels, strict=True):
        best = front(found)
        axes.plot([p.time for p in best], [p.cut for p in best], color="0.7", zorder=0)
        middle = geometric_mean((min(p.time for p in found), max(p.time for p in found)))
        for point in found:
            side, offset = ("left", 5) if point.time < middle else ("right", -5)
            axes.scatter(point.time, point.cut, color="C0" if "jetpy" in point.label else "C1")
            axes.annotate(
                _short(point.label),
                (point.time, point.cut),
                xytext=(offset, 5),
                textcoords="offset points",
                ha=side,
                fontsize=8,
            )
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.xaxis.set_major_formatter(ScalarFormatter())
        axes.set(title=f"threads: {threads}", xlabel="time over METIS's")
        axes.grid(alpha=0.3)
    row[0].set_ylabel("cut over METIS's")
    for file in files:
        figure.savefig(file, dpi=150)


def _short(label: str) -> str:
    """Return the tool and its preset, of those that have several.

    >>> _short("jetpy/numba/fast/2"), _short("kaminpar/default/2")
    ('jetpy fast', 'kaminpar')
    """
    tool, *_, preset, _ = label.split("/")
    return f"{tool} {preset}" if tool == "jetpy" else tool


def main() -> None:
    """Print a table and draw a panel for each number of threads."""
    parser = argparse.ArgumentParser(prog="python -m bench.pareto", description=__doc__)
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--baseline", default="pymetis")
    parser.add_argument(
        "--results",
        nargs="+",
        type=Path,
        default=[RESULTS],
        metavar="DIR",
        help="one for each machine; the figure goes into the first",
    )
    parser.add_argument("--markdown", action="store_true", help="print Markdown")
    options = parser.parse_args()
    panels = []
    for folder, threads in product(options.results, options.threads):
        cases, found = points(read_rows(folder / "portability.csv"), threads, options.baseline)
        if len(found) <= 1:
            continue
        best = front(found)
        panels.append((threads, found))
        show(
            f"{threads} threads, {cases} cases; over {options.baseline}, geometric means",
            ["tool/preset/threads", "time", "cut", "front"],
            [
                [p.label, f"{p.time:.3f}", f"{p.cut:.4f}", "yes" if p in best else ""]
                for p in sorted(found, key=lambda p: p.time)
            ],
            markdown=options.markdown,
        )
    if not panels:
        raise SystemExit("no case that all tools have solved")
    files = [options.results[0] / f"pareto{suffix}" for suffix in (".png", ".svg")]
    try:
        draw(panels, files)
    except ImportError as error:
        note(f"no figure: {error}")


if __name__ == "__main__":
    main()
