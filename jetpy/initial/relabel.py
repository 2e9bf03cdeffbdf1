"""Relabelling of a partition that was found without regard to pinned vertices."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from jetpy.graph.csr import Graph, IntArray

MAX_PARTS = 2048
"""Partitions with more parts are not relabelled, because the time grows with the cube of k."""


def relabel_to_fixed(
    graph: Graph, parts: IntArray, pinned: IntArray, k: int
) -> npt.NDArray[np.int32]:
    """Return parts (int32, shape (n,)) relabelled to reduce the cut; pinned vertices keep theirs.

    `pinned` (int32, shape (n,)) has the parts of pinned vertices, -1 for others. An assignment
    problem gives the label p to a part with a large edge weight to vertices pinned to p. Source:
    Aykanat, Cambazoglu, Uçar, "Multi-level direct k-way hypergraph partitioning with multiple
    constraints and fixed vertices", JPDC 68 (2008), initial partitioning.
    """
    from scipy.optimize import linear_sum_assignment  # takes long to import

    u, v = graph.sources(0, graph.n), graph.indices
    saved = (pinned[u] < 0) & (pinned[v] >= 0)
    pairs = parts[u[saved]].astype(np.int64) * k + pinned[v[saved]]
    weight = np.bincount(pairs, graph.edge_weights[saved], k * k).reshape(k, k)
    _, numbers = linear_sum_assignment(weight, maximize=True)
    return np.where(pinned < 0, numbers[parts], pinned).astype(np.int32)
