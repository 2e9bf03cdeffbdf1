"""Communication between parts, measured in one pass over blocks of the graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from jetpy.graph.csr import Graph, IntArray

Counts = npt.NDArray[np.int64]


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
    volumes, boundary = np.zeros(k, np.int64), np.zeros(k, np.int64)
    linked = np.zeros(k, np.int64)  # vertices with a neighbour in the same part
    upper, links = sp.csr_array((k, k), dtype=np.int64), sp.csr_array((k, k), dtype=np.int64)
    for start, stop in graph.row_blocks():
        entries = slice(graph.indptr[start], graph.indptr[stop])
        u, other = graph.sources(start, stop), parts[graph.indices[entries]]
        own = parts[u]
        cut = own != other
        above = own < other  # one direction of each edge
        weights = graph.edge_weights[entries][above].astype(np.int64)
        pair = own[above], other[above]
        upper += sp.coo_array((weights, pair), (k, k)).tocsr()
        if not weights.all():
            links += sp.coo_array((np.ones_like(weights), pair), (k, k)).tocsr()
        linked += np.bincount(parts[_different(u[~cut])], minlength=k)
        boundary += np.bincount(parts[_different(u[cut])], minlength=k)
        pairs = u[cut].astype(np.int64) << 32 | other[cut]
        pairs.sort()
        sent = _different(pairs) >> 32
        if graph.vertex_sizes is None:
            volumes += np.bincount(parts[sent], minlength=k)
        else:
            np.add.at(volumes, parts[sent], graph.vertex_sizes[sent])
    isolated = np.bincount(parts, minlength=k) - linked
    return Communication(volumes, boundary, isolated, _with_links(upper + upper.T, links + links.T))


def _with_links(matrix: sp.csr_array, links: sp.csr_array) -> sp.csr_array:
    """Return a matrix with an entry also for each entry of `links`; sums drop entries of 0."""
    if not links.nnz:
        return matrix
    own, other = matrix.tocoo(), links.tocoo()
    places = np.concatenate([own.row, other.row]), np.concatenate([own.col, other.col])
    data = np.concatenate([own.data, np.zeros_like(other.data)])
    return sp.coo_array((data, places), matrix.shape).tocsr()


def _different(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the distinct values of a sorted array."""
    return values[np.concatenate(([True], values[1:] != values[:-1]))] if len(values) else values
