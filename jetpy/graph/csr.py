"""The graph in CSR form with integer weights, used throughout jetpy."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from jetpy.graph.coordinates import Coordinates, Locate, checked_coordinates
from jetpy.lazy import cached_property

IntArray = npt.NDArray[np.int32]

ARRAYS = ("indptr", "indices", "edge_weights", "vertex_weights")
"""Names of the arrays of a graph, in the order of its constructor's parameters."""
INT32_MAX = 2**31 - 1
MAX_NARROW = INT32_MAX
"""Maximum of directed edges, and of each weight sum, that 32-bit kernels support."""
MAX_ENTRIES = 2**32 - 2**21
"""Maximum of directed edges of any graph: launches have 32-bit indices, with a margin."""
MAX_WEIGHT = 2**46
"""Maximum weight sum of any graph: refinement multiplies weights by less than 2**17."""


def is_large(*sums: int) -> bool:
    """Return whether one of the counts or weight sums exceeds the limit of 32-bit kernels."""
    return max(sums) > MAX_NARROW


def common_divisor(weights: npt.NDArray[np.integer[Any]]) -> int:
    """Return the greatest common divisor of nonnegative weights; 0 if none is positive.

    >>> common_divisor(np.array([12, 0, 18])), common_divisor(np.array([0]))
    (6, 0)
    """
    if len(weights) and weights.min() == 1:
        return 1
    return int(np.gcd.reduce(weights))


def column_sums(table: npt.NDArray[Any], dtype: npt.DTypeLike = np.int64) -> npt.NDArray[Any]:
    """Return the sum of each of few columns, which NumPy computes more slowly for all at once.

    >>> column_sums(np.array([[1, 2], [3, 4]]))
    array([4, 6])
    """
    return np.array([column.sum(dtype=dtype) for column in table.T], dtype)


@dataclass(frozen=True, eq=False)
class Graph:
    """An undirected graph in compressed sparse row form.

    Every edge {u, v} is stored twice, as (u, v) and (v, u), with equal weights. There are no
    self-loops and no duplicate edges. Use `jetpy.as_graph` or `jetpy.read_graph` to build one
    from untrusted input: this constructor trusts its arguments. jetpy never changes a graph. Do not
    write to its arrays: jetpy does not check them again.

    Attributes
    ----------
    indptr : int32, shape (n + 1,)
        Row v of the adjacency is ``indices[indptr[v]:indptr[v + 1]]``. The dtype is int64 if
        there are 2**31 directed edges or more.
    indices : int32, shape (2 m,)
        Neighbours, 0-based.
    edge_weights : int32, shape (2 m,)
        Weight of each directed edge, from 0 on; their sum is at most 2**46.
    vertex_weights : int32, shape (n,)
        Weight of each vertex, from 0 on; their sum is at most 2**46.
    names : tuple or None
        Names of the vertices, indexed by vertex id.
    constraint_weights : int32, shape (n, c), or None
        Several weights of each vertex. `partition` and `refine` balance each of them instead of
        `vertex_weights`, which then do not count. With c = 1, both are the same.
    vertex_sizes : int32, shape (n,), or None
        Amount of data that each vertex sends, from 0 on, for the communication volume; None: 1.
    locate : function without arguments, or None
        Computes `coordinates` when they are first needed.
    """

    indptr: IntArray
    indices: IntArray
    edge_weights: IntArray
    vertex_weights: IntArray
    name: str = field(default="graph")
    names: tuple[Any, ...] | None = field(default=None, repr=False)
    locate: Locate | None = field(default=None, repr=False)
    constraint_weights: IntArray | None = field(default=None, repr=False)
    vertex_sizes: IntArray | None = field(default=None, repr=False)

    @property
    def n(self) -> int:
        """Number of vertices."""
        return len(self.indptr) - 1

    @property
    def m(self) -> int:
        """Number of undirected edges."""
        return len(self.indices) // 2

    @cached_property
    def total_vertex_weight(self) -> int:
        """Sum of all vertex weights."""
        return int(self.vertex_weights.sum(dtype=np.int64))

    @cached_property
    def total_edge_weight(self) -> int:
        """Sum of the weights of all undirected edges."""
        return int(self.edge_weights.sum(dtype=np.int64)) // 2

    @cached_property
    def has_unit_edges(self) -> bool:
        """Whether all edges have weight 1."""
        return self.total_edge_weight == self.m and bool(self.edge_weights.all())

    @cached_property
    def has_unit_vertices(self) -> bool:
        """Whether all vertices have weight 1."""
        return self.total_vertex_weight == self.n and bool(self.vertex_weights.all())

    @cached_property
    def coordinates(self) -> Coordinates | None:
        """Coordinates of the vertices, numbers of shape (n, 2) or (n, 3); None if unknown.

        Generators, meshes and `with_coordinates` set them. Only drawings use them.
        """
        return None if self.locate is None else self.locate()

    def with_coordinates(self, coordinates: npt.ArrayLike) -> Graph:
        """Return a copy of the graph with these vertex coordinates, shape (n, 2) or (n, 3).

        Raises
        ------
        GraphError
            If the array has another shape, or an entry is not a finite number.
        """
        return replace(self, locate=partial(_known, checked_coordinates(coordinates, self.n)))

    @property
    def is_large(self) -> bool:
        """Whether the graph requires 64-bit kernels."""
        return is_large(2 * self.m, 2 * self.total_edge_weight, self.total_vertex_weight)

    @property
    def degrees(self) -> IntArray:
        """Number of neighbours of each vertex, int32, shape (n,)."""
        return np.diff(self.indptr)

    def row_blocks(self, size: int = 1 << 20) -> Iterator[tuple[int, int]]:
        """Yield consecutive vertex ranges (start, stop) that cover the graph.

        Each range has about `size` vertices and directed edges together, or one vertex whose
        degree is larger. Processing one range at a time needs little memory.
        """
        work = self.indptr + np.arange(self.n + 1)
        cuts = np.searchsorted(work, np.arange(size, work[-1], size))
        yield from pairwise(np.unique([0, *cuts, self.n]).tolist())

    def sources(self, start: int, stop: int) -> IntArray:
        """Return the source vertex of each directed edge in the rows start..stop - 1, int32."""
        vertices = np.arange(start, stop, dtype=np.int32)
        return np.repeat(vertices, np.diff(self.indptr[start : stop + 1]))

    def __repr__(self) -> str:
        return f"Graph({self.name!r}, n={self.n}, m={self.m})"


def named_arrays(graph: Graph) -> dict[str, IntArray]:
    """Return the arrays of a graph by name."""
    return {name: getattr(graph, name) for name in ARRAYS}


def without_free_edges(graph: Graph) -> Graph:
    """Return the graph without edges of weight 0, with which METIS may crash."""
    kept = graph.edge_weights > 0
    if kept.all():
        return graph
    places = np.concatenate([[0], np.cumsum(kept)]).astype(graph.indptr.dtype)
    rows = places[graph.indptr], graph.indices[kept], graph.edge_weights[kept]
    return Graph(*rows, graph.vertex_weights)


def _known(coordinates: Coordinates) -> Coordinates:
    return coordinates
