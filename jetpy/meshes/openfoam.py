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
from jetpy.graph.csr import INT32_MAX, Graph
from jetpy.io.atomic import atomic_write
from jetpy.io.compression import open_input
from jetpy.io.limits import is_justified
from jetpy.meshes.dual import dual_graph_of_faces

Labels = npt.NDArray[np.int64]
CONSTANT = Path("constant")
POLY_MESH = CONSTANT / "polyMesh"
DECOMPOSITION = CONSTANT / "cellDecomposition"
HEADER = """\
FoamFile
{{
    version     2.0;
    format      ascii;
    class       labelList;
    location    "{location}";
    object      {name};
}}

{count}
(
"""
_THEN = re.compile(rb"\s*\)\s*(\d+)\s*\(")
"""Text between the two lists of a binary faces file."""
_WORDS_AND_COMMENTS = re.compile(rb'("[^"\n]*")|//[^\n]*|/\*.*?\*/', re.DOTALL)
_OPENING = re.compile(rb'"[^"\n]*"|//[^\n]*|/\*.*?\*/|[({]', re.DOTALL)
_HEAD = re.compile(rb"(.*\})\s*(\d+)\s*", re.DOTALL)
"""A header and the length of the list that follows."""


def is_case(path: Path, region: str | None = None) -> bool:
    """Return whether a folder is an OpenFOAM case with a mesh, or a mesh of this region."""
    return _file(path, "owner", region) is not None


def regions(path: Path) -> list[str]:
    """Return the names of the regions of a case that have a mesh."""
    folders = sorted((path / CONSTANT).glob("*/polyMesh"))
    return [own.parent.name for own in folders if is_case(path, own.parent.name)]


def check_case(path: Path, region: str | None = None, remedy: str = "--region") -> None:
    """Check that a folder is an OpenFOAM case with a mesh, or a mesh of this region.

    Raises
    ------
    FileFormatError
        If it is not; `remedy` names the options for a case of regions.
    """
    if is_case(path, region):
        return
    names = regions(path)
    if not names:
        raise FileFormatError(f"{path} is a folder, but not an OpenFOAM case with a mesh")
    if region is not None:
        raise FileFormatError(f"{path} has no region {region}; its regions are {', '.join(names)}")
    raise FileFormatError(
        f"{path} is an OpenFOAM case of regions only ({', '.join(names)}); choose one by "
        f"{remedy.replace('NAME', names[0])}"
    )


def read_case(path: Path, region: str | None = None) -> Graph:
    """Return the dual graph of a case's mesh; its coordinates are the cell centres.

    Parameters
    ----------
    path : Path
    region : str, optional
        A region with a mesh of its own in ``constant/region/polyMesh``.

    Raises
    ------
    MissingFileError
        If the folder does not exist.
    FileFormatError
        If a required file is missing or is not a list of labels.
    """
    check_exists(path)
    owner, neighbour = (read_labels(path, name, region) for name in ("owner", "neighbour"))
    graph = dual_graph_of_faces(owner, neighbour)
    if _file(path, "points", region) is None or _file(path, "faces", region) is None:
        return graph
    return replace(graph, locate=partial(_centres, path, owner, neighbour, region))


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


def read_listing(case: Path, name: str, region: str | None = None) -> Listing:
    """Read a file of `constant/polyMesh`, text or binary, optionally compressed.

    Raises
    ------
    FileFormatError
        If the file is missing or is not a list of OpenFOAM.
    """
    file = _file(case, name, region)
    if file is None:
        raise FileFormatError(f"{_mesh(case, region) / name}: the file does not exist")
    return _listing(file)


def _listing(file: Path) -> Listing:
    with open_input(file) as stream:
        content = stream.read()
    for opening in _OPENING.finditer(content):
        if opening[0] not in b"({":
            continue
        head = _HEAD.fullmatch(_without_comments(content[: opening.start()]))
        if head is None or b"FoamFile" not in head[1]:
            continue
        listing = Listing(file, head[1], int(head[2]), content[opening.end() :])
        if listing.is_binary:
            return listing
        words = _without_comments(listing.content)
        if opening[0] == b"{":  # all entries are equal
            if not is_justified(listing.count, 0):
                raise FileFormatError(f"{file}: {listing.count} equal labels are too many")
            words = b"%b " % words.partition(b"}")[0] * listing.count + b")"
        return replace(listing, content=words)
    raise FileFormatError(f"{file}: this is not an OpenFOAM list of labels")


