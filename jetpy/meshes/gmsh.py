"""Writer of binary Gmsh 4.1 files with a physical group for each part.

meshio's writer allows one physical group per cell, and its reader fails on cell data in format
2.2. Source of the format: the Gmsh reference manual, section "MSH file format".
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from jetpy.errors import FileFormatError
from jetpy.meshes.cell_types import type_of

Ids = npt.NDArray[np.int64]
PHYSICAL, GEOMETRICAL = "gmsh:physical", "gmsh:geometrical"
"""Names in meshio of a cell's physical group (0: none) and of its entity."""
PART_GROUP = re.compile(r"part \d+")
COMPONENTS = 1, 3, 9
"""Allowed numbers of components of node and cell data."""


@dataclass(frozen=True, eq=False)
class Elements:
    """Cells of one type in one entity.

    Attributes
    ----------
    kind : str
        Cell type in meshio.
    dimension, entity : int
    groups : tuple of int
        Physical groups of the entity.
    cells : int64, shape (n,)
        Index of each cell in its block.
    block : int
        Index of the block in the mesh.
    """

    kind: str
    dimension: int
    entity: int
    groups: tuple[int, ...]
    cells: Ids
    block: int


def write_gmsh(path: Path, mesh: Any, parts: list[npt.NDArray[np.int32]]) -> None:
    """Write a meshio mesh in which the cells of part p are in the physical group ``part p``.

    Cells of the highest dimension also stay in their own physical group; other cells join the group
    of their part only if they have none. Cells are ordered by block and entity. Data whose number
    of components is not 1, 3 or 9 are dropped.

    Parameters
    ----------
    path : Path
    mesh : meshio.Mesh
    parts : list of int32 arrays, shape (cells of the block,)
        Part of each cell of each block.

    Raises
    ------
    FileFormatError
        If Gmsh does not support a cell type.
    """
    names, groups = _groups(mesh, parts)
    elements = _elements(mesh, parts, groups)
    with path.open("wb") as stream:
        stream.write(b"$MeshFormat\n4.1 1 8\n")
        _put(stream, np.int32, 1)
        stream.write(b"\n$EndMeshFormat\n$PhysicalNames\n%d\n" % len(names))
        for name, (number, dimension) in sorted(names.items(), key=lambda item: item[1][::-1]):
            stream.write(f'{dimension} {number} "{name}"\n'.encode())
        stream.write(b"$EndPhysicalNames\n")
        _write_entities(stream, elements)
        _write_nodes(stream, mesh.points, elements)
        _write_elements(stream, mesh, elements)
        for name, values in mesh.point_data.items():
            _write_data(stream, "NodeData", name, np.asarray(values))
        for name, blocks in mesh.cell_data.items():
            if name not in (PHYSICAL, GEOMETRICAL):
                ordered = np.concatenate([np.asarray(blocks[e.block])[e.cells] for e in elements])
                _write_data(stream, "ElementData", name, ordered)


def _groups(
    mesh: Any, parts: list[npt.NDArray[np.int32]]
) -> tuple[Mapping[str, tuple[int, int]], list[Ids]]:
    """Return id and dimension of each group by name, and the two groups of each cell, by block.

    The groups have shape (cells, 2): the input's group and the group of the part; 0 means none.
    Groups named like those of parts come from an earlier partition and are dropped.
    """
    names = {
        name: (int(number), int(dimension)) for name, (number, dimension) in mesh.field_data.items()
    }
    old = [names.pop(name)[0] for name in list(names) if PART_GROUP.fullmatch(name)]
    before = mesh.cell_data.get(PHYSICAL) or [np.zeros(len(own), np.int64) for own in parts]
    physical = [np.where(np.isin(tags, old), 0, tags).astype(np.int64) for tags in before]
    used = [number for number, _ in names.values()]
    first = 1 + max([0, *used, *(int(tags.max(initial=0)) for tags in physical)])
    dimensions = [type_of(block.type)[1].dimension for block in mesh.cells]
    groups = []
    for tags, own, dimension in zip(physical, parts, dimensions, strict=True):
        has_both = (tags == 0) | (dimension == max(dimensions))
        groups.append(np.column_stack([tags, np.where(has_both, first + own, 0)]))
    for dimension, found in sorted(zip(dimensions, groups, strict=True), key=lambda pair: pair[0]):
        for number in np.unique(found[:, 1][found[:, 1] > 0]).tolist():
            names[f"part {number - first}"] = number, dimension
    return names, groups


