"""``jetpy order`` in several processes started by ``mpiexec``."""

from __future__ import annotations

from collections.abc import Callable

import click

from jetpy.cli.orderings import Ordered, conclude
from jetpy.cli.processes import naming_options, printed_once
from jetpy.cli.signals import ending_at_once


def order_together(ctx: click.Context, work: Callable[[int], Ordered]) -> None:
    """Order a matrix on rank 0, with the threads of its machine; it prints the result. Collective.

    All processes exit with the same code. `work` gets the number of threads.
    """
    from jetpy.distributed.alone import run_on_root
    from jetpy.distributed.api import communicator
    from jetpy.distributed.faults import check_agreement, collective_call
    from jetpy.distributed.mpi import world

    group = communicator(world())
    with (
        printed_once(ctx, group.rank),
        ending_at_once(),
        collective_call(group, ctx.command_path),
    ):
        check_agreement(group, **ctx.params)
        found = run_on_root(group, ctx.params["threads"], naming_options(work))
    if found is not None:
        reported = found.asked | {"processes": group.size}
        conclude(found._replace(asked=reported), ctx.params["json_file"], ctx.params["quiet"])
