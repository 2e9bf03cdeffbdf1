"""The steps of `jetpy order`: options, reading, ordering, files, summary."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from jetpy import choices
from jetpy.cli.changes import changes_told
from jetpy.cli.command import notify, options_given
from jetpy.cli.output import (
    STDOUT,
    check_name,
    check_outputs,
    standard_output_kept,
    write_json,
)
from jetpy.cli.results import read_timed, read_together

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from jetpy.graph.csr import Graph
    from jetpy.progress import Bars
    from jetpy.result.ordering import Ordering
    from jetpy.result.symbolic import Symbolic

DRAWINGS = (".png", ".svg", ".pdf")
"""Suffixes of drawings."""
OF_DISSECTION = {"--tries": "tries", "--leaf-size": "leaf_size"}
"""Options of nested dissection only, and their parameters."""
OF_TREES = {
    "--preset": "preset",
    "--profile": "trace_file",
    "--session": "session",
    "--start": "start",
}
"""Options that minimum degree does not have."""
COMPARED = ("fill", "operations", "height")
"""Fields of the JSON that the comparison with METIS has."""
OF_UPDATES = (
    *("matrix", "updated", "symmetrize", "output", "base", "metis", "plot", "json_file"),
    *("trace_file", "quiet", "session", "backend", "threads", "device"),
)
"""Parameters that --update may be combined with."""


class Ordered(NamedTuple):
    """A matrix, its order, the options of the run, the wall seconds for reading, and METIS's order.

    METIS's order has the structure of its factor and its seconds; None without `--metis`.
    """

    graph: Graph
    ordering: Ordering
    asked: dict[str, Any]
    read_seconds: float
    other: tuple[Symbolic, float] | None


def check_files(options: Mapping[str, Any]) -> None:
    """Check that the output files can be written, before the work starts.

    Raises
    ------
    JetpyError, UsageError
        If one of them cannot.
    """
    from jetpy.io.permutations import check_permutation_name

    output, plot = options["output"], options["plot"]
    if output is not None:
        check_name(output, check_permutation_name)
    if plot is not None:
        _check_drawing(plot)
    inputs = [options[name] for name in ("matrix", "last", "together", "start")]
    session, updated = options["session"], options["updated"]
    inputs.append(None if updated == session else updated)
    outputs = [output, plot, options["trace_file"], session]
    check_outputs(outputs, options["json_file"], inputs=inputs)


def _check_update(ctx: click.Context) -> None:
    """Refuse options with --update that the session has."""
    if ctx.params["updated"] is None:
        return
    for name, option in options_given(ctx).items():
        if name not in OF_UPDATES:
            raise click.UsageError(
                f"{option} cannot be combined with --update: the session has the options"
            )


def checked_method(ctx: click.Context) -> choices.OrderingMethod:
    """Return the method of a run.

    Raises
    ------
    UsageError
        If options cannot be combined.
    """
    _check_update(ctx)
    options = ctx.params
    if options["keep_last_order"] and options["last"] is None:
        raise click.UsageError("--keep-last-order needs --last")
    wrong = _given(options, OF_DISSECTION)
    method: choices.OrderingMethod = options["method"] or (
        "nested-dissection" if wrong else "order"
    )
    if method == "minimum-degree":
        wrong += _given(options, OF_TREES)
    if wrong and method != "nested-dissection":
        raise click.UsageError(f"{wrong[0]} cannot be combined with --method {method}")
    return method


def _given(options: Mapping[str, Any], names: Mapping[str, str]) -> list[str]:
    """Return the options, of those with some names, that were given."""
    return [option for option, name in names.items() if options[name] is not None]


def options_of_run(method: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that a report has.

    Raises
    ------
    OptionError
        If a number is out of range.
    """
    from jetpy.graph.checks import whole_number
    from jetpy.ordering.effort import chosen_effort

    preset, seed = options["preset"] or "default", whole_number("seed", options["seed"])
    effort = chosen_effort(preset, options["tries"], options["leaf_size"])
    if method == "minimum-degree":
        return {"method": method}
    asked = {"method": method, "preset": preset, "seed": seed}
    if method == "nested-dissection":
        asked |= {"tries": effort.tries, "leaf_size": effort.leaf_weight}
    return asked


def read_orders(options: Mapping[str, Any], n: int) -> dict[str, Any]:
    """Return the constraints of the order of n rows, and the order to start from, if any."""
    from jetpy.io.permutations import read_permutation, read_rows

    last, start, base = options["last"], options["start"], options["base"]
    return {
        "last": None if last is None else read_rows(last, n, base=base),
        "keep_last_order": options["keep_last_order"],
        "together": read_together(options["together"], n),
        "start": None if start is None else read_permutation(start, n, base=base),
    }


