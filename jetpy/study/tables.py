"""Tables of a study: time by stage, by class of graphs, speed-ups, scaling, and changing graphs.

Each function takes the results of one kind of problem, and the number of each platform on the page.
It returns None if there is nothing to show.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from math import log
from statistics import geometric_mean, linear_regression, median
from typing import Any

from jetpy.multilevel.execution import STAGES
from jetpy.pages.blocks import Table
from jetpy.study.cases import JETPY, SERIAL, Problem, application_of, device_of, platform_of
from jetpy.study.changes import FROM_SCRATCH, is_from_scratch
from jetpy.study.efficiency import Cell
from jetpy.study.files import (
    FINEST,
    MODIFICATION,
    PERFORMANCE,
    STAGE_COLUMNS,
    Row,
    is_copy,
    problem_in,
)
from jetpy.study.metrics import Values, bests
from jetpy.study.results import Results, problem_of

MIN_GRAPHS = 3
"""Minimum number of graphs of different sizes for a growth exponent."""
Where = tuple[str, str]
"""Application and platform."""


def stage_table(results: Results, numbers: Mapping[str, str]) -> Table | None:
    """Return the seconds of each stage of jetpy and their shares, sums over the problems."""
    columns = (*STAGE_COLUMNS, FINEST)
    values = {column: results.medians(column) for column in columns}
    rows = []
    for (name, platform), cells in _by_platform(results, values[STAGE_COLUMNS[0]]):
        seconds = [
            sum(values[column][name][cell] for cell in cells)
            if all(cell in values[column][name] for cell in cells)
            else None
            for column in columns
        ]
        total = sum(own or 0.0 for own in seconds[: len(STAGES)])
        texts = ["-" if own is None else f"{own:.4f}" for own in seconds]
        shares = [
            f"{100 * own / total:.1f}" if own is not None and total else "-" for own in seconds
        ]
        rows.append((name, numbers[platform], f"{len(cells)}", f"{total:.4f}", *texts, *shares))
    parts = (*STAGES, "finest level")
    headers = ("application", "platform", "problems", "total s", *(f"{part} s" for part in parts))
    return Table((*headers, *(f"{part} %" for part in parts)), rows) if rows else None


def class_table(results: Results, objective: str, numbers: Mapping[str, str]) -> Table | None:
    """Return geometric means of time and objective by class of graphs, as in `Efficiencies`."""
    times = _over(results.seconds, bests(results.seconds))
    smallest = bests(results.cuts, problem_of)
    cuts = _over(results.cuts, {cell: smallest.get(cell.problem, 0) for cell in results.cells})
    rows = []
    for cls in sorted(set(results.classes.values())):
        for (name, platform), cells in _by_platform(results, results.seconds):
            inside = [cell for cell in cells if results.classes.get(cell.problem.graph) == cls]
            if inside:
                means = (
                    _mean((values[name][cell] for cell in inside if cell in values[name]), digits)
                    for values, digits in ((results.seconds, 4), (times, 3), (cuts, 3))
                )
                rows.append((cls, name, numbers[platform], f"{len(inside)}", *means))
    headers = ("class", "application", "platform", "problems", "seconds")
    return (
        Table((*headers, "time / shortest", f"{objective} / smallest"), rows, 2) if rows else None
    )


def speedup_table(results: Results, numbers: Mapping[str, str]) -> Table | None:
    """Return speed-ups of jetpy, in total and on the finest level.

    A speed-up is the time of the fastest back end of jetpy with the same preset on one CPU thread
    of the same machine, divided by the time.
    """
    measured = {
        (row["application"], row["platform"]): row
        for row in results.runs
        if row["tool"] == JETPY and not is_copy(row)
    }
    finest = results.medians(FINEST)
    rows = []
    for (name, platform), _ in _by_platform(results, results.seconds):
        if row := measured.get((name, platform)):
            same = {app for (app, _), own in measured.items() if own["preset"] == row["preset"]}
            serial = platform_of(row["machine"], "", 1)
            whole, level = (
                list(_speedups(values, (name, platform), same, serial))
                for values in (results.seconds, finest)
            )
            if whole:
                texts = (_mean(whole, 2), f"{min(whole):.2f}", f"{max(whole):.2f}", _mean(level, 2))
                kind = _kind(row["backend"], platform == serial)
                rows.append((name, kind, numbers[platform], f"{len(whole)}", *texts))
    headers = ("application", "kind", "platform", "problems", "speed-up", "smallest", "largest")
    return Table((*headers, "finest level"), rows, 2) if rows else None


def scaling_points(results: Results) -> dict[Where, dict[str, float]]:
    """Return mean seconds by application and platform, then by graph, small graphs first.

    The means are geometric, over the solved problems of the graph.
    """
    times = {}
    for (name, platform), cells in _by_platform(results, results.seconds):
        of_graph: dict[str, list[float]] = {graph: [] for graph in results.sizes}
        for cell in cells:
            of_graph[cell.problem.graph].append(results.seconds[name][cell])
        points = {graph: geometric_mean(own) for graph, own in of_graph.items() if all(own) and own}
        if points:
            times[name, platform] = points
    return times


def scaling_table(results: Results, numbers: Mapping[str, str]) -> Table | None:
    """Return the time of each graph, application and platform per vertex and per edge."""
    points = scaling_points(results)
    rows = [
        (
            *(graph, name, numbers[platform], f"{n:,}", f"{m:,}", f"{own[graph]:.4f}"),
            *(f"{1e9 * own[graph] / count:,.1f}" if count else "-" for count in (n, m)),
        )
        for graph, (n, m) in results.sizes.items()
        for (name, platform), own in points.items()
        if graph in own
    ]
    headers = ("graph", "application", "platform", "vertices", "edges", "seconds")
    return Table((*headers, "ns per vertex", "ns per edge"), rows, 2) if rows else None


def growth_table(results: Results, numbers: Mapping[str, str]) -> Table | None:
    """Return the exponents of the growth of time with the number of vertices and edges.

    The exponent is the slope of a least-squares fit of the logarithms.
    """
    rows = []
    for (name, platform), seconds in scaling_points(results).items():
        sizes = [log(sum(results.sizes[graph])) for graph in seconds]
        if len(set(sizes)) >= MIN_GRAPHS:
            slope = linear_regression(sizes, list(map(log, seconds.values()))).slope
            rows.append((name, numbers[platform], f"{len(sizes)}", f"{slope:.2f}"))
    return Table(("application", "platform", "graphs", "exponent"), rows) if rows else None


def batch_table(results: Results, numbers: Mapping[str, str]) -> Table | None:
    """Return the time of a batch and of its two parts, and how often jetpy did what."""
    modifying, partitioning = _parts_of_batches(results)
    done = Counter((*_where(row), row["action"]) for row in results.batches)
    rows = []
    for (name, platform), cells in _by_platform(results, modifying):
        times = (
            _mean((1000 * values[name][cell] for cell in cells), 2)
            for values in (results.seconds, modifying, partitioning)
        )
        scratch = done[name, platform, FROM_SCRATCH]
        actions = (
            "-" if scratch else f"{done[name, platform, action]}"
            for action in ("placed", "refined", "repartitioned")
        )
        rows.append((name, numbers[platform], f"{len(cells)}", *times, *actions))
    headers = ("application", "platform", "problems", "ms", "modification ms", "partitioning ms")
    return Table((*headers, "placed", "refined", "repartitioned"), rows) if rows else None


def gain_table(results: Results, numbers: Mapping[str, str]) -> Table | None:
    """Return speed-ups and cuts of incremental partitions over those from scratch.

    A speed-up is the time of the partition from scratch on the same platform over that of the
    incremental one.
    """
    modifying, partitioning = _parts_of_batches(results)
    ours = {
        row["application"]
        for row in results.runs
        if row["tool"] == JETPY and not is_from_scratch(row["preset"])
    }
    rows = []
    for (name, platform), cells in _by_platform(results, modifying):
        for other in results.applications if name in ours else ():
            both = [cell for cell in cells if other not in ours and cell in modifying[other]]
            if both:
                whole, modification, rest = (
                    [
                        values[other][cell] / values[name][cell]
                        for cell in both
                        if values[name][cell]
                    ]
                    for values in (results.seconds, modifying, partitioning)
                )
                cuts = [
                    results.cuts[name][cell] / results.cuts[other][cell]
                    for cell in both
                    if results.cuts[other][cell]
                ]
                texts = (_mean(whole, 2), f"{min(whole):.2f}", f"{max(whole):.2f}")
                parts = (_mean(modification, 2), _mean(rest, 2))
                worst = f"{max(cuts):.3f}" if cuts else "-"
                where = (name, other, numbers[platform], f"{len(both)}")
                rows.append((*where, *texts, *parts, _mean(cuts, 3), worst))
    headers = (
        *("application", "compared with", "platform", "problems"),
        *("speed-up", "smallest", "largest", "of modification", "of partitioning"),
        *("cut ratio", "largest"),
    )
    return Table(headers, rows, 2) if rows else None


def cuts_by_batch(results: Results) -> dict[str, dict[int, float]]:
    """Return mean ratios to the smallest cut after each batch, by application.

    The cut of an application and problem is the median over platforms, and over the seeds that
    count. The means are geometric, over the problems that the application solved; cuts of 0 as the
    smallest are left out.
    """
    solved = {
        PERFORMANCE.key_of(row)
        for row in results.runs
        if row["feasible"] == "yes" and results.seeds[problem_in(row)][int(row["seed"])]
    }
    cuts: dict[str, dict[tuple[Problem, int], list[int]]] = {}
    for row in results.batches:
        if PERFORMANCE.key_of(row) in solved:
            own = cuts.setdefault(_where(row)[0], {})
            own.setdefault((problem_in(row), int(row["batch"])), []).append(int(row["cut"]))
    medians = {
        name: {when: median(values) for when, values in own.items()} for name, own in cuts.items()
    }
    means: dict[str, dict[int, float]] = {}
    for name in filter(medians.__contains__, results.applications):
        ratios: dict[int, list[float]] = {}
        for (_, batch), ratio in _over(medians, bests(medians))[name].items():
            ratios.setdefault(batch, []).append(ratio)
        means[name] = {batch: geometric_mean(own) for batch, own in sorted(ratios.items())}
    return {name: own for name, own in means.items() if own}


def _parts_of_batches(results: Results) -> tuple[Values, Values]:
    """Return the seconds of modification and of partitioning of a batch."""
    modifying = results.medians(MODIFICATION)
    rest = {
        name: {cell: results.seconds[name][cell] - seconds for cell, seconds in own.items()}
        for name, own in modifying.items()
    }
    return modifying, rest


def _where(row: Row) -> Where:
    """Return application and platform of a batch."""
    return (
        application_of(row["tool"], row["preset"], row["backend"]),
        platform_of(row["machine"], row["backend"], int(row["threads"])),
    )


def _by_platform(results: Results, values: Values) -> Iterator[tuple[Where, list[Cell]]]:
    """Yield applications and platforms, each with its cells that have a value."""
    for name, platform in product(results.applications, results.platforms):
        cells = [
            cell for cell in results.cells if cell.platform == platform and cell in values[name]
        ]
        if cells:
            yield (name, platform), cells


def _over(values: Values, best: Mapping[Any, float]) -> dict[str, dict[Any, float]]:
    """Return value / best, where the best value is not 0."""
    return {
        name: {cell: value / best[cell] for cell, value in own.items() if best[cell]}
        for name, own in values.items()
    }


def _speedups(values: Values, where: Where, names: Iterable[str], serial: str) -> Iterator[float]:
    """Yield the best time of `names` on the platform `serial` over the time, for each problem."""
    name, platform = where
    for cell, seconds in values[name].items():
        base = Cell(cell.problem, serial)
        times = [values[other][base] for other in names if base in values[other]]
        if cell.platform == platform and times and seconds:
            yield min(times) / seconds


def _kind(backend: str, serial: bool) -> str:
    if device_of(backend, 1) == "gpu":
        return "GPU"
    return "serial" if serial or backend in SERIAL else "multicore"


def _mean(values: Iterable[float], digits: int) -> str:
    """Format the geometric mean of the values above 0; without any, return a dash."""
    known = [value for value in values if value]
    return f"{geometric_mean(known):.{digits}f}" if known else "-"
