"""The current model of Gmsh's Python module; jetpy never imports it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from jetpy.errors import GraphError
from jetpy.graph.convert.cell_pairs import from_cell_pairs
from jetpy.graph.facets import Ids, cells_with_facet
from jetpy.graph.raw import Raw

CORNERS_OF_FACETS = 1, 2, 3, 4
_Facets = tuple[int, int, Ids]


def is_gmsh_model(data: Any) -> bool:
    """Return whether `data` is ``gmsh.model`` of the imported module."""
    module = sys.modules.get("gmsh")
    return module is not None and data is getattr(module, "model", None)


def from_gmsh(model: Any) -> Raw:
    """Convert the elements of the highest dimension; the names of the vertices are their tags.

    Elements with a common facet are neighbours. Vertices are numbered as
    ``model.mesh.getElements`` lists the elements of this dimension.

    Raises
    ------
    GraphError
        If the model has no mesh.
    """
    dimension = next((d for d in (3, 2, 1) if len(model.mesh.getElements(d)[0])), 0)
    if not dimension:
        raise GraphError("the model of Gmsh has no mesh; call gmsh.model.mesh.generate first")
    kinds, listed, _ = model.mesh.getElements(dimension)
    ids, index, cell = np.unique(np.concatenate(listed), return_index=True, return_inverse=True)
    order = np.sort(index)  # Gmsh lists ghost elements again
    vertex = np.searchsorted(order, index)[cell.ravel()]
    facets = [facet for kind in kinds for facet in _facets(model, dimension, kind)]
    centres = [model.mesh.getBarycenters(kind, -1, False, True).reshape(-1, 3) for kind in kinds]
    places, names = np.concatenate(centres)[order], np.concatenate(listed)[order].tolist()
    pairs = _pairs(kinds, np.split(vertex, np.cumsum([len(own) for own in listed])[:-1]), facets)
    return from_cell_pairs(pairs, len(ids), lambda: places, names)


def _pairs(kinds: Any, vertices: list[Ids], facets: list[_Facets]) -> npt.NDArray[Any]:
    """Return pairs of vertices with a common facet, given the vertices of the elements by kind."""
    of_kind = dict(zip(kinds, vertices, strict=True))
    pairs = [np.zeros((0, 2), np.int64)]
    for corners in CORNERS_OF_FACETS:
        rows = [
            np.column_stack([np.sort(nodes, axis=1), np.repeat(of_kind[kind], count)])
            for kind, count, nodes in facets
            if nodes.shape[1] == corners
        ]
        if rows:
            once = np.unique(np.concatenate(rows), axis=0)
            pairs.append(np.column_stack(cells_with_facet(once[:, :-1], once[:, -1])))
    return np.concatenate(pairs)


def _facets(model: Any, dimension: int, kind: int) -> Iterator[_Facets]:
    """Yield an element type, its number of facets with equal numbers of corners, and their nodes.

    Facets are in the order of the elements.
    """
    count = len(model.mesh.getElementsByType(kind)[0])
    for corners in CORNERS_OF_FACETS:
        if dimension == 3 and corners >= 3:
            nodes = model.mesh.getElementFaceNodes(kind, corners, -1, True)
        elif dimension == 2 and corners == 2:
            nodes = model.mesh.getElementEdgeNodes(kind, -1, True)
        elif dimension == 1 and corners == 1:
            nodes = model.mesh.getElementsByType(kind)[1].reshape(count, -1)[:, :2]
        else:
            continue
        rows = np.asarray(nodes, np.int64).reshape(-1, corners)
        if len(rows):
            yield kind, len(rows) // count, rows
