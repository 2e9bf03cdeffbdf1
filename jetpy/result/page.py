"""The page of `jetpy report` about one partition."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jetpy.errors import count
from jetpy.evaluation.evaluate import Evaluation, evaluate
from jetpy.evaluation.levels import LEVEL_HEADERS, level_rows
from jetpy.pages import between
from jetpy.pages.blocks import Drawn, Table, drawn
from jetpy.pages.cells import cell_size
from jetpy.pages.drawing import draw
from jetpy.pages.figures import WIDTH, new_figure
from jetpy.pages.page import render
from jetpy.pages.style import styled
from jetpy.problem.checked import value_text
from jetpy.problem.presets import default, differences
from jetpy.profiling.profile import KERNEL_HEADERS, STEP_HEADERS, kernel_rows, step_row
from jetpy.result import charts
from jetpy.result.partition import Partition
from jetpy.result.subject import (
    Subject,
    comparison_table,
    facts,
    parts_table,
    verdict,
    versions,
)

if TYPE_CHECKING:
    from jetpy.graph.csr import Graph

QUOTIENT = (
    "The quotient graph: each circle is a part, and its area shows the part weight. Each line "
    "joins two parts with edges between them, and its width shows the weight of these edges. The "
    "graph has no coordinates; pass --coordinates to draw the partition itself."
)
UNDRAWN = (
    "The graph has no coordinates, and the quotient graph has too many parts or edges to draw. "
    "Pass --coordinates to draw the partition itself."
)


def partition_page(subject: Subject) -> str:
    """Return the page about a partition as self-contained HTML.

    Raises
    ------
    JetpyError
        If the packages for pages are not installed.
    """
    graph, k = subject.graph, subject.k
    found = evaluate(graph, subject.parts, k)
    return render(
        "report.html",
        title=_title(graph, k),
        verdict=verdict(subject, found),
        facts=facts(subject, found),
        drawn=_drawing(subject, found),
        undrawn=UNDRAWN,
        weights=_weights(subject, found),
        volumes=_volumes(found),
        matrix=_matrix(found),
        parts=parts_table(subject, found),
        beside=comparison_table(subject, found),
        no_metis=subject.no_metis,
        levels=_levels(subject.run),
        time=_time(subject),
        command=subject.command,
        options=_options(subject.run),
        versions=versions(subject),
    )


def _title(graph: Graph, k: int) -> str:
    return f"{graph.name}: {count(k, 'part')}"


def _drawing(subject: Subject, found: Evaluation) -> Drawn | None:
    graph = subject.graph
    if graph.n and graph.coordinates is not None:
        figure, caption = draw(graph, subject.parts, subject.k, graph.coordinates)
        return drawn(figure, _title(graph, subject.k), caption)
    if not graph.n or not between.is_drawable(found.cut_matrix):
        return None
    places = between.layout(found.cut_matrix)
    width, height = np.ptp(places, axis=0) + 1
    figure = new_figure(WIDTH * min(1.0, height / width))
    with styled():
        between.draw_quotient(figure, places, found.cut_matrix, found.part_weights)
    return drawn(figure, "The quotient graph", QUOTIENT)


def _weights(subject: Subject, found: Evaluation) -> Drawn:
    chart = charts.weights_chart(found.part_weights, subject.ideal, subject.limit)
    caption = f"The average part weight is {subject.ideal:,} (rounded up)."
    return drawn(chart, "Weight of each part", caption)


def _volumes(found: Evaluation) -> Drawn:
    caption = "Each line is sorted independently." if found.k > charts.MAX_BARS else ""
    return drawn(charts.volumes_chart(found), "Boundary and volume of each part", caption)


def _matrix(found: Evaluation) -> Drawn | None:
    if found.k < 3 or not found.cut:
        return None
    figure = new_figure(0.9 * WIDTH)
    with styled():
        between.draw_cut_matrix(figure, found.cut_matrix)
    several = cell_size(found.k)
    sharing = f"; each row and column stands for {several} parts" if several > 1 else ""
    return drawn(figure, "Cut matrix", f"Weight of the edges between each pair of parts{sharing}.")


def _options(run: Partition | None) -> Table | None:
    if run is None:
        return None
    changed = differences(run.options, default())
    rows = [(name, value_text(value)) for name, value in run.options.values().items()]
    marked = [number for number, (name, _) in enumerate(rows) if name in changed]
    return Table(("option", "value"), rows, 1, marked)


def _levels(run: Partition | None) -> tuple[Drawn, Table] | None:
    if run is None or not run.levels:
        return None
    chart = drawn(charts.levels_chart(run.levels), "Cut on each level")
    return chart, Table(LEVEL_HEADERS, level_rows(reversed(run.levels)), 0)


def _time(subject: Subject) -> dict[str, Any] | None:
    """Return the data on a run's time, or None without a profiled run with kernels."""
    run, profiled = subject.run, subject.profiled
    if run is None or profiled is None or profiled.profile is None or not profiled.profile.kernels:
        return None
    profile = profiled.profile
    parts: Sequence[Any] = (run.parts, profiled.parts)
    return {
        "read": subject.read_seconds,
        "run": run.seconds,
        "profiled": profiled.seconds,
        "same_parts": np.array_equal(*parts),
        "stages_drawn": drawn(charts.stages_chart(profile.steps), "Seconds of each stage"),
        "kernels_drawn": drawn(charts.kernels_chart(profile.kernels), "Seconds of kernels"),
        "steps": Table(STEP_HEADERS, [step_row(step) for step in profile.steps]),
        "kernels": Table(KERNEL_HEADERS, kernel_rows(profile), 2),
    }
