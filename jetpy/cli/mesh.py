"""``jetpy mesh``: partition the cells of a mesh."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import click

from jetpy import choices
from jetpy.cli.changes import changes_told
from jetpy.cli.command import Command, example
from jetpy.cli.given import name_of
from jetpy.cli.options import (
    OUTPUT_FILE,
    backend_option,
    device_option,
    imbalance_option,
    json_option,
    objective_option,
    quiet_option,
    seed_option,
    threads_option,
)
from jetpy.cli.output import check_outputs, standard_output_kept
from jetpy.cli.results import conclude, warn_of_pieces
from jetpy.progress import progress_bars

NO_OUTPUT = (
    "no output file; use -o out.vtu for the mesh with its parts, or -o out.part for the parts alone"
)


@click.command(
    "mesh",
    cls=Command,
    epilog=example("jetpy mesh in.vtu -k 16 -o out.vtu", "jetpy mesh in.vtu -k 16 -o out.part"),
)
@click.argument("mesh", type=click.Path(exists=True, path_type=Path))
@click.option("-k", type=int, required=True, metavar="K", help="Number of parts.")
@imbalance_option(
    "A part may have at most (1 + imbalance) times the average number of cells; the average is "
    "rounded up, the limit down."
)
@click.option(
    "--common-nodes",
    type=int,
    metavar="N",
    help="Cells are neighbours if they have at least N corners in common; by default, if they "
    "have a common facet.",
)
@objective_option
@click.option(
    "--connected",
    is_flag=True,
    help="Make every part connected where jetpy can; a warning lists the other parts.",
)
@seed_option
@click.option(
    "--preset",
    type=click.Choice(get_args(choices.Preset)),
    default="default",
    show_default=True,
    help="Trade-off between running time and cut, or the algorithm of a paper.",
)
@backend_option
@threads_option
@device_option
@click.option(
    "-o",
    "--output",
    type=OUTPUT_FILE,
    metavar="FILE",
    help="Write the mesh with cell data `part`, in the format of the suffix; other data and "
    "physical groups are kept. A file named .part, .txt, .npy, .npz, .csv or .json gets "
    "only the part of each cell. For an OpenFOAM case, jetpy writes a cellDecomposition, "
    "by default into the case.",
)
@json_option
@quiet_option
@click.pass_context
def mesh_command(
    ctx: click.Context,
    mesh: Path,
    k: int,
    imbalance: float,
    large_imbalance: bool,
    common_nodes: int | None,
    objective: choices.Objective,
    connected: bool,
    seed: int,
    preset: choices.Preset,
    backend: choices.Backend,
    threads: int | None,
    device: int | None,
    output: Path | None,
    json_file: Path | None,
    quiet: bool,
) -> None:
    """Partition the cells of a mesh into balanced parts with few facets between them.

    MESH is a file that meshio reads (.vtu, .vtk, .msh, .inp, .xdmf, ...), or the folder of an
    OpenFOAM case. A cell of lower dimension, for example on a boundary, gets the part of the cell
    that it bounds.
    """
    from jetpy.api.partitioning import partition
    from jetpy.cli.json_summary import stats
    from jetpy.cli.tables import summary
    from jetpy.device.backends import check_backend
    from jetpy.io.parts import is_parts_name, write_parts
    from jetpy.meshes import openfoam
    from jetpy.meshes.dual import dual_graph, spread
    from jetpy.meshes.files import read_mesh, write_mesh
    from jetpy.meshes.formats import check_output_name

    is_case = mesh.is_dir()
    if is_case and not openfoam.is_case(mesh):
        raise click.UsageError(f"{mesh} is a folder, but not an OpenFOAM case with a mesh")
    if is_case and common_nodes is not None:
        raise click.UsageError("--common-nodes applies to mesh files, not to OpenFOAM cases")
    written = output or (mesh / openfoam.DECOMPOSITION if is_case else None)
    check_outputs([written], json_file, inputs=[mesh])
    if output is not None and not is_case:
        check_output_name(output)
    check_backend(backend, threads, device)

    with changes_told(quiet=quiet), progress_bars(quiet=quiet) as bars:
        bars.busy("Reading")
        started = time.perf_counter()
        with standard_output_kept():
            cells: Any = None if is_case else read_mesh(mesh)
            graph = (
                openfoam.read_case(mesh)
                if is_case
                else dual_graph(cells, common_nodes=common_nodes)
            )
            graph = replace(graph, name=name_of(mesh))
        read_seconds = time.perf_counter() - started
        with standard_output_kept():
            result = partition(
                graph,
                k,
                imbalance=imbalance,
                large_imbalance=large_imbalance,
                objective=objective,
                connected=connected,
                seed=seed,
                preset=preset,
                backend=backend,
                threads=threads,
                device=device,
                progress=bars.stage,
            )
        bars.busy("Writing")
        parts = result.parts if is_case or written is None else spread(cells, result.parts)
        if output is not None and is_parts_name(output):
            write_parts(output, parts)
        elif is_case:
            openfoam.write_decomposition(mesh, parts, output)
        elif output is not None:
            with standard_output_kept():
                write_mesh(output, cells, parts)
        report = {} if json_file is None else stats(result, read_seconds)
    warn_of_pieces(result.disconnected)
    last_line = NO_OUTPUT if written is None else f"wrote {written}"
    text = summary(result, read_seconds).append(f"\n{last_line}")
    conclude(ctx, result, text, report, json_file, quiet, ("partition", "part"))
