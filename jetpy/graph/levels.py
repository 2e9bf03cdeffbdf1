"""The graphs of a hierarchy, the maps between them, and checks of both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from jetpy.errors import GraphError
from jetpy.graph.csr import INT32_MAX, Graph, IntArray
from jetpy.graph.validate import integer_array, row_of


@dataclass(frozen=True, eq=False)
class GraphLevel:
    """A graph of a hierarchy, and the map of its vertices to those of the next coarser graph.

    Attributes
    ----------
    graph : Graph
        A coarse vertex weighs as much as its fine vertices together. A coarse edge weighs as much
        as all fine edges between the fine vertices of its two ends. A weight above 2**31 - 1 makes
        the dtype of its array int64 instead of int32.
    coarse_of : int32, shape (n,), or None
        Vertex of the next coarser graph that contains each vertex; each coarse vertex contains at
        least one. A CuPy array if the graph is on a GPU. None on the coarsest level.
    seconds : float
        Wall seconds that `jetpy.coarsen` took to contract the next finer graph to this one;
        otherwise 0.
    """

    graph: Graph
    coarse_of: Any = None
    seconds: float = 0.0

    @property
    def n(self) -> int:
        """Number of vertices."""
        return self.graph.n

    @property
    def m(self) -> int:
        """Number of undirected edges."""
        return self.graph.m

    @property
    def vertex_weights(self) -> IntArray:
        """Weight of each vertex, int32 (or int64, see `graph`), shape (n,)."""
        return self.graph.vertex_weights


def fitting(weights: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return weights as int32 if each fits, otherwise as int64."""
    kind = np.int32 if weights.max(initial=0) <= INT32_MAX else np.int64
    return np.ascontiguousarray(weights, kind)


def contract(graph: Graph, coarse_of: IntArray, n: int, name: str = "graph") -> Graph:
    """Return the contraction of a graph to `n` coarse vertices, with sorted rows.

    `coarse_of` (int32, shape (graph.n,)) is the coarse vertex of each vertex.

    >>> from jetpy.graph.generators import grid
    >>> contract(grid(4, 1), np.array([0, 0, 1, 1], np.int32), 2).vertex_weights
    array([2, 2], dtype=int32)
    """
    u, v = coarse_of[graph.sources(0, graph.n)], coarse_of[graph.indices]
    between = u != v
    data = graph.edge_weights[between].astype(np.int64)
    # the conversion adds the weights of parallel edges, and sorts the rows
    rows = sp.coo_array((data, (u[between], v[between])), shape=(n, n)).tocsr()
    # as float64, which is exact: the total is below 2**53
    weights = np.bincount(coarse_of, graph.vertex_weights, n).astype(np.int64)
    offsets = rows.indptr.astype(np.int32 if rows.nnz <= INT32_MAX else np.int64)
    indices = rows.indices.astype(np.int32)
    return Graph(offsets, indices, fitting(rows.data), fitting(weights), name)


def checked_map(coarse_of: npt.ArrayLike, n: int, coarse_n: int | None, level: int) -> IntArray:
    """Return the map of a level of n vertices to the next coarser level, int32, shape (n,).

    Parameters
    ----------
    coarse_of : array of int, shape (n,)
    n, coarse_n : int
        Numbers of vertices of the level, and of the coarser one; if None, one more than the largest
        entry.
    level : int
        Index of the level, for messages.

    Raises
    ------
    GraphError
        If the map has another shape or type, an entry is out of range, or a coarse vertex has no
        vertex.
    """
    what = f"maps[{level}]"
    ids = integer_array(coarse_of, what)
    if ids.shape != (n,):
        raise GraphError(
            f"{what} has shape {ids.shape}; there must be one coarse vertex for each of the {n} "
            f"vertices of level {level}"
        )
    last = int(ids.max(initial=-1)) if coarse_n is None else coarse_n - 1
    wrong = (ids < 0) | (ids > min(last, n - 1))
    if wrong.any():
        v = int(wrong.argmax())
        raise GraphError(
            f"{what} maps vertex {v} to {ids[v]}; coarse vertices must be in 0..{min(last, n - 1)}"
        )
    empty = np.bincount(ids, minlength=last + 1) == 0
    if empty.any():
        raise GraphError(f"{what} maps no vertex to coarse vertex {int(empty.argmax())}")
    return np.ascontiguousarray(ids, np.int32)


