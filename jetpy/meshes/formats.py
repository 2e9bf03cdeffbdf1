"""Formats of meshio: the ones that hold a part per cell, and the packages that they need."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from jetpy.errors import FileFormatError, JetpyError
from jetpy.io.packages import optional_package
from jetpy.io.parts import is_parts_name

WITH_PARTS = ("gmsh", "vtu", "vtk", "xdmf", "med", "hmf", "avsucd", "tecplot", "tetgen")
"""Formats with any number of integers per cell."""
WITH_ONE_NUMBER = ("medit", "netgen")
"""Formats with one integer per cell."""
PART = "part"
"""Name of the cell data that holds the parts."""
READ_OF_MEDIT = {
    *("MeshVersionFormatted", "Dimension", "Vertices", "Edges", "Triangles", "Quadrilaterals"),
    *("Tetrahedra", "Prisms", "Pyramids", "Hexahedra", "Hexaedra", "Identifier", "Geometry", "End"),
    *("RequiredVertices", "TangentAtVertices", "Tangents", "Ridges"),
}
"""Sections of .mesh files that meshio reads, or warns of."""
PACKAGES = {"xdmf": "h5py", "med": "h5py", "hmf": "h5py"}
"""Packages that meshio imports to write a format."""


def meshio() -> Any:
    """Return the module meshio.

    Raises
    ------
    JetpyError
        If meshio is not installed.
    """
    return optional_package("meshio", "files of meshes")


def is_mesh_name(path: Path) -> bool:
    """Return whether meshio is installed and supports the suffix of a file name."""
    try:
        return bool(_formats(path))
    except JetpyError:
        return False


def output_format(path: Path) -> str:
    """Return the format in which meshio writes a file of this name.

    Raises
    ------
    FileFormatError
        If meshio does not know the suffix, or the format does not hold a part for each cell.
    JetpyError
        If meshio, or a package that it needs for this format, is not installed.
    """
    formats = _formats(path)
    suffixes = "; use .vtu, .vtk, .msh, .xdmf or .med"
    if not formats:
        raise FileFormatError(f"{path}: meshio does not write files with this suffix{suffixes}")
    name = "gmsh" if "gmsh" in formats else formats[0]
    if name not in (*WITH_PARTS, *WITH_ONE_NUMBER):
        raise FileFormatError(
            f"{path}: files with this suffix cannot store the part of each cell{suffixes}"
        )
    if name in PACKAGES:
        optional_package(PACKAGES[name], f"{path}: files of this format")
    return name


def check_output_name(path: Path, *, with_ghosts: bool = False) -> None:
    """Check that `jetpy mesh` can write the mesh, or the parts alone, to a file of this name.

    Raises
    ------
    FileFormatError, JetpyError
        Under the conditions of `output_format`, unless the suffix is that of a parts file; or if
        the format does not hold ghost cells, but has to.
    """
    if with_ghosts and path.suffix.lower() != ".msh":
        raise FileFormatError(f"{path}: only .msh files have ghost cells; write .msh")
    if is_parts_name(path):
        return
    try:
        output_format(path)
    except FileFormatError as error:
        raise FileFormatError(
            f"{error}; to write only the parts, use .part, .npy, .npz, .csv or .json"
        ) from None


def _formats(path: Path) -> list[str]:
    known = meshio()._helpers.extension_to_filetypes
    suffixes = ("".join(path.suffixes[i:]).lower() for i in range(len(path.suffixes)))
    return [name for suffix in suffixes for name in known.get(suffix, ())]
