"""Figures of results: bars for named rows, lines for numbered rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench.papers.experiment import Result

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PAPER = "paper"


def _series(results: list[Result]) -> dict[str, dict[str, float]]:
    """Return the numbers by column and row; the paper's numbers have columns of their own."""
    found: dict[str, dict[str, float]] = {}
    for result in results:
        if isinstance(result.ours, float | int):
            found.setdefault(result.column, {})[result.row] = float(result.ours)
        if result.paper:
            found.setdefault(f"{result.column}, {PAPER}", {})[result.row] = float(result.paper)
    return found


def bars(title: str, results: list[Result]) -> Figure:
    """Draw a group of bars for each row, with a bar for each column; the paper's are hatched."""
    from matplotlib.figure import Figure

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
    axes.set_title(title, fontsize=9)
    axes.legend(fontsize=7)
    return figure


def lines(title: str, results: list[Result]) -> Figure:
    """Draw a line for each column over the rows, which are numbers; the paper's are dashed."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.subplots()
    for column, values in _series(results).items():
        style = "--" if column.endswith(PAPER) else "-"
        places = [float(row) for row in values]
        axes.plot(places, list(values.values()), style, marker="o", ms=3, label=column)
    axes.set_title(title, fontsize=9)
    axes.grid(alpha=0.3)
    axes.legend(fontsize=7)
    return figure
