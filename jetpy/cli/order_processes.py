"""``jetpy order`` in several processes started by ``mpiexec``."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import click

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
from jetpy.cli.processes import on_rank_0, printed_once, refuse_unknown
from jetpy.cli.results import read_timed
from jetpy.cli.signals import ending_at_once

if TYPE_CHECKING:
    from jetpy.graph.csr import Graph
    from jetpy.result.ordering import Ordering
    from jetpy.result.symbolic import Symbolic

KNOWN = (
    *("matrix", "output", "base", "method", "preset", "tries", "leaf_size", "last"),
    *("keep_last_order", "together", "start", "seed", "symmetrize", "backend", "threads"),
    *("session", "updated", "metis", "plot", "json_file", "quiet"),
)
"""Parameters that several processes support."""


class Ordered(NamedTuple):
    """A matrix, its order, the options of the run, the wall seconds for reading, and METIS's order.

    METIS's order has the structure of its factor and its seconds; None without `--metis`.
    """

    graph: Graph
    ordering: Ordering
    asked: dict[str, Any]
    read_seconds: float
    other: tuple[Symbolic, float] | None


def order_together(ctx: click.Context, **options: Any) -> None:
    """Order a matrix with several processes; rank 0 prints the result. Collective.

    All processes exit with the same code.
    """
    from jetpy.distributed.mpi import world

    comm = world()
    rank = comm.Get_rank()
    with printed_once(ctx, rank):
        found = _order(ctx, comm, options, quiet=options["quiet"] or rank > 0)
    if found is not None:
        conclude(*found, options["json_file"], options["quiet"])


def _order(
    ctx: click.Context, comm: Any, options: dict[str, Any], *, quiet: bool
) -> Ordered | None:
    """Read the matrix, order it, and write the order; process 0 returns it. Collective.

    Raises
    ------
    JetpyError, UsageError
        In all processes.
    """
    from jetpy import distributed
    from jetpy.cli.changes import changes_told
    from jetpy.distributed.api import communicator
    from jetpy.distributed.faults import check_agreement, collective_call, run_collectively
    from jetpy.distributed.reading import share_of
    from jetpy.progress import progress_bars

    method, updated = checked_method(ctx), options["updated"]
    if options["backend"] not in ("auto", "cpu"):
        raise click.UsageError("several processes order a matrix on CPUs; use --backend cpu")
    refuse_unknown(ctx, dict(options), KNOWN)
    group, asked = communicator(comm), options_of_run(method, options)

    with ending_at_once(), collective_call(group, ctx.command_path):
        on_rank_0(group, lambda: check_files(options))
        with changes_told(quiet=quiet), progress_bars(quiet=quiet) as bars:
            pattern = True if options["symmetrize"] else "symmetric"
            graph, read_seconds = run_collectively(
                group, lambda: read_timed(options["matrix"], bars, pattern=pattern)
            )
            check_agreement(group, rows=graph.n, entries=len(graph.indices))
            given = run_collectively(group, lambda: read_orders(options, graph.n))
            watched = {"threads": options["threads"], "progress": bars.stage}

            def finished(result: Ordering) -> Ordered:
                reported = reported_options(asked, result, options) | {"processes": group.size}
                other = finish(graph, result, options, bars)
                return Ordered(graph, result, reported, read_seconds, other)

            if updated is not None or method == "minimum-degree":
                del given["start"]  # is refused
                alone = partial(of_one_process, graph, updated, given, backend="cpu", **watched)
                return on_rank_0(group, lambda: finished(alone()))
            first, end = share_of(graph.indptr, group.rank, group.size)
            indptr = graph.indptr[first : end + 1]
            block = indptr - indptr[0], graph.indices[indptr[0] : indptr[-1]]
            if given["together"] is not None:
                given["together"] = given["together"][first:end]
            given |= {"preset": asked["preset"], "seed": options["seed"], **watched}
            if method == "order":
                result = distributed.order(comm, block, **given)
            else:
                given |= {name: options[name] for name in ("tries", "leaf_size")}
                result = distributed.nested_dissection(comm, block, **given)
            return on_rank_0(group, lambda: finished(result.whole))
