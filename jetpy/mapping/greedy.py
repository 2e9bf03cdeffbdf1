"""Tasks placed one after the other, each on the free PE that is nearest to those it talks to.

Source: Müller-Merbach, "Optimale Reihenfolgen" (1970), as in Schulz, Träff, "Better Process Mapping
and Sparse Quadratic Assignment", SEA 2017; here from several PEs at once.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from jetpy.graph.csr import Graph

MAX_TERMS = 1 << 24
"""How many distances to look at, at most, to start from more than one PE."""

FixedVertices = npt.NDArray[np.int32]


def place_greedily(graph: Graph, distances: npt.NDArray[np.int32]) -> FixedVertices:
    """Return a PE for each task (int32, shape (n,)), all different.

    The first task goes to one PE after the other, spread evenly, as many as time allows; the
    cheapest result is returned.

    Parameters
    ----------
    graph : Graph
        Tasks, at most k, and what they communicate.
    distances : int32, shape (k, k)
        Of PEs.
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
    """Return all tasks, next always that which talks most to those before; the first most to all.

    Among equal ones that which talks most to all, then the first.
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
