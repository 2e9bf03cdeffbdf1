"""``jetpy order``: order a sparse symmetric matrix."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click

from jetpy import choices
from jetpy.cli.changes import changes_told
from jetpy.cli.command import Command, example, notify, options_given
from jetpy.cli.launched import are_several
from jetpy.cli.options import (
    INPUT_FILE,
    OUTPUT_FILE,
    base_option,
    engine_options,
    json_option,
    matrix_argument,
    profile_option,
    quiet_option,
    seed_option,
    symmetrize_option,
)
from jetpy.cli.order_processes import order_together
from jetpy.cli.orderings import (
    check_files,
    checked_method,
    conclude,
    options_of_run,
    read_orders,
)
from jetpy.cli.output import standard_output_kept
from jetpy.cli.results import read_timed
from jetpy.progress import progress_bars

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from jetpy.graph.csr import Graph
    from jetpy.result.symbolic import Symbolic

OF_SESSION = ("output", "base", "metis", "plot", "json_file", "trace_file", "quiet", "session")
"""Parameters, besides those of the engine, that do not change an updated ordering."""
ENGINE = ("backend", "threads", "device")


@click.command(
    "order",
    cls=Command,
    by_several=True,
    epilog=example(
        "jetpy order matrix.mtx -o perm.txt",
        "jetpy order matrix.mtx --preset best --metis",
        "jetpy order matrix.mtx --method minimum-degree",
        "jetpy order matrix.mtx --start perm.txt -o better.txt",
        "jetpy order matrix.mtx --session order.npz",
        "jetpy order changed.mtx --update order.npz -o perm.txt",
    ),
)
@matrix_argument
@click.option(
    "-o",
    "--output",
    type=OUTPUT_FILE,
    metavar="PERM",
    help="Write the rows in the order of elimination. The file is text with one row on each line, "
    "unless the suffix is .npy.",
)
@base_option
@click.option(
    "--method",
    type=click.Choice(get_args(choices.OrderingMethod)),
    help="Function of jetpy that orders the matrix. The default is order, which chooses by "
    "component between nested dissection, minimum degree and the given order; with --tries or "
    "--leaf-size, it is nested-dissection.",
)
@click.option(
    "--preset",
    type=click.Choice(get_args(choices.OrderingPreset)),
    default=None,
    show_default="default",
    help="Trade-off between running time and fill of nested dissection.",
)
@click.option(
    "--tries",
    type=int,
    metavar="N",
    help="Compute N separators for each one of the tree, and keep the best; the default is that of "
    "the preset.",
)
@click.option(
    "--leaf-size",
    type=int,
    metavar="ROWS",
    help="Do not divide components of at most this number of rows; the default is that of the "
    "preset.",
)
@click.option(
    "--last",
    type=INPUT_FILE,
    metavar="ROWS",
    help="Rows that come after all others, one on each line, or .npy.",
)
@click.option(
    "--keep-last-order", is_flag=True, help="Leave the rows of --last in the order of the file."
)
@click.option(
    "--together",
    type=INPUT_FILE,
    metavar="GROUPS",
    help="Group of each row, -1 for none, one on each line, or .npy; the rows of a group are "
    "consecutive in the order.",
)
@click.option(
    "--start",
    type=INPUT_FILE,
    metavar="PERM",
    help="Improve this order, from a file as -o writes it: its separators compete with those that "
    "jetpy finds.",
)
@seed_option
@symmetrize_option
@click.option(
    "--session",
    type=OUTPUT_FILE,
    metavar="SESSION",
    help="Write a session, which --update updates when the pattern of the matrix changes.",
)
@click.option(
    "--update",
    "updated",
    type=INPUT_FILE,
    metavar="SESSION",
    help="Update the ordering of this session, with its options: only what has changed is ordered "
    "again. New rows must be the last ones.",
)
@engine_options
@click.option("--metis", is_flag=True, help="Compare with METIS's nested dissection.")
@click.option(
    "--plot",
    type=OUTPUT_FILE,
    metavar="FILE",
    help="Draw the permuted matrix and its separators, as .png, .svg or .pdf. Needs the extra "
    "report.",
)
@json_option
@profile_option
@quiet_option
@click.pass_context
def order_command(
    ctx: click.Context,
    /,
    matrix: Path,
    output: Path | None,
    base: int,
    method: choices.OrderingMethod | None,
    preset: choices.OrderingPreset | None,
    tries: int | None,
    leaf_size: int | None,
    last: Path | None,
    keep_last_order: bool,
    together: Path | None,
    start: Path | None,
    seed: int,
    symmetrize: bool,
    session: Path | None,
    updated: Path | None,
    metis: bool,
    plot: Path | None,
    json_file: Path | None,
    trace_file: Path | None,
    quiet: bool,
    **engine: Any,
) -> None:
    """Order a sparse symmetric matrix so that its Cholesky factor has few entries.

    MATRIX is a file in one of the formats of `jetpy partition`; a graph is a matrix, too. Only the
    positions of its entries matter. Row PERM[i] comes in place i. If mpiexec starts several
    processes, they order one matrix, and each reads the whole file.
    """
    if are_several():
        order_together(**{"ctx": ctx, **ctx.params})
        return
    check_files(ctx.params)
    if updated is not None:
        _check_update(ctx)
    method = checked_method(ctx.params)

    from jetpy.api.ordering import minimum_degree, nested_dissection, order
    from jetpy.api.ordering_session import read_ordering
    from jetpy.device.backends import check_backend

    # refuse wrong numbers before reading
    asked = options_of_run(method, ctx.params)
    check_backend(engine["backend"], engine["threads"], engine["device"])
    with changes_told(quiet=quiet), progress_bars(quiet=quiet) as bars:
        graph, read_seconds = read_timed(matrix, bars, pattern=True if symmetrize else "symmetric")
        given = read_orders(ctx.params, graph.n)
        begin = given.pop("start")
        bars.busy("Preparing")
        with standard_output_kept():
            watched: dict[str, Any] = {"progress": bars.stage, "profile": trace_file is not None}
            if updated is not None:
                result = read_ordering(updated).updated(graph, **engine, **watched)
                asked = {"method": result.method.replace("_", "-")}
            elif method == "minimum-degree":
                result = minimum_degree(graph, **given)
            else:
                find = order
                if method == "nested-dissection":
                    find = partial(nested_dissection, tries=tries, leaf_size=leaf_size)
                result = find(
                    graph,
                    preset=asked["preset"],
                    **given,
                    start=begin,
                    seed=seed,
                    **engine,
                    **watched,
                )
            if metis:
                bars.busy("Comparing with METIS")
            other = _by_metis(graph, seed) if metis else None
        bars.busy("Writing")
        figure = None if plot is None else result.plot(graph)
        if output is not None:
            result.save(output, base=base)
        if session is not None:
            result.save_session(session)
        if plot is not None and figure is not None:
            _write_drawing(plot, figure)
        if trace_file is not None and result.profile is not None:
            result.profile.write(trace_file)
    conclude(graph, result, asked, read_seconds, other, json_file, quiet)


def _check_update(ctx: click.Context) -> None:
    """Refuse options with --update that the session has."""
    kept = {"matrix", "updated", "symmetrize", *OF_SESSION, *ENGINE}
    for name, option in options_given(ctx).items():
        if name not in kept:
            raise click.UsageError(
                f"{option} cannot be combined with --update: the session has the options"
            )


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
