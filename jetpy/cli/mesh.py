"""``jetpy mesh``: partition the cells of a mesh."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from jetpy.cli.changes import changes_told
from jetpy.cli.command import Command, example
from jetpy.cli.given import InputGraph, check_region, read_cells, read_region
from jetpy.cli.launched import are_several
from jetpy.cli.mesh_processes import mesh_together
from jetpy.cli.options import (
    OUTPUT_FILE,
    connected_option,
    engine_options,
    imbalance_option,
    json_option,
    objective_option,
    preset_option,
    quiet_option,
    region_option,
    scale_option,
    seed_option,
)
from jetpy.cli.output import STDOUT, check_outputs, standard_output_kept, write_json
from jetpy.cli.results import conclude, warn_of_pieces
from jetpy.errors import FileFormatError
from jetpy.progress import Bars, progress_bars

if TYPE_CHECKING:
    import numpy.typing as npt

    from jetpy.result.partition import Partition

NO_OUTPUT = (
    "no output file; use -o out.vtu for the mesh with its parts, or -o out.part for the parts alone"
)


@click.command(
    "mesh",
    cls=Command,
    by_several=True,
    epilog=example("jetpy mesh in.vtu -k 16 -o out.vtu", "jetpy mesh in.vtu -k 16 -o out.part"),
)
@click.argument("mesh", type=click.Path(exists=True, path_type=Path))
@click.option("-k", type=int, required=True, metavar="K", help="Number of parts.")
@imbalance_option(
    "A part may weigh at most (1 + imbalance) times the average; the average is rounded up, the "
    "limit down. If cells have several weights, give one number for all or one for each.",
    several=True,
)
@click.option(
    "--cell-weights",
    multiple=True,
    metavar="FILE|NAME",
    help="Weights of cells, 1 by default: the name of cell data of the mesh, or a file as for "
    "--vertex-weights of jetpy partition, with a line for each cell. Give the option, or columns, "
    "several times to balance several weights.",
)
@scale_option
@click.option(
    "--common-nodes",
    type=int,
    metavar="N",
    help="Cells are neighbours if they have at least N corners in common; by default, if they "
    "have a common facet.",
)
@region_option
@click.option(
    "--all-regions",
    is_flag=True,
    help="Partition each region of an OpenFOAM case into K parts, and write a cellDecomposition "
    "into each.",
)
@objective_option
@connected_option
@seed_option
@preset_option
@engine_options
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
@click.option(
    "--ghosts",
    is_flag=True,
    help="Write the ghost cells of each partition, too: the neighbours of its cells. Output: .msh.",
)
@json_option
@quiet_option
@click.pass_context
def mesh_command(
    ctx: click.Context,
    /,
    mesh: Path,
    k: int,
    cell_weights: tuple[str, ...],
    scale: bool,
    common_nodes: int | None,
    region: str | None,
    all_regions: bool,
    output: Path | None,
    ghosts: bool,
    json_file: Path | None,
    quiet: bool,
    **asked: Any,
) -> None:
    """Partition the cells of a mesh into balanced parts with few facets between them.

    MESH is a Gmsh file (.msh), another file that meshio reads (.vtu, .vtk, .inp, .xdmf, ...), or
    the folder of an OpenFOAM case. A cell of lower dimension, for example on a boundary, gets the
    part of the cell that it bounds. If mpiexec starts several processes, they partition one mesh,
    and each holds its share of it.
    """
    if are_several():
        mesh_together(**{"ctx": ctx, **ctx.params})
        return

    from jetpy.api.partitioning import partition
    from jetpy.cli.json_summary import stats
    from jetpy.cli.tables import summary
    from jetpy.device.backends import check_backend
    from jetpy.io.parts import is_parts_name
    from jetpy.meshes import openfoam
    from jetpy.meshes.formats import check_output_name

    _check_combination(ctx, mesh)
    if output is not None and not mesh.is_dir():
        check_output_name(output, with_ghosts=ghosts)
    names = openfoam.regions(mesh) if all_regions else [region]
    if not names:
        raise click.UsageError(f"{mesh} has no regions: no constant/NAME/polyMesh")
    default = [openfoam.decomposition(mesh, name) if mesh.is_dir() else None for name in names]
    written = [output] if output is not None else default
    files = [Path(given) for given in cell_weights if Path(given).is_file()]
    check_outputs(written, json_file, inputs=[mesh, *files])
    check_backend(asked["backend"], asked["threads"], asked["device"])

    concluded: list[tuple[Partition, float]] = []
    with changes_told(quiet=quiet), progress_bars(quiet=quiet) as bars:
        for name, target in zip(names, written, strict=True):
            cells, seconds = _read(mesh, name, bars, common_nodes)
            with standard_output_kept():
                if target is not None and cells.mesh is not None and not is_parts_name(target):
                    from jetpy.meshes.one_number import check_room_for_parts

                    check_room_for_parts(target, cells.mesh)
                result = partition(
                    cells.graph,
                    k,
                    vertex_weights=_weights(cells, cell_weights, scale=scale),
                    scale=scale,
                    **asked,
                    progress=bars.stage,
                )
            concluded.append((result, seconds))
            bars.busy("Writing")
            if target is not None:
                _write(mesh, name, target, cells, result, ghosts=ghosts)
    if all_regions and json_file is not None:
        reports = {str(name): stats(*own) for name, own in zip(names, concluded, strict=True)}
        write_json(json_file, {"regions": reports})
    code = 0
    for (result, seconds), target in zip(concluded, written, strict=True):
        warn_of_pieces(result.disconnected)
        last_line = NO_OUTPUT if target is None else f"wrote {target}"
        text = summary(result, seconds).append(f"\n{last_line}")
        report = {} if json_file is None or all_regions else stats(result, seconds)
        own_file = None if all_regions else json_file
        silent = quiet or (all_regions and json_file == STDOUT)
        try:
            conclude(ctx, result, text, report, own_file, silent)
        except click.exceptions.Exit as unbalanced:  # after all regions
            code = unbalanced.exit_code
    if code:
        ctx.exit(code)


def _check_combination(ctx: click.Context, mesh: Path) -> None:
    """Refuse options that do not apply to this mesh, or to each other."""
    given = ctx.params
    if mesh.is_dir():
        if given["common_nodes"] is not None:
            raise click.UsageError("--common-nodes applies to mesh files, not to OpenFOAM cases")
        if given["ghosts"]:
            raise click.UsageError("--ghosts applies to .msh files, not to OpenFOAM cases")
        if not given["all_regions"]:
            check_region(mesh, given["region"], "--region NAME, or use --all-regions")
    elif given["region"] is not None or given["all_regions"]:
        option = "--all-regions" if given["all_regions"] else "--region"
        raise click.UsageError(f"{option} applies to OpenFOAM cases, not to {mesh}")
    if given["ghosts"] and given["output"] is None:
        raise click.UsageError("--ghosts needs -o with the name of a .msh file")
    if given["all_regions"]:
        for name, option in (
            ("region", "--region"),
            ("output", "-o"),
            ("cell_weights", "--cell-weights"),
        ):
            if given[name]:
                raise click.UsageError(f"--all-regions cannot be combined with {option}")


def _read(
    mesh: Path, region: str | None, bars: Bars, common_nodes: int | None
) -> tuple[InputGraph, float]:
    """Read a mesh file or a region of an OpenFOAM case; return the wall seconds, too."""
    bars.busy("Reading")
    started = time.perf_counter()
    cells = read_region(mesh, region) if mesh.is_dir() else read_cells(mesh, common_nodes)
    return cells, time.perf_counter() - started


def _weights(cells: InputGraph, given: Sequence[str], *, scale: bool) -> npt.NDArray[Any] | None:
    """Return the weights of the graph's vertices, shape (n,) or (n, c); None for 1."""
    import numpy as np

    from jetpy.graph.scaling import scaled_columns, weights_of
    from jetpy.graph.validate import CellNaming, checked_columns

    if not given:
        return None
    values = [_values(cells, name, scale=scale) for name in given]
    columns = np.concatenate([own.reshape(len(own), -1) for own in values], axis=1)
    n = cells.graph.n
    ids = np.arange(n) if cells.numbers is None else cells.numbers
    columns, naming = columns[ids], CellNaming(ids.tolist())
    if columns.shape[1] == 1:
        what = naming.vertex_weights
        return weights_of(columns[:, 0], n, what, naming.vertex, scale=scale)
    return scaled_columns(columns, naming) if scale else checked_columns(columns, n, naming)


