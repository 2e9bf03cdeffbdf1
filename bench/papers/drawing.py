"""Figures of results: bars for named rows, lines for numbered rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bench.papers.experiment import Result, number_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PAPER = "paper"


def _series(results: list[Result]) -> dict[str, dict[str, float]]:
    """Return the numbers by column and row; the paper's numbers have columns of their own."""
    found: dict[str, dict[str, float]] = {}
    for result in results:
        if isinstance(result.ours, float | int):
            found.setdefault(result.column, {})[result.row] = float(result.ours)
        number = number_of(result.paper)
        if number is not None:
            found.setdefault(f"{result.column}, {PAPER}", {})[result.row] = number
    return found


def bars(title: str, results: list[Result], *, only: str = "", log: bool = False) -> Figure:
    """Draw a group of bars for each row, with a bar for each column; the paper's are hatched.

    `only` selects the columns that contain this text, for tables of several units; with `log`, the
    scale is logarithmic.
    """
    from matplotlib.figure import Figure

    results = [result for result in results if only in result.column]
    series = _series(results)
    rows = list(dict.fromkeys(result.row for result in results))
    figure = Figure(figsize=(max(6, 0.3 * len(rows) * len(series)), 4), layout="constrained")
    axes = figure.subplots()
    width = 0.8 / max(1, len(series))
    for number, (column, values) in enumerate(series.items()):
        places = [rows.index(row) + width * (number - len(series) / 2 + 0.5) for row in values]
        hatch = "//" if column.endswith(PAPER) else None
        axes.bar(places, list(values.values()), width, label=column, hatch=hatch)
    axes.set_xticks(range(len(rows)), rows, rotation=30, ha="right")
    axes.set_yscale("log" if log else "linear")
    axes.set_title(title, fontsize=9)
    axes.legend(fontsize=7)
    return figure


def lines(title: str, results: list[Result], *, panels: Sequence[str] = ("",)) -> Figure:
    """Draw a line for each column over the rows that are numbers; the paper's are dashed.

    Each of `panels` has the columns that begin with this text.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6 * len(panels), 4), layout="constrained")
    for panel, axes in zip(panels, figure.subplots(1, len(panels), squeeze=False)[0], strict=True):
        for column, values in _series(results).items():
            style = "--" if column.endswith(PAPER) else "-"
            points = sorted(
                (x, value) for row, value in values.items() if (x := number_of(row)) is not None
            )
            if points and column.startswith(panel):
                axes.plot(*zip(*points, strict=True), style, marker="o", ms=3, label=column)
        axes.grid(alpha=0.3)
        axes.legend(fontsize=7)
    figure.suptitle(title, fontsize=9)
    return figure
