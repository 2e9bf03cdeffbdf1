"""Internal edge weights in plain Python."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from jetpy.graph.csr import Graph
from tests.graphs import edge_dict


def internal_of(graph: Graph, parts: Sequence[int]) -> np.ndarray:
    """Return the weight of the edges of each vertex within its part."""
    internal = np.zeros(graph.n, np.int64)
    for (u, v), weight in edge_dict(graph).items():
        if parts[u] == parts[v]:
            internal[u] += weight
    return internal
