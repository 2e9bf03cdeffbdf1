"""Communication between parts, measured in one pass over blocks of the graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from jetpy.graph.csr import Graph, IntArray

Counts = npt.NDArray[np.int64]
MAX_DENSE = 512
"""Maximum number of parts for which weights of pairs are added up in an array of shape (k * k,)."""


@dataclass(frozen=True, eq=False)
class Communication:
    """Communication between parts.

    Attributes
    ----------
    volumes : int64, shape (k,)
        Communication volume of each part: the sum over its vertices of the number of other parts
        among their neighbours, times the size of the vertex.
    boundary : int64, shape (k,)
        Number of vertices of each part with a neighbour in another part.
    isolated : int64, shape (k,)
        Number of vertices of each part without a neighbour in the part.
    cut_matrix : scipy.sparse.csr_array of int64, shape (k, k)
        Total weight of the edges between each pair of parts; symmetric, without a diagonal. It has
        an entry, possibly 0, for each pair with an edge.
    """

    volumes: Counts
    boundary: Counts
    isolated: Counts
    cut_matrix: sp.csr_array


def communication(graph: Graph, parts: IntArray, k: int) -> Communication:
    """Measure the communication between parts.

    Parameters
    ----------
    graph : Graph
    parts : int32, shape (n,)
        Part of each vertex, in 0..k - 1.
    k : int

    Examples
    --------
    >>> import numpy as np
    >>> from jetpy.graph.generators import grid
    >>> found = communication(grid(2, 2), np.array([0, 0, 1, 2], np.int32), 3)
    >>> found.volumes, found.isolated
    (array([2, 2, 2]), array([0, 1, 1]))
    >>> found.cut_matrix.toarray()
    array([[0, 1, 1],
           [1, 0, 1],
           [1, 1, 0]])
    """
    volumes, boundary, isolated = (np.zeros(k, np.int64) for _ in range(3))
    links = [_Links.of(np.zeros(0, np.int64), np.zeros(0, np.int64), k)]
    for start, stop in graph.row_blocks():
        entries = slice(graph.indptr[start], graph.indptr[stop])
        u, other = graph.sources(start, stop), parts[graph.indices[entries]]
        cut = np.flatnonzero(parts[u] != other)
        tails, heads = u[cut].astype(np.int64), other[cut]
        links.append(
            _Links.of(
                parts[tails].astype(np.int64) * k + heads, graph.edge_weights[entries][cut], k
            )
        )
        held, counts = parts[start:stop], np.bincount(tails - start, minlength=stop - start)
        boundary += np.bincount(held[counts > 0], minlength=k)
        isolated += np.bincount(
            held[counts == np.diff(graph.indptr[start : stop + 1])], minlength=k
        )
        pairs = tails << 32 | heads
        pairs.sort()
        sent = _different(pairs) >> 32
        if graph.vertex_sizes is None:
            volumes += np.bincount(parts[sent], minlength=k)
        else:
            np.add.at(volumes, parts[sent], graph.vertex_sizes[sent])
    return Communication(volumes, boundary, isolated, _Links.together(links, k).as_matrix(k))


@dataclass(frozen=True, eq=False)
class _Links:
    """Pairs of parts with edges between them, as ``part * k + other part``, and their weights."""

    pairs: Counts
    weights: Counts

    @classmethod
    def of(cls, pairs: Counts, weights: npt.NDArray[Any], k: int) -> _Links:
        """Add up the weights of equal pairs; as float64, because the total is below 2**53."""
        if k <= MAX_DENSE:
            found = np.flatnonzero(np.bincount(pairs, minlength=k * k))
            sums = np.bincount(pairs, weights, k * k)[found]
        else:
            found, places = np.unique(pairs, return_inverse=True)
            sums = np.bincount(places, weights)
        return cls(found, sums.astype(np.int64))

    @classmethod
    def together(cls, links: list[_Links], k: int) -> _Links:
        pairs = np.concatenate([one.pairs for one in links])
        return cls.of(pairs, np.concatenate([one.weights for one in links]), k)

    def as_matrix(self, k: int) -> sp.csr_array:
        starts = np.searchsorted(self.pairs, np.arange(k + 1) * k).astype(np.int32)
        columns = (self.pairs % k).astype(np.int32)
        return sp.csr_array((self.weights, columns, starts), shape=(k, k))


def _different(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the distinct values of a sorted array."""
    return values[np.concatenate(([True], values[1:] != values[:-1]))] if len(values) else values
