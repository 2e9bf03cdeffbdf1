"""The Pareto front of time and cut on each platform.

The program reads the results of `jetpy study`, prints a table and draws a figure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import geometric_mean
from typing import Any, NamedTuple

from bench.harness import Option, parser
from bench.tables import note, show
from jetpy.study.efficiency import Cell
from jetpy.study.metrics import Values
from jetpy.study.results import Results, read_results


class Point(NamedTuple):
    """Geometric means of an application's seconds and cuts divided by the baseline's."""

    label: str
    time: float
    cut: float


def points(results: Results, platform: str, baseline: str) -> tuple[int, list[Point]]:
    """Return the number of problems that all applications on a platform solved, and the points."""
    cuts, seconds = (_on(platform, values) for values in (results.cuts, results.seconds))
    common = {
        cell
        for cell in set.intersection(*(set(cells) for cells in cuts.values()))
        if all(cells[cell] for values in (cuts, seconds) for cells in values.values())
    }
    if baseline not in cuts or not common:
        return 0, []
    return len(common), [
        Point(label, _mean(seconds, label, baseline, common), _mean(cuts, label, baseline, common))
        for label in cuts
    ]


def _on(platform: str, values: Values) -> dict[str, dict[Cell, float]]:
    found = {
        label: {cell: value for cell, value in cells.items() if cell.platform == platform}
        for label, cells in values.items()
    }
    return {label: cells for label, cells in found.items() if cells}


def front(found: Sequence[Point]) -> list[Point]:
    """Return the points that no other point dominates, sorted by time.

    >>> front([Point("a", 1, 3), Point("b", 2, 3), Point("c", 2, 1)])
    [Point(label='a', time=1, cut=3), Point(label='c', time=2, cut=1)]
    """
    best: list[Point] = []
    for point in sorted(found, key=lambda p: (p.time, p.cut)):
        if not best or point.cut < best[-1].cut:
            best.append(point)
    return best


def _mean(
    values: Mapping[str, Mapping[Cell, float]], label: str, baseline: str, cells: set[Cell]
) -> float:
    return geometric_mean(values[label][cell] / values[baseline][cell] for cell in cells)


def draw(
    panels: Sequence[tuple[str, Sequence[Point]]], baseline: str, files: Sequence[Path]
) -> None:
    """Draw a panel for each platform and save the figure to each file."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5 * len(panels), 4), layout="constrained")
    row = figure.subplots(1, len(panels), squeeze=False, sharey=True)[0]
    for axes, (platform, found) in zip(row, panels, strict=True):
        optimal = front(found)
        axes.plot([p.time for p in optimal], [p.cut for p in optimal], color="0.7", zorder=0)
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
        set_log_ticks(axes.xaxis)
        axes.set(title=platform, xlabel=f"time / {baseline}'s")
        axes.grid(alpha=0.3)
    row[0].set_ylabel(f"cut / {baseline}'s")
    for file in files:
        figure.savefig(file, dpi=150)


def set_log_ticks(axis: Any) -> None:
    """Label 1, 2 and 5 times the powers of ten on a logarithmic axis of Matplotlib."""
    from matplotlib.ticker import LogLocator, NullLocator, ScalarFormatter

    axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(ScalarFormatter())


def _short(label: str) -> str:
    """Return the name of an application in the figure.

    >>> _short("jetpy/fast"), _short("kaminpar")
    ('jetpy fast', 'kaminpar')
    """
    return label.replace("/", " ")


OPTIONS = {
    "studies": Option((), "folders of jetpy study", type=Path, metavar="DIR", is_positional=True),
    "platforms": Option((), "use only these platforms"),
    "baseline": Option("metis", "application to divide by"),
}


def main() -> None:
    """Print a table and draw a panel for each platform."""
    options = parser("pareto", __doc__, OPTIONS).parse_args()
    panels = []
    for results in map(read_results, options.studies):
        for platform in results.platforms:
            if options.platforms and platform not in options.platforms:
                continue
            problems, found = points(results, platform, options.baseline)
            if len(found) <= 1:
                continue
            optimal = front(found)
            panels.append((platform, found))
            show(
                f"{platform}, {problems} problems; divided by {options.baseline}'s, "
                "geometric means",
                ["application", "time", "cut", "front"],
                [
                    [p.label, f"{p.time:.3f}", f"{p.cut:.4f}", "yes" if p in optimal else ""]
                    for p in sorted(found, key=lambda p: p.time)
                ],
                markdown=options.markdown,
            )
    if not panels:
        raise SystemExit("on no platform is there a problem that all applications solved")
    files = [options.studies[0] / f"pareto{suffix}" for suffix in (".png", ".svg")]
    try:
        draw(panels, options.baseline, files)
    except ImportError as error:
        note(f"no figure: {error}")


if __name__ == "__main__":
    main()
