"""Figures of times and cuts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import geometric_mean
from typing import Any, NamedTuple


class Point(NamedTuple):
    """Geometric means of a tool's seconds and cuts divided by the baseline's."""

    label: str
    time: float
    cut: float


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


def draw_points(panels: Sequence[tuple[str, Sequence[Point]]], baseline: str, file: Path) -> None:
    """Draw a panel of points and their Pareto front for each title, and save the figure."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5 * len(panels), 4), layout="constrained")
    row = figure.subplots(1, len(panels), squeeze=False, sharey=True)[0]
    for axes, (title, found) in zip(row, panels, strict=True):
        optimal = front(found)
        axes.plot([p.time for p in optimal], [p.cut for p in optimal], color="0.7", zorder=0)
        middle = geometric_mean((min(p.time for p in found), max(p.time for p in found)))
        for point in found:
            side, offset = ("left", 5) if point.time < middle else ("right", -5)
            axes.scatter(point.time, point.cut, color="C0" if "jetpy" in point.label else "C1")
            axes.annotate(
                point.label.replace("/", " "),
                (point.time, point.cut),
                xytext=(offset, 5),
                textcoords="offset points",
                ha=side,
                fontsize=8,
            )
        axes.set_xscale("log")
        set_log_ticks(axes.xaxis)
        axes.set(title=title, xlabel=f"time / {baseline}'s")
        axes.grid(alpha=0.3)
    row[0].set_ylabel(f"cut / {baseline}'s")
    figure.savefig(file, dpi=150)


def set_log_ticks(axis: Any) -> None:
    """Label 1, 2 and 5 times the powers of ten on a logarithmic axis of Matplotlib."""
    from matplotlib.ticker import LogLocator, NullLocator, ScalarFormatter

    axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(ScalarFormatter())
