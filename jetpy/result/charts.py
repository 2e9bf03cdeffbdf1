"""Charts of a partition and of the run that found it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from jetpy.evaluation.evaluate import Evaluation
from jetpy.evaluation.levels import Level
from jetpy.pages.figures import chart
from jetpy.pages.palette import BAD, INK, SERIES
from jetpy.profiling.profile import Kernel, Step

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MAX_BARS = 40
"""Maximum number of parts with a bar each; more parts are drawn as a sorted line."""
MAX_POINTS = 400
"""Maximum number of points of a sorted line."""
MAX_KERNELS = 10
_HEIGHT = 2.6
_BAR = 0.24  # inches
_AXIS = 0.6
_LEAST = 1.0
"""Minimum extent of an axis on either side of 0."""
Numbers = npt.NDArray[Any]


def weights_chart(weights: npt.NDArray[np.int64], ideal: int, limit: int) -> Figure:
    """Plot the deviation of each part's weight from the average, and the limit.

    Parameters
    ----------
    weights : int64, shape (k,)
    ideal, limit : int
        Ideal and maximum weight of a part.
    """
    with chart(_HEIGHT, legend=False) as (figure, axes):
        share = 100 / max(ideal, 1)
        above, most = (weights - ideal) * share, (limit - ideal) * share
        if len(weights) <= MAX_BARS:
            colours = [BAD if weight > limit else SERIES[0] for weight in weights.tolist()]
            axes.bar(range(len(weights)), above, color=colours, width=0.8)
            _whole_numbers(axes)
        else:
            places, line = _sorted_line(axes, above, SERIES[0])
            axes.fill_between(places, line, color=SERIES[0], alpha=0.3, linewidth=0)
            axes.fill_between(places, line, most, where=line > most, color=BAD, linewidth=0)
            axes.set_xlabel("parts, heaviest first")
        axes.axhline(most, color=INK, linewidth=1, linestyle="--")
        axes.axhline(0, color=INK, linewidth=0.8)
        axes.annotate(
            f"limit {limit:,}", (1, most), (0, 3), ("axes fraction", "data"), "offset points",
            ha="right", size=8,
        )  # fmt: skip
        axes.margins(y=0.18)
        low, high = axes.get_ylim()
        axes.set_ylim(min(low, -_LEAST), max(high, _LEAST))
        axes.set_ylabel("% above the average")
    return figure


def volumes_chart(evaluation: Evaluation) -> Figure:
    """Plot the boundary vertices and the communication volume of each part."""
    both = (
        (evaluation.part_boundary_vertices, SERIES[1], "boundary vertices"),
        (evaluation.part_volumes, SERIES[4], "volume sent"),
    )
    with chart(_HEIGHT) as (figure, axes):
        for i, (numbers, colour, name) in enumerate(both):
            if evaluation.k <= MAX_BARS:
                places = np.arange(evaluation.k) + 0.4 * (i - 0.5)
                axes.bar(places, numbers, color=colour, width=0.4, label=name)
            else:
                _sorted_line(axes, numbers, colour, name)
        if evaluation.k <= MAX_BARS:
            _whole_numbers(axes)
        axes.set_ylim(0, max(_LEAST, axes.get_ylim()[1]))
        _thousands(axes)
    return figure


def levels_chart(levels: Sequence[Level]) -> Figure:
    """Plot the cut on each level before and after refinement, coarsest level first."""
    with chart(_HEIGHT) as (figure, axes):
        ordered = sorted(levels, key=lambda level: -level.level)
        places = range(len(ordered))
        before = [level.cut_before for level in ordered]
        after = [level.cut_after for level in ordered]
        axes.plot(places, before, "o", color=SERIES[1], fillstyle="none", label="before refinement")
        axes.plot(places, after, "o-", color=SERIES[0], markersize=4, label="after refinement")
        axes.set_xticks(places, [f"{level.level}" for level in ordered])
        if len(ordered) > 1:
            axes.set_xlabel("level, coarsest first")
        axes.set_ylabel("cut")
        axes.margins(y=0.15)
        _thousands(axes)
    return figure


def stages_chart(steps: Sequence[Step]) -> Figure:
    """Plot the seconds of each stage, in kernels and outside."""
    stages = list(dict.fromkeys(step.stage for step in steps))
    inside, besides = (dict.fromkeys(stages, 0.0) for _ in range(2))
    for step in steps:
        inside[step.stage] += step.kernel_seconds
        besides[step.stage] += max(0.0, step.seconds - step.kernel_seconds)
    in_kernels = list(inside.values())
    with chart(_AXIS + 0.3 + 1.4 * _BAR * len(stages)) as (figure, axes):
        axes.barh(stages, in_kernels, color=SERIES[0], label="in kernels")
        outside = list(besides.values())
        axes.barh(stages, outside, left=in_kernels, color=SERIES[7], label="outside kernels")
        axes.invert_yaxis()
        _seconds(axes)
    return figure


def kernels_chart(kernels: Sequence[Kernel]) -> Figure:
    """Plot the seconds of the kernels with the longest total time."""
    longest = kernels[:MAX_KERNELS]
    with chart(_AXIS + _BAR * len(longest), legend=False) as (figure, axes):
        seconds = [kernel.seconds for kernel in longest]
        axes.barh([kernel.name for kernel in longest], seconds, color=SERIES[0])
        axes.invert_yaxis()
        _seconds(axes)
    return figure


def _sorted_line(
    axes: Axes, numbers: Numbers, colour: str, label: str = ""
) -> tuple[Numbers, Numbers]:
    """Plot a sample of values, sorted in descending order; return the sample."""
    shown = np.unique(np.linspace(0, len(numbers) - 1, MAX_POINTS).astype(int))
    largest_first = np.sort(numbers)[::-1][shown]
    axes.plot(shown + 1, largest_first, color=colour, label=label)
    axes.set_xlabel("parts, largest value first")
    return shown + 1, largest_first


def _whole_numbers(axes: Axes) -> None:
    from matplotlib.ticker import MaxNLocator

    axes.xaxis.set_major_locator(MaxNLocator(8, integer=True, min_n_ticks=1))
    axes.grid(visible=False, axis="x")
    axes.set_xlabel("part")


def _seconds(axes: Axes) -> None:
    from matplotlib.ticker import MaxNLocator

    axes.xaxis.set_major_locator(MaxNLocator(6))
    axes.grid(visible=False, axis="y")
    axes.set_xlabel("seconds")


def _thousands(axes: Axes) -> None:
    from matplotlib.ticker import MaxNLocator, StrMethodFormatter

    axes.yaxis.set_major_locator(MaxNLocator(5, integer=True, min_n_ticks=1))
    axes.yaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
