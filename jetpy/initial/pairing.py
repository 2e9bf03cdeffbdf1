"""Partition into parts of one or two vertices."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from jetpy.graph.csr import Graph
from jetpy.refinement.packing import pack


def pair(graph: Graph, k: int) -> npt.NDArray[np.int32]:
    """Return a partition (int32, shape (n,)) into k parts, n / 2 < k <= n.

    Edges without a common vertex join pairs that weigh at most the average part, until there are k
    pairs and single vertices. The heaviest edges come first, then those of lower ids. If there are
    more than k pairs and single vertices, they are packed by weight.
    """
    weights = graph.vertex_weights.astype(np.int64)
    most = -(-int(weights.sum()) // k)
    sources = graph.sources(0, graph.n)
    ends = np.flatnonzero(sources < graph.indices)
    ends = ends[weights[sources[ends]] + weights[graph.indices[ends]] <= most]
    order = np.lexsort((graph.indices[ends], sources[ends], -graph.edge_weights[ends]))
    firsts, seconds = sources[ends[order]].tolist(), graph.indices[ends[order]].tolist()
    leader, is_free, joins = np.arange(graph.n), [True] * graph.n, graph.n - k
    for u, v in zip(firsts, seconds, strict=True):
        if joins == 0:
            break
        if is_free[u] and is_free[v]:
            is_free[u] = is_free[v] = False
            leader[v], joins = u, joins - 1
    leaders, units = np.unique(leader, return_inverse=True)
    sums = np.bincount(units, weights, len(leaders)).astype(np.int64)
    return pack(sums, np.zeros(k, np.int64))[units]
