"""Meshes of OpenFOAM: the faces' cells in `constant/polyMesh`, and a part for each cell."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import numpy.typing as npt

from jetpy.errors import FileFormatError
from jetpy.graph import Graph
from jetpy.io.atomic import atomic_write
from jetpy.io.compression import open_input
from jetpy.meshes.dual import dual_graph_of_faces

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
_START = re.compile(rb"\}\s*(?:(?://[^\n]*|/\*.*?\*/)\s*)*(\d+)\s*\(", re.DOTALL)


def is_case(path: Path) -> bool:
    """Whether a folder is a case of OpenFOAM that has a mesh."""
    return _file(path, "owner") is not None


def read_case(path: Path) -> Graph:
    """Return the dual graph of a case's mesh.

    Raises
    ------
    FileFormatError
        If a file is missing or not a list of labels.
    """
    return dual_graph_of_faces(*(read_labels(path, name) for name in ("owner", "neighbour")))


def read_labels(case: Path, name: str) -> npt.NDArray[np.int64]:
    """Return the labels of a file of `constant/polyMesh`: as text or binary, maybe compressed.

    Raises
    ------
    FileFormatError
    """
    file = _file(case, name)
    if file is None:
        raise FileFormatError(f"{case / POLY_MESH / name}: there is no such file")
    with open_input(file) as stream:
        content = stream.read()
    header, _, _ = content.partition(b"}")
    start = _START.search(content)
    if b"FoamFile" not in header or start is None:
        raise FileFormatError(f"{file}: not a list of labels of OpenFOAM")
    count, rest = int(start[1]), content[start.end() :]
    if re.search(rb"format\s+binary", header):
        wide = re.search(rb"label=64", header)
        values = np.frombuffer(rest[: count * (8 if wide else 4)], np.int64 if wide else np.int32)
    else:
        try:
            values = np.array(rest.partition(b")")[0].split(), np.int64)
        except ValueError:
            raise FileFormatError(f"{file}: a label is no integer") from None
    if len(values) != count:
        raise FileFormatError(f"{file}: {count} labels are announced, {len(values)} are there")
    return values.astype(np.int64)


def write_decomposition(case: Path, parts: npt.NDArray[np.int32], path: Path | None = None) -> Path:
    """Write the part of each cell for decomposePar's method `manual`; return where.

    That is ``constant/cellDecomposition`` unless another path is given; the name of the file is
    what `dataFile` in the coefficients of the method says.
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
