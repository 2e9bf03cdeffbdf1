"""Subdomains of a partition: the vertices and ghosts of each part, and its subgraph."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from jetpy.errors import OptionError
from jetpy.graph.by_part import VerticesByPart
from jetpy.graph.checks import integer
from jetpy.graph.csr import Graph, IntArray

_Adjacency = tuple[IntArray, IntArray, IntArray]
"""`indptr`, `indices` and `edge_weights` of a graph."""


@dataclass(frozen=True, eq=False, repr=False)
class Subgraph:
    """A part as a separate graph with local vertex ids.

    Attributes
    ----------
    part : int
    graph : Graph
        Vertices 0..owned - 1 are the part's vertices, ascending by global id. The others are
        *ghosts*, neighbours in other parts, sorted by part, then global id. All edges of owned
        vertices are present in both directions; edges between ghosts are not. Weights and names are
        those of the partitioned graph.
    global_ids : int32, shape (graph.n,)
        Id of each vertex in the partitioned graph.
    owned : int
        Number of vertices of the part.
    ghost_owner : int32, shape (graph.n - owned,)
        Part of each ghost, ascending.

    Examples
    --------
    >>> import jetpy
    >>> path = jetpy.generators.grid(6, 1)
    >>> jetpy.refine(path, [0, 0, 0, 1, 1, 1], threads=1).subgraph(1, halo=1)
    Subgraph('grid-6x1, part 1', owned=3, ghosts=1, m=3)
    """

    part: int
    graph: Graph
    global_ids: IntArray
    owned: int
    ghost_owner: IntArray

    def __repr__(self) -> str:
        name, ghosts, m = self.graph.name, len(self.ghost_owner), self.graph.m
        return f"Subgraph({name!r}, owned={self.owned}, ghosts={ghosts}, m={m})"


@dataclass(frozen=True, eq=False)
class _Rows:
    """The directed edges that start in a part, row by row.

    `starts` holds the start of each row and the end of the last. `entries` are indices in the
    arrays of the whole graph. `leaving` are indices in `entries` of edges to other parts.
    """

    owned: IntArray
    starts: IntArray
    entries: npt.NDArray[np.int64]
    leaving: npt.NDArray[np.intp]


def members_of(members: VerticesByPart, part: int) -> IntArray:
    """Return the vertices of a part, ascending, int32.

    Raises
    ------
    OptionError
        If the part does not exist.
    """
    k = len(members.offsets) - 1
    if not 0 <= integer("part", part) < k:
        raise OptionError(f"there is no part {part}; parts are numbered 0..{k - 1}")
    return members.order[members.offsets[part] : members.offsets[part + 1]].copy()


def ghosts_of(graph: Graph, parts: IntArray, members: VerticesByPart, part: int) -> IntArray:
    """Return the neighbours of a part's vertices in other parts, sorted by part, then id, int32.

    Raises
    ------
    OptionError
        If the part does not exist.

    Examples
    --------
    >>> import numpy as np
    >>> from jetpy.graph.generators import grid
    >>> parts = np.array([0, 0, 2, 0, 0, 1, 1, 1, 1], np.int32)
    >>> from jetpy.graph.by_part import sort_by_part
    >>> ghosts_of(grid(3, 3), parts, sort_by_part(parts, 3), 0)
    array([5, 6, 7, 2], dtype=int32)
    """
    rows = _rows(graph, parts, members, part)
    return _by_owner(graph.indices[rows.entries[rows.leaving]], parts)[0]


def subgraph(
    graph: Graph, parts: IntArray, members: VerticesByPart, part: int, halo: int
) -> Subgraph:
    """Return the graph of a part, with ghosts if `halo` is 1.

    The memory is proportional to the part and its ghosts.

    Raises
    ------
    OptionError
        If the part does not exist, or `halo` is invalid.
    """
    check_halo(halo)
    rows = _rows(graph, parts, members, part)
    pieces = _with_ghosts if halo else _without_ghosts
    adjacency, ghosts = pieces(graph, parts, members, rows)
    ids = np.concatenate((rows.owned, ghosts))
    names = None if graph.names is None else tuple(graph.names[v] for v in ids)
    columns, sizes = (
        None if array is None else array[ids]
        for array in (graph.constraint_weights, graph.vertex_sizes)
    )
    local = Graph(
        *adjacency,
        graph.vertex_weights[ids],
        f"{graph.name}, part {part}",
        names,
        constraint_weights=columns,
        vertex_sizes=sizes,
    )
    return Subgraph(part, local, ids, len(rows.owned), parts[ghosts])


def check_halo(halo: int) -> None:
    """Check that `halo` is 0 or 1.

    Raises
    ------
    OptionError
        If it is not.
    """
    if halo not in (0, 1):
        raise OptionError(
            f"halo is {halo}; it must be 0 (no ghosts) or 1 (neighbours in other parts)"
        )


def _rows(graph: Graph, parts: IntArray, members: VerticesByPart, part: int) -> _Rows:
    owned = members_of(members, part)
    first, degrees = graph.indptr[owned], graph.indptr[owned + 1] - graph.indptr[owned]
    starts = np.concatenate((np.zeros(1, np.int32), np.cumsum(degrees, dtype=np.int32)))
    entries = np.arange(starts[-1]) + np.repeat(first.astype(np.int64) - starts[:-1], degrees)
    leaving = np.flatnonzero(parts[graph.indices[entries]] != part)
    return _Rows(owned, starts, entries, leaving)


def _without_ghosts(
    graph: Graph, parts: IntArray, members: VerticesByPart, rows: _Rows
) -> tuple[_Adjacency, IntArray]:
    entries = np.delete(rows.entries, rows.leaving)
    before = np.searchsorted(rows.leaving, rows.starts)  # number of deleted entries before each row
    indptr = rows.starts - before.astype(np.int32)
    indices = members.places[graph.indices[entries]]
    return (indptr, indices, graph.edge_weights[entries]), np.empty(0, np.int32)


def _with_ghosts(
    graph: Graph, parts: IntArray, members: VerticesByPart, rows: _Rows
) -> tuple[_Adjacency, IntArray]:
    neighbours, weights = graph.indices[rows.entries], graph.edge_weights[rows.entries]
    ghosts, which = _by_owner(neighbours[rows.leaving], parts)
    indices = members.places[neighbours]
    indices[rows.leaving] = len(rows.owned) + which

    back = rows.leaving[np.argsort(which, kind="stable")]
    ends = np.searchsorted(rows.starts, back, side="right").astype(np.int32) - 1
    degrees = np.bincount(which, minlength=len(ghosts))
    indptr = np.concatenate((rows.starts, rows.starts[-1] + np.cumsum(degrees, dtype=np.int32)))
    return (
        indptr,
        np.concatenate((indices, ends)),
        np.concatenate((weights, weights[back])),
    ), ghosts


def _by_owner(ends: IntArray, parts: IntArray) -> tuple[IntArray, npt.NDArray[np.intp]]:
    """Return distinct vertices by part, then id; and the index among them of each of `ends`."""
    keys = parts[ends].astype(np.int64) << 32 | ends
    distinct, which = np.unique(keys, return_inverse=True)
    return (distinct & 0xFFFFFFFF).astype(np.int32), which
