"""What each part of a partition sends, and to whom: in one pass over blocks of the graph."""

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
    """Communication of parts.

    Attributes
    ----------
    volumes : int64, shape (k,)
        What each part sends: the sum over its vertices of how many other parts they have
        neighbours in.
    boundary : int64, shape (k,)
        How many vertices of each part have a neighbour in another one.
    isolated : int64, shape (k,)
        How many vertices of each part have no neighbour in it.
    cut_matrix : scipy.sparse.csr_array of int64, shape (k, k)
        Total weight of the edges between each two parts; symmetric, without a diagonal.
    """

    volumes: Counts
    boundary: Counts
    isolated: Counts
    cut_matrix: sp.csr_array


def communication(graph: Graph, parts: IntArray, k: int) -> Communication:
    """Measure the communication of parts.

    Parameters
    ----------
    graph : Graph
    parts : int32, shape (n,)
        Part of each vertex, in 0..k-1.
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
    linked = np.zeros(k, np.int64)  # vertices with a neighbour in their own part
    upper = sp.csr_array((k, k), dtype=np.int64)
    for start, stop in graph.row_blocks():
        entries = slice(graph.indptr[start], graph.indptr[stop])
        u, other = graph.sources(start, stop), parts[graph.indices[entries]]
        own = parts[u]
        cut = own != other
        above = own < other  # of both directions of an edge, one
        weights = graph.edge_weights[entries][above].astype(np.int64)
        upper += sp.coo_array((weights, (own[above], other[above])), (k, k)).tocsr()
        linked += np.bincount(parts[_different(u[~cut])], minlength=k)
        boundary += np.bincount(parts[_different(u[cut])], minlength=k)
        pairs = u[cut].astype(np.int64) << 32 | other[cut]
        pairs.sort()
        volumes += np.bincount(parts[_different(pairs) >> 32], minlength=k)
    isolated = np.bincount(parts, minlength=k) - linked
    return Communication(volumes, boundary, isolated, upper + upper.T)


def _different(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the different ones among values that are sorted."""
    return values[np.concatenate(([True], values[1:] != values[:-1]))] if len(values) else values
