"""METIS on small graphs, through pymetis."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from jetpy.graph.csr import Graph, IntArray
from jetpy.initial.pairing import pair
from jetpy.initial.subgraphs import subgraphs

HEAVIEST = 1.5
"""Maximum weight of a vertex that is given to METIS, in average part weights."""
MAX_IMBALANCE = 1.0
"""Maximum imbalance given to METIS; with more, one side of a bisection could have no vertices."""
MAX_PARTS = 1024
"""Above this number, parts are found in two steps, because errors of bisections accumulate."""


def with_sorted_rows(graph: Graph) -> Graph:
    """Return the graph with the entries of each row in ascending order."""
    entries = graph.edge_weights, graph.indices, graph.indptr
    rows = csr_array(entries, shape=(graph.n, graph.n)).sorted_indices()
    return Graph(rows.indptr, rows.indices, rows.data, graph.vertex_weights)


def bisect_recursively(graph: Graph, k: int, imbalance: float, seed: int) -> npt.NDArray[np.int32]:
    """Return a partition (int32, shape (n,)) by METIS's recursive bisection.

    On small graphs, it is faster and better than METIS's k-way method. Each of the log2(k)
    bisections gets an equal share of the imbalance. The result depends on the order of the entries
    of a row.

    METIS prints complaints if it has to bisect a graph without vertices. To avoid that, each vertex
    much heavier than the average part gets its own part, graphs with less than two vertices per
    part are paired, and many parts are found in two steps.
    """
    if graph.n <= k:
        return np.arange(graph.n, dtype=np.int32)
    heavy = heaviest_vertices(graph.vertex_weights, k)
    share = (1 + min(max(imbalance, 0.0), MAX_IMBALANCE)) ** (
        1 / max(1, math.ceil(math.log2(k)))
    ) - 1
    if not len(heavy):
        return _bisect(graph, k, share, seed)
    parts, is_other = np.empty(graph.n, np.int32), np.ones(graph.n, np.int32)
    parts[heavy], is_other[heavy] = np.arange(len(heavy)), 0
    for block, members, others in subgraphs(graph, is_other, 2):
        if block == 1:
            parts[members] = len(heavy) + _bisect(others, k - len(heavy), share, seed)
    return parts


def partition_directly(graph: Graph, k: int, imbalance: float, seed: int) -> npt.NDArray[np.int32]:
    """Return a partition (int32, shape (n,)) by METIS's k-way method (Jet, section 3).

    Graphs that METIS complains about are bisected (`bisect_recursively`).
    """
    if graph.n < 2 * k or len(heaviest_vertices(graph.vertex_weights, k)):
        return bisect_recursively(graph, k, imbalance, seed)
    limited = min(max(imbalance, 0.0), MAX_IMBALANCE)
    return _call_metis(graph, k, limited, seed, recursive=False)


def heaviest_vertices(weights: IntArray, k: int) -> npt.NDArray[np.intp]:
    """Return the vertices that need one of k parts each, heaviest first; fewer than k."""
    count, rest = 0, int(weights.sum(dtype=np.int64))
    if int(weights.max(initial=0)) * k <= HEAVIEST * rest:
        return np.empty(0, np.intp)
    order = np.argsort(-weights.astype(np.int64), kind="stable")
    for weight in weights[order[: k - 1]].tolist():
        if weight * (k - count) <= HEAVIEST * rest:
            break
        count, rest = count + 1, rest - weight
    return order[:count]


def apportion(k: int, weights: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Distribute k parts in proportion to weights (int64); the rest goes to the largest remainders.

    >>> apportion(5, np.array([10, 20, 30]))
    array([1, 2, 2])
    """
    total = int(weights.sum())
    shares, remainders = np.divmod(weights * k, total)
    shares[np.argsort(-remainders, kind="stable")[: k - int(shares.sum())]] += 1
    return shares


def _bisect(graph: Graph, k: int, share: float, seed: int) -> npt.NDArray[np.int32]:
    """Return a partition by bisections, each with an imbalance of at most `share`."""
    if graph.n <= k:
        return np.arange(graph.n, dtype=np.int32)
    if k == 1:
        return np.zeros(graph.n, np.int32)
    if graph.n < 2 * k:
        return pair(graph, k)
    if k > MAX_PARTS:
        return _bisect_blocks(graph, k, share, seed)
    return _call_metis(graph, k, share, seed, recursive=True)


def _call_metis(
    graph: Graph, k: int, imbalance: float, seed: int, *, recursive: bool
) -> npt.NDArray[np.int32]:
    """Return METIS's partition, by recursive bisection or by its k-way method."""
    import pymetis

    options = pymetis.Options(seed=seed & 0x7FFFFFFF, ufactor=max(1, round(imbalance * 1000)))
    _, parts = pymetis.part_graph(
        k,
        adjacency=pymetis.CSRAdjacency(graph.indptr, graph.indices),
        vweights=graph.vertex_weights,
        eweights=graph.edge_weights,
        options=options,
        recursive=recursive,
    )
    return np.asarray(parts, np.int32)


def _bisect_blocks(graph: Graph, k: int, share: float, seed: int) -> npt.NDArray[np.int32]:
    """Return a partition in which each block is divided into parts in proportion to its weight."""
    count = -(-k // MAX_PARTS)
    blocks = _bisect(graph, count, share, seed)
    weights = np.bincount(blocks, graph.vertex_weights, count).astype(np.int64)
    shares = apportion(k, weights)
    starts = np.cumsum(shares) - shares
    parts = np.empty(graph.n, np.int32)
    for block, members, inside in subgraphs(graph, blocks, count):
        own = _bisect(inside, max(1, int(shares[block])), share, seed + block)
        parts[members] = starts[block] + own
    return parts