def ordered(ctx: click.Context, threads: int | None) -> Ordered:
    """Read the matrix, order it, and write the files, as the options say.

    `threads` is the number of threads, whatever the option says.

    Raises
    ------
    JetpyError, UsageError
        If an option, a number or a file is wrong.
    """
    from jetpy.device.backends import check_backend
    from jetpy.progress import progress_bars

    options = ctx.params
    check_files(options)
    method = checked_method(ctx)
    # refuse wrong numbers before reading
    asked, symmetrize = options_of_run(method, options), options["symmetrize"]
    engine = {"backend": options["backend"], "threads": threads, "device": options["device"]}
    check_backend(options["backend"], threads, options["device"])
    with changes_told(quiet=options["quiet"]), progress_bars(quiet=options["quiet"]) as bars:
        pattern = True if symmetrize else "symmetric"
        graph, read_seconds = read_timed(options["matrix"], bars, pattern=pattern)
        given = read_orders(options, graph.n)
        bars.busy("Preparing")
        watched = {"progress": bars.stage, "profile": options["trace_file"] is not None}
        with standard_output_kept():
            result = _found(graph, method, asked, options, given, {**engine, **watched})
        other = finish(graph, result, options, bars)
    if options["updated"] is not None:
        asked = {"method": result.method.replace("_", "-")}  # the session has the other options
    return Ordered(graph, result, asked, read_seconds, other)


def _found(
    graph: Graph,
    method: choices.OrderingMethod,
    asked: Mapping[str, Any],
    options: Mapping[str, Any],
    given: dict[str, Any],
    execution: Mapping[str, Any],
) -> Ordering:
    """Order a matrix; `given` are its constraints and the order to start from."""
    from jetpy.api.ordering import minimum_degree, nested_dissection, order
    from jetpy.api.ordering_session import read_ordering

    if options["updated"] is not None:
        return read_ordering(options["updated"]).updated(graph, **execution)
    if method == "minimum-degree":
        del given["start"]  # is refused
        return minimum_degree(graph, **given)
    given |= {"preset": asked["preset"], "seed": options["seed"], **execution}
    if method == "order":
        return order(graph, **given)
    return nested_dissection(graph, tries=options["tries"], leaf_size=options["leaf_size"], **given)


def finish(
    graph: Graph, result: Ordering, options: Mapping[str, Any], bars: Bars
) -> tuple[Symbolic, float] | None:
    """Compare an ordering with METIS, and write its files, as the options say.

    Return the structure of the factor in METIS's order, and the seconds of METIS, if compared.
    """
    other = None
    output, session, plot, trace_file = (
        options[name] for name in ("output", "session", "plot", "trace_file")
    )
    if options["metis"]:
        bars.busy("Comparing with METIS")
        with standard_output_kept():
            other = _by_metis(graph, options["seed"])
    bars.busy("Writing")
    figure = None if plot is None else result.plot(graph)
    if output is not None:
        result.save(output, base=options["base"])
    if session is not None:
        result.save_session(session)
    if figure is not None:
        _write_drawing(plot, figure)
    if trace_file is not None and result.profile is not None:
        result.profile.write(trace_file)
    return other


def _by_metis(graph: Graph, seed: int) -> tuple[Symbolic, float] | None:
    """Return the structure of the factor in METIS's order, and the seconds of METIS."""
    from jetpy.api.ordering import symbolic
    from jetpy.evaluation.metis_baseline import metis_order, unsupported_order_reason

    reason = unsupported_order_reason(graph)
    if reason:
        notify("warning", f"no comparison: {reason}")
        return None
    perm, seconds = metis_order(graph, seed)
    return symbolic(graph, perm), seconds


def _write_drawing(path: Path, figure: Figure) -> None:
    from jetpy.io.atomic import atomic_write
    from jetpy.pages.style import styled

    with styled(), atomic_write(path) as stream:
        figure.savefig(stream, format=path.suffix.removeprefix("."))


def _check_drawing(path: Path) -> None:
    from jetpy.pages.page import check_installed

    check_installed()
    if path != STDOUT and path.suffix not in DRAWINGS:
        raise click.UsageError(f"{path}: a drawing must be .png, .svg or .pdf")


def conclude(found: Ordered, json_file: Path | None, quiet: bool) -> None:
    """Write the report, and print the summary."""
    from jetpy.cli.json_summary import ordering_stats, structure_report

    graph, result, asked, read_seconds, other = found
    report = ordering_stats(graph, result, asked, read_seconds)
    if other is not None:
        structure, seconds = other
        report["metis"] = {**structure_report(structure), "seconds": seconds}
    if json_file is not None:
        write_json(json_file, report)
    if quiet or json_file == STDOUT:
        return

    from jetpy.cli.tables import columns, facts, kernels, stdout_console, steps
    from jetpy.result.ordering import ordering_rows

    console = stdout_console()
    options = (f"{name.replace('_', ' ')} {value}" for name, value in asked.items())
    run = ", ".join(options)
    console.print(
        facts(
            [
                *ordering_rows(graph, result, run),
                ("seconds", f"{result.seconds:.2f}"),
                ("setup", f"read {read_seconds:.2f}"),
            ]
        )
    )
    if other is not None:
        rows = (
            (
                name,
                f"{figures['fill']:,}",
                f"{figures['operations']:.4g}",
                f"{figures['height']:,}",
                f"{seconds:.2f}",
            )
            for name, figures, seconds in (
                ("jetpy", report, result.seconds),
                ("METIS", report["metis"], other[1]),
            )
        )
        console.print(columns(("", *COMPARED, "seconds"), rows, left=1))
    if result.profile is not None:
        console.print(steps(result.profile), kernels(result.profile))
