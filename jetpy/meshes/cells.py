"""Cells of meshes as arrays: blocks of one cell type, converted from mesh objects."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from operator import index
from typing import Any

import numpy as np
import numpy.typing as npt

from jetpy.errors import GraphError
from jetpy.meshes.cell_types import CellType, type_of

Ids = npt.NDArray[np.int64]
MAX_NODES = 1 << 31
"""Upper bound (exclusive) of node ids."""


@dataclass(frozen=True, eq=False)
class Block:
    """Cells of one type, or polyhedra.

    Attributes
    ----------
    kind : CellType
    corners : int64, shape (cells, corners)
        Node ids; no columns for polyhedra, which have `faces`.
    numbers : int64, shape (cells,)
        Ids of the cells in the mesh.
    faces : sequence of sequence of sequence of int
        Node ids of each face of each polyhedron.
    """

    kind: CellType
    corners: Ids
    numbers: Ids
    faces: Sequence[Sequence[Sequence[int]]] = ()

    def facets(self) -> Iterator[tuple[Ids, Ids]]:
        """Yield facets with equal numbers of corners: nodes, shape (facets, corners), and cells."""
        if self.faces:
            listed = [
                (face, number)
                for faces, number in zip(self.faces, self.numbers.tolist(), strict=True)
                for face in faces
            ]
            for size in sorted({len(face) for face, _ in listed}):
                some = [(face, number) for face, number in listed if len(face) == size]
                yield np.array([face for face, _ in some]), np.array([cell for _, cell in some])
            return
        count = self.corners.shape[1]
        facets = self.kind.facets
        if self.kind.corners == 0:
            facets = tuple((i, (i + 1) % count) for i in range(count))
        for facet in facets:
            yield self.corners[:, facet], self.numbers

    def incidences(self) -> tuple[Ids, Ids]:
        """Return all pairs of a cell and one of its corners, each once."""
        if self.faces:
            nodes = [sorted({node for face in faces for node in face}) for faces in self.faces]
            cells = np.repeat(self.numbers, [len(own) for own in nodes])
            return cells, np.array([node for own in nodes for node in own], np.int64)
        return np.repeat(self.numbers, self.corners.shape[1]), self.corners.ravel()


def blocks_of(cells: Any, cell_type: str | None = None) -> list[Block]:
    """Return the cells of any mesh that `jetpy.dual_graph` accepts.

    Raises
    ------
    GraphError
        If the mesh or a cell type is not supported, or a node is not a valid id.
    """
    if hasattr(cells, "celltypes") and hasattr(cells, "cell_connectivity"):
        return list(_of_unstructured_grid(cells))
    if hasattr(cells, "cast_to_unstructured_grid"):  # surfaces, structured grids, images
        return list(_of_unstructured_grid(cells.cast_to_unstructured_grid()))
    if cell_type is not None:
        return list(_of_pairs([(cell_type, cells)]))
    listed = getattr(cells, "cells", cells)
    if isinstance(listed, dict):
        listed = list(listed.items())
    if not isinstance(listed, list | tuple):
        raise GraphError(
            f"cannot read cells from {type(cells).__name__!r}; give a mesh of meshio or PyVista, "
            "a list of (type, array of nodes), or an array of nodes and cell_type="
        )
    return list(_of_pairs([_pair(entry) for entry in listed]))


def count_cells(blocks: Sequence[Block]) -> int:
    """Return the number of cells of a mesh."""
    return sum(len(block.numbers) for block in blocks)


def _pair(entry: Any) -> tuple[str, Any]:
    if hasattr(entry, "type") and hasattr(entry, "data"):
        return entry.type, entry.data
    if isinstance(entry, tuple) and len(entry) == 2:
        return entry
    raise GraphError(
        f"an entry of cells is a {type(entry).__name__!r}; each must be (type, array of nodes)"
    )


def _of_pairs(pairs: Sequence[tuple[str, Any]]) -> Iterator[Block]:
    first = 0
    for name, data in pairs:
        plain, kind = type_of(name)
        if not hasattr(data, "__len__"):
            raise GraphError(
                f"cells of type {plain} are a {type(data).__name__}; they must be an array"
            )
        numbers = np.arange(first, first + len(data))
        first += len(data)
        if plain == "polyhedron":
            yield Block(kind, np.zeros((len(data), 0), np.int64), numbers, _faces(data))
        elif len(data):
            yield Block(kind, _corners(plain, kind, data), numbers)


def _faces(cells: Any) -> list[list[list[int]]]:
    try:
        faces = [[[index(node) for node in face] for face in cell] for cell in cells]
    except TypeError:
        raise GraphError(
            "polyhedra must be lists of faces, and faces must be lists of nodes"
        ) from None
    _check_nodes("polyhedron", np.array([node for cell in faces for face in cell for node in face]))
    return faces


def _corners(name: str, kind: CellType, data: Any) -> Ids:
    try:
        nodes = np.asarray(data)
    except ValueError:
        nodes = np.zeros(0)
    least = kind.corners or 3
    if nodes.ndim != 2 or nodes.dtype.kind not in "iu" or nodes.shape[1] < least:
        raise GraphError(
            f"cells of type {name} have shape {nodes.shape} and type {nodes.dtype}; they must be "
            f"an array of integers with at least {least} columns"
        )
    _check_nodes(name, nodes)
    return nodes[:, : kind.corners or None].astype(np.int64)


def _check_nodes(name: str, nodes: npt.NDArray[Any]) -> None:
    wrong = (nodes < 0) | (nodes >= MAX_NODES)
    if wrong.any():
        raise GraphError(
            f"a {name} has node {nodes[wrong][0]}; nodes must be in 0..{MAX_NODES - 1}"
        )


def _of_unstructured_grid(grid: Any) -> Iterator[Block]:
    """Yield the blocks of a PyVista grid, one for each cell type and size, cells in any order."""
    has_name_of_now = hasattr(type(grid), "cell_offsets")  # older PyVista: offset
    offsets = np.asarray(grid.cell_offsets if has_name_of_now else grid.offset)
    types, nodes = np.asarray(grid.celltypes), np.asarray(grid.cell_connectivity)
    sizes = np.diff(offsets)
    for number in np.unique(types):
        name, kind = type_of(int(number))
        if name == "polyhedron":
            raise GraphError(
                "jetpy does not read polyhedra from PyVista; give them in the format of meshio"
            )
        of_type = np.flatnonzero(types == number)
        for size in np.unique(sizes[of_type]):
            cells = of_type[sizes[of_type] == size]
            places = offsets[cells][:, None] + np.arange(size)
            yield Block(kind, _corners(name, kind, nodes[places]), cells)