def _elements(mesh: Any, parts: list[npt.NDArray[np.int32]], groups: list[Ids]) -> list[Elements]:
    """Return the cells of each entity, which share dimension, tags and groups."""
    tags = mesh.cell_data.get(GEOMETRICAL) or [np.ones(len(own), np.int64) for own in parts]
    numbers: dict[tuple[int, ...], int] = {}
    count = dict.fromkeys(range(4), 0)
    elements = []
    for i, block in enumerate(mesh.cells):
        dimension = type_of(block.type)[1].dimension
        keys = np.column_stack([np.asarray(tags[i], np.int64), groups[i]])
        unique, which = np.unique(keys, axis=0, return_inverse=True)
        for j, (tag, *own) in enumerate(unique.tolist()):
            key = (dimension, tag, *own)
            if key not in numbers:
                count[dimension] += 1
                numbers[key] = count[dimension]
            cells = np.flatnonzero(which.ravel() == j)
            named = tuple(group for group in own if group)
            elements.append(Elements(block.type, dimension, numbers[key], named, cells, i))
    return elements


def _put(stream: BinaryIO, dtype: npt.DTypeLike, *values: Any) -> None:
    stream.write(np.array(values, dtype).tobytes())


def _write_entities(stream: BinaryIO, elements: list[Elements]) -> None:
    entities = {(e.dimension, e.entity): e.groups for e in elements}
    stream.write(b"$Entities\n")
    _put(stream, np.uint64, *(sum(d == own for d, _ in entities) for own in range(4)))
    for (dimension, number), groups in sorted(entities.items()):
        _put(stream, np.int32, number)
        _put(stream, np.float64, *[0.0] * (6 if dimension else 3))  # bounding box
        _put(stream, np.uint64, len(groups))
        _put(stream, np.int32, *groups)
        if dimension:
            _put(stream, np.uint64, 0)  # bounding entities
    stream.write(b"\n$EndEntities\n")


def _write_nodes(stream: BinaryIO, points: Any, elements: list[Elements]) -> None:
    n, axes = np.shape(points)
    places = np.zeros((n, 3))
    places[:, :axes] = points
    top = max(elements, key=lambda e: e.dimension)
    stream.write(b"$Nodes\n")
    _put(stream, np.uint64, 1, n, 1, n)
    _put(stream, np.int32, top.dimension, top.entity, 0)
    _put(stream, np.uint64, n)
    stream.write(np.arange(1, n + 1, dtype=np.uint64).tobytes() + places.tobytes())
    stream.write(b"\n$EndNodes\n")


def _write_elements(stream: BinaryIO, mesh: Any, elements: list[Elements]) -> None:
    common = import_module("meshio.gmsh.common")
    count = sum(len(e.cells) for e in elements)
    stream.write(b"$Elements\n")
    _put(stream, np.uint64, len(elements), count, 1, count)
    first = 1
    for e in elements:
        if e.kind not in common._meshio_to_gmsh_type:
            raise FileFormatError(f"the format of Gmsh cannot store cells of type {e.kind}")
        nodes = common._meshio_to_gmsh_order(e.kind, mesh.cells[e.block].data[e.cells])
        numbers = np.arange(first, first + len(nodes))
        _put(stream, np.int32, e.dimension, e.entity, common._meshio_to_gmsh_type[e.kind])
        _put(stream, np.uint64, len(nodes))
        stream.write(np.column_stack([numbers, nodes + 1]).astype(np.uint64).tobytes())
        first += len(nodes)
    stream.write(b"\n$EndElements\n")


def _write_data(stream: BinaryIO, section: str, name: str, values: npt.NDArray[Any]) -> None:
    """Write data of nodes or cells, unless the format does not support them."""
    columns = values.reshape(len(values), -1)
    width = columns.shape[1]
    if width not in COMPONENTS or values.dtype.kind not in "biuf":
        return
    rows = np.empty(len(values), [("number", np.int32), ("values", np.float64, (width,))])
    rows["number"], rows["values"] = np.arange(1, len(values) + 1), columns
    header = f'${section}\n1\n"{name}"\n1\n0.0\n3\n0\n{width}\n{len(values)}\n'
    stream.write(header.encode() + rows.tobytes() + f"\n$End{section}\n".encode())
