"""``jetpy demo``: a demonstration that needs no file, compared with METIS."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from jetpy.cli.command import Command, example
from jetpy.cli.options import (
    engine_options,
    json_option,
    quiet_option,
)
from jetpy.cli.output import STDOUT, check_outputs, write_json
from jetpy.progress import progress_bars

VERTICES = 100_000
PARTS = 8
IMBALANCE = 0.03


@click.command("demo", cls=Command, epilog=example("jetpy demo"))
@engine_options
@json_option
@quiet_option
def demo_command(json_file: Path | None, quiet: bool, **engine: Any) -> None:
    """Partition a small generated mesh, and compare with METIS."""
    check_outputs([], json_file)

    from jetpy.api.partitioning import partition
    from jetpy.cli.json_summary import evaluation
    from jetpy.cli.tables import columns, levels, stdout_console
    from jetpy.evaluation.evaluate import evaluate
    from jetpy.evaluation.metis_baseline import metis
    from jetpy.graph.generators import delaunay

    with progress_bars(quiet=quiet) as bars:
        bars.busy("Generating")
        graph = delaunay(VERTICES)
        bars.busy("Preparing")
        result = partition(graph, PARTS, imbalance=IMBALANCE, **engine, progress=bars.stage)
        bars.busy("Comparing")
        other = metis(graph, PARTS, result.limit, result.seed)
        seconds = {"jetpy": result.seconds["total"], "METIS": other.seconds}
        evaluations = {
            "jetpy": evaluate(graph, result.parts, PARTS),
            "METIS": evaluate(graph, other.parts, PARTS),
        }
    if json_file is not None:
        report = {
            name: {**evaluation(graph, value), "seconds": seconds[name]}
            for name, value in evaluations.items()
        }
        write_json(json_file, report)
    if quiet or json_file == STDOUT:
        return
    console = stdout_console()
    console.print(f"A mesh of {graph.n:,} vertices and {graph.m:,} edges, cut into {PARTS} parts.")
    console.print("The levels, coarsest first, as they were refined:")
    console.print(levels(result))
    rows = (
        (
            name,
            f"{value.cut:,}",
            f"{value.imbalance:.4f}",
            f"{value.part_weights.max():,}",
            f"{value.empty_parts}",
            f"{value.disconnected_parts}",
            f"{seconds[name]:.2f}",
        )
        for name, value in evaluations.items()
    )
    headers = ("", "cut", "imbalance", "heaviest part", "empty", "disconnected", "seconds")
    console.print(columns(headers, rows, left=1))
    console.print(f"With a graph of your own: jetpy partition GRAPH -k {PARTS} -o PARTS")
