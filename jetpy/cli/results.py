"""Common parts of partitioning and mapping commands: reading, output, summary, exit code."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from jetpy.cli.command import INFEASIBLE, notify, options_given
from jetpy.cli.output import STDOUT, write_json

PARTITION = "partition", "part"
"""Nouns for the result of a run and its parts."""
MAX_LISTED = 8
"""Maximum number of parts that a warning names."""

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from rich.text import Text

    from jetpy.graph.csr import Graph, IntArray
    from jetpy.progress import Bars
    from jetpy.result.partition import Partition


def read_timed(path: Path, bars: Bars, **rules: Any) -> tuple[Graph, float]:
    """Read a graph, with rules as for `read_graph`; return it and the wall seconds."""
    from jetpy.io import read_graph

    started = time.perf_counter()
    graph = read_graph(path, progress=bars.read, **rules)
    return graph, time.perf_counter() - started


def read_weights(path: Path | None, n: int, *, scale: bool) -> npt.NDArray[Any] | None:
    """Return the weights of n vertices in a file, or None without a file.

    `scale` as for `read_vertex_weights`.
    """
    if path is None:
        return None
    from jetpy.io.weights import read_vertex_weights

    return read_vertex_weights(path, n, scale=scale)


def numbers_of_parts(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of the options that have a number for each part, from their texts."""
    from jetpy.io.weights import read_of_parts, read_targets

    targets = given["targets"]
    found = {"targets": None if targets is None else read_targets(targets)}
    for name in ("min_weights", "max_weights"):
        text = given[name]
        found[name] = None if text is None else read_of_parts(text, name)
    return found


def check_migration(ctx: click.Context, home: Path | None) -> None:
    """Refuse a migration cost without homes.

    Raises
    ------
    UsageError
        If there is one.
    """
    if home is None and "migration" in options_given(ctx):
        raise click.UsageError("--migration needs --home")


def read_places(path: Path | None, n: int) -> IntArray | None:
    """Return the parts of n vertices in a file (int32, -1: none), or None without a file."""
    if path is None:
        return None
    from jetpy.io import read_parts

    return read_parts(path, n, partial=True)


def read_together(path: Path | None, n: int) -> IntArray | None:
    """Return the groups of n vertices in a file (int32, -1: none), or None without a file."""
    if path is None:
        return None
    from jetpy.io.parts import read_groups

    return read_groups(path, n)


def write_files(partition: Partition, output: Path | None, trace_file: Path | None) -> None:
    """Write the parts and the profile, if requested."""
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
    names: tuple[str, str] = PARTITION,
) -> None:
    """Write the report, print the summary, and exit with code 3 if the result is not balanced.

    `names` are the nouns for the result and its parts.
    """
    if json_file is not None:
        write_json(json_file, report)
    if not quiet and json_file != STDOUT:
        from jetpy.cli.tables import kernels, stdout_console, steps

        console = stdout_console()
        console.print(summary)
        if partition.profile is not None:
            console.print(steps(partition.profile), kernels(partition.profile))
    exit_unless_within(ctx, partition.part_weights, partition.limits, partition.lower_limits, names)


def warn_of_pieces(disconnected: Mapping[int, str]) -> None:
    """Warn about parts that should be connected but are not, with the reasons."""
    for reason in dict.fromkeys(disconnected.values()):
        own = [f"{p}" for p, why in disconnected.items() if why == reason]
        listed = ", ".join(own[:MAX_LISTED]) + (", …" if len(own) > MAX_LISTED else "")
        noun = "part is" if len(own) == 1 else "parts are"
        notify("warning", f"{len(own):,} {noun} not connected ({listed}): {reason}")


def exit_unless_within(
    ctx: click.Context,
    weights: npt.NDArray[np.int64],
    limits: npt.NDArray[np.int64],
    lower_limits: npt.NDArray[np.int64],
    names: tuple[str, str] = PARTITION,
) -> None:
    """Warn and exit with code 3 if a part is outside its limits; `names` as for `conclude`."""
    result, part = names
    worst, least = int((weights - limits).argmax()), int((weights - lower_limits).argmin())
    heaviest, limit = int(weights.flat[worst]), int(limits.flat[worst])
    lightest, lower_limit = int(weights.flat[least]), int(lower_limits.flat[least])
    if heaviest > limit:
        why = f"the heaviest {part} weighs {heaviest:,}, more than the limit of {limit:,}"
    elif lightest < lower_limit:
        why = (
            f"the lightest {part} weighs {lightest:,}, less than its lower limit of {lower_limit:,}"
        )
    else:
        return
    notify("warning", f"no balanced {result} was found: {why}")
    ctx.exit(INFEASIBLE)