def _without_comments(text: bytes) -> bytes:
    """Replace comments of C and C++ by blanks, but not within quotation marks."""
    return _WORDS_AND_COMMENTS.sub(lambda found: found[1] or b" ", text)


def read_labels(case: Path, name: str, region: str | None = None) -> npt.NDArray[np.int64]:
    """Return the labels in a file of `constant/polyMesh`, int64.

    Raises
    ------
    FileFormatError
        If the file is missing, or is not a list of labels of the announced length.
    """
    return _labels(read_listing(case, name, region))


def read_decomposition(path: Path) -> npt.NDArray[np.int32]:
    """Return the part of each cell in a file of `write_decomposition`, int32.

    Raises
    ------
    FileFormatError
        If the file is not a list of labels of the announced length, or a label is not a part.
    """
    parts = _labels(_listing(path))
    wrong = (parts < 0) | (parts >= INT32_MAX)
    if wrong.any():
        raise FileFormatError(f"{path}: part {parts[wrong][0]} is not in 0..{INT32_MAX - 1}")
    return parts.astype(np.int32)


def is_decomposition(path: Path) -> bool:
    """Return whether a file begins as those of OpenFOAM do."""
    with open_input(path) as stream:
        return b"FoamFile" in stream.read(4096)


def _labels(listing: Listing) -> Labels:
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


def read_points(case: Path, region: str | None = None) -> npt.NDArray[np.float64]:
    """Return the points of a mesh, float64, shape (n, 3).

    Raises
    ------
    FileFormatError
        If the file is missing or invalid.
    """
    listing = read_listing(case, "points", region)
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


def read_faces(case: Path, region: str | None = None) -> tuple[Labels, Labels]:
    """Return the points of all faces, concatenated, and the start of each face, both int64.

    Raises
    ------
    FileFormatError
        If the file is missing or invalid.
    """
    listing = read_listing(case, "faces", region)
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


def _centres(
    case: Path, owner: Labels, neighbour: Labels, region: str | None = None
) -> Coordinates:
    """Return the centre of each cell: the mean of its face centres, which are means of points.

    Raises
    ------
    FileFormatError
        If faces, owner and points are inconsistent.
    """
    points, (labels, starts) = read_points(case, region), read_faces(case, region)
    if len(starts) != len(owner) or (len(labels) and labels.max() >= len(points)):
        raise FileFormatError(f"{_mesh(case, region)}: faces, owner and points are inconsistent")
    sizes = np.diff(starts, append=len(labels))
    of_faces = np.add.reduceat(points[labels], starts) / sizes[:, None]
    cells = np.concatenate([owner, neighbour])
    centres = np.concatenate([of_faces, of_faces[: len(neighbour)]])
    sums = np.column_stack([np.bincount(cells, column) for column in centres.T])
    return sums / np.bincount(cells)[:, None]


def decomposition(case: Path, region: str | None = None) -> Path:
    """Return the path at which OpenFOAM looks for the parts of the cells of a region."""
    return case / DECOMPOSITION if region is None else case / CONSTANT / region / DECOMPOSITION.name


def write_decomposition(
    case: Path,
    parts: npt.NDArray[np.int32],
    path: Path | None = None,
    region: str | None = None,
) -> Path:
    """Write the part of each cell for decomposePar's method `manual`; return the path.

    The default path is ``constant/cellDecomposition``, with the name of the region between. The
    file name must match `dataFile` in the coefficients of the method.
    """
    target = decomposition(case, region) if path is None else path
    location = (CONSTANT / (region or "")).as_posix()
    head = HEADER.format(name=target.name, count=len(parts), location=location)
    with atomic_write(target) as stream:
        stream.write(head.encode() + "\n".join(map(str, parts.tolist())).encode() + b"\n)\n")
    return target


def _mesh(case: Path, region: str | None) -> Path:
    return case / POLY_MESH if region is None else case / CONSTANT / region / POLY_MESH.name


def _file(case: Path, name: str, region: str | None = None) -> Path | None:
    for file in (_mesh(case, region) / name, _mesh(case, region) / f"{name}.gz"):
        if file.is_file():
            return file
    return None