def check_contraction(fine: Graph, coarse: Graph, coarse_of: IntArray, level: int) -> None:
    """Check that the graph of a level is the contraction of the next finer one.

    Parameters
    ----------
    fine, coarse : Graph
        Rows in any order.
    coarse_of : int32, shape (fine.n,)
        A checked map.
    level : int
        Index of the coarse graph, for messages.

    Raises
    ------
    GraphError
        If a vertex or an edge has another weight than in the contraction, is missing, or is not in
        it.
    """
    expected = contract(fine, coarse_of, coarse.n)
    wrong = np.flatnonzero(expected.vertex_weights != coarse.vertex_weights)
    if wrong.size:
        v = int(wrong[0])
        raise GraphError(
            f"level {level}: vertex {v} weighs {coarse.vertex_weights[v]}, but its vertices on "
            f"level {level - 1} weigh {expected.vertex_weights[v]} together"
        )
    difference = _matrix(expected) - _matrix(coarse)
    difference.eliminate_zeros()
    if difference.nnz:
        u, v = row_of(difference.indptr, 0), int(difference.indices[0])
        given = int(_matrix(coarse)[u, v])
        raise GraphError(
            f"level {level}: edge ({u}, {v}) weighs {given}, but the edges between its ends on "
            f"level {level - 1} weigh {given + int(difference.data[0])} together"
        )
    if coarse.m != expected.m:
        raise GraphError(
            f"level {level} has {coarse.m} edges instead of {expected.m}: some are listed twice, "
            "or edges of weight 0 are missing or added"
        )


def _matrix(graph: Graph) -> Any:
    weights = graph.edge_weights.astype(np.int64)
    return sp.csr_array((weights, graph.indices, graph.indptr), shape=(graph.n, graph.n))


def contracted_levels(graph: Graph, maps: Sequence[npt.ArrayLike]) -> tuple[GraphLevel, ...]:
    """Return the levels of a hierarchy, given the finest graph and the map of each level.

    Raises
    ------
    GraphError
        If a map is invalid (`checked_map`).
    """
    graphs, checked = [graph], []
    for level, given in enumerate(maps):
        fine = graphs[-1]
        checked.append(checked_map(given, fine.n, None, level))
        n = int(checked[-1].max(initial=-1)) + 1
        graphs.append(contract(fine, checked[-1], n, coarse_name(graph.name, level + 1)))
    return levels_of(graphs, checked)


def checked_levels(
    graphs: Sequence[Graph], maps: Sequence[npt.ArrayLike]
) -> tuple[GraphLevel, ...]:
    """Return the levels of a hierarchy, given all graphs and maps, finest first.

    Raises
    ------
    GraphError
        If there is no graph, the number of maps is wrong, a map is invalid (`checked_map`), or a
        graph is not the contraction of the next finer one.
    """
    if len(maps) != len(graphs) - 1:
        raise GraphError(
            f"there are {len(graphs)} graphs and {len(maps)} maps; there must be a map from each "
            "graph to the next coarser one"
        )
    checked = []
    for level, ((fine, coarse), given) in enumerate(zip(pairwise(graphs), maps, strict=True)):
        checked.append(checked_map(given, fine.n, coarse.n, level))
        check_contraction(fine, coarse, checked[-1], level + 1)
    return levels_of(graphs, checked)


def levels_of(graphs: Sequence[Graph], maps: Sequence[Any]) -> tuple[GraphLevel, ...]:
    """Return checked graphs and maps, one map less, as levels."""
    return tuple(
        GraphLevel(graph, coarse_of) for graph, coarse_of in zip(graphs, [*maps, None], strict=True)
    )


def coarse_name(name: str, level: int) -> str:
    """Return the name of the graph of a level, given that of the finest graph."""
    return f"{name}, level {level}"
