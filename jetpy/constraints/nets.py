"""The nets of a level: vertex sets whose parts determine the communication volume."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from jetpy.constraints.hashing import hashes
from jetpy.graph.csr import Graph, IntArray


@dataclass(frozen=True, eq=False)
class Nets:
    """Sets of vertices of a level, the nets.

    The communication volume of a partition is the sum over the nets of their weight times the
    number of parts that they touch, less one. Net v holds vertex v and its neighbours on the
    level; further nets come after these.

    Attributes
    ----------
    starts : int32, shape (count + 1,)
        Start of each net in `pins`, then the end.
    pins : int32
        Vertices of each net.
    weights : int32, shape (count,)
        Number of vertices of the finest level whose closed neighbourhood the net represents.
    n : int
        Number of vertices of the level.
    """

    starts: IntArray
    pins: IntArray
    weights: IntArray
    n: int

    @property
    def count(self) -> int:
        """Number of nets."""
        return len(self.weights)

    def by_vertex(self) -> tuple[IntArray, IntArray]:
        """Return the start of each vertex's list of nets, and these lists, both int32."""
        ones = np.ones(len(self.pins), np.int8)
        matrix = sp.csr_array((ones, self.pins, self.starts), (self.count, self.n)).tocsc()
        return matrix.indptr.astype(np.int32), matrix.indices.astype(np.int32)


def neighbourhoods(graph: Graph) -> Nets:
    """Return the closed neighbourhood of each vertex of a graph as a net of weight 1."""
    starts = (graph.indptr + np.arange(graph.n + 1)).astype(np.int32)
    pins = np.empty(starts[-1], np.int32)
    neighbours = np.ones(len(pins), np.bool_)
    neighbours[starts[:-1]] = False
    pins[neighbours] = graph.indices
    pins[starts[:-1]] = np.arange(graph.n)
    return Nets(starts, pins, np.ones(graph.n, np.int32), graph.n)


def contract(nets: Nets, coarse_of: IntArray, coarse: Graph) -> Nets:
    """Return the nets on the coarse graph; `coarse_of` (int32, shape (n,)) maps its vertices.

    Nets with one vertex are dropped. Nets with equal vertices, according to a 64-bit hash, are
    merged.
    """
    ones = np.ones(len(nets.pins), np.int8)
    matrix = sp.csr_array((ones, coarse_of[nets.pins], nets.starts.copy()), (nets.count, coarse.n))
    matrix.sum_duplicates()
    counting = np.flatnonzero((np.diff(matrix.indptr) > 1) & (nets.weights > 0))
    matrix = matrix[counting]
    own = neighbourhoods(coarse)
    last = own.starts[-1]
    return _without_doubles(
        Nets(
            np.concatenate([own.starts, matrix.indptr[1:] + last]).astype(np.int32),
            np.concatenate([own.pins, matrix.indices]).astype(np.int32),
            np.concatenate([np.zeros_like(own.weights), nets.weights[counting]]),
            coarse.n,
        )
    )


def _without_doubles(nets: Nets) -> Nets:
    """Merge nets with equal vertices, but keep a net for each vertex."""
    sums = np.add.reduceat(hashes(np.arange(nets.n))[nets.pins], nets.starts[:-1])
    _, first, which = np.unique(sums, return_index=True, return_inverse=True)
    weights = np.zeros(nets.count, np.int64)
    np.add.at(weights, first[which], nets.weights)
    kept = np.union1d(first, np.arange(nets.n))
    sizes = np.diff(nets.starts)
    of_kept = np.zeros(nets.count, np.bool_)
    of_kept[kept] = True
    return replace(
        nets,
        starts=np.concatenate([[0], np.cumsum(sizes[kept])]).astype(np.int32),
        pins=nets.pins[np.repeat(of_kept, sizes)],
        weights=weights[kept].astype(np.int32),
    )