def _values(cells: InputGraph, name: str, *, scale: bool) -> npt.NDArray[Any]:
    """Return the weights of all cells in cell data or in a file, shape (cells,) or (cells, c)."""
    from jetpy.graph.validate import CellNaming
    from jetpy.io.weights import read_vertex_weights
    from jetpy.meshes.files import cell_values

    names = [] if cells.mesh is None else sorted(cells.mesh.cell_data)
    if name in names:
        return cell_values(cells.mesh, name)
    if not Path(name).is_file():
        known = f"cell data of the mesh ({', '.join(names)}) nor " if names else ""
        neither = "neither " if names else "not "
        raise click.UsageError(f"--cell-weights {name!r} is {neither}{known}a file")
    rows, naming = cells.rows, CellNaming(range(cells.rows))
    try:
        return read_vertex_weights(Path(name), rows, scale=scale, naming=naming)
    except FileFormatError as error:
        if rows == cells.graph.n:
            raise
        raise FileFormatError(
            f"{error}; there must be a weight for each of the {rows} cells, boundary cells included"
        ) from None


def _write(
    mesh: Path,
    region: str | None,
    target: Path,
    cells: InputGraph,
    result: Partition,
    *,
    ghosts: bool,
) -> None:
    """Write the parts, or the mesh with its parts."""
    from jetpy.io.parts import is_parts_name, write_parts
    from jetpy.meshes import openfoam
    from jetpy.meshes.dual import ghost_cells, spread
    from jetpy.meshes.files import write_mesh

    parts = result.parts if cells.mesh is None else spread(cells.mesh, result.parts)
    if is_parts_name(target):
        write_parts(target, parts)
    elif cells.mesh is None:
        openfoam.write_decomposition(mesh, parts, target, region)
    else:
        found = ghost_cells(cells.mesh, cells.graph, result.parts) if ghosts else None
        with standard_output_kept():
            write_mesh(target, cells.mesh, parts, result.k, found)
