"""``jetpy partition``: a graph file in, a parts file out."""

from __future__ import annotations

import time
from pathlib import Path

import click

from jetpy.cli.command import INFEASIBLE, Command, notify
from jetpy.cli.options import (
    OUTPUT_FILE,
    backend_option,
    graph_argument,
    json_option,
    repair_option,
    threads_option,
)
from jetpy.cli.output import STDOUT, check_outputs, write_json
from jetpy.cli.progress import progress_bars
from jetpy.presets import PRESETS


@click.command("partition", cls=Command)
@graph_argument
@click.option("-k", type=int, required=True, metavar="K", help="Number of parts.")
@click.option(
    "--imbalance",
    type=float,
    default=0.03,
    show_default=True,
    help="A part may weigh (1 + this) times the average, rounded up before and down after.",
)
@click.option(
    "--seed",
    type=int,
    default=0,
    show_default=True,
    help="Chooses among equally good decisions; the same seed gives the same parts.",
)
@click.option(
    "--preset",
    type=click.Choice(list(PRESETS)),
    default="default",
    show_default=True,
    help="How much time to spend for a smaller cut.",
)
@backend_option
@threads_option
@repair_option
@click.option(
    "-o",
    "--output",
    type=OUTPUT_FILE,
    metavar="PARTS",
    help="Write the part of each vertex, one a line.",
)
@json_option
@click.option(
    "--profile",
    "trace_file",
    type=OUTPUT_FILE,
    metavar="TRACE",
    help="Tell where the time goes, and write a trace that Perfetto and chrome://tracing open. "
    "The parts stay the same, the run takes longer.",
)
@click.option("--quiet", is_flag=True, help="No progress bars and no summary.")
@click.pass_context
def partition_command(
    ctx: click.Context,
    graph: Path,
    k: int,
    imbalance: float,
    seed: int,
    preset: str,
    backend: str,
    threads: int | None,
    repair: bool,
    output: Path | None,
    json_file: Path | None,
    trace_file: Path | None,
    quiet: bool,
) -> None:
    """Cut a graph into balanced parts with few cut edges.

    GRAPH is a file, whose name tells its format: .graph or .metis, .mtx, .npz, or an edge list
    (.txt, .edges, .el, .tsv, .csv), each also compressed (.gz, .bz2, .xz, .zst).
    """
    check_outputs([output, trace_file], json_file, inputs=[graph])

    from jetpy.api import partition
    from jetpy.backends import get_backend
    from jetpy.io import read_graph, write_parts
    from jetpy.presets import preset as preset_options
    from jetpy.problem import pose
    from jetpy.report import stats

    pose(0, k, imbalance, seed, preset_options(preset))  # refuse wrong numbers before reading
    get_backend(backend, threads)

    with progress_bars(quiet=quiet) as bars:
        started = time.perf_counter()
        loaded = read_graph(graph, repair=repair, progress=bars.read)
        read_seconds = time.perf_counter() - started
        bars.busy("Preparing")
        result = partition(
            loaded,
            k,
            imbalance=imbalance,
            seed=seed,
            preset=preset,
            backend=backend,
            threads=threads,
            progress=bars.stage,
            profile=trace_file is not None,
        )
        bars.busy("Writing")
        if output is not None:
            write_parts(output, result.parts)
        if trace_file is not None and result.profile is not None:
            result.profile.write(trace_file)
        report = stats(result, read_seconds)

    if json_file is not None:
        write_json(json_file, report)
    if not quiet and json_file != STDOUT:
        from jetpy.cli.tables import kernels, stdout_console, steps, summary

        console = stdout_console()
        console.print(summary(result, read_seconds))
        if result.profile is not None:
            console.print(steps(result.profile), kernels(result.profile))
    if not result.feasible:
        heaviest = int(result.part_weights.max())
        notify(
            "warning",
            f"no balanced partition was found: the heaviest part weighs {heaviest:,}, "
            f"more than the limit of {result.limit:,}",
        )
        ctx.exit(INFEASIBLE)
