"""METIS on a small graph, through pymetis."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import pymetis
from scipy.sparse import csr_array

from jetpy.balance.packing import pack
from jetpy.graph import Graph, IntArray

HEAVIEST = 1.5
"""METIS gets no vertex that weighs more than so many parts."""


def with_sorted_rows(graph: Graph) -> Graph:
    """Return a graph with the entries of each row in ascending order."""
    entries = graph.edge_weights, graph.indices, graph.indptr
    rows = csr_array(entries, shape=(graph.n, graph.n)).sorted_indices()
    return Graph(rows.indptr, rows.indices, rows.data, graph.vertex_weights)


def bisect_recursively(graph: Graph, k: int, imbalance: float, seed: int) -> npt.NDArray[np.int32]:
    """Return a partition (int32, shape (n,)) by METIS's recursive bisection.

    Faster and better than METIS's k-way on graphs as small as these. Each of the log2(k)
    bisections gets an equal share of the imbalance. The result depends on the order of a row's
    entries. Vertices that are heavier than a part may be get a part each, and less than two
    vertices a part are packed: METIS would come to have nothing left to bisect, and complain of
    that on standard output.
    """
    heavy = heaviest_vertices(graph.vertex_weights, k, imbalance)
    parts = np.empty(graph.n, np.int32)
    parts[heavy] = np.arange(len(heavy))
    others = np.ones(graph.n, bool)
    others[heavy] = False
    rest = induced(graph, others) if len(heavy) else graph
    parts[others] = len(heavy) + _bisect(rest, k - len(heavy), imbalance, seed)
    return parts


def heaviest_vertices(weights: IntArray, k: int, imbalance: float) -> npt.NDArray[np.intp]:
    """Return those that each need one of k parts for themselves, heaviest first; fewer than k."""
    most = min(1 + max(imbalance, 0.0), HEAVIEST)
    count, rest = 0, int(weights.sum(dtype=np.int64))
    if not len(weights) or weights.max() * k <= most * rest:
        return np.empty(0, np.intp)
    order = np.argsort(-weights.astype(np.int64), kind="stable")
    for weight in weights[order[: k - 1]].tolist():
        if weight * (k - count) <= most * rest:
            break
        count, rest = count + 1, rest - weight
    return order[:count]


def induced(graph: Graph, chosen: npt.NDArray[np.bool_]) -> Graph:
    """Return the subgraph of the chosen vertices (bool, shape (n,))."""
    entries = graph.edge_weights, graph.indices, graph.indptr
    rows = csr_array(entries, shape=(graph.n, graph.n))[chosen][:, chosen]
    return Graph(rows.indptr, rows.indices, rows.data, graph.vertex_weights[chosen])


def _bisect(graph: Graph, k: int, imbalance: float, seed: int) -> npt.NDArray[np.int32]:
    if graph.n <= k:
        return np.arange(graph.n, dtype=np.int32)
    if k == 1:
        return np.zeros(graph.n, np.int32)
    if graph.n < 2 * k and np.ptp(graph.vertex_weights) > 0:
        return pack(graph.vertex_weights, k)
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
