"""Dense rows, which come last in every ordering."""

from __future__ import annotations

import numpy as np

from jetpy.graph.csr import Graph, IntArray

DENSE, FEW = 10, 16
"""A row is dense if it has more than DENSE * sqrt(n) entries off the diagonal, and more than
FEW."""


def without_dense_rows(graph: Graph) -> tuple[Graph, IntArray, IntArray]:
    """Remove the dense rows of a matrix.

    Returns
    -------
    rest : Graph
        The other rows; `graph` itself if no row is dense.
    members : int32, shape (rest.n,)
        The row of each vertex of `rest`, ascending.
    dense : int32, shape (n - rest.n,)
        The dense rows by number of entries, then by id.
    """
    degrees = graph.degrees
    is_dense = degrees > max(FEW, DENSE * graph.n**0.5)
    if not is_dense.any():
        return graph, np.arange(graph.n, dtype=np.int32), np.empty(0, np.int32)
    dense = np.flatnonzero(is_dense).astype(np.int32)
    members = np.flatnonzero(~is_dense).astype(np.int32)
    last = dense[np.argsort(degrees[dense], kind="stable")]
    return induced_subgraph(graph, members), members, last


def induced_subgraph(graph: Graph, members: IntArray) -> Graph:
    """Return the subgraph of some vertices (int32, ascending); its vertex i is ``members[i]``.

    The neighbours of a vertex keep their order.
    """
    is_member = np.zeros(graph.n, bool)
    is_member[members] = True
    is_kept = np.repeat(is_member, graph.degrees)
    is_kept &= is_member[graph.indices]
    ends = np.zeros(len(is_kept) + 1, graph.indptr.dtype)
    np.cumsum(is_kept, out=ends[1:])
    ids = np.cumsum(is_member, dtype=np.int32) - np.int32(1)
    return Graph(
        ends[np.append(graph.indptr[members], graph.indptr[-1])],
        ids[graph.indices[is_kept]],
        graph.edge_weights[is_kept],
        graph.vertex_weights[members],
        graph.name,
    )
