"""Figures of a study: cascades, profiles, cut against time, scaling, cut by batch, rooflines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf, isfinite
from typing import TYPE_CHECKING

from jetpy.pages.figures import chart, new_figure
from jetpy.pages.palette import INK, MUTED, PAGE, SERIES
from jetpy.pages.style import styled
from jetpy.study.efficiency import Cell
from jetpy.study.launches import Launches
from jetpy.study.metrics import cascade, factors
from jetpy.study.triad import Roofline

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MARKS = "osD^vP*X"
_LINES = ("-", "--", "-.", ":")
_HEIGHT = 3.0
_PER_LEGEND_ROW = 0.19
_PER_CHART_ROW = 0.21
_NAMED = 5
"""Maximum number of kernels with a label, longest total time first."""
_LINE = 1.8
"""Minimum ratio of the bandwidths of two points whose labels do not overlap."""
_SHARES = (0.0, 0.01, 0.1)
"""Minimum shares of the total time for each of the point sizes in `_AREAS`, in square points."""
_AREAS = (6.0, 30.0, 120.0)
_WIDEST_PROFILE = 100.0
_MARKED = 10
"""Approximate maximum number of marks on a line by batch."""
_NARROW = 3.0
"""Ratio of the ends of a logarithmic axis below which its ticks are evenly spaced."""


class Styles:
    """The colour, marker and line style of each application, equal in all figures."""

    def __init__(self, applications: Sequence[str]) -> None:
        self._places = {name: place for place, name in enumerate(applications)}

    def colour(self, application: str) -> str:
        """Return a colour of the palette."""
        return SERIES[self._places[application] % len(SERIES)]

    def mark(self, application: str) -> str:
        """Return a marker."""
        return _MARKS[self._places[application] % len(_MARKS)]

    def line(self, application: str) -> str:
        """Return a line style that differs from those of the same colour."""
        return _LINES[self._places[application] // len(SERIES) % len(_LINES)]


def cascade_figure(
    found: Mapping[str, Mapping[str, float]], platforms: Sequence[str], styles: Styles
) -> Figure:
    """Plot efficiencies from the best platform to the worst, and the metric up to each.

    The chart below shows the order of platforms, one row for each application (Sewall et al.).

    Parameters
    ----------
    found : mapping of application to mapping of platform to efficiency
    platforms : sequence of str
        Numbered from 1.
    styles : Styles
    """
    chart_height = _PER_CHART_ROW * len(found)
    plot_height = _HEIGHT + _PER_LEGEND_ROW * (len(found) + 1) / 2
    figure = new_figure(plot_height + chart_height)
    with styled():
        axes, chart = figure.subplots(
            2, sharex=True, height_ratios=(plot_height - _HEIGHT / 4, chart_height)
        )
        for application, by_platform in found.items():
            colour, mark = styles.colour(application), styles.mark(application)
            steps = cascade(by_platform)
            places = range(1, len(steps) + 1)
            axes.plot(
                places, [step[1] for step in steps], color=colour, marker=mark,
                linestyle=styles.line(application), linewidth=1, label=application,
            )  # fmt: skip
            axes.plot(
                places, [step[2] for step in steps], color=colour, marker=mark,
                fillstyle="none", linestyle=":", linewidth=1.8,
            )  # fmt: skip
        axes.set_ylim(-0.04, 1.06)
        axes.set_ylabel("efficiency")
        axes.tick_params(bottom=False)
        _chart_of_platforms(chart, found, platforms, styles)
        axes.plot([], [], color=MUTED, marker="o", fillstyle="none", linestyle=":", label="metric")
        figure.legend(loc="outside upper left", ncols=2)
    return figure


def _chart_of_platforms(
    axes: Axes,
    found: Mapping[str, Mapping[str, float]],
    platforms: Sequence[str],
    styles: Styles,
) -> None:
    """Draw the numbers of each application's platforms in a row, best first."""
    for row, (application, by_platform) in enumerate(found.items()):
        for place, (platform, _, _) in enumerate(cascade(by_platform), 1):
            axes.text(
                place, row, f"{platforms.index(platform) + 1}", size=7, color=PAGE,
                ha="center", va="center",
                bbox={"boxstyle": "round,pad=0.25", "color": styles.colour(application)},
            )  # fmt: skip
    axes.set(yticks=range(len(found)), yticklabels=list(found), ylim=(len(found) - 0.5, -0.5))
    axes.set(xticks=range(1, len(platforms) + 1), xlim=(0.7, len(platforms) + 0.3))
    axes.grid(visible=False)
    axes.tick_params(left=False, bottom=False, labelbottom=False, labelsize=7)
    axes.spines[["left", "bottom"]].set_visible(False)
    axes.set_xlabel("platforms, best first for each application")


