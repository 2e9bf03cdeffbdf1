"""The graph that everything else works on: an immutable CSR adjacency with integer weights."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int32]

INT32_MAX = 2**31 - 1


@dataclass(frozen=True, eq=False)
class Graph:
    """An undirected graph in compressed sparse row form.

    Every edge {u, v} is stored twice, as (u, v) and (v, u), with equal weights. There are no
    self-loops and no duplicate edges. Use `jetpy.as_graph` or `jetpy.read_graph` to build one
    from untrusted input: this constructor trusts its arguments.

    Attributes
    ----------
    indptr : int32, shape (n + 1,)
        Row v of the adjacency is ``indices[indptr[v]:indptr[v + 1]]``.
    indices : int32, shape (2 m,)
        Neighbours, 0-based.
    edge_weights : int32, shape (2 m,)
        Positive weight of each directed edge; their sum is below 2**31.
    vertex_weights : int32, shape (n,)
        Positive weight of each vertex; their sum is below 2**31.
    names : tuple or None
        Names of the vertices, where they have some.
    """

    indptr: IntArray
    indices: IntArray
    edge_weights: IntArray
    vertex_weights: IntArray
    name: str = field(default="graph")
    names: tuple[Any, ...] | None = field(default=None, repr=False)

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
