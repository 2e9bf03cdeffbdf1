"""Greedy mapping: each task in turn goes to the free PE nearest to its communication partners.

Source: Müller-Merbach, "Optimale Reihenfolgen" (1970), as in Schulz, Träff, "Better Process Mapping
and Sparse Quadratic Assignment", SEA 2017. Here, the search starts from several PEs.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from jetpy.graph.csr import Graph

MAX_TERMS = 1 << 24
"""Maximum number of distance lookups over all starting PEs (one PE is always tried)."""

FixedVertices = npt.NDArray[np.int32]


def place_greedily(graph: Graph, distances: npt.NDArray[np.int32]) -> FixedVertices:
    """Return a PE for each task, int32, shape (n,), all different.

    The first task is tried on several PEs, spread evenly; `MAX_TERMS` limits their number. The
    result is the cheapest mapping.

    Parameters
    ----------
    graph : Graph
        At most k tasks, and their communication.
    distances : int32, shape (k, k)
        Distances between PEs.
    """
    k = len(distances)
    count = min(max(MAX_TERMS // (len(graph.indices) * k + 1), 1), k)
    tries = np.arange(count)
    table, costs = distances.astype(np.int64), np.zeros(count, np.int64)
    places = np.full((count, graph.n), -1, np.int32)
    free = np.ones((count, k), bool)
    for number, task in enumerate(_order(graph)):
        row = slice(graph.indptr[task], graph.indptr[task + 1])
        paid = np.zeros((count, k), np.int64)
        for neighbour, weight in zip(graph.indices[row], graph.edge_weights[row], strict=True):
            if places[0, neighbour] >= 0:
                paid += np.int64(weight) * table[places[:, neighbour]]
        best = np.where(free, paid, np.iinfo(np.int64).max).argmin(axis=1)
        if number == 0:
            best = tries * k // count
        costs += paid[tries, best]
        places[:, task], free[tries, best] = best, False
    cheapest: FixedVertices = places[costs.argmin()]
    return cheapest


def _order(graph: Graph) -> list[int]:
    """Return the order of tasks: next is the one with most communication to its predecessors.

    The first task has most communication in total, which also breaks ties; then the lowest id.
    """
    sums = np.concatenate((np.zeros(1, np.int64), np.cumsum(graph.edge_weights, dtype=np.int64)))
    total = np.diff(sums[graph.indptr])
    linked, order = np.zeros(graph.n, np.int64), list[int]()
    for _ in range(graph.n):
        candidates = np.flatnonzero(linked == linked.max())
        task = int(candidates[total[candidates].argmax()])
        order.append(task)
        row = slice(graph.indptr[task], graph.indptr[task + 1])
        neighbours = graph.indices[row]
        waiting = linked[neighbours] >= 0
        linked[neighbours[waiting]] += graph.edge_weights[row][waiting]
        linked[task] = -1
    return order
