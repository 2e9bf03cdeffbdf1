"""Writer of binary Gmsh 4.1 files with a partition and a physical group for each part.

meshio's writer allows one physical group per cell, and its reader fails on cell data in format
2.2. Source of the format: the Gmsh reference manual, section "MSH file format".
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from jetpy.errors import FileFormatError
from jetpy.meshes.cell_types import type_of
from jetpy.meshes.gmsh_groups import GEOMETRICAL, PHYSICAL, Groups, Ids, Tags, groups_of

LOGGER = logging.getLogger("jetpy.input")
COMPONENTS = 1, 3, 9
"""Allowed numbers of components of node and cell data."""
Entity = tuple[int, int]
"""Dimension and tag of an entity."""


@dataclass(frozen=True, eq=False)
class Elements:
    """Cells of one type in one part of one entity.

    Attributes
    ----------
    kind : str
        Cell type in meshio.
    dimension, entity : int
        The entity is new: it is the share of one part in the entity `parent`.
    parent : int
    part : int
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
    parent: int
    part: int
    groups: Tags
    cells: Ids
    block: int


def write_gmsh(
    path: Path,
    mesh: Any,
    parts: list[npt.NDArray[np.int32]],
    k: int | None = None,
    ghosts: Ids | None = None,
) -> None:
    """Write a meshio mesh with the partition p + 1 of Gmsh, and the group ``part p``, for part p.

    Cells stay in their physical groups and entities. Cells of the highest dimension also join the
    group of their part; other cells join it only if they have no group. Cells are ordered by block
    and entity. Data whose number of components is not 1, 3 or 9 are dropped.

    Parameters
    ----------
    path : Path
    mesh : meshio.Mesh
    parts : list of int32 arrays, shape (cells of the block,)
        Part of each cell of each block.
    k : int, optional
        Number of parts, by default the largest part plus 1.
    ghosts : int64, shape (ghosts, 2), optional
        Pairs of a cell and a part in which it is a ghost cell; cells are counted over all blocks.

    Raises
    ------
    FileFormatError
        If Gmsh does not support a cell type.
    """
    groups = groups_of(mesh)
    names, elements, parents = _entities(mesh, parts, groups)
    k = k or 1 + max(int(own.max(initial=0)) for own in parts)
    with path.open("wb") as stream:
        stream.write(b"$MeshFormat\n4.1 1 8\n")
        _put(stream, np.int32, 1)
        stream.write(b"\n$EndMeshFormat\n$PhysicalNames\n%d\n" % len(names))
        for (dimension, tag), name in sorted(names.items()):
            stream.write(f'{dimension} {tag} "{name}"\n'.encode())
        stream.write(b"$EndPhysicalNames\n")
        _write_entities(stream, parents)
        _write_partitions(stream, k, elements, with_ghosts=ghosts is not None)
        _write_entities(stream, {(e.dimension, e.entity): e.groups for e in elements})
        _write_nodes(stream, mesh.points, elements)
        _write_elements(stream, mesh, elements)
        if ghosts is not None:
            _write_ghosts(stream, mesh, elements, parts, ghosts)
        for name, values in mesh.point_data.items():
            _write_data(stream, "NodeData", name, np.asarray(values))
        for name, blocks in mesh.cell_data.items():
            if name not in (PHYSICAL, GEOMETRICAL):
                ordered = np.concatenate([np.asarray(blocks[e.block])[e.cells] for e in elements])
                _write_data(stream, "ElementData", name, ordered)


def _entities(
    mesh: Any, parts: list[npt.NDArray[np.int32]], groups: Groups
) -> tuple[Mapping[Entity, str], list[Elements], dict[Entity, Tags]]:
    """Return the names of all groups, the cells of each new entity, and the groups of the parents.

    Parents have the tags of the mesh where these are positive and their cells have the same groups.
    """
    dimensions = [type_of(block.type)[1].dimension for block in mesh.cells]
    tags = mesh.cell_data.get(GEOMETRICAL) or [np.ones(len(own), np.int64) for own in parts]
    highest = [int(np.max(own, initial=0)) for own in tags]
    free = [
        1 + max([0, *(own for d, own in zip(dimensions, highest, strict=True) if d == dim)])
        for dim in range(4)
    ]
    parents: dict[Entity, Tags] = {}
    parent_of: dict[tuple[int, int, Tags], int] = {}
    found = []
    for i, dimension in enumerate(dimensions):
        keys = np.column_stack([np.asarray(tags[i], np.int64), groups.of_cells[i], parts[i]])
        unique, which = np.unique(keys, axis=0, return_inverse=True)
        for j, (tag, group, part) in enumerate(unique.tolist()):
            key = dimension, tag, groups.sets[group]
            if key not in parent_of:
                number = tag
                if tag < 1 or (dimension, tag) in parents:
                    number, free[dimension] = free[dimension], free[dimension] + 1
                parent_of[key] = number
                parents[dimension, number] = groups.sets[group]
            found.append((i, parent_of[key], part, np.flatnonzero(which.ravel() == j)))
    names, first = dict(groups.names), 1 + groups.largest_tag
    children: dict[tuple[int, int, int], int] = {}
    elements = []
    for i, parent, part, cells in found:
        dimension, own = dimensions[i], parents[dimensions[i], parent]
        if not own or dimension == max(dimensions):
            own = (*own, first + part)
            names.setdefault((dimension, first + part), f"part {part}")
        child = dimension, parent, part
        if child not in children:
            children[child], free[dimension] = free[dimension], free[dimension] + 1
        kind = mesh.cells[i].type
        elements.append(Elements(kind, dimension, children[child], parent, part, own, cells, i))
    return names, elements, parents


