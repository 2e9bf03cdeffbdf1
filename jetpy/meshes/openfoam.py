"""OpenFOAM meshes in `constant/polyMesh`: faces, cells and points, and a part for each cell."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from jetpy.errors import FileFormatError, check_exists
from jetpy.graph.coordinates import Coordinates
from jetpy.graph.csr import Graph
from jetpy.io.atomic import atomic_write
from jetpy.io.compression import open_input
from jetpy.meshes.dual import dual_graph_of_faces

Labels = npt.NDArray[np.int64]
POLY_MESH = Path("constant", "polyMesh")
DECOMPOSITION = Path("constant", "cellDecomposition")
HEADER = """\
FoamFile
{{
    version     2.0;
    format      ascii;
    class       labelList;
    location    "constant";
    object      {name};
}}

{count}
(
"""
_THEN = re.compile(rb"\s*\)\s*(\d+)\s*\(")
"""Text between the two lists of a binary faces file."""
_START = re.compile(rb"\}\s*(?:(?://[^\n]*|/\*.*?\*/)\s*)*(\d+)\s*\(", re.DOTALL)


def is_case(path: Path) -> bool:
    """Return whether a folder is an OpenFOAM case with a mesh."""
    return _file(path, "owner") is not None


def read_case(path: Path) -> Graph:
    """Return the dual graph of a case's mesh; its coordinates are the cell centres.

    Raises
    ------
    MissingFileError
        If the folder does not exist.
    FileFormatError
        If a required file is missing or is not a list of labels.
    """
    check_exists(path)
    owner, neighbour = (read_labels(path, name) for name in ("owner", "neighbour"))
    graph = dual_graph_of_faces(owner, neighbour)
    if _file(path, "points") is None or _file(path, "faces") is None:
        return graph
    return replace(graph, locate=partial(_centres, path, owner, neighbour))


@dataclass(frozen=True)
class Listing:
    """A file of `constant/polyMesh`: its header, the length of its list, and the list's content."""

    file: Path
    header: bytes
    count: int
    content: bytes

    @property
    def is_binary(self) -> bool:
        """Whether numbers are in binary form."""
        return re.search(rb"format\s+binary", self.header) is not None

    @property
    def label(self) -> type[np.int32 | np.int64]:
        """Dtype of binary labels."""
        return np.int64 if b"label=64" in self.header else np.int32

    @property
    def scalar(self) -> type[np.float32 | np.float64]:
        """Dtype of binary coordinates."""
        return np.float32 if b"scalar=32" in self.header else np.float64

    @property
    def words(self) -> list[bytes]:
        """The numbers of a list of lists, as text."""
        text, _, _ = self.content.rpartition(b")")
        return text.translate(bytes.maketrans(b"()", b"  ")).split()


def read_listing(case: Path, name: str) -> Listing:
    """Read a file of `constant/polyMesh`, text or binary, optionally compressed.

    Raises
    ------
    FileFormatError
        If the file is missing or is not a list of OpenFOAM.
    """
    file = _file(case, name)
    if file is None:
        raise FileFormatError(f"{case / POLY_MESH / name}: the file does not exist")
    with open_input(file) as stream:
        content = stream.read()
    header, _, _ = content.partition(b"}")
    start = _START.search(content)
    if b"FoamFile" not in header or start is None:
        raise FileFormatError(f"{file}: this is not an OpenFOAM list of labels")
    return Listing(file, header, int(start[1]), content[start.end() :])


def read_labels(case: Path, name: str) -> npt.NDArray[np.int64]:
    """Return the labels in a file of `constant/polyMesh`, int64.

    Raises
    ------
    FileFormatError
        If the file is missing, or is not a list of labels of the announced length.
    """
    listing = read_listing(case, name)
    if listing.is_binary:
        values = _binary(listing.content, listing.count, listing.label)
    else:
        try:
            values = np.array(listing.content.partition(b")")[0].split(), np.int64)
        except ValueError:
            raise FileFormatError(f"{listing.file}: a label is not an integer") from None
    if len(values) != listing.count:
        raise FileFormatError(
            f"{listing.file}: the file announces {listing.count} labels, but has {len(values)}"
        )
    return values.astype(np.int64)


def read_points(case: Path) -> npt.NDArray[np.float64]:
    """Return the points of a mesh, float64, shape (n, 3).

    Raises
    ------
    FileFormatError
        If the file is missing or invalid.
    """
    listing = read_listing(case, "points")
    wanted = 3 * listing.count
    try:
        values = (
            _binary(listing.content, wanted, listing.scalar)
            if listing.is_binary
            else np.array(listing.words, np.float64)
        )
        return values.astype(np.float64).reshape(listing.count, 3)
    except ValueError:
        raise FileFormatError(
            f"{listing.file}: the file does not contain {listing.count} points"
        ) from None


def read_faces(case: Path) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the points of all faces, concatenated, and the start of each face, both int64.

    Raises
    ------
    FileFormatError
        If the file is missing or invalid.
    """
    listing = read_listing(case, "faces")
    try:
        if listing.is_binary:
            starts = _binary(listing.content, listing.count, listing.label)
            rest = listing.content[starts.nbytes :]
            then = _THEN.match(rest)
            assert then is not None
            points = _binary(rest[then.end() :], int(then[1]), listing.label)
            return points.astype(np.int64), starts[:-1].astype(np.int64)
        numbers = np.array(listing.words, np.int64)
        sizes = numbers.tolist()
        places = [0]
        for _ in range(listing.count):
            places.append(places[-1] + 1 + sizes[places[-1]])
        assert places.pop() == len(numbers)
        return np.delete(numbers, places), np.array(places) - np.arange(listing.count)
    except (ValueError, AssertionError, IndexError):
        raise FileFormatError(f"{listing.file}: this is not an OpenFOAM list of faces") from None


def _binary(content: bytes, count: int, kind: type[Any]) -> npt.NDArray[Any]:
    """Return the first `count` numbers of a binary list, or all if there are fewer."""
    return np.frombuffer(content[: count * np.dtype(kind).itemsize], kind)


def _centres(case: Path, owner: Labels, neighbour: Labels) -> Coordinates:
    """Return the centre of each cell: the mean of its face centres, which are means of points.

    Raises
    ------
    FileFormatError
        If faces, owner and points are inconsistent.
    """
    points, (labels, starts) = read_points(case), read_faces(case)
    if len(starts) != len(owner) or (len(labels) and labels.max() >= len(points)):
        raise FileFormatError(f"{case / POLY_MESH}: faces, owner and points are inconsistent")
    sizes = np.diff(starts, append=len(labels))
    of_faces = np.add.reduceat(points[labels], starts) / sizes[:, None]
    cells = np.concatenate([owner, neighbour])
    centres = np.concatenate([of_faces, of_faces[: len(neighbour)]])
    sums = np.column_stack([np.bincount(cells, column) for column in centres.T])
    return sums / np.bincount(cells)[:, None]


def write_decomposition(case: Path, parts: npt.NDArray[np.int32], path: Path | None = None) -> Path:
    """Write the part of each cell for decomposePar's method `manual`; return the path.

    The default path is ``constant/cellDecomposition``. The file name must match `dataFile` in the
    coefficients of the method.
    """
    target = case / DECOMPOSITION if path is None else path
    head = HEADER.format(name=target.name, count=len(parts))
    with atomic_write(target) as stream:
        stream.write(head.encode() + "\n".join(map(str, parts.tolist())).encode() + b"\n)\n")
    return target


def _file(case: Path, name: str) -> Path | None:
    for file in (case / POLY_MESH / name, case / POLY_MESH / f"{name}.gz"):
        if file.is_file():
            return file
    return None
