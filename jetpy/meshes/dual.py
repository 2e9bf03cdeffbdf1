"""Graphs of meshes: dual graphs of cells, and nodal graphs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from jetpy.errors import GraphError, OptionError
from jetpy.graph.convert.objects import is_mesh_object
from jetpy.graph.coordinates import Coordinates, checked_coordinates
from jetpy.graph.csr import Graph
from jetpy.graph.facets import cells_with_facet
from jetpy.io.graphs import as_graph
from jetpy.meshes.cells import Block, Ids, blocks_of, count_cells


def dual_graph(
    cells: Any, cell_type: str | None = None, *, common_nodes: int | None = None
) -> Graph:
    """Return the dual graph of a mesh, in which cells that share a facet are neighbours.

    Facets are the faces of 3D cells, the edges of 2D cells and the ends of lines. Only corners
    count, so cells may be quadratic. If a mesh has cells of several dimensions (Gmsh files include
    boundary cells), the vertices are the cells of the highest dimension, in their order, and
    `jetpy.meshes.dual.spread` assigns parts to the others. For a mesh of meshio or PyVista, the
    `coordinates` of the graph are the cell centres, computed on demand.

    Parameters
    ----------
    cells : mesh, list of (type, array), or array of shape (cells, nodes)
        A mesh of meshio or PyVista; without `common_nodes` also one of scikit-fem or trimesh, or
        ``gmsh.model``, as for `as_graph`. Types have the names of meshio: triangle, quad, tetra,
        pyramid, wedge, hexahedron, polygon, polyhedron, ..., optionally followed by a number of
        nodes (tetra10). Cell ids continue from one array to the next; cells of PyVista keep their
        ids.
    cell_type : str, optional
        Type of the cells, if `cells` is one array.
    common_nodes : int, optional
        Join cells that share at least this number of corners, whatever their facets are (METIS's
        `ncommon`).

    Raises
    ------
    GraphError
        If a cell type is unknown, or more than 64 cells share a facet.
    OptionError
        If `common_nodes` is below 1.

    Examples
    --------
    >>> import numpy as np
    >>> squares = np.array([[0, 1, 4, 3], [1, 2, 5, 4]])
    >>> dual_graph(squares, "quad").m
    1
    """
    if common_nodes is None and is_mesh_object(cells):
        return as_graph(cells, name="mesh")
    return _located(_dual(cells, cell_type, common_nodes), cells, _centres)


def _dual(cells: Any, cell_type: str | None, common_nodes: int | None) -> Graph:
    top = renumbered(highest(blocks_of(cells, cell_type)))
    n = count_cells(top)
    if common_nodes is not None:
        if common_nodes < 1:
            raise OptionError(f"common_nodes is {common_nodes}; it must be at least 1")
        return sharing_graph(_incidence(top, n), common_nodes)
    found = [cells_with_facet(*facets) for facets in facets_by_size(top).values()]
    return _graph(n, *(_joined([pair[side] for pair in found]) for side in (0, 1)))


def sharing_graph(incidence: Any, least: npt.ArrayLike = 1) -> Graph:
    """Return the graph of the rows of an incidence matrix; those that share columns are neighbours.

    Parameters
    ----------
    incidence : sparse array of integers, shape (n, columns)
        All entries are 1.
    least : int or integers, shape (n,)
        Number of shared columns that makes two rows neighbours, at least 1. If it depends on the
        row, the smaller of both numbers counts.
    """
    n = incidence.shape[0]
    required = np.broadcast_to(least, n)
    pairs = (incidence @ incidence.T).tocoo()
    kept = pairs.data >= np.minimum(required[pairs.row], required[pairs.col])
    kept &= pairs.row != pairs.col
    return _graph(n, pairs.row[kept], pairs.col[kept])


def dual_graph_of_faces(owner: npt.ArrayLike, neighbour: npt.ArrayLike) -> Graph:
    """Return the dual graph of an OpenFOAM mesh.

    Parameters
    ----------
    owner : array of int, shape (faces,)
        Cell that owns each face.
    neighbour : array of int, shape (inner faces,)
        Cell on the other side of each inner face; inner faces precede boundary faces.

    Raises
    ------
    GraphError
        If there are more neighbours than owners, or an id is not an integer from 0 on.

    Examples
    --------
    >>> dual_graph_of_faces([0, 1, 0, 2], [1, 2]).degrees.tolist()
    [1, 2, 1]
    """
    owners, others = np.asarray(owner), np.asarray(neighbour)
    if owners.ndim != 1 or others.ndim != 1:
        raise GraphError(
            f"owners and neighbours have {owners.ndim} and {others.ndim} dimensions; they must "
            "have one"
        )
    if len(others) > len(owners):
        raise GraphError(
            f"there are {len(others)} neighbours, but {len(owners)} owners; there must not be "
            "more neighbours than owners"
        )
    ids = np.concatenate([owners, others])
    if len(ids) == 0:
        ids = ids.astype(np.int64)
    if ids.dtype.kind not in "iu" or ids.min(initial=0) < 0:
        raise GraphError("owners and neighbours of faces must be ids of cells: integers from 0")
    return _graph(int(ids.max(initial=-1)) + 1, owners[: len(others)], others)


def node_graph(cells: Any, cell_type: str | None = None, *, n: int | None = None) -> Graph:
    """Return the graph of mesh nodes, in which corners of the same cell are neighbours.

    This is the sparsity pattern of a matrix of linear finite elements. For a mesh of meshio or
    PyVista, the `coordinates` of the graph are the mesh points.

    Parameters
    ----------
    cells, cell_type
        As for `dual_graph`.
    n : int, optional
        Number of nodes; by default the largest id plus 1.

    Raises
    ------
    GraphError
        Under the conditions of `dual_graph`, or if a cell has a node id of `n` or more.

    Examples
    --------
    >>> node_graph([[0, 1, 2], [1, 2, 3]], "triangle").m
    5
    """
    blocks = blocks_of(cells, cell_type)
    incidence = _incidence(blocks, count_cells(blocks))
    if n is not None and incidence.shape[1] > n:
        raise GraphError(
            f"a cell has node {incidence.shape[1] - 1}, but n is {n}; nodes must be in 0..{n - 1}"
        )
    n = incidence.shape[1] if n is None else n
    incidence.resize(incidence.shape[0], n)
    return _located(sharing_graph(incidence.T), cells, partial(_first_points, n))


def highest(blocks: Sequence[Block]) -> list[Block]:
    """Return the cells of the highest dimension."""
    most = max((block.kind.dimension for block in blocks), default=0)
    return [block for block in blocks if block.kind.dimension == most]


def renumbered(blocks: Sequence[Block]) -> list[Block]:
    """Return blocks whose cells are renumbered from 0, in the order of their ids."""
    numbers = _numbers(blocks)
    return [replace(own, numbers=np.searchsorted(numbers, own.numbers)) for own in blocks]


def cells_of_vertices(cells: Any) -> Ids:
    """Return the cell id of each vertex of the dual graph, ascending.

    Parameters
    ----------
    cells
        As for `dual_graph`.
    """
    return _numbers(highest(blocks_of(cells)))


def ghost_cells(cells: Any, graph: Graph, parts: npt.ArrayLike) -> Ids:
    """Return pairs of a cell and another part that has a neighbour of it, int64, shape (pairs, 2).

    Parameters
    ----------
    cells
        As for `dual_graph`.
    graph : Graph
        Its dual graph.
    parts : array of int, shape (n,)
        Part of each vertex of the dual graph.
    """
    own = np.asarray(parts)
    sources = np.repeat(np.arange(graph.n), np.diff(graph.indptr))
    cut = own[sources] != own[graph.indices]
    pairs = cells_of_vertices(cells)[sources[cut]], own[graph.indices[cut]]
    return np.unique(np.column_stack(pairs), axis=0).astype(np.int64).reshape(-1, 2)


def spread(cells: Any, parts: npt.ArrayLike) -> npt.NDArray[np.int32]:
    """Return the part of every cell, int32, shape (cells,), given the parts of the dual graph.

    A cell of lower dimension gets the part of the first cell of the highest dimension that has all
    of its corners, or part 0 if there is none.

    Parameters
    ----------
    cells
        As for `dual_graph`.
    parts : array of int
        Part of each vertex of the dual graph, as returned by `jetpy.partition`.
    """
    blocks = blocks_of(cells)
    n, top = count_cells(blocks), highest(blocks)
    all_parts = np.zeros(n, np.int32)
    all_parts[_numbers(top)] = np.asarray(parts)
    lower = [block for block in blocks if block not in top]
    if not lower:
        return all_parts
    width = max(int(block.incidences()[1].max(initial=0)) for block in blocks) + 1
    around = _incidence(top, n, width)
    for block in lower:
        own = _incidence([block], n, width)
        shared = (own @ around.T).tocoo()
        corners = np.diff(own.indptr)
        inside = shared.data == corners[shared.row]
        order = np.lexsort((shared.col[inside], shared.row[inside]))
        low, first = np.unique(shared.row[inside][order], return_index=True)
        all_parts[low] = all_parts[shared.col[inside][order][first]]
    return all_parts


def _numbers(blocks: Sequence[Block]) -> Ids:
    """Return the cell ids in all blocks, ascending."""
    return np.sort(_joined([block.numbers for block in blocks]))


def _incidence(blocks: Sequence[Block], cells: int, nodes: int | None = None) -> Any:
    """Return the incidence matrix of cells and their corners, int32, entries 1."""
    pairs = [block.incidences() for block in blocks]
    rows, columns = (_joined([pair[side] for pair in pairs]) for side in (0, 1))
    width = int(columns.max(initial=-1)) + 1 if nodes is None else nodes
    matrix = sp.csr_array((np.ones(len(rows), np.int32), (rows, columns)), shape=(cells, width))
    matrix.data[:] = 1  # a cell may have a node twice
    return matrix


def facets_by_size(blocks: Sequence[Block]) -> dict[int, tuple[Ids, Ids]]:
    """Return sorted nodes and cells of all facets, by the number of corners of a facet."""
    by_size: dict[int, list[tuple[Ids, Ids]]] = defaultdict(list)
    for block in blocks:
        for nodes, numbers in block.facets():
            by_size[nodes.shape[1]].append((np.sort(nodes, axis=1), numbers))
    return {
        size: (
            np.concatenate([nodes for nodes, _ in own]),
            np.concatenate([cells for _, cells in own]),
        )
        for size, own in by_size.items()
    }


def _joined(arrays: Sequence[Ids]) -> Ids:
    """Concatenate arrays; the sequence may be empty."""
    return np.concatenate([np.zeros(0, np.int64), *arrays])


def _graph(n: int, u: Any, v: Any) -> Graph:
    pairs = sp.coo_array((np.ones(len(u), np.int32), (u, v)), shape=(n, n))
    return as_graph(pairs, pattern=True, name="mesh")


def _located(graph: Graph, cells: Any, locate: Callable[..., Coordinates]) -> Graph:
    """Return the graph with coordinates computed on demand, if the mesh has points."""
    has_points = getattr(cells, "points", None) is not None
    return replace(graph, locate=partial(locate, cells)) if has_points else graph


def _centres(cells: Any) -> Coordinates:
    """Return the mean of the corners of each cell of the highest dimension, float64."""
    top = renumbered(highest(blocks_of(cells)))
    shared = _incidence(top, count_cells(top))
    points = _first_points(shared.shape[1], cells)
    centres: Coordinates = (shared @ points) / shared.sum(axis=1)[:, None]
    return centres


def _first_points(n: int, cells: Any) -> Coordinates:
    return checked_coordinates(cells.points[:n], n)
