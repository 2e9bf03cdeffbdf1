"""``jetpy report``: a page about a new or given partition."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from jetpy.cli.changes import changes_told
from jetpy.cli.command import COMMAND_LINE, PageCommand, example, options_given
from jetpy.cli.given import InputGraph, is_session_file, read_input
from jetpy.cli.options import (
    INPUT_FILE,
    OUTPUT_FILE,
    connected_option,
    engine_options,
    imbalance_option,
    input_argument,
    json_option,
    objective_option,
    preset_option,
    quiet_option,
    reading_options,
    region_option,
    seed_option,
    vertex_weights_option,
)
from jetpy.cli.output import STDOUT, check_outputs, standard_output_kept, write_json
from jetpy.cli.results import exit_unless_within, warn_of_pieces
from jetpy.cli.settings import set_option
from jetpy.progress import Bars, progress_bars

if TYPE_CHECKING:
    from jetpy.graph.csr import Graph, IntArray
    from jetpy.result.subject import Subject

OF_A_RUN = "objective", "connected", "preset", "backend", "threads", "device", "settings"
"""Parameters of a run, which are refused if parts are given."""


@click.command(
    "report",
    cls=PageCommand,
    epilog=example(
        "jetpy report mesh.npz -k 16 -o page.html",
        "jetpy report mesh.graph mesh.part -o page.html",
    ),
)
@input_argument
@click.argument("parts", type=INPUT_FILE, required=False)
@click.option(
    "-k",
    type=int,
    metavar="K",
    help="Number of parts; the default is the largest part id in PARTS plus 1, or the number of "
    "parts of the session.",
)
@click.option(
    "-o",
    "--output",
    type=OUTPUT_FILE,
    metavar="PAGE",
    required=True,
    help="Write the HTML page to this file.",
)
@click.option(
    "--coordinates",
    type=INPUT_FILE,
    metavar="FILE",
    help="Vertex coordinates: x y or x y z on each line, or .npy. Meshes and .npz files from jetpy "
    "generate contain their own coordinates.",
)
@imbalance_option(
    "A part may weigh at most (1 + imbalance) times the average; the average is rounded up, the "
    "limit down."
)
@objective_option
@connected_option
@seed_option
@preset_option
@set_option
@engine_options
@region_option
@reading_options
@vertex_weights_option
@json_option
@quiet_option
@click.pass_context
def report_command(
    ctx: click.Context,
    /,
    graph: Path,
    parts: Path | None,
    k: int | None,
    output: Path,
    coordinates: Path | None,
    settings: dict[str, Any],
    region: str | None,
    repair: bool,
    pattern: bool,
    scale: bool,
    vertex_weights: Path | None,
    json_file: Path | None,
    quiet: bool,
    **asked: Any,
) -> None:
    """Write a page about a partition: a drawing, tables, and a comparison with METIS.

    GRAPH is a graph as for `jetpy partition`, or a mesh as for `jetpy mesh`. jetpy partitions it
    twice, the second time with every kernel timed. If PARTS is given, the page shows these parts
    instead. For a session of `jetpy update`, it shows the parts of the session, unless -k is given.
    The page is a single HTML file that needs no other file.
    """
    from jetpy.pages.page import check_installed

    check_installed()
    check_outputs([output], json_file, inputs=[graph, parts, coordinates, vertex_weights])
    is_run = parts is None and not (k is None and is_session_file(graph))
    if is_run and k is None:
        raise click.UsageError("-k is missing; give the number of parts, or PARTS")
    of_a_run = [option for name, option in options_given(ctx).items() if name in OF_A_RUN]
    if of_a_run and parts is not None:
        raise click.UsageError(
            f"{of_a_run[0]} cannot be combined with PARTS: jetpy report does not change given parts"
        )
    if of_a_run and not is_run:
        raise click.UsageError(
            f"{of_a_run[0]} needs -k; without -k, jetpy report shows the parts of the session"
        )

    from jetpy.device.backends import check_backend
    from jetpy.evaluation import metis_baseline
    from jetpy.io.atomic import atomic_write
    from jetpy.problem.presets import choose
    from jetpy.problem.problem import RunOptions
    from jetpy.result.page import partition_page

    # refuse wrong numbers before reading
    imbalance, seed, preset = asked["imbalance"], asked["seed"], asked["preset"]
    RunOptions(k or 1, imbalance, asked["large_imbalance"], seed, preset, None, None)
    choose(preset, options=settings)
    if is_run:
        check_backend(asked["backend"], asked["threads"], asked["device"])

    with changes_told(quiet=quiet), progress_bars(quiet=quiet) as bars:
        started = time.perf_counter()
        given = read_input(graph, bars, region, repair=repair, pattern=pattern, scale=scale)
        read_seconds = time.perf_counter() - started
        given = _completed(given, coordinates, vertex_weights, scale=scale)
        loaded = given.graph
        if is_run:
            assert k is not None
            subject = _partitioned(loaded, k, bars, {**asked, "options": settings})
        else:
            ids, count = given.partition(parts, k)
            subject = _given(loaded, ids, count, imbalance, (parts or graph).name)
        bars.busy("Comparing with METIS")
        unsupported_reason = metis_baseline.unsupported_reason(loaded, subject.k)
        with standard_output_kept():
            other = (
                None
                if unsupported_reason
                else metis_baseline.metis(loaded, subject.k, subject.limit, seed)
            )
        bars.busy("Drawing")
        subject = replace(
            subject,
            read_seconds=read_seconds,
            metis=other,
            no_metis=unsupported_reason,
            command=ctx.meta[COMMAND_LINE],
        )
        page = partition_page(subject).encode()
        with atomic_write(output) as stream:
            stream.write(page)
    if json_file is not None:
        write_json(json_file, {"page": str(output), "bytes": len(page), **_numbers(subject)})
    _conclude(ctx, subject, output, len(page), quiet=quiet or json_file == STDOUT)


def _completed(
    given: InputGraph, coordinates: Path | None, vertex_weights: Path | None, *, scale: bool
) -> InputGraph:
    """Return a graph with the weights and coordinates in files; refuse several weights."""
    from jetpy.graph.validate import check_one_weight
    from jetpy.io.coordinates import read_coordinates

    given = given.with_weights(vertex_weights, scale=scale)
    check_one_weight(given.graph, "jetpy report")
    if coordinates is None:
        return given
    places = given.pick(read_coordinates(coordinates, given.rows))
    return replace(given, graph=given.graph.with_coordinates(places))


def _partitioned(graph: Graph, k: int, bars: Bars, asked: dict[str, Any]) -> Subject:
    """Partition twice, because a run with a profile takes longer."""
    from jetpy.api.partitioning import partition
    from jetpy.result.subject import Subject

    bars.busy("Preparing")
    with standard_output_kept():
        run = partition(graph, k, **asked, progress=bars.stage)
        bars.busy("Profiling")
        profiled = partition(graph, k, **asked, profile=True)
    ideal, limit = int(run.ideals.max()), run.limit
    return Subject(graph, run.parts, k, ideal, limit, run=run, profiled=profiled)


def _given(graph: Graph, parts: IntArray, k: int | None, imbalance: float, source: str) -> Subject:
    from jetpy.problem.metrics import checked_parts
    from jetpy.problem.presets import preset
    from jetpy.problem.problem import make_problem
    from jetpy.result.subject import Subject

    ids = checked_parts(graph, parts, k)
    count = k or int(ids.max(initial=0)) + 1
    limit = make_problem(graph.total_vertex_weight, count, imbalance, 0, preset("default")).limit
    ideal = -(-graph.total_vertex_weight // count)
    return Subject(graph, ids, count, ideal, limit, source=source)


def _numbers(subject: Subject) -> dict[str, Any]:
    """Return the JSON of `jetpy partition` for a run, or of `jetpy evaluate` for given parts."""
    from jetpy.cli.json_summary import evaluation, stats
    from jetpy.evaluation.evaluate import evaluate

    if subject.run is not None:
        return stats(subject.run, subject.read_seconds)
    return evaluation(subject.graph, evaluate(subject.graph, subject.parts, subject.k))


def _conclude(
    ctx: click.Context, subject: Subject, output: Path, size: int, *, quiet: bool
) -> None:
    """Print the name of the page, and warn about disconnected or unbalanced parts."""
    from jetpy.errors import count

    if not quiet:
        parts = count(subject.k, "part")
        click.echo(f"wrote {output}: {subject.graph.name}: {parts}, {size / 1e3:.0f} kB")
    run = subject.run
    if run is not None:
        warn_of_pieces(run.disconnected)
        exit_unless_within(ctx, run.part_weights, run.limits, run.lower_limits)
