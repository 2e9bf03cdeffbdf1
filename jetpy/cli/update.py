"""``jetpy update``: apply files of modifiers to a session."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from jetpy.cli.command import Command, example
from jetpy.cli.options import (
    INPUT_FILE,
    OUTPUT_FILE,
    engine_options,
    json_option,
    parts_option,
    quiet_option,
)
from jetpy.cli.output import STDOUT, check_outputs, standard_output_kept, write_json
from jetpy.cli.results import exit_unless_within
from jetpy.progress import progress_bars


@click.command(
    "update",
    cls=Command,
    epilog=example(
        "jetpy partition mesh.graph -k 16 --session mesh.npz",
        "jetpy update mesh.npz changes.txt -o mesh.part",
    ),
)
@click.argument("session", type=INPUT_FILE)
@click.argument("modifiers", type=INPUT_FILE)
@click.option(
    "-s",
    "--save",
    type=OUTPUT_FILE,
    metavar="SESSION",
    help="Write the updated session to this file; by default, it replaces SESSION.",
)
@parts_option("PARTS", "Write the part of each vertex, and -1 for each deleted vertex.")
@engine_options
@json_option
@quiet_option
@click.pass_context
def update_command(
    ctx: click.Context,
    /,
    session: Path,
    modifiers: Path,
    save: Path | None,
    output: Path | None,
    json_file: Path | None,
    quiet: bool,
    **engine: Any,
) -> None:
    """Apply changes of a graph to a session, and update its partition.

    SESSION is a file that `jetpy partition --session` wrote. Each line of the file MODIFIERS is a
    change: "+v [W]" inserts a vertex (of weight W), which gets the next id, "-v V" deletes vertex V
    and its edges, "+e U V [W]" inserts an edge (of weight W), and "-e U V" deletes an edge. A line
    "---" ends a batch; jetpy updates the partition after each batch. If a line is wrong, jetpy
    writes no file.
    """
    check_outputs([save], json_file, inputs=[session, modifiers], parts=output)

    from jetpy.cli.json_summary import update_stats
    from jetpy.cli.tables import stdout_console, update_summary, updates_table
    from jetpy.errors import GraphError
    from jetpy.incremental.modifiers import read_modifiers
    from jetpy.incremental.partitioner import IncrementalPartitioner
    from jetpy.io.parts import write_parts

    with progress_bars(quiet=quiet) as bars:
        bars.busy("Reading")
        batches = read_modifiers(modifiers)
        live = IncrementalPartitioner.load(session, **engine, progress=bars.stage)
        updates = []
        for number, (batch, lines) in enumerate(batches, 1):
            try:
                with standard_output_kept():
                    updates.append(live.update(batch))
            except GraphError as error:
                raise GraphError(f"{modifiers}: batch {number}, {lines}: {error}") from error
        bars.busy("Writing")
        if output is not None:
            write_parts(output, live.partition)
        live.save(save or session)  # last, so that a repeated command applies nothing twice
    if json_file is not None:
        write_json(json_file, update_stats(live, updates))
    if not quiet and json_file != STDOUT:
        console = stdout_console()
        console.print(updates_table(updates), update_summary(live, updates))
    exit_unless_within(ctx, live.part_weights, live.limits, live.lower_limits)
