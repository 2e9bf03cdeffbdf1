"""Input graphs, including meshes and sessions, and the vertex order of accompanying files."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from jetpy.cli.output import standard_output_kept
from jetpy.cli.results import read_weights

if TYPE_CHECKING:
    import numpy.typing as npt

    from jetpy.graph.csr import Graph, IntArray
    from jetpy.progress import Bars


@dataclass(frozen=True, eq=False)
class InputGraph:
    """A graph, with the parts of a session if it comes from one.

    Attributes
    ----------
    graph : Graph
    rows : int
        Number of rows in accompanying files. For a session, they include deleted vertices; for a
        mesh, they are all cells.
    mesh : meshio.Mesh or None
    is_case : bool
        Whether the graph is that of an OpenFOAM case.
    numbers : int array, shape (n,), or None
        Row of each vertex in these files; None if it is the vertex id.
    parts : int32, shape (n,), or None
    k : int or None
        Number of parts of the session.
    """

    graph: Graph
    rows: int
    mesh: Any = None
    is_case: bool = False
    numbers: npt.NDArray[Any] | None = None
    parts: IntArray | None = None
    k: int | None = None

    def pick(self, rows: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return the rows of a file that belong to the graph's vertices."""
        return rows if self.numbers is None else rows[self.numbers]

    def with_weights(self, path: Path | None, *, scale: bool) -> InputGraph:
        """Return the graph with the vertex weights in a file, if `path` is not None.

        Raises
        ------
        FileFormatError
            Under the conditions of `read_vertex_weights`.
        """
        from jetpy.io.graphs import as_graph

        weights = read_weights(path, self.rows, scale=scale)
        if weights is None:
            return self
        graph = as_graph(self.graph, vertex_weights=self.pick(weights), scale=scale)
        return replace(self, graph=graph)

    def partition(self, path: Path | None, k: int | None) -> tuple[IntArray, int | None]:
        """Return the parts of the graph's vertices, and their number if known.

        They come from a file, or from the session if `path` is None.

        Raises
        ------
        FileFormatError
            Under the conditions of `jetpy.read_parts`; deleted vertices of a session may have part
            -1.
        """
        if path is not None:
            return self._read_parts(path), k
        assert self.parts is not None
        return self.parts, self.k if k is None else k

    def _read_parts(self, path: Path) -> IntArray:
        from jetpy.errors import FileFormatError
        from jetpy.io import read_parts
        from jetpy.meshes import openfoam

        if self.is_case and openfoam.is_decomposition(path):
            return self._read_decomposition(path)
        if self.numbers is None:
            return read_parts(path, self.rows)
        parts: IntArray = self.pick(
            self._read_cell_parts(path)
            if self.mesh is not None
            else read_parts(path, self.rows, partial=True)
        )
        without = (parts < 0).nonzero()[0]
        if len(without):
            raise FileFormatError(f"{path}: vertex {self.numbers[without[0]]} has no part")
        return parts

    def _read_decomposition(self, path: Path) -> IntArray:
        """Read a file of parts in the format of OpenFOAM."""
        from jetpy.errors import FileFormatError
        from jetpy.meshes.openfoam import read_decomposition

        parts = read_decomposition(path)
        if len(parts) != self.rows:
            raise FileFormatError(
                f"{path}: the file has {len(parts)} part ids, but the mesh has {self.rows} cells"
            )
        return parts

    def _read_cell_parts(self, path: Path) -> IntArray:
        """Read the parts of all cells of a mesh."""
        from jetpy.errors import FileFormatError
        from jetpy.io import read_parts
        from jetpy.io.parts import is_parts_name
        from jetpy.meshes.formats import is_mesh_name

        if not is_parts_name(path) and is_mesh_name(path):
            raise FileFormatError(
                f"{path}: this is a mesh, not a file of parts; jetpy mesh -o out.part writes the "
                "parts alone"
            )
        parts = read_parts(path, partial=True)
        if len(parts) != self.rows:
            raise FileFormatError(
                f"{path}: the file has {len(parts)} part ids, but the mesh has {self.rows} cells; "
                "cells of lower dimension, such as boundary cells, need a part, too"
            )
        return parts


