"""Numbers for the parts of a partition that was made without regard to pinned vertices."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from jetpy.graph.csr import Graph, IntArray

MAX_PARTS = 2048
"""Of more parts, numbers are not matched: that takes time in proportion to their cube."""


def relabel_to_fixed(
    graph: Graph, parts: IntArray, pinned: IntArray, k: int
) -> npt.NDArray[np.int32]:
    """Return parts (int32, shape (n,)) with the numbers that save most, pinned vertices in theirs.

    `pinned` (int32, shape (n,)) are the parts of these vertices, -1 of others. Parts that have many
    edges to what is pinned to p, by weight, or contain it, get the number p: an assignment problem.
    Source: Aykanat, Cambazoglu, Uçar, "Multi-level direct k-way hypergraph partitioning with
    multiple constraints and fixed vertices", JPDC 68 (2008), initial partitioning.
    """
    from scipy.optimize import linear_sum_assignment  # takes long to import

    u, v = graph.sources(0, graph.n), graph.indices
    saved = (pinned[u] < 0) & (pinned[v] >= 0)
    pairs = parts[u[saved]].astype(np.int64) * k + pinned[v[saved]]
    weight = np.bincount(pairs, graph.edge_weights[saved], k * k).reshape(k, k)
    _, numbers = linear_sum_assignment(weight, maximize=True)
    return np.where(pinned < 0, numbers[parts], pinned).astype(np.int32)