def profile_figure(each: Mapping[str, Mapping[Cell, float]], what: str, styles: Styles) -> Figure:
    """Plot the share of cases in which an application is within a factor of the best."""
    ratios = {name: factors(own.values()) for name, own in each.items() if own}
    finite = [f for own in ratios.values() for f in own if isfinite(f)]
    widest = min(max([*finite, 1.05]) * 1.02, _WIDEST_PROFILE)
    with chart(_HEIGHT + _PER_LEGEND_ROW * len(ratios) / 2) as (figure, axes):
        for application, own in ratios.items():
            steps = [factor for factor in own if factor <= widest]
            shares = [i / len(own) for i in range(len(steps) + 1)]
            axes.step(
                [1.0, *steps, widest], [*shares, shares[-1]], where="post",
                color=styles.colour(application), linestyle=styles.line(application),
                label=application,
            )  # fmt: skip
        axes.set_xscale("log")
        axes.set_xlim(1, widest)
        axes.set_ylim(-0.03, 1.03)
        _plain_numbers(axes)
        axes.set_xlabel(f"{what} / best {what}")
        axes.set_ylabel("share of cases")
    return figure


def front_figure(
    times: Mapping[tuple[str, str], float],
    cuts: Mapping[tuple[str, str], float],
    what: str,
    platforms: Sequence[str],
    styles: Styles,
) -> Figure:
    """Plot the cut of each application against its time, labelled with platform numbers.

    Parameters
    ----------
    times, cuts : mapping of application and platform to float
        Ratios to the best of all.
    what : str
        Name of the cuts: "cut", or "cost" for mappings.
    platforms : sequence of str
        Numbered from 1.
    styles : Styles
    """
    applications = list(dict.fromkeys(application for application, _ in times))
    with chart(_HEIGHT + _PER_LEGEND_ROW * len(applications) / 2) as (figure, axes):
        for application in applications:
            places = [where for where in times if where[0] == application and where in cuts]
            axes.scatter(
                [times[where] for where in places], [cuts[where] for where in places],
                color=styles.colour(application), marker=styles.mark(application),
                label=application,
            )  # fmt: skip
            for where in places:
                axes.annotate(
                    f"{platforms.index(where[1]) + 1}", (times[where], cuts[where]), (4, 3),
                    textcoords="offset points", size=7, color=MUTED,
                )  # fmt: skip
        axes.set_xscale("log")
        _plain_numbers(axes)
        axes.margins(0.12)
        axes.set_xlabel("time / shortest time")
        axes.set_ylabel(f"{what} / smallest {what}")
    return figure


def scaling_figure(
    points: Mapping[tuple[str, str], Mapping[str, float]],
    sizes: Mapping[str, int],
    platforms: Sequence[str],
    styles: Styles,
) -> Figure:
    """Plot the time of each application and platform against the size of the graph.

    Parameters
    ----------
    points : mapping of application and platform to mapping of graph to float
        Seconds, small graphs first.
    sizes : mapping of graph to int
        Numbers of vertices and edges.
    platforms : sequence of str
        Numbered from 1; the number is at the largest graph.
    styles : Styles
    """
    applications = list(dict.fromkeys(application for application, _ in points))
    with chart(_HEIGHT + _PER_LEGEND_ROW * len(applications) / 2) as (figure, axes):
        for (application, platform), seconds in points.items():
            first = next(where for where in points if where[0] == application)
            axes.plot(
                [sizes[graph] for graph in seconds], list(seconds.values()),
                color=styles.colour(application), marker=styles.mark(application), linewidth=1,
                label=application if (application, platform) == first else None,
            )  # fmt: skip
            last = list(seconds)[-1]
            axes.annotate(
                f"{platforms.index(platform) + 1}", (sizes[last], seconds[last]), (5, 0),
                textcoords="offset points", size=7, color=MUTED, va="center",
            )  # fmt: skip
        axes.set(xscale="log", yscale="log")
        _plain_numbers(axes)
        axes.set_xlabel("vertices and edges")
        axes.set_ylabel("seconds")
    return figure


