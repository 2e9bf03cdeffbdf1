"""The page of a study."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from statistics import median

from jetpy.errors import count
from jetpy.pages.blocks import Drawn, Table, drawn
from jetpy.pages.page import render
from jetpy.study.cases import JETPY
from jetpy.study.efficiency import Cell, Efficiencies
from jetpy.study.figures import (
    Styles,
    batch_figure,
    cascade_figure,
    front_figure,
    profile_figure,
    roofline_figure,
    scaling_figure,
)
from jetpy.study.files import MODIFICATION, is_copy
from jetpy.study.launches import Engine, Launches
from jetpy.study.machine import Machine
from jetpy.study.results import Kind, Results, over_best, range_of
from jetpy.study.tables import (
    batch_table,
    class_table,
    cuts_by_batch,
    gain_table,
    growth_table,
    scaling_points,
    scaling_table,
    speedup_table,
    stage_table,
)

MAX_RUNS = 600
MAX_KERNELS = 12
MAX_EFFICIENCIES = 600


def study_page(results: Results, command: str) -> str:
    """Return the page about a study as self-contained HTML.

    Parameters
    ----------
    results : Results
    command : str
        Command line that makes the page.

    Raises
    ------
    JetpyError
        If the packages for pages are not installed.
    """
    styles = Styles(results.applications)
    return render(
        "study.html",
        title=f"{count(len(results.problems), 'problem')} on "
        f"{count(len(results.platforms), 'platform')}",
        verdict=(not results.unequal, f"{results.verdict[0].upper()}{results.verdict[1:]}."),
        facts=_facts(results),
        platforms=Table(
            ("", "platform"), [(f"{i + 1}", p) for i, p in enumerate(results.platforms)], 2
        ),
        comparisons=[
            _comparison(own, kind, results, styles) for kind, own in results.kinds.items()
        ],
        repeats=_repeats(results),
        copied=", ".join(_copied(results)) or "none here",
        left_out=results.left_out,
        roofs=[_roofline(results, engine, own) for engine, own in results.launches.items()],
        runs=_runs(results),
        machines=[(name, _machine(machine)) for name, machine in results.machines.items()],
        command=command,
    )


def _facts(results: Results) -> list[tuple[str, str]]:
    machines = dict.fromkeys(kind.mapping for kind in results.kinds if kind.mapping)
    changes = dict.fromkeys(kind.changes for kind in results.kinds if kind.changes)
    return [
        ("graphs", ", ".join(dict.fromkeys(problem.graph for problem in results.problems))),
        ("parts", ", ".join(f"{k}" for k in sorted({p.k for p in results.problems}))),
        ("seeds", ", ".join(f"{seed}" for seed in _seeds(results))),
        ("imbalance", ", ".join(dict.fromkeys(kind.imbalance for kind in results.kinds))),
        *([("mapped onto", ", ".join(machines))] if machines else ()),
        *([("changes", ", ".join(changes))] if changes else ()),
        ("applications", ", ".join(_with_presets(results))),
        ("runs", f"{len(results.runs):,}"),
        ("runs without feasible parts", f"{len(results.failures):,}"),
        ("partitions found more than once", f"{_several(results):,}"),
        ("partitions with different parts", f"{len(results.unequal):,}"),
    ]


def _comparison(own: Results, kind: Kind, results: Results, styles: Styles) -> dict[str, object]:
    """Return the tables and figures of one kind; platforms are numbered as in all results."""
    at = f" at {kind.words}" * (len(results.kinds) > 1)
    by = kind.objective
    numbers = dict(zip(results.platforms, _numbers(results), strict=True))
    return {
        "at": at,
        "by": by,
        "time": _portability(f"time{at}", own.by_time, results, styles),
        "cut": _portability(f"{by}{at}", own.by_cut, results, styles),
        "bandwidth": _portability(f"bandwidth{at}", own.by_bandwidth, results, styles),
        "profiles": [
            drawn(profile_figure(found.each, what, styles), f"Performance profile: {what}{at}")
            for what, found in (("time", own.by_time), (by, own.by_cut))
            if found.cells
        ],
        "solved": bool(own.solved),
        "front": _front(own, by, results.platforms, at, styles),
        "changes": _changes(own, numbers, at, styles),
        "stages": stage_table(own, numbers),
        "classes": class_table(own, by, numbers),
        "speedups": speedup_table(own, numbers),
        "growth": growth_table(own, numbers),
        "sizes": scaling_table(own, numbers),
        "scaling": _scaling(own, results.platforms, at, styles),
    }


def _seeds(results: Results) -> list[int]:
    return sorted(set(chain.from_iterable(results.seeds.values())))


def _with_presets(results: Results) -> list[str]:
    """Return applications, with the preset in parentheses unless it is part of the name."""
    presets = {row["application"]: row["preset"] for row in results.runs if row["tool"] != JETPY}
    return [
        f"{name} ({presets[name]})" if presets.get(name) else name for name in results.applications
    ]


def _repeats(results: Results) -> str:
    """Return a sentence on the number of repetitions, and the variation of their times."""
    if not results.spread:
        return (
            "Each run was made once, so this page does not show how much times vary; see --repeats."
        )
    most, row = results.spread[-1]
    middle = median(ratio for ratio, _ in results.spread)
    where = f"{row['problem']} seed={row['seed']}, {row['application']}, {row['platform']}"
    return (
        f"Each run was made {range_of(results.repeats)} times, and its time is the median. The "
        f"ratio of the longest to the shortest time has median {middle:.2f} and maximum "
        f"{most:.2f} ({where})."
    )


def _copied(results: Results) -> list[str]:
    """Return applications that have copies of runs that more threads would only repeat."""
    return list(dict.fromkeys(row["application"] for row in results.runs if is_copy(row)))


def _several(results: Results) -> int:
    return sum(len(rows) > 1 for rows in results.compared.values())


def _portability(
    by: str, found: Efficiencies, results: Results, styles: Styles
) -> dict[str, object] | None:
    """Return the metric over all platforms, its cascade, and all efficiencies."""
    if not found.cells or not found.each:
        return None
    rows = [
        (
            name,
            _number(found.metric[name]),
            _number(found.where_it_runs[name]),
            *(_number(own.get(platform)) for platform in results.platforms),
        )
        for name, own in found.by_platform.items()
    ]
    return {
        "table": Table(("application", "all", "where it runs", *_numbers(results)), rows),
        "cascade": drawn(
            cascade_figure(found.by_platform, results.platforms, styles), f"Cascade plot by {by}"
        ),
        "each": _each(found, results),
    }


def _numbers(results: Results) -> list[str]:
    """Return the numbers of platforms for table headers."""
    return [f"{place + 1}" for place in range(len(results.platforms))]


def _each(found: Efficiencies, results: Results) -> Table:
    rows = []
    for problem in dict.fromkeys(cell.problem for cell in found.cells):
        on = [Cell(problem, platform) for platform in results.platforms]
        for name, own in found.each.items():
            values = (_number(own.get(cell)) for cell in on)
            rows.append((f"{problem}", name, _number(found.of_problem(name, problem)), *values))
    note = f"The table lists the first {MAX_EFFICIENCIES} rows." * (len(rows) > MAX_EFFICIENCIES)
    headers = ("problem", "application", "all", *_numbers(results))
    return Table(headers, rows[:MAX_EFFICIENCIES], 2, note=note)


def _front(
    own: Results, by: str, platforms: Sequence[str], at: str, styles: Styles
) -> Drawn | None:
    times, cuts = (over_best(values) for values in (own.seconds, own.cuts))
    if not times.keys() & cuts.keys():
        return None
    figure = front_figure(times, cuts, by, platforms, styles)
    return drawn(figure, f"{by.capitalize()} against time{at}")


def _scaling(own: Results, platforms: Sequence[str], at: str, styles: Styles) -> Drawn | None:
    points = scaling_points(own)
    if len(own.sizes) < 2 or not points:
        return None
    sizes = {graph: sum(size) for graph, size in own.sizes.items()}
    return drawn(scaling_figure(points, sizes, platforms, styles), f"Time against size{at}")


def _changes(
    own: Results, numbers: Mapping[str, str], at: str, styles: Styles
) -> dict[str, object] | None:
    """Return the tables and the figure of a changing graph, if own is of this kind."""
    batches = batch_table(own, numbers)
    if batches is None:
        return None
    points = cuts_by_batch(own)
    figure = batch_figure(points, styles) if points else None
    return {
        "batches": batches,
        "gains": gain_table(own, numbers),
        "cuts": figure and drawn(figure, f"Cut after each batch{at}"),
    }


def _roofline(results: Results, engine: Engine, launches: Sequence[Launches]) -> dict[str, object]:
    roofline = results.roofline(engine)
    total = sum(own.seconds for own in launches)
    rows = [
        (
            own.kernel,
            f"{own.calls:,}",
            f"{own.seconds:.4f}",
            f"{100 * own.seconds / total:.1f}",
            f"{own.bytes / own.calls:,.0f}",
            _number(own.bytes / own.seconds / roofline.bandwidth),
        )
        for own in launches[:MAX_KERNELS]
        if own.seconds
    ]
    caption = (
        f"{engine}: Triad moves {roofline.bandwidth / 1e9:,.1f} GB/s, and a launch takes at least "
        f"{roofline.latency * 1e6:,.1f} µs."
    )
    headers = (
        "kernel",
        "launches",
        "seconds",
        "% of total",
        "bytes per launch",
        "share of bandwidth",
    )
    return {
        "name": f"{engine}",
        "figure": drawn(roofline_figure(launches, roofline), f"Kernels of {engine}", caption),
        "table": Table(headers, rows),
    }


def _runs(results: Results) -> Table:
    failed = {id(row) for row in results.failures}
    shown = results.runs[:MAX_RUNS]
    headers = (
        *("problem", "application", "platform", "seed", "cut", "cost", "imbalance"),
        *("seconds", "shortest", "longest", "modification"),
        *("coarsen", "initial", "refine", "launches"),
        "status",
    )
    numbers = dict(zip(results.platforms, _numbers(results), strict=True))
    rows = [
        (
            *(row["problem"], row["application"], numbers[row["platform"]]),
            *(row["seed"], row["cut"], row["cost"], row["imbalance"]),
            *(row["seconds"], row["seconds_min"], row["seconds_max"], row[MODIFICATION]),
            *(row["coarsen_seconds"], row["initial_seconds"], row["refine_seconds"]),
            *(row["launches"], _status(row)),
        )
        for row in shown
    ]
    marked = [place for place, row in enumerate(shown) if id(row) in failed]
    note = f"The table lists the first {MAX_RUNS} of {len(results.runs):,} runs." * (
        len(results.runs) > MAX_RUNS
    )
    return Table(headers, rows, 2, marked, note)


def _status(row: Mapping[str, str]) -> str:
    return "not balanced" if row["status"] == "done" and row["feasible"] == "no" else row["status"]


def _machine(machine: Machine) -> Iterable[tuple[str, str]]:
    facts = machine.facts
    packages = ", ".join(f"{name} {own}" for name, own in facts["packages"].items() if own)
    programs = [("programs", ", ".join(" ".join(own) for own in machine.programs.items()))]
    return [
        ("processor", f"{machine.processor}, {count(facts['threads'], 'thread')} available"),
        ("GPU", "; ".join(machine.gpus) or "none"),
        ("system", facts["system"]),
        ("versions", packages),
        *programs * bool(machine.programs),
    ]


def _number(efficiency: float | None) -> str:
    return "-" if efficiency is None else f"{efficiency:.3f}"
