"""``jetpy partition`` in several processes started by ``mpiexec``."""

from __future__ import annotations

import time
from collections.abc import Callable, Container, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import click

from jetpy.cli.command import INFEASIBLE, code_of
from jetpy.cli.output import STDOUT, check_outputs, write_json
from jetpy.cli.results import (
    check_migration,
    exit_unless_within,
    numbers_of_parts,
    read_places,
    read_together,
    read_weights,
    warn_of_pieces,
)
from jetpy.cli.signals import ending_at_once
from jetpy.errors import GraphError, JetpyError, OptionError

if TYPE_CHECKING:
    from jetpy.distributed import DistributedPartition
    from jetpy.distributed.block import Block
    from jetpy.distributed.communicator import Communicator
    from jetpy.distributed.piece import Blocks

    Save = Callable[[DistributedPartition, Path], None]
    """Writes the parts to a file. Collective."""

P = ParamSpec("P")
T = TypeVar("T")
NOT_GIVEN: tuple[Any, ...] = None, False, "cut", {}
"""Values of options that say nothing."""
MENDED = "a self-loop", "is listed more than once", "is not symmetric"
"""Phrases in messages about defects that a single process can repair."""
REPAIR = (
    "a single process can repair it: use jetpy partition --repair, or write the repaired graph "
    "by jetpy.write_graph(new, jetpy.read_graph(old, repair=True))"
)


@dataclass(frozen=True)
class GraphInput:
    """A graph file in pieces, and the file of its parts.

    Attributes
    ----------
    weights : Path or None
        File of the weights of all vertices.
    """

    weights: Path | None = None

    def check_target(self, output: Path) -> None:
        """Check that several processes can write the parts to this file; JetpyError."""
        from jetpy.distributed.writing import check_target

        check_target(output)

    def read(self, comm: Any, path: Path) -> tuple[Block, Save]:
        """Return the rows of this process, and the function that writes parts. Collective."""
        from jetpy.distributed import DistributedPartition, read
        from jetpy.distributed.api import communicator
        from jetpy.distributed.block import as_block
        from jetpy.distributed.faults import run_collectively
        from jetpy.distributed.piece import Blocks

        group, block = communicator(comm), as_block(read(comm, path))
        blocks = Blocks.of(group, block.n)
        block = run_collectively(group, lambda: _weighted(block, blocks, self.weights))
        return block, DistributedPartition.save


def partition_together(
    ctx: click.Context,
    graph: Path,
    k: int | None,
    *,
    source: GraphInput | None = None,
    **options: Any,
) -> None:
    """Partition a graph that is distributed over processes; rank 0 prints the result.

    `source` reads the graph; by default it is a graph file, with the option `vertex_weights`.
    All processes exit with the same code. Collective.
    """
    if source is None:
        source = GraphInput(options.pop("vertex_weights"))
    if k is None:
        raise click.UsageError("-k is missing; a run with several processes needs it")

    from jetpy.distributed.mpi import world

    comm = world()
    mine = comm.Get_rank() == 0
    json_file, quiet = options.pop("json_file"), options.pop("quiet")
    with printed_once(ctx, comm.Get_rank()):
        result, read_seconds = _partition(
            ctx, comm, graph, source, k, options, json_file, quiet=quiet or not mine
        )
    if mine:
        warn_of_pieces(result.disconnected)
        _tell(result, graph, read_seconds, json_file, quiet=quiet)
        weights = result.part_weights, result.limits, result.lower_limits
        exit_unless_within(ctx, *weights)
    elif not result.feasible:
        ctx.exit(INFEASIBLE)


@contextmanager
def printed_once(ctx: click.Context, rank: int) -> Iterator[None]:
    """Let rank 0 print an error that all processes raise; the others exit with its code."""
    try:
        yield
    except Exception as error:
        if rank == 0:
            raise
        ctx.exit(code_of(error))


def on_rank_0(comm: Communicator, work: Callable[[], T]) -> T | None:
    """Run `work` on rank 0 only, and return its result; if it fails, raise on all. Collective.

    Other ranks return None.

    Raises
    ------
    Exception
        As `run_collectively` does. A UsageError becomes an OptionError.
    """
    from jetpy.distributed.faults import run_collectively

    run = naming_options(work)
    return run_collectively(comm, lambda: None if comm.rank > 0 else run())


def naming_options(work: Callable[P, T]) -> Callable[P, T]:
    """Return `work` with an OptionError instead of each UsageError, which only Click knows."""

    def run(*arguments: P.args, **options: P.kwargs) -> T:
        try:
            return work(*arguments, **options)
        except click.UsageError as error:
            raise OptionError(error.message) from error

    return run


