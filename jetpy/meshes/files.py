"""Files of meshes, by meshio: read, and written with a part for each cell."""

from __future__ import annotations

import importlib
import os
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import numpy.typing as npt

from jetpy.errors import FileFormatError, JetpyError, check_exists
from jetpy.io import FORMATS
from jetpy.io.compression import split_name
from jetpy.io.parts import is_parts_name
from jetpy.meshes.cell_types import type_of

PART = "part"
"""What the data of cells are called that hold parts."""
PHYSICAL, GEOMETRICAL = "gmsh:physical", "gmsh:geometrical"
"""Tags of cells in files of Gmsh."""


def read_mesh(path: Path) -> Any:
    """Return the mesh of a file as meshio has it.

    Raises
    ------
    JetpyError
        If meshio is not installed; a `MissingFileError` if there is no such file.
    FileFormatError
        If meshio does not read the file, or no cells in it, or its name is that of a graph.
    """
    if split_name(path)[1] in FORMATS:
        raise FileFormatError(f"{path}: this is the name of a graph, which jetpy partition takes")
    meshio = _meshio()
    check_exists(path)
    try:
        mesh = meshio.read(path)
    except (SystemExit, Exception) as error:  # meshio ends the program where it knows no format
        raise FileFormatError(f"{path}: meshio does not read this mesh: {error}") from error
    if not any(len(block.data) for block in mesh.cells):
        raise FileFormatError(f"{path}: meshio finds no cells; it does not know VTK's voxels")
    return mesh


def write_mesh(path: Path, mesh: Any, parts: npt.NDArray[np.int32]) -> None:
    """Write a mesh of meshio with the data `part` for its cells, whole or not at all.

    Files of Gmsh (.msh) have no such data: there cells of the highest dimension are in the physical
    group of their part plus 1, and others stay in theirs.

    Parameters
    ----------
    path : Path
        Its suffix tells the format.
    mesh : meshio.Mesh
        Gets the data.
    parts : int32, shape (cells,)

    Raises
    ------
    FileFormatError
        If meshio does not write such a mesh in that format.
    """
    ends = np.cumsum([len(block.data) for block in mesh.cells])
    by_block = np.split(np.asarray(parts, np.int32), ends[:-1])
    of_gmsh = path.suffix.lower() == ".msh"
    if of_gmsh:
        _tag(mesh, by_block)
    else:
        mesh.cell_data[PART] = by_block
    with TemporaryDirectory(dir=path.resolve().parent, prefix=f".{path.stem}-") as folder:
        unfinished = Path(folder) / path.name
        try:
            _meshio().write(unfinished, mesh, file_format="gmsh22" if of_gmsh else None)
        except (SystemExit, Exception) as error:
            raise FileFormatError(f"{path}: meshio does not write this mesh: {error}") from error
        for file in Path(folder).iterdir():  # some formats have several
            os.replace(file, path.resolve().parent / file.name)


def _tag(mesh: Any, by_block: list[npt.NDArray[np.int32]]) -> None:
    """Put the cells of highest dimension into the physical groups of their parts."""
    kept = {name: mesh.cell_data.get(name) for name in (PHYSICAL, GEOMETRICAL)}
    none = [np.zeros(len(parts), np.int32) for parts in by_block]
    before = none if kept[PHYSICAL] is None else kept[PHYSICAL]
    dimensions = [type_of(block.type)[1].dimension for block in mesh.cells]
    physical = [
        parts + 1 if dimension == max(dimensions) else np.asarray(own, np.int32)
        for parts, dimension, own in zip(by_block, dimensions, before, strict=True)
    ]
    mesh.cell_data = {PHYSICAL: physical, GEOMETRICAL: kept[GEOMETRICAL] or none}


def check_mesh_name(path: Path) -> None:
    """Refuse a name whose suffix is of no format that meshio writes, or that parts have.

    Raises
    ------
    FileFormatError
    """
    _meshio()
    if not is_mesh_name(path) and not is_parts_name(path):
        raise FileFormatError(
            f"{path}: meshio writes no such meshes; .vtu, .vtk, .msh are some, and .part, .npy, "
            ".npz, .csv and .json are for the parts alone"
        )


def is_mesh_name(path: Path) -> bool:
    """Whether the suffix of a name is that of a format that meshio knows, if it is installed."""
    try:
        known = _meshio()._helpers.extension_to_filetypes
    except JetpyError:
        return False
    suffixes = ("".join(path.suffixes[i:]).lower() for i in range(len(path.suffixes)))
    return any(suffix in known for suffix in suffixes)


def _meshio() -> Any:
    try:
        return importlib.import_module("meshio")
    except ImportError:
        raise JetpyError("meshes are read and written by a package: pip install meshio") from None
