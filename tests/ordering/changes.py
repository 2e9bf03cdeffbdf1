"""Changes of patterns."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

import jetpy
from tests.ordering.dissections import matrix_of


def changed(
    rng: np.random.Generator, graph: jetpy.Graph, removed: int, inserted: int, rows: int
) -> jetpy.Graph:
    """Return the pattern with some entries removed, and with new entries and rows."""
    u, v = sp.triu(matrix_of(graph), 1).nonzero()
    kept = rng.permutation(len(u))[removed:]
    n = graph.n + rows
    ends = rng.integers(0, max(n, 1), (2, inserted if n else 0))
    ends = ends[:, ends[0] != ends[1]]
    pairs = np.concatenate((np.stack((u[kept], v[kept])), ends), axis=1)
    half = sp.coo_array((np.ones(pairs.shape[1], np.int32), tuple(pairs)), shape=(n, n)).tocsr()
    return jetpy.as_graph(half + half.T, pattern=True)


def with_entries(graph: jetpy.Graph, pairs: list[tuple[int, int]]) -> jetpy.Graph:
    """Return the pattern with some more entries, and rows for them."""
    u, v = np.array(pairs).T
    n = max(graph.n, int(np.max(pairs)) + 1)
    half = sp.coo_array((np.ones(len(u)), (u, v)), shape=(n, n))
    rows = sp.csr_array(matrix_of(graph))
    rows.resize((n, n))
    return jetpy.as_graph(rows + half + half.T, pattern=True)
