"""``jetpy order``: order a sparse symmetric matrix."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any, get_args

import click

from jetpy import choices
from jetpy.cli.changes import changes_told
from jetpy.cli.command import Command, example
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
    finish,
    of_one_process,
    options_of_run,
    read_orders,
    reported_options,
)
from jetpy.cli.output import standard_output_kept
from jetpy.cli.results import read_timed
from jetpy.progress import progress_bars


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
    method = checked_method(ctx)

    from jetpy.api.ordering import nested_dissection, order
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
            if updated is not None or method == "minimum-degree":
                result = of_one_process(graph, updated, given, **engine, **watched)
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
        other = finish(graph, result, ctx.params, bars)
    reported = reported_options(asked, result, ctx.params)
    conclude(graph, result, reported, read_seconds, other, json_file, quiet)
