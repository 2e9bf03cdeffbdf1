"""Time and cut of partitioners: who is on the Pareto front, on each platform.

Reads what `jetpy study` has measured; prints a table and draws a figure.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import geometric_mean
from typing import NamedTuple

from bench.tables import note, show
from jetpy.study.efficiency import Cell
from jetpy.study.metrics import Values
from jetpy.study.results import Results, read_results


class Point(NamedTuple):
    """Geometric means of an application's seconds and cuts over those of the baseline."""

    label: str
    time: float
    cut: float


def points(results: Results, platform: str, baseline: str) -> tuple[int, list[Point]]:
    """Return how many problems all applications on a platform have solved, and their points."""
    cuts, seconds = (_on(platform, values) for values in (results.cuts, results.seconds))
    common = {
        cell
        for cell in set.intersection(*(set(own) for own in cuts.values()))
        if all(own[cell] for values in (cuts, seconds) for own in values.values())
    }
    if baseline not in cuts or not common:
        return 0, []
    return len(common), [
        Point(label, _mean(seconds, label, baseline, common), _mean(cuts, label, baseline, common))
        for label in cuts
    ]


def _on(platform: str, values: Values) -> dict[str, dict[Cell, float]]:
    found = {
        label: {cell: value for cell, value in own.items() if cell.platform == platform}
        for label, own in values.items()
    }
    return {label: own for label, own in found.items() if own}


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


def _mean(
    values: Mapping[str, Mapping[Cell, float]], label: str, baseline: str, cells: set[Cell]
) -> float:
    return geometric_mean(values[label][cell] / values[baseline][cell] for cell in cells)


def draw(panels: Sequence[tuple[str, Sequence[Point]]], files: Sequence[Path]) -> None:
    """Draw a panel for each platform, into each of some files."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import LogLocator, NullLocator, ScalarFormatter

    figure = Figure(figsize=(5 * len(panels), 4), layout="constrained")
    row = figure.subplots(1, len(panels), squeeze=False, sharey=True)[0]
    for axes, (platform, found) in zip(row, panels, strict=True):
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
        axes.set(title=platform, xlabel="time over METIS's")
        axes.grid(alpha=0.3)
    row[0].set_ylabel("cut over METIS's")
    for file in files:
        figure.savefig(file, dpi=150)


def _short(label: str) -> str:
    """Return the name of an application as the figure has it.

    >>> _short("jetpy/fast"), _short("kaminpar")
    ('jetpy fast', 'kaminpar')
    """
    return label.replace("/", " ")


def main() -> None:
    """Print a table and draw a panel for each platform."""
    parser = argparse.ArgumentParser(prog="python -m bench.pareto", description=__doc__)
    parser.add_argument("studies", nargs="+", type=Path, metavar="DIR", help="of jetpy study")
    parser.add_argument("--platforms", nargs="+", help="all by default")
    parser.add_argument("--baseline", default="metis")
    parser.add_argument("--markdown", action="store_true", help="print Markdown")
    options = parser.parse_args()
    panels = []
    for results in map(read_results, options.studies):
        for platform in results.platforms:
            if options.platforms and platform not in options.platforms:
                continue
            problems, found = points(results, platform, options.baseline)
            if len(found) <= 1:
                continue
            best = front(found)
            panels.append((platform, found))
            show(
                f"{platform}, {problems} problems; over {options.baseline}, geometric means",
                ["application", "time", "cut", "front"],
                [
                    [p.label, f"{p.time:.3f}", f"{p.cut:.4f}", "yes" if p in best else ""]
                    for p in sorted(found, key=lambda p: p.time)
                ],
                markdown=options.markdown,
            )
    if not panels:
        raise SystemExit("no problem that all applications on a platform have solved")
    files = [options.studies[0] / f"pareto{suffix}" for suffix in (".png", ".svg")]
    try:
        draw(panels, files)
    except ImportError as error:
        note(f"no figure: {error}")


if __name__ == "__main__":
    main()
