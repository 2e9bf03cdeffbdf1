"""What partitioning and mapping have in common: the graph read, files, a summary, the exit code."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from jetpy.cli.command import INFEASIBLE, notify
from jetpy.cli.output import STDOUT, write_json

MAX_LISTED = 8
"""Parts that a warning names."""

if TYPE_CHECKING:
    import numpy.typing as npt
    from rich.text import Text

    from jetpy.graph.csr import Graph, IntArray
    from jetpy.progress import Bars
    from jetpy.result.partition import Partition


def read_timed(path: Path, bars: Bars, **rules: bool) -> tuple[Graph, float]:
    """Return a graph, read by rules as of `read_graph`, and the wall seconds that took."""
    from jetpy.io import read_graph

    started = time.perf_counter()
    graph = read_graph(path, progress=bars.read, **rules)
    return graph, time.perf_counter() - started


def read_weights(path: Path | None, n: int, *, scale: bool) -> npt.NDArray[Any] | None:
    """Return the weights of n vertices that a file holds, if there is one.

    `scale` as for `read_vertex_weights`.
    """
    if path is None:
        return None
    from jetpy.io.weights import read_vertex_weights

    return read_vertex_weights(path, n, scale=scale)


def read_places(path: Path | None, n: int) -> IntArray | None:
    """Return the parts of n vertices that a file holds (int32, -1: none), if there is one."""
    if path is None:
        return None
    from jetpy.io import read_parts

    return read_parts(path, n, partial=True)


def write_files(partition: Partition, output: Path | None, trace_file: Path | None) -> None:
    """Write the parts and the profile, where these are asked for."""
    if output is not None:
        from jetpy.io import write_parts

        write_parts(output, partition.parts)
    if trace_file is not None and partition.profile is not None:
        partition.profile.write(trace_file)


def conclude(
    ctx: click.Context,
    partition: Partition,
    summary: Text,
    report: dict[str, Any],
    json_file: Path | None,
    quiet: bool,
    names: tuple[str, str],
) -> None:
    """Write the report, print the summary, and end the command if there is no balance.

    `names` are what to call the result and its parts.
    """
    if json_file is not None:
        write_json(json_file, report)
    if not quiet and json_file != STDOUT:
        from jetpy.cli.tables import kernels, stdout_console, steps

        console = stdout_console()
        console.print(summary)
        if partition.profile is not None:
            console.print(steps(partition.profile), kernels(partition.profile))
    worst = int((partition.part_weights - partition.limits).argmax())
    heaviest, limit = (
        int(numbers.flat[worst]) for numbers in (partition.part_weights, partition.limits)
    )
    exit_unless_balanced(ctx, heaviest, limit, names)


def warn_of_pieces(disconnected: Mapping[int, str]) -> None:
    """Warn of parts that should be connected and are not, given why; no error."""
    for reason in dict.fromkeys(disconnected.values()):
        own = [f"{p}" for p, why in disconnected.items() if why == reason]
        listed = ", ".join(own[:MAX_LISTED]) + (", …" if len(own) > MAX_LISTED else "")
        noun = "part is" if len(own) == 1 else "parts are"
        notify("warning", f"{len(own):,} {noun} not connected ({listed}): {reason}")


def exit_unless_balanced(
    ctx: click.Context, heaviest: int, limit: int, names: tuple[str, str]
) -> None:
    """Warn and end the command if a part weighs more than its limit; `names` as for `conclude`."""
    if heaviest > limit:
        result, part = names
        notify(
            "warning",
            f"no balanced {result} was found: the heaviest {part} weighs {heaviest:,}, "
            f"more than the limit of {limit:,}",
        )
        ctx.exit(INFEASIBLE)
