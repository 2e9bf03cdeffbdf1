"""``jetpy order``: order a sparse symmetric matrix."""

from __future__ import annotations

from functools import partial
from typing import Any, get_args

import click

from jetpy import choices
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
from jetpy.cli.orderings import conclude, ordered


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
def order_command(ctx: click.Context, /, **options: Any) -> None:
    """Order a sparse symmetric matrix so that its Cholesky factor has few entries.

    MATRIX is a file in one of the formats of `jetpy partition`; a graph is a matrix, too. Only the
    positions of its entries matter. Row PERM[i] comes in place i. If mpiexec starts several
    processes, the first one reads and orders the matrix, with the threads of all on its machine.
    """
    if are_several():
        order_together(ctx, partial(ordered, ctx))
    else:
        conclude(ordered(ctx, options["threads"]), options["json_file"], options["quiet"])
