"""Communication between parts, measured in one pass over blocks of the graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from jetpy.graph.csr import Graph, IntArray
from jetpy.problem.metrics import sum_by_pair

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
    volumes, boundary, isolated = (np.zeros(k, np.int64) for _ in range(3))
    links: list[tuple[Counts, Counts]] = [(np.zeros(0, np.int64), np.zeros(0, np.int64))]
    for start, stop in graph.row_blocks():
        entries = slice(graph.indptr[start], graph.indptr[stop])
        u, other = graph.sources(start, stop), parts[graph.indices[entries]]
        cut = np.flatnonzero(parts[u] != other)
        tails, heads = u[cut].astype(np.int64), other[cut]
        keys, _, sums = sum_by_pair(
            parts[tails].astype(np.int64) * k + heads, graph.edge_weights[entries][cut], k
        )
        links.append((keys, sums))
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
    keys, weights = (np.concatenate(own) for own in zip(*links, strict=True))
    return Communication(volumes, boundary, isolated, _matrix_of(keys, weights, k))


def _matrix_of(keys: Counts, weights: Counts, k: int) -> sp.csr_array:
    """Return the weights of pairs of parts, with the keys of `sum_by_pair`, as a matrix."""
    pairs, _, sums = sum_by_pair(keys, weights, k)
    starts = np.searchsorted(pairs, np.arange(k + 1) * k).astype(np.int32)
    return sp.csr_array((sums, (pairs % k).astype(np.int32), starts), shape=(k, k))


def _different(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the distinct values of a sorted array."""
    return values[np.concatenate(([True], values[1:] != values[:-1]))] if len(values) else values
