"""``jetpy partition``: partition a graph, and write the part of each vertex."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click

from jetpy import choices
from jetpy.cli.changes import changes_told
from jetpy.cli.command import example
from jetpy.cli.launched import are_several
from jetpy.cli.options import (
    OUTPUT_FILE,
    connected_option,
    engine_options,
    fixed_option,
    graph_argument,
    home_option,
    imbalance_option,
    json_option,
    lower_imbalance_option,
    migration_option,
    objective_option,
    parts_option,
    preset_option,
    profile_option,
    quiet_option,
    reading_options,
    seed_option,
    targets_option,
    together_option,
    vertex_weights_option,
    weights_options,
    within_option,
)
from jetpy.cli.output import check_outputs, standard_output_kept
from jetpy.cli.processes import partition_together
from jetpy.cli.results import (
    check_migration,
    conclude,
    numbers_of_parts,
    read_places,
    read_timed,
    read_together,
    read_weights,
    warn_of_pieces,
    write_files,
)
from jetpy.cli.settings import CommandWithOptions, set_option, show_options_option
from jetpy.progress import progress_bars

if TYPE_CHECKING:
    from jetpy.problem.options import Options

OF_SESSIONS = (
    *("imbalance", "large_imbalance", "lower_imbalance", "seed", "preset", "coarsening"),
    *("refinement", "threads", "device"),
)
"""Options that a session keeps."""


def _options(settings: dict[str, Any], **chosen: Any) -> Options:
    """Return the options of a run."""
    from jetpy.problem.presets import choose

    return choose(chosen["preset"], chosen["coarsening"], chosen["refinement"], settings)


@click.command(
    "partition",
    cls=CommandWithOptions,
    options=_options,
    by_several=True,
    epilog=example(
        "jetpy partition mesh.graph -k 16 -o mesh.part",
        "jetpy partition mesh.graph -k 16 --preset ultra --json -",
    ),
)
@graph_argument
@click.option(
    "-k",
    type=int,
    metavar="K",
    help="Number of parts; without it, the fewest parts found that keep --max-weights.",
)
@imbalance_option(
    "A part may weigh at most (1 + imbalance) times the average; the average is rounded up, the "
    "limit down. If vertices have several weights, give one number for all or one for each.",
    several=True,
)
@lower_imbalance_option
@weights_options
@targets_option
@fixed_option
@home_option
@migration_option
@together_option
@within_option
@objective_option
@connected_option
@seed_option
@preset_option
@click.option(
    "--coarsening",
    type=click.Choice(get_args(choices.Coarsening)),
    help="Coarsen by pairs of vertices (Jet), subsets of any size (G-kway) or groups of up to six "
    "vertices (iG-kway); the default is that of the preset.",
)
@click.option(
    "--refinement",
    type=click.Choice(get_args(choices.Refinement)),
    help="Refine by label propagation (Jet) or independent sets of moves (G-kway); the default is "
    "that of the preset.",
)
@set_option
@show_options_option
@click.option(
    "--generations",
    type=int,
    metavar="N",
    help="Compute N partitions in all, some by recombining earlier ones, and return the best; the "
    "default is 16 with the preset max, otherwise 1.",
)
@click.option(
    "--time-limit",
    type=float,
    metavar="SECONDS",
    help="Run as many generations as this time allows, but at least one; reading and compiling "
    "do not count.",
)
@engine_options
@reading_options
@vertex_weights_option
@parts_option("PARTS", "Write the part of each vertex.")
@click.option(
    "--session",
    type=OUTPUT_FILE,
    metavar="SESSION",
    help="Write a session, which `jetpy update` updates when the graph changes.",
)
@json_option
@profile_option
@quiet_option
@click.pass_context
def partition_command(
    ctx: click.Context,
    /,
    graph: Path,
    k: int | None,
    min_weights: str | None,
    max_weights: str | None,
    targets: str | None,
    fixed: Path | None,
    home: Path | None,
    together: Path | None,
    within: Path | None,
    settings: dict[str, Any],
    repair: bool,
    pattern: bool,
    scale: bool,
    vertex_weights: Path | None,
    output: Path | None,
    session: Path | None,
    json_file: Path | None,
    trace_file: Path | None,
    quiet: bool,
    **asked: Any,
) -> None:
    """Partition a graph into balanced parts with few cut edges.

    GRAPH is a file, whose suffix selects its format: .graph or .metis, .mtx, .npz, .npy, .parhip or
    .bgf, or an edge list (.txt, .edges, .el, .tsv, .csv), each also compressed (.gz, .bz2, .xz,
    .zst); or a folder with indptr.npy and indices.npy. If mpiexec starts several processes, they
    partition one graph, and each holds its share of it.
    """
    if are_several():
        partition_together(**{"ctx": ctx, **ctx.params})
        return
    check_migration(ctx, home)
    inputs = [graph, fixed, home, together, within, vertex_weights]
    check_outputs([session, trace_file], json_file, inputs=inputs, parts=output)
    if k is None and max_weights is None:
        raise click.UsageError(
            "-k is missing; give the number of parts, or --max-weights without it"
        )
    if session is not None and any(given is not None for given in (targets, *inputs[1:])):
        raise click.UsageError(
            "--session cannot be combined with --targets, --fixed, --home, --together, --within "
            "or --vertex-weights"
        )
    if session is not None and k is None:
        raise click.UsageError("--session needs -k, the number of parts")
    if session is not None and asked["connected"]:
        raise click.UsageError(
            "--session cannot be combined with --connected: updates do not keep parts connected"
        )
    if session is not None and settings:
        raise click.UsageError(
            "--session cannot be combined with --set: a session keeps a preset, not single options"
        )

    from jetpy.api.partitioning import partition
    from jetpy.cli.json_summary import stats
    from jetpy.cli.tables import summary
    from jetpy.device.backends import check_backend
    from jetpy.problem.bounds import DEFAULT_IMBALANCE
    from jetpy.problem.options import choose_effort
    from jetpy.problem.presets import choose
    from jetpy.problem.problem import RunOptions, checked_imbalance

    # refuse wrong numbers before reading
    usual = DEFAULT_IMBALANCE if asked["imbalance"] is None else asked["imbalance"]
    each = usual if isinstance(usual, list) else [usual]
    largest = max(checked_imbalance(number, large=asked["large_imbalance"]) for number in each)
    if session is not None and len(each) > 1:
        raise click.UsageError("--session cannot be combined with several imbalances")
    numbers = numbers_of_parts(ctx.params)
    methods = asked["preset"], asked["coarsening"], asked["refinement"]
    shared = RunOptions(k or 1, largest, True, asked["seed"], *methods)
    shared.problem(0, None if k is None else numbers["targets"])
    choose_effort(choose(*methods, settings), asked["generations"], asked["time_limit"])
    check_backend(asked["backend"], asked["threads"], asked["device"])

    with changes_told(quiet=quiet), progress_bars(quiet=quiet) as bars:
        loaded, read_seconds = read_timed(graph, bars, repair=repair, pattern=pattern, scale=scale)
        if session is not None and loaded.constraint_weights is not None:
            raise click.UsageError(
                f"--session needs one weight of each vertex, but {graph} has several"
            )
        weights = read_weights(vertex_weights, loaded.n, scale=scale)
        places: dict[str, Any] = {
            name: read_places(file, loaded.n)
            for name, file in (("fixed", fixed), ("home", home), ("within", within))
        }
        places["together"] = read_together(together, loaded.n)
        bars.busy("Preparing")
        with standard_output_kept():
            result = partition(
                loaded,
                k,
                **asked,
                **numbers,
                **places,
                options=settings,
                vertex_weights=weights,
                scale=scale,
                progress=bars.stage,
                profile=trace_file is not None,
            )
        bars.busy("Writing")
        write_files(result, output, trace_file)
        if session is not None and k is not None:
            from jetpy.incremental.partitioner import IncrementalPartitioner

            kept = {name: asked[name] for name in OF_SESSIONS} | {"backend": result.backend}
            limits = {name: numbers[name] for name in ("min_weights", "max_weights")}
            IncrementalPartitioner(loaded, k, **kept, **limits, parts=result.parts).save(session)
        report = {} if json_file is None else stats(result, read_seconds)
    warn_of_pieces(result.disconnected)
    conclude(ctx, result, summary(result, read_seconds), report, json_file, quiet)
