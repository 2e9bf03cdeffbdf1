"""Local search that swaps tasks, at most one on each PE, while this lowers the cost.

Source: Heider, "A computationally simplified pair-exchange algorithm for the quadratic assignment
problem" (1972); and, for many tasks, Schulz, Träff, "Better Process Mapping and Sparse Quadratic
Assignment", SEA 2017, which swaps only tasks that are near in the graph.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from jetpy.graph.csr import Graph
from jetpy.graph.ranges import Integers, entries_of
from jetpy.problem.problem import Metric

MAX_CHANGES = 1 << 30
"""Maximum number of cost updates; too small only if all tasks have hundreds of neighbours."""
MAX_TERMS = 1 << 27
"""Maximum number of distance lookups for all pairs of near tasks."""
BLOCK = 1 << 22
"""Number of distance lookups per block of pairs."""

Places = npt.NDArray[np.int32]


def swap_all(graph: Graph, places: Places, distances: npt.NDArray[np.int32]) -> Places:
    """Return places in which no task gains by a swap with another task or a move to an empty PE.

    Tasks in turn take their best place, until none improves or the swaps have changed `MAX_CHANGES`
    costs of tasks on PEs. The memory is quadratic in the number of PEs.

    Parameters
    ----------
    graph : Graph
        Tasks and their communication.
    places : int32, shape (n,)
        PE of each task, all different.
    distances : int32, shape (k, k)
        Distances between PEs.
    """
    k = len(distances)
    table = distances.astype(np.int64)
    empty = np.setdiff1d(np.arange(k), places)
    place = np.concatenate((places, empty))  # of the tasks, then of dummies on empty PEs
    costs = np.zeros((k, k), np.int64)  # of each task on each PE
    matrix = sp.csr_array(
        (graph.edge_weights.astype(np.int64), graph.indices, graph.indptr), shape=(graph.n,) * 2
    )
    costs[: graph.n] = matrix @ table[places]
    own = costs[np.arange(k), place]
    tasks, waiting, u = np.flatnonzero(graph.degrees), 0, 0
    changes = 0
    while waiting < len(tasks) and changes < MAX_CHANGES:
        task = int(tasks[u])
        u, waiting = (u + 1) % len(tasks), waiting + 1
        pe = place[task]
        row = slice(graph.indptr[task], graph.indptr[task + 1])
        neighbours, weights = graph.indices[row], graph.edge_weights[row].astype(np.int64)
        change = costs[task, place] - own[task] + costs[:, pe] - own
        change[neighbours] += 2 * weights * table[pe, place[neighbours]]
        other = int(change.argmin())
        if change[other] >= 0:
            continue
        waiting = 0
        other_pe = place[other]
        for moved, old, new in ((task, pe, other_pe), (other, other_pe, pe)):
            place[moved] = new
            if moved < graph.n:
                row = slice(graph.indptr[moved], graph.indptr[moved + 1])
                weights = graph.edge_weights[row].astype(np.int64)
                costs[graph.indices[row]] += weights[:, None] * (table[new] - table[old])
                changes += k * len(weights)
        own = costs[np.arange(k), place]
    return place[: graph.n].astype(np.int32)


def swap_near(graph: Graph, places: Places, metric: Metric, k: int) -> Places:
    """Return places in which no task gains by a swap with a task that is near in the graph.

    Near tasks are at most two edges apart; only one edge, or no tasks at all, if there are too
    many.

    Parameters
    ----------
    graph : Graph
        Tasks and their communication.
    places : int32, shape (n,)
        PE of each task, all different.
    metric : Metric
        Distances between the `k` PEs.
    """
    u, v = _near(graph)
    place, change = places.copy(), np.zeros(len(u), np.int64)
    stale = np.arange(len(u))
    while len(stale):
        for block in _blocks(graph, u, v, stale):
            change[block] = _changes(graph, place, metric, k, u[block], v[block])
        better = np.flatnonzero(change < 0)
        better = better[np.lexsort((v[better], u[better], change[better]))]
        chosen = better[_apart(graph, u[better], v[better])]
        place[u[chosen]], place[v[chosen]] = place[v[chosen]], place[u[chosen]]
        touched = np.zeros(graph.n, bool)
        touched[u[chosen]] = touched[v[chosen]] = True
        ends = np.flatnonzero(touched)
        touched[graph.indices[entries_of(graph, ends)[1]]] = True
        stale = np.flatnonzero(touched[u] | touched[v])
    return place


def _near(graph: Graph) -> tuple[Places, Places]:
    """Return the pairs (u, v) of near tasks, u < v."""
    degrees = graph.degrees.astype(np.int64)
    adjacency = sp.csr_array(
        (np.ones(len(graph.indices), bool), graph.indices, graph.indptr), shape=(graph.n,) * 2
    )
    if int((degrees * (adjacency @ degrees)).sum()) <= MAX_TERMS:
        adjacency = adjacency + adjacency @ adjacency
    elif int((degrees**2).sum()) > MAX_TERMS:
        return np.zeros(0, np.int32), np.zeros(0, np.int32)
    pairs = sp.triu(adjacency, 1, format="coo")
    return pairs.row.astype(np.int32), pairs.col.astype(np.int32)


def _blocks(graph: Graph, u: Places, v: Places, pairs: Integers) -> Iterator[Integers]:
    """Yield blocks of pairs that need about `BLOCK` distance lookups each."""
    degrees = graph.degrees.astype(np.int64)
    terms = np.cumsum(degrees[u[pairs]] + degrees[v[pairs]])
    yield from np.split(pairs, np.searchsorted(terms, np.arange(BLOCK, terms[-1], BLOCK)))


def _changes(graph: Graph, place: Places, metric: Metric, k: int, u: Places, v: Places) -> Integers:
    """Return the change in cost if u and v swap places, for each pair."""
    total = np.zeros(len(u), np.int64)
    for task, other in ((u, v), (v, u)):
        pair, entries = entries_of(graph, task)
        neighbours = graph.indices[entries]
        near = metric.between(place[other[pair]], place[neighbours], k).astype(np.int64)
        near -= metric.between(place[task[pair]], place[neighbours], k)
        near *= graph.edge_weights[entries]
        near[neighbours == other[pair]] = 0
        sums = np.concatenate((np.zeros(1, np.int64), np.cumsum(near)))
        ends = np.cumsum(graph.degrees[task])
        total += sums[ends] - sums[ends - graph.degrees[task]]
    return total


def _apart(graph: Graph, u: Places, v: Places) -> npt.NDArray[np.bool_]:
    """Return a mask of pairs, best first, with no end in or adjacent to an end of a better pair."""
    rank = np.arange(len(u))
    best = np.full(graph.n, len(u))
    np.minimum.at(best, u, rank)
    np.minimum.at(best, v, rank)
    around, sources = best.copy(), graph.sources(0, graph.n)
    np.minimum.at(around, sources, best[graph.indices])
    apart: npt.NDArray[np.bool_] = (around[u] == rank) & (around[v] == rank)
    return apart
