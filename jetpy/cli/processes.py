"""``jetpy partition`` as several processes, which ``mpiexec`` has started."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from jetpy.cli.command import INFEASIBLE
from jetpy.cli.output import STDOUT, write_json

if TYPE_CHECKING:
    from jetpy.distributed import DistributedPartition

LAUNCHERS = "PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "PMIX_RANK"
"""What launchers of MPI tell their processes: how many they are, or that they are."""
UNKNOWN = (
    *("targets", "fixed", "home", "connected", "coarsening", "refinement", "generations"),
    *("time_limit", "repair", "pattern", "scale", "vertex_weights", "session", "trace_file"),
)
"""Options of the command that go with one process alone."""


def are_several() -> bool:
    """Whether a launcher of MPI has started this process as one of several."""
    return any(os.environ.get(name, "1") != "1" for name in LAUNCHERS)


def partition_together(ctx: click.Context, graph: Path, k: int, **options: Any) -> None:
    """Partition a graph, each process its share; the first one says what came of it."""
    for name in UNKNOWN:
        if options.pop(name):
            option = "profile" if name == "trace_file" else name.replace("_", "-")
            raise click.UsageError(f"--{option} is for one process, not for several")
    if options.pop("objective") != "cut":
        raise click.UsageError("--objective is for one process, not for several")
    options.pop("migration")
    output, json_file, quiet = (options.pop(name) for name in ("output", "json_file", "quiet"))

    from jetpy.bars import progress_bars
    from jetpy.cli.changes import changes_told
    from jetpy.distributed import partition, read
    from jetpy.distributed.mpi import world
    from jetpy.errors import JetpyError

    comm = world()
    mine = comm.Get_rank() == 0
    try:
        with changes_told(quiet=quiet or not mine), progress_bars(quiet=quiet or not mine) as bars:
            bars.busy("Reading")
            started = time.perf_counter()
            block = read(comm, graph)
            read_seconds = time.perf_counter() - started
            result = partition(comm, block, k, progress=bars.stage, **options)
            if output is not None:
                bars.busy("Writing")
                result.save(output)
    except JetpyError:
        if mine:
            raise
        ctx.exit(1)  # the first process says why
    if mine:
        _tell(result, graph, read_seconds, json_file, quiet=quiet)
    if not result.feasible:
        ctx.exit(INFEASIBLE)


def _tell(
    result: DistributedPartition,
    graph: Path,
    read_seconds: float,
    json_file: Path | None,
    *,
    quiet: bool,
) -> None:
    if json_file is not None:
        write_json(json_file, {"graph": graph.name, "read_seconds": read_seconds, **result.stats()})
    if quiet or json_file == STDOUT:
        return
    from jetpy.cli.tables import facts, stdout_console

    stdout_console().print(
        facts(
            [
                ("graph", f"{graph.name}, {result.n:,} vertices, {result.m:,} edges"),
                ("parts", f"{result.k:,}"),
                ("cut", f"{result.cut:,}"),
                ("imbalance", f"{100 * result.imbalance:.3f} %"),
                ("processes", f"{result.processes}, each with {result.backend}"),
                ("seconds", f"{result.seconds['total']:.3f}, and {read_seconds:.3f} to read"),
            ]
        )
    )
