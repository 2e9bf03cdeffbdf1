"""The graph that everything else works on: an immutable CSR adjacency with integer weights."""

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

INT32_MAX = 2**31 - 1
MAX_NARROW = INT32_MAX
"""Most directed edges, and largest sum of weights, of a graph that 32-bit kernels work on."""
MAX_ENTRIES = 2**32 - 2**21
"""Most directed edges of any graph: launches have 32-bit indices, and some to spare."""
MAX_WEIGHT = 2**46
"""Largest sum of weights of any graph: refinement multiplies them by less than 2^17."""


def is_large(*sums: int) -> bool:
    """Whether numbers of directed edges, or sums of weights, are more than 32-bit kernels take."""
    return max(sums) > MAX_NARROW


def common_divisor(weights: npt.NDArray[np.integer[Any]]) -> int:
    """Return the greatest common divisor of weights from 0 on; 1 if none of them is positive.

    >>> common_divisor(np.array([12, 0, 18])), common_divisor(np.array([0]))
    (6, 1)
    """
    if len(weights) == 0 or weights.min() == 1:
        return 1
    return max(1, int(np.gcd.reduce(weights)))


@dataclass(frozen=True, eq=False)
class Graph:
    """An undirected graph in compressed sparse row form.

    Every edge {u, v} is stored twice, as (u, v) and (v, u), with equal weights. There are no
    self-loops and no duplicate edges. Use `jetpy.as_graph` or `jetpy.read_graph` to build one
    from untrusted input: this constructor trusts its arguments.

    Attributes
    ----------
    indptr : int32, shape (n + 1,)
        Row v of the adjacency is ``indices[indptr[v]:indptr[v + 1]]``. It is int64 if there are
        2**31 directed edges or more.
    indices : int32, shape (2 m,)
        Neighbours, 0-based.
    edge_weights : int32, shape (2 m,)
        Positive weight of each directed edge; their sum is at most 2**46.
    vertex_weights : int32, shape (n,)
        Positive weight of each vertex; their sum is at most 2**46.
    names : tuple or None
        Names of the vertices, where they have some.
    locate : function without arguments, or None
        What `coordinates` are when these are first asked for.
    """

    indptr: IntArray
    indices: IntArray
    edge_weights: IntArray
    vertex_weights: IntArray
    name: str = field(default="graph")
    names: tuple[Any, ...] | None = field(default=None, repr=False)
    locate: Locate | None = field(default=None, repr=False)

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
    def coordinates(self) -> Coordinates | None:
        """Where the vertices are, numbers of shape (n, 2) or (n, 3), where that is known.

        Generators and meshes know it, and so does `with_coordinates`. Only drawings use it.
        """
        return None if self.locate is None else self.locate()

    def with_coordinates(self, coordinates: npt.ArrayLike) -> Graph:
        """Return the graph with its vertices at given places, shape (n, 2) or (n, 3).

        Raises
        ------
        GraphError
            If these are no finite numbers, or of another shape.
        """
        there = checked_coordinates(coordinates, self.n)
        return replace(self, locate=partial(_known, there))

    @property
    def is_large(self) -> bool:
        """Whether it takes 64-bit kernels."""
        return is_large(2 * self.m, 2 * self.total_edge_weight, self.total_vertex_weight)

    @property
    def degrees(self) -> IntArray:
        """Number of neighbours of each vertex, int32, shape (n,)."""
        return np.diff(self.indptr)

    def row_blocks(self, size: int = 1 << 20) -> Iterator[tuple[int, int]]:
        """Ranges (start, stop) of vertices that cover the graph in order.

        Each has about `size` vertices and directed edges together (more only where one vertex
        alone has more), so that work on one block at a time needs little memory.
        """
        work = self.indptr + np.arange(self.n + 1)
        cuts = np.searchsorted(work, np.arange(size, work[-1], size))
        yield from pairwise(np.unique([0, *cuts, self.n]).tolist())

    def sources(self, start: int, stop: int) -> IntArray:
        """Source vertex of each directed edge of the rows start..stop - 1, int32."""
        vertices = np.arange(start, stop, dtype=np.int32)
        return np.repeat(vertices, np.diff(self.indptr[start : stop + 1]))

    def __repr__(self) -> str:
        return f"Graph({self.name!r}, n={self.n}, m={self.m})"


def _known(coordinates: Coordinates) -> Coordinates:
    return coordinates