def batch_figure(points: Mapping[str, Mapping[int, float]], styles: Styles) -> Figure:
    """Plot the cut of each application after each batch, over the smallest cut.

    Parameters
    ----------
    points : mapping of application to mapping of batch to float
    styles : Styles
    """
    from matplotlib.ticker import MaxNLocator

    with chart(_HEIGHT + _PER_LEGEND_ROW * len(points) / 2) as (figure, axes):
        for application, ratios in points.items():
            axes.plot(
                list(ratios), list(ratios.values()), color=styles.colour(application),
                linestyle=styles.line(application), linewidth=1, marker=styles.mark(application),
                markersize=4, markevery=max(1, len(ratios) // _MARKED), label=application,
            )  # fmt: skip
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.set_xlabel("batch")
        axes.set_ylabel("cut / smallest cut")
    return figure


def roofline_figure(launches: Sequence[Launches], roofline: Roofline) -> Figure:
    """Plot the bandwidth of each kernel against the bytes per launch, with the roofline.

    Points of kernels with a larger share of the time are larger.
    """
    timed = [own for own in launches if own.bytes and own.seconds]
    total = sum(own.seconds for own in timed)
    with chart(_HEIGHT, legend=False) as (figure, axes):
        sizes = [own.bytes / own.calls for own in timed]
        rates = [own.bytes / own.seconds / 1e9 for own in timed]
        shares = [own.seconds / total for own in timed]
        for area, least, most in zip(_AREAS, _SHARES, (*_SHARES[1:], inf), strict=True):
            shown = [place for place, share in enumerate(shares) if least <= share < most]
            axes.scatter(
                [sizes[place] for place in shown], [rates[place] for place in shown], s=area,
                color=SERIES[0], alpha=0.75, linewidths=0,
            )  # fmt: skip
        named: list[tuple[float, float]] = []
        for own, size, rate in zip(timed, sizes, rates, strict=True):
            if len(named) < _NAMED and all(_apart((size, rate), other) for other in named):
                named.append((size, rate))
                axes.annotate(
                    own.kernel, (size, rate), (-9, 0),
                    textcoords="offset points", size=7, ha="right", va="center",
                )  # fmt: skip
        knee = roofline.bandwidth * roofline.latency
        low, high = min([*sizes, knee]) / 2, max([*sizes, knee]) * 3
        edge = [low, knee, high]
        heights = [min(roofline.bandwidth, size / roofline.latency) / 1e9 for size in edge]
        axes.plot(edge, heights, color=INK, linewidth=1.2)
        axes.annotate(
            f"{roofline.bandwidth / 1e9:,.0f} GB/s", (high, heights[-1]), (0, 3),
            textcoords="offset points", ha="right", size=8,
        )  # fmt: skip
        axes.set(xscale="log", yscale="log", xlim=(low, high))
        axes.set_xlabel("bytes per launch")
        axes.set_ylabel("GB/s")
    return figure


def _apart(point: tuple[float, float], other: tuple[float, float]) -> bool:
    """Return whether the labels of two points on logarithmic axes do not overlap."""
    return max(point[1] / other[1], other[1] / point[1]) > _LINE


def _plain_numbers(axes: Axes) -> None:
    """Format the ticks of a logarithmic axis as plain, round numbers."""
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

    low, high = axes.get_xlim()
    if high / low < _NARROW:
        axes.xaxis.set_major_locator(MaxNLocator(6, steps=(1, 2, 5, 10)))
    else:
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if high / low < 200 else (1,)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_locator(NullLocator())
