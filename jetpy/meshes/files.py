"""Mesh files, read by meshio and written with a part for each cell."""

from __future__ import annotations

import contextlib
import io
import logging
import os
import re
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import numpy.typing as npt

from jetpy.errors import FileFormatError, JetpyError, check_exists
from jetpy.io import FORMATS
from jetpy.io.compression import split_name
from jetpy.meshes.formats import WITH_ONE_NUMBER, meshio, output_format
from jetpy.meshes.gmsh import PART_GROUP, PHYSICAL, write_gmsh

LOGGER = logging.getLogger("jetpy.input")
PART = "part"
"""Name of the cell data that holds the parts."""
NODE_TAGS = "gmsh:dim_tags"
"""Name in meshio of the Gmsh entity of each node, two numbers per node."""
BOUNDING = "gmsh:bounding_entities"
"""Entry that meshio lists among the cell sets of Gmsh files although it is not a cell set."""


def read_mesh(path: Path) -> Any:
    """Read a mesh file and return its `meshio.Mesh`.

    Cell sets that `write_mesh` made for an earlier partition are dropped. Warnings of meshio go to
    the logger ``jetpy.input``.

    Raises
    ------
    JetpyError
        If meshio, or a package that it needs for this file, is not installed; a
        `MissingFileError` if the file does not exist.
    FileFormatError
        If meshio cannot read the file or finds no cells, or the suffix is that of a graph format.
    """
    if split_name(path)[1] in FORMATS:
        raise FileFormatError(
            f"{path}: the suffix is that of a graph, not of a mesh; use jetpy partition"
        )
    read = meshio().read
    check_exists(path)
    with _meshio_at_work(path, "read"):
        mesh = read(path)
    if not any(len(block.data) for block in mesh.cells):
        raise FileFormatError(
            f"{path}: meshio finds no cells in this file (it does not support VTK's voxels)"
        )
    for name in list(mesh.cell_sets):
        if name == BOUNDING or PART_GROUP.fullmatch(name):
            del mesh.cell_sets[name]
    return mesh


def write_mesh(path: Path, mesh: Any, parts: npt.NDArray[np.int32]) -> None:
    """Write a mesh with the cell data `part`, atomically.

    Other data stay, and cell sets become cell data. If the format holds only one number per cell,
    it is the part. Gmsh files also get physical groups, see `jetpy.meshes.gmsh.write_gmsh`.
    Warnings of meshio go to the logger ``jetpy.input``.

    Parameters
    ----------
    path : Path
        Its suffix selects the format; .msh is Gmsh 4.1.
    mesh : meshio.Mesh
        Changed in place.
    parts : int32, shape (cells,)
        Part of each cell, in the order of the blocks.

    Raises
    ------
    JetpyError
        If a package that meshio needs for this format is not installed.
    FileFormatError
        If meshio cannot write this mesh, or the format does not hold parts.
    """
    name = output_format(path)
    ends = np.cumsum([len(block.data) for block in mesh.cells])
    by_block = np.split(np.asarray(parts, np.int32), ends[:-1])
    if name in WITH_ONE_NUMBER:
        mesh.cell_data = {}
        mesh.point_data.pop(NODE_TAGS, None)
    elif mesh.cell_sets and not (name == "gmsh" and PHYSICAL in mesh.cell_data):
        mesh.cell_sets_to_data()
    mesh.cell_data[PART] = by_block
    with TemporaryDirectory(dir=path.resolve().parent, prefix=f".{path.stem}-") as folder:
        unfinished = Path(folder) / path.name
        with _meshio_at_work(path, "write"):
            if name == "gmsh":
                write_gmsh(unfinished, mesh, by_block)
            else:
                meshio().write(unfinished, mesh, file_format=name)
        for file in Path(folder).iterdir():  # some formats have several
            os.replace(file, path.resolve().parent / file.name)


@contextlib.contextmanager
def _meshio_at_work(path: Path, what: str) -> Iterator[None]:
    """Log the warnings that meshio prints in the block, and convert its errors to jetpy's.

    Raises
    ------
    JetpyError
        If meshio does not find a package that it needs.
    FileFormatError
        If meshio raises any other error, or exits, as it does for an unreadable file.
    """
    printed = io.StringIO()
    failed = f"{path}: meshio cannot {what} this mesh"
    try:
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
            yield
    except JetpyError:
        raise
    except ImportError as error:
        package = error.name or error
        raise JetpyError(
            f"{failed} without the package {package}: pip install {package}"
        ) from error
    except SystemExit as error:
        reason = [*_messages(printed.getvalue(), "Error"), "no reason given"][0]
        raise FileFormatError(f"{failed}: {reason}") from error
    except Exception as error:
        raise FileFormatError(f"{failed}: {str(error) or type(error).__name__}") from error
    for message in _messages(printed.getvalue(), "Warning"):
        LOGGER.info("%s: meshio: %s", path, message)


def _messages(printed: str, kind: str) -> list[str]:
    """Return the messages of one kind in the output of meshio, each joined to one line."""
    messages = re.split(r"^(Info|Warning|Error): ", printed, flags=re.MULTILINE)[1:]
    pairs = zip(messages[::2], messages[1::2], strict=True)
    return [" ".join(words.split()) for found, words in pairs if found == kind]
