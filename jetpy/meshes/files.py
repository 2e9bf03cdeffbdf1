"""Mesh files, read by meshio and written with a part for each cell."""

from __future__ import annotations

import contextlib
import io
import logging
import os
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import numpy.typing as npt

from jetpy.engines.threads import fork_safe_lock
from jetpy.errors import FileFormatError, JetpyError, check_exists
from jetpy.io import FORMATS
from jetpy.io.compression import split_name
from jetpy.meshes.formats import PART, READ_OF_MEDIT, WITH_ONE_NUMBER, meshio, output_format
from jetpy.meshes.gmsh import write_gmsh
from jetpy.meshes.gmsh_groups import GROUPS, PART_GROUP, PHYSICAL, groups_of
from jetpy.meshes.gmsh_reading import is_gmsh, read_gmsh
from jetpy.meshes.gmsh_sections import gmsh_sections
from jetpy.meshes.one_number import put_numbers
from jetpy.meshes.sections import MeshSections, Section, naming
from jetpy.meshes.xdmf_sections import xdmf_sections

LOGGER = logging.getLogger("jetpy.input")
NODE_TAGS = "gmsh:dim_tags"
"""Name in meshio of the Gmsh entity of each node, two numbers per node."""
_TAGGED = re.compile(r"^(Info|Warning|Error): ", re.MULTILINE)
"""Begin of a message in the output of meshio."""
_redirecting = fork_safe_lock()
"""Only one thread may redirect the output of the process."""
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
    _check_input(path)
    if split_name(path)[1] == ".msh" and is_gmsh(path):
        mesh = read_gmsh(path)
    else:
        with _meshio_at_work(path, "read"):
            mesh = meshio().read(path)
    if split_name(path)[1] == ".mesh":
        _tell_dropped(path)
    if not any(len(block.data) for block in mesh.cells):
        raise FileFormatError(
            f"{path}: meshio finds no cells in this file (it does not support VTK's voxels)"
        )
    for name in list(mesh.cell_sets):
        if name == BOUNDING or PART_GROUP.fullmatch(name):
            del mesh.cell_sets[name]
    return mesh


def sections_of(path: Path) -> MeshSections:
    """Return the sections of a mesh file.

    Ranges of Gmsh's MSH 4.1 and of XDMF with HDF5 are read from the file; other files are read as a
    whole. The order of cells is that of `read_mesh`.

    Raises
    ------
    JetpyError, FileFormatError
        Under the conditions of `read_mesh`, or if the mesh has polyhedra.
    """
    _check_input(path)
    found = None
    with naming(path):
        if split_name(path)[1] == ".msh" and is_gmsh(path):
            found = gmsh_sections(path)
        elif split_name(path)[1] in (".xdmf", ".xmf"):
            found = xdmf_sections(path)
    if found is not None and any(own.count for own in found.sections):
        return found
    mesh = read_mesh(path)
    if any(block.type.startswith("polyhedron") for block in mesh.cells):
        raise FileFormatError(f"{path}: several processes do not read polyhedra")
    sections = [
        Section(block.type, len(block.data), partial(_rows, block.data)) for block in mesh.cells
    ]
    return MeshSections(path, sections, range(len(mesh.points)))


def _rows(values: npt.NDArray[Any], first: int, end: int) -> npt.NDArray[Any]:
    return values[first:end]


def _check_input(path: Path) -> None:
    """Check that meshio is installed, and that a file exists and has no suffix of graphs.

    Raises
    ------
    JetpyError
        If it is not so.
    """
    if split_name(path)[1] in FORMATS:
        raise FileFormatError(
            f"{path}: the suffix is that of a graph, not of a mesh; use jetpy partition"
        )
    meshio()
    check_exists(path)


def write_mesh(
    path: Path,
    mesh: Any,
    parts: npt.NDArray[np.int32],
    k: int | None = None,
    ghosts: npt.NDArray[np.int64] | None = None,
) -> None:
    """Write a mesh with the cell data `part`, atomically.

    Other data stay, and cell sets become cell data. If the format holds only one number per cell,
    it is the part for cells of the highest dimension, and stays for others. Gmsh files also get
    partitions and physical groups, see `jetpy.meshes.gmsh.write_gmsh`.
    Warnings of meshio go to the logger ``jetpy.input``.

    Parameters
    ----------
    path : Path
        Its suffix selects the format; .msh is Gmsh 4.1.
    mesh : meshio.Mesh
        Changed in place.
    parts : int32, shape (cells,)
        Part of each cell, in the order of the blocks.
    k : int, optional
        Number of parts, by default the largest part plus 1.
    ghosts : int64, shape (ghosts, 2), optional
        Pairs of a cell and a part in which it is a ghost cell; for Gmsh files only.

    Raises
    ------
    JetpyError
        If a package that meshio needs for this format is not installed.
    FileFormatError
        If meshio cannot write this mesh, the format does not hold parts, or holds one number per
        cell and the parts would replace materials.
    """
    name = output_format(path)
    ends = np.cumsum([len(block.data) for block in mesh.cells])
    by_block = np.split(np.asarray(parts, np.int32), ends[:-1])
    if name in WITH_ONE_NUMBER:
        put_numbers(path, mesh, by_block)
        mesh.point_data.pop(NODE_TAGS, None)
    else:
        if name != "gmsh" and GROUPS in (mesh.info or {}):
            mesh.cell_sets = groups_of(mesh).cell_sets(mesh)
        if mesh.cell_sets and not (name == "gmsh" and PHYSICAL in mesh.cell_data):
            _sets_to_data(mesh)
        mesh.cell_data[PART] = by_block
    if name == "med":
        _join_blocks(mesh)
    with TemporaryDirectory(dir=path.resolve().parent, prefix=f".{path.stem}-") as folder:
        unfinished = Path(folder) / path.name
        with _meshio_at_work(path, "write"):
            if name == "gmsh":
                write_gmsh(unfinished, mesh, by_block, k, ghosts)
            else:
                meshio().write(unfinished, mesh, file_format=name)
        for file in Path(folder).iterdir():  # some formats have several
            os.replace(file, path.resolve().parent / file.name)