def read_input(path: Path, bars: Bars, region: str | None = None, **rules: bool) -> InputGraph:
    """Read a graph, with rules as for `read_graph`, a session, or the cells of a mesh.

    Raises
    ------
    UsageError
        If the path is a folder without arrays of a graph that is not an OpenFOAM case, or has no
        mesh of this region; or if a region is given for another input.
    FileFormatError
        Under the conditions of `read_graph`, `read_session` and `read_mesh`; or if the suffix is
        unknown.
    """
    from jetpy.errors import FileFormatError
    from jetpy.io import FORMATS, read_graph
    from jetpy.io.compression import split_name
    from jetpy.io.folder import is_graph
    from jetpy.meshes.formats import is_mesh_name

    if path.is_dir() and not is_graph(path):
        bars.busy("Reading")
        return read_region(path, region)
    if region is not None:
        raise click.UsageError(f"--region applies to OpenFOAM cases, not to {path}")
    if is_session_file(path):
        bars.busy("Reading")
        return _session(path, **rules)
    suffix = split_name(path)[1]
    if path.is_dir() or suffix in FORMATS:
        graph = read_graph(path, progress=bars.read, **rules)
        return InputGraph(graph, graph.n)
    if not is_mesh_name(path):
        raise FileFormatError(
            f"{path}: {suffix or 'no suffix'!r} is not a graph format ({', '.join(FORMATS)}) or a "
            "mesh format that meshio reads (pip install meshio)"
        )
    bars.busy("Reading")
    return read_cells(path)


def is_session_file(path: Path) -> bool:
    """Return whether a path is a session file."""
    from jetpy.incremental.session import is_session

    return path.is_file() and is_session(path)


def name_of(path: Path) -> str:
    """Return the name in reports of the graph in a file or folder."""
    from jetpy.io.compression import split_name

    return path.resolve().name if path.is_dir() else split_name(path)[0]


def check_region(path: Path, region: str | None, remedy: str = "--region NAME") -> None:
    """Check that a folder is an OpenFOAM case with a mesh, or with one of this region.

    Raises
    ------
    UsageError
        If it is not; `remedy` names the options for a case of regions.
    """
    from jetpy.errors import FileFormatError
    from jetpy.meshes.openfoam import check_case

    try:
        check_case(path, region, remedy)
    except FileFormatError as error:
        raise click.UsageError(str(error)) from error


def read_region(path: Path, region: str | None) -> InputGraph:
    """Read the cells of an OpenFOAM case, or of a region.

    Raises
    ------
    UsageError
        Under the conditions of `check_region`.
    """
    from jetpy.meshes.openfoam import read_case

    check_region(path, region)
    graph = read_case(path, region)
    return InputGraph(replace(graph, name=region or name_of(path)), graph.n, is_case=True)


def read_cells(path: Path, common_nodes: int | None = None) -> InputGraph:
    """Read the cells of a mesh file; `common_nodes` is as for `jetpy.dual_graph`."""
    from jetpy.meshes.cells import blocks_of, count_cells
    from jetpy.meshes.dual import cells_of_vertices, dual_graph
    from jetpy.meshes.files import read_mesh

    with standard_output_kept():
        cells = read_mesh(path)
        graph = replace(dual_graph(cells, common_nodes=common_nodes), name=name_of(path))
    rows, numbers = count_cells(blocks_of(cells)), cells_of_vertices(cells)
    return InputGraph(graph, rows, mesh=cells, numbers=numbers)


def _session(path: Path, **rules: bool) -> InputGraph:
    from jetpy.incremental.session import read_session
    from jetpy.io.graphs import as_graph

    session = read_session(path)
    graph = as_graph(session.graph, pattern=rules.get("pattern", False))
    graph, settings = replace(graph, name=name_of(path)), session.settings
    return InputGraph(
        graph,
        settings.ids,
        numbers=session.vertices,
        parts=session.parts,
        k=settings.goal.k,
    )
