"""METIS on a small graph, through pymetis."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import pymetis
from scipy.sparse import csr_array

from jetpy.graph import Graph


def with_sorted_rows(graph: Graph) -> Graph:
    """Return a graph with the entries of each row in ascending order."""
    entries = graph.edge_weights, graph.indices, graph.indptr
    rows = csr_array(entries, shape=(graph.n, graph.n)).sorted_indices()
    return Graph(rows.indptr, rows.indices, rows.data, graph.vertex_weights)


def bisect_recursively(graph: Graph, k: int, imbalance: float, seed: int) -> npt.NDArray[np.int32]:
    """Return a partition (int32, shape (n,)) by METIS's recursive bisection.

    Faster and better than METIS's k-way on graphs as small as these. Each of the log2(k)
    bisections gets an equal share of the imbalance. The result depends on the order of a row's
    entries.
    """
    if graph.n <= k:
        return np.arange(graph.n, dtype=np.int32)
    if k == 1:
        return np.zeros(graph.n, np.int32)
    share = (1 + min(max(imbalance, 0.0), 1000.0)) ** (1 / math.ceil(math.log2(k))) - 1
    options = pymetis.Options(seed=seed & 0x7FFFFFFF, ufactor=max(1, round(share * 1000)))
    _, parts = pymetis.part_graph(
        k,
        adjacency=pymetis.CSRAdjacency(graph.indptr, graph.indices),
        vweights=graph.vertex_weights,
        eweights=graph.edge_weights,
        options=options,
        recursive=True,
    )
    return np.asarray(parts, np.int32)
