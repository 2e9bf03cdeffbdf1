"""``jetpy map``: map a task graph to a machine, and write the PE of each task."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click

from jetpy import choices
from jetpy.cli.changes import changes_told
from jetpy.cli.command import example, notify
from jetpy.cli.options import (
    OUTPUT_FILE,
    distance_option,
    engine_options,
    graph_argument,
    hierarchy_option,
    imbalance_option,
    json_option,
    lower_imbalance_option,
    parts_option,
    profile_option,
    quiet_option,
    reading_options,
    seed_option,
    vertex_weights_option,
)
from jetpy.cli.output import check_outputs, standard_output_kept
from jetpy.cli.results import conclude, read_timed, read_weights, write_files
from jetpy.cli.settings import CommandWithOptions, set_option, show_options_option
from jetpy.progress import progress_bars

if TYPE_CHECKING:
    from jetpy.problem.options import Options


def _options(settings: dict[str, Any], method: str) -> Options:
    """Return the options of a run."""
    from jetpy.problem.presets import mapping_options

    return mapping_options(method, settings)


@click.command(
    "map",
    cls=CommandWithOptions,
    options=_options,
    epilog=example("jetpy map mesh.graph --hierarchy 4:8:2 --distance 1:10:100 -o mesh.pe"),
)
@graph_argument
@hierarchy_option
@distance_option(required=True)
@click.option(
    "--method",
    type=click.Choice(get_args(choices.Method)),
    default="im",
    show_default=True,
    help="Integrated mapping (im) is fast. Hierarchical multisection with integrated refinement "
    "(hm) takes longer and finds mappings of lower cost, and hm-ultra even more so.",
)
@set_option
@show_options_option
@imbalance_option(
    "The tasks of a PE may weigh at most (1 + imbalance) times the average; the limit is "
    "rounded up."
)
@lower_imbalance_option
@seed_option
@engine_options
@reading_options
@vertex_weights_option
@parts_option("PES", "Write the PE of each task.")
@click.option(
    "--rankfile",
    type=OUTPUT_FILE,
    metavar="FILE",
    help="Write the host, processor and core of each task as a rankfile for Open MPI; needs at "
    "most one task on each PE.",
)
@click.option(
    "--slurm-hostfile",
    type=OUTPUT_FILE,
    metavar="FILE",
    help="Write the host of each task for SLURM_HOSTFILE and srun -m arbitrary; needs at most one "
    "task on each PE.",
)
@click.option(
    "--hosts",
    metavar="FILE|A,B,...",
    help="Host names in the order of their PEs, with ranges such as n[1-4], or a file with one "
    "name on each line; the default for Open MPI is +n0, +n1 and so on.",
)
@json_option
@profile_option
@quiet_option
@click.pass_context
def map_command(
    ctx: click.Context,
    /,
    graph: Path,
    hierarchy: str | None,
    distance: str,
    method: choices.Method,
    settings: dict[str, Any],
    repair: bool,
    pattern: bool,
    scale: bool,
    vertex_weights: Path | None,
    output: Path | None,
    rankfile: Path | None,
    slurm_hostfile: Path | None,
    hosts: str | None,
    json_file: Path | None,
    trace_file: Path | None,
    quiet: bool,
    **asked: Any,
) -> None:
    """Map tasks to the PEs of a machine so that communication costs little.

    GRAPH is a file in one of the formats of `jetpy partition`. Its vertices are tasks, and an edge
    weight is the amount of communication between two tasks. The cost is the sum, over all ordered
    pairs of tasks, of their communication times the distance of their PEs.
    """
    from jetpy.io.distances import matrix_file, read_distances

    hosts_file = None if hosts is None else Path(hosts)
    inputs = [graph, matrix_file(distance), hosts_file, vertex_weights]
    outputs = [rankfile, slurm_hostfile, trace_file]
    check_outputs(outputs, json_file, inputs=inputs, parts=output)
    if hosts is None and slurm_hostfile is not None:
        raise click.UsageError("--slurm-hostfile needs --hosts")
    if hosts is not None and rankfile is None and slurm_hostfile is None:
        raise click.UsageError("--hosts needs --rankfile or --slurm-hostfile")

    from jetpy.api.mapping import map_processes
    from jetpy.cli.json_summary import mapping_stats
    from jetpy.cli.tables import mapping_summary
    from jetpy.device.backends import check_backend
    from jetpy.mapping.launchers import (
        check_hosts,
        check_ranks,
        read_hosts,
        write_rankfile,
        write_slurm_hostfile,
    )
    from jetpy.mapping.problem import make_mapping_problem
    from jetpy.problem.machine import machine
    from jetpy.problem.problem import checked_imbalance

    distances = read_distances(distance)
    target = machine(hierarchy, distances)
    # refuse wrong numbers before reading
    imbalance = checked_imbalance(asked["imbalance"], large=asked["large_imbalance"])
    make_mapping_problem(0, target, method, imbalance, asked["seed"], options=settings)
    names_of_hosts = None if hosts is None else read_hosts(hosts)
    launched = rankfile is not None or slurm_hostfile is not None
    if launched:
        check_hosts(target, names_of_hosts)
    check_backend(asked["backend"], asked["threads"], asked["device"])
    if not target.is_monotone:
        notify("warning", f"the distances {distance} do not increase from level to level")

    with changes_told(quiet=quiet), progress_bars(quiet=quiet) as bars:
        loaded, read_seconds = read_timed(graph, bars, repair=repair, pattern=pattern, scale=scale)
        weights = read_weights(vertex_weights, loaded.n, scale=scale)
        if launched:
            check_ranks(loaded.n, target)
        bars.busy("Preparing")
        with standard_output_kept():
            result = map_processes(
                loaded,
                hierarchy,
                distances,
                method=method,
                **asked,
                options=settings,
                vertex_weights=weights,
                scale=scale,
                progress=bars.stage,
                profile=trace_file is not None,
            )
        bars.busy("Writing")
        write_files(result.partition, output, trace_file)
        if rankfile is not None:
            write_rankfile(rankfile, result, names_of_hosts)
        if slurm_hostfile is not None and names_of_hosts is not None:
            write_slurm_hostfile(slurm_hostfile, result, names_of_hosts)
        report = mapping_stats(result, read_seconds)
    summary = mapping_summary(result, read_seconds)
    conclude(ctx, result.partition, summary, report, json_file, quiet, ("mapping", "PE"))