def _partition(
    ctx: click.Context,
    comm: Any,
    graph: Path,
    source: GraphInput,
    k: int,
    options: dict[str, Any],
    json_file: Path | None,
    *,
    quiet: bool,
) -> tuple[DistributedPartition, float]:
    """Return the result, and the wall seconds for reading in this process. Collective.

    Raises
    ------
    JetpyError, UsageError
        In all processes.
    """
    from jetpy.cli.changes import changes_told
    from jetpy.distributed import partition
    from jetpy.distributed.api import communicator
    from jetpy.distributed.faults import collective_call, run_collectively
    from jetpy.distributed.piece import Blocks
    from jetpy.progress import progress_bars

    output, options["options"] = options.pop("output"), options.pop("settings")
    check_migration(ctx, options["home"])
    refuse_unknown(ctx, options, signature(partition).parameters)
    group = communicator(comm)

    with ending_at_once(), collective_call(group, ctx.command_path):
        on_rank_0(group, lambda: _check_outputs(graph, source, output, json_file))
        options |= run_collectively(group, lambda: numbers_of_parts(options))
        with changes_told(quiet=quiet), progress_bars(quiet=quiet) as bars:
            bars.busy("Reading")
            started = time.perf_counter()
            with _naming(graph):
                block, save = source.read(comm, graph)
                blocks = Blocks.of(group, block.n)
                options |= run_collectively(group, lambda: _places_of(options, blocks))
            read_seconds = time.perf_counter() - started
            with _naming(graph):
                result = partition(comm, block, k, progress=bars.stage, **options)
            if output is not None:
                bars.busy("Writing")
                save(result, output)
    return result, read_seconds


def _weighted(block: Block, blocks: Blocks, file: Path | None) -> Block:
    """Return the block with the vertex weights in a file with those of all vertices, if any."""
    from jetpy.distributed.block import as_block

    weights = read_weights(file, blocks.n, scale=False)
    if weights is None:
        return block
    own = weights[blocks.first : blocks.end]
    rows = block.indptr, block.indices, block.edge_weights
    return as_block((*rows, own, block.vertex_sizes))


def _places_of(options: dict[str, Any], blocks: Blocks) -> dict[str, Any]:
    """Return the places of owned vertices, given the files with those of all vertices."""
    places = {name: read_places(options[name], blocks.n) for name in ("fixed", "home", "within")}
    places["together"] = read_together(options["together"], blocks.n)
    return {
        name: None if parts is None else parts[blocks.first : blocks.end]
        for name, parts in places.items()
    }


def _check_outputs(
    graph: Path, source: GraphInput, output: Path | None, json_file: Path | None
) -> None:
    """Check that output files can be written; errors as for `check_outputs`."""
    if output is not None:
        source.check_target(output)
    check_outputs([], json_file, inputs=[graph], parts=output)


def refuse_unknown(ctx: click.Context, options: dict[str, Any], known: Container[str]) -> None:
    """Remove options that require a single process, which are not `known`, from a dictionary.

    Raises
    ------
    UsageError
        If one of them was given.
    """
    for param in ctx.command.params:
        name = str(param.name)
        if name in known or name not in options:
            continue
        if options.pop(name) not in NOT_GIVEN:
            raise click.UsageError(f"{param.opts[0]} needs a run with one process")


@contextmanager
def _naming(graph: Path) -> Iterator[None]:
    """Prepend the file name to errors about a graph, and append a remedy if there is one.

    The errors have the same cause, which marks those of all processes.
    """
    try:
        yield
    except GraphError as error:
        message = begin_with(str(graph), str(error))
        remedy = f"; {REPAIR}" if any(what in message for what in MENDED) else ""
        raise type(error)(f"{message}{remedy}") from error.__cause__
    except JetpyError as error:
        if type(error) is not JetpyError:
            raise
        raise JetpyError(begin_with(str(graph), str(error))) from error.__cause__


def begin_with(name: str, message: str) -> str:
    """Return an error message that begins with the name of a file.

    >>> begin_with("x.graph", "process 0: line 1: no header")
    'x.graph: process 0: line 1: no header'
    >>> begin_with("x.graph", "process 1: x.graph, share 1 of 2: line 3")
    'x.graph: process 1, share 1 of 2: line 3'
    >>> begin_with("x.graph", "x.graph: cannot be read")
    'x.graph: cannot be read'
    """
    before, _, after = message.partition(name)
    if not before:
        return message
    return f"{name}: {before.removesuffix(': ')}{after}"


def _tell(
    result: DistributedPartition,
    graph: Path,
    read_seconds: float,
    json_file: Path | None,
    *,
    quiet: bool,
) -> None:
    from jetpy.cli.json_summary import together_stats
    from jetpy.io.compression import split_name

    if json_file is not None:
        write_json(json_file, together_stats(result, split_name(graph)[0], read_seconds))
    if quiet or json_file == STDOUT:
        return
    from jetpy.cli.tables import facts, stdout_console, times
    from jetpy.distributed.api import summary_rows

    rows = summary_rows(result, split_name(graph)[0]), times(result, read_seconds)
    stdout_console().print(facts([row for group in rows for row in group]))