def _join_blocks(mesh: Any) -> None:
    """Make one block of all cells of each type, because MED has one section for each type."""
    by_type: dict[str, list[int]] = {}
    for i, block in enumerate(mesh.cells):
        by_type.setdefault(block.type, []).append(i)
    if len(by_type) == len(mesh.cells):
        return
    mesh.cells = [
        type(mesh.cells[own[0]])(kind, np.concatenate([mesh.cells[i].data for i in own]))
        for kind, own in by_type.items()
    ]
    mesh.cell_data = {
        name: [np.concatenate([np.asarray(blocks[i]) for i in own]) for own in by_type.values()]
        for name, blocks in mesh.cell_data.items()
    }


def _tell_dropped(path: Path) -> None:
    """Log the sections of a Medit file that meshio skips."""
    for keyword in re.findall(
        r"^\s*([A-Z][A-Za-z]+)", path.read_text(errors="replace"), re.MULTILINE
    ):
        if keyword not in READ_OF_MEDIT:
            LOGGER.info("%s: the section %s is not kept", path, keyword)


def _sets_to_data(mesh: Any) -> None:
    """Make one array of the index of the set of each cell (-1: none), or one of 0 and 1 for each.

    The latter if sets overlap.
    """
    sizes = [len(block.data) for block in mesh.cells]
    members = np.array(
        [
            np.concatenate([_inside(own, n) for own, n in zip(cells, sizes, strict=True)])
            for cells in mesh.cell_sets.values()
        ]
    )
    if members.sum(axis=0).max(initial=0) > 1:
        arrays = dict(zip(mesh.cell_sets, members, strict=True))
    else:
        index = np.where(members.any(axis=0), members.argmax(axis=0), -1)
        arrays = {"-".join(mesh.cell_sets): index}
    for name, values in arrays.items():
        mesh.cell_data[name] = np.split(values, np.cumsum(sizes)[:-1])
    mesh.cell_sets = {}


def _inside(cells: Any, n: int) -> npt.NDArray[np.int32]:
    """Return 1 for each of n cells that is listed, and 0 for the others."""
    inside = np.zeros(n, np.int32)
    if cells is not None:
        inside[np.asarray(cells, np.int64)] = 1
    return inside


def cell_values(mesh: Any, name: str) -> npt.NDArray[Any]:
    """Return cell data of a mesh, shape (cells,) or (cells, c).

    Raises
    ------
    FileFormatError
        If they are not one or more real numbers for each cell.
    """
    values = np.concatenate([np.asarray(own) for own in mesh.cell_data[name]])
    if values.dtype.kind not in "biuf" or values.ndim > 2:
        raise FileFormatError(
            f"the cell data {name} have shape {values.shape} and type {values.dtype}; weights "
            "must be real numbers of shape (cells,) or (cells, c)"
        )
    return values


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
        with (
            _redirecting,
            contextlib.redirect_stdout(printed),
            contextlib.redirect_stderr(printed),
        ):
            yield
    except JetpyError:
        raise
    except ImportError as error:
        package = error.name or error
        raise JetpyError(
            f"{failed} without the package {package}: pip install {package}"
        ) from error
    except SystemExit as error:  # after it printed the reasons of its readers
        words = printed.getvalue()
        reasons = [*_TAGGED.split(words)[0].split("\n"), *_messages(words, "Error")]
        reason = next(
            (" ".join(line.split()) for line in reasons if line.strip()), "no reason given"
        )
        raise FileFormatError(f"{failed}: {reason}; {_instead(path)}") from error
    except Exception as error:
        reason = str(error) or type(error).__name__
        raise FileFormatError(f"{failed}: {reason}; {_instead(path)}") from error
    for message in _messages(printed.getvalue(), "Warning"):
        LOGGER.info("%s: meshio: %s", path, message)


def _instead(path: Path) -> str:
    """Return the advice to save the mesh in another format."""
    formats = [name for name in (".vtu", ".msh (MSH 4.1)") if not name.startswith(path.suffix)]
    return f"save the mesh as {' or '.join(formats)} instead"


def _messages(printed: str, kind: str) -> list[str]:
    """Return the messages of one kind in the output of meshio, each joined to one line."""
    messages = _TAGGED.split(printed)[1:]
    pairs = zip(messages[::2], messages[1::2], strict=True)
    return [" ".join(words.split()) for found, words in pairs if found == kind]
