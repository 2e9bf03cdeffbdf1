"""Performance profiles (Dolan and Moré, Math. Programming 91, 2002): shares within a factor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf, isfinite
from pathlib import Path
from typing import Any, NamedTuple

Values = Mapping[str, Mapping[Any, float]]
"""What each competitor reaches in each case, smaller being better; a failure has no entry."""


class Panel(NamedTuple):
    """One profile of a figure: of which quantity, and the largest factor that it shows."""

    quantity: str
    values: Values
    widest: float


def factors(values: Values) -> dict[str, list[float]]:
    """Each competitor's value over the best of the case, ascending; a failure is infinite.

    >>> factors({"a": {1: 2.0, 2: 6.0}, "b": {2: 3.0}})
    {'a': [1.0, 2.0], 'b': [1.0, inf]}
    """
    cases = {case for own in values.values() for case in own}
    best = {case: min(own.get(case, inf) for own in values.values()) for case in cases}
    return {
        label: sorted(_factor(own.get(case, inf), best[case]) for case in cases)
        for label, own in values.items()
    }


def _factor(value: float, best: float) -> float:
    if best:
        return value / best
    return inf if value else 1.0


def draw(panels: Sequence[Panel], files: Sequence[Path]) -> None:
    """Draw profiles side by side, into each of some files."""
    from cycler import cycler
    from matplotlib import rcParams
    from matplotlib.figure import Figure
    from matplotlib.ticker import ScalarFormatter

    figure = Figure(figsize=(6 * len(panels), 5), layout="constrained")
    styles = cycler(linestyle=["-", "--", ":"]) * rcParams["axes.prop_cycle"]
    row = figure.subplots(1, len(panels), squeeze=False)[0]
    for axes, panel in zip(row, panels, strict=True):
        curves = factors(panel.values)
        last = max((f for own in curves.values() for f in own if isfinite(f)), default=1.0)
        right = min(max(1.05 * last, 1.1), panel.widest)
        axes.set_prop_cycle(styles)
        for label, own in curves.items():
            reached = [f for f in own if isfinite(f)]
            shares = [i / len(own) for i in range(len(reached) + 1)]
            end = max(right, *reached[-1:])
            axes.step([1, *reached, end], [*shares, shares[-1]], where="post", label=label)
        axes.set_xscale("log" if right > 3 else "linear")
        axes.xaxis.set_major_formatter(ScalarFormatter())
        axes.set(xlim=(right**-0.01, right), ylim=(0, 1.02), ylabel="share of the cases within it")
        axes.set_xlabel(f"{panel.quantity}: factor of the best")
        axes.grid(alpha=0.3)
    handles, labels = row[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3)
    for file in files:
        figure.savefig(file, dpi=150)