def _put(stream: BinaryIO, dtype: npt.DTypeLike, *values: Any) -> None:
    stream.write(np.array(values, dtype).tobytes())


def _write_entities(stream: BinaryIO, entities: Mapping[Entity, Tags]) -> None:
    """Write entities with their groups.

    They are written twice: first those that are divided, then their parts, whose groups are only
    here. Gmsh adds the groups to the entities of `_write_partitions`; programs that do not know
    these entities, such as meshio, find the entities of all elements.
    """
    stream.write(b"$Entities\n")
    _put(stream, np.uint64, *(sum(d == own for d, _ in entities) for own in range(4)))
    for (dimension, tag), groups in sorted(entities.items()):
        _put(stream, np.int32, tag)
        _write_box_and_groups(stream, dimension, groups)
    stream.write(b"\n$EndEntities\n")


def _write_partitions(
    stream: BinaryIO, k: int, elements: list[Elements], *, with_ghosts: bool
) -> None:
    entities = {(e.dimension, e.entity): e for e in elements}
    stream.write(b"$PartitionedEntities\n")
    ghosts = _ghost_entities(k, elements) if with_ghosts else range(0)
    _put(stream, np.uint64, k, len(ghosts))
    _put(stream, np.int32, *(n for part, tag in enumerate(ghosts) for n in (tag, part + 1)))
    _put(stream, np.uint64, *(sum(d == own for d, _ in entities) for own in range(4)))
    for (dimension, tag), e in sorted(entities.items()):
        _put(stream, np.int32, tag, dimension, e.parent)
        _put(stream, np.uint64, 1)
        _put(stream, np.int32, e.part + 1)
        _write_box_and_groups(stream, dimension, ())
    stream.write(b"\n$EndPartitionedEntities\n")


def _ghost_entities(k: int, elements: list[Elements]) -> range:
    """Return a new tag for the ghost cells of each part."""
    top = max(e.dimension for e in elements)
    first = 1 + max(max(e.entity, e.parent) for e in elements if e.dimension == top)
    return range(first, first + k)


def _write_box_and_groups(stream: BinaryIO, dimension: int, groups: Tags) -> None:
    _put(stream, np.float64, *[0.0] * (6 if dimension else 3))  # bounding box
    _put(stream, np.uint64, len(groups))
    _put(stream, np.int32, *groups)
    if dimension:
        _put(stream, np.uint64, 0)  # bounding entities


def _write_ghosts(
    stream: BinaryIO,
    mesh: Any,
    elements: list[Elements],
    parts: list[npt.NDArray[np.int32]],
    ghosts: Ids,
) -> None:
    starts = np.concatenate(([0], np.cumsum([len(block.data) for block in mesh.cells])))
    cells = np.concatenate([starts[e.block] + e.cells for e in elements])
    number = np.empty(len(cells), np.int64)
    number[cells] = np.arange(1, len(cells) + 1)
    owner = np.concatenate(parts)
    order = np.lexsort(ghosts.T[::-1])
    cell, first = np.unique(ghosts[order, 0], return_index=True)
    stream.write(b"$GhostElements\n")
    _put(stream, np.uint64, len(cell))
    others = np.split(ghosts[order, 1], first)[1:]
    for one, own in zip(cell, others, strict=True):
        _put(stream, np.uint64, number[one])
        _put(stream, np.int32, owner[one] + 1)
        _put(stream, np.uint64, len(own))
        _put(stream, np.int32, *(own + 1))
    stream.write(b"\n$EndGhostElements\n")


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
        LOGGER.info(
            "the data %s with %d components of type %s are not written: Gmsh allows 1, 3 or 9 "
            "numbers",
            name,
            width,
            values.dtype,
        )
        return
    rows = np.empty(len(values), [("number", np.int32), ("values", np.float64, (width,))])
    rows["number"], rows["values"] = np.arange(1, len(values) + 1), columns
    header = f'${section}\n1\n"{name}"\n1\n0.0\n3\n0\n{width}\n{len(values)}\n'
    stream.write(header.encode() + rows.tobytes() + f"\n$End{section}\n".encode())
