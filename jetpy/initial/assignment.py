"""Which part goes where: parts of a small graph are put on the places of a distance matrix."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from jetpy.graph import Graph, IntArray
from jetpy.problem import Problem

Matrix = npt.NDArray[np.int64]


def assign_parts(graph: Graph, parts: IntArray, problem: Problem) -> npt.NDArray[np.int32]:
    """Return the parts (int32, shape (n,)) renumbered, so that the edges between them cost less.

    Greedy construction (Mueller-Merbach, "Optimale Reihenfolgen", 1970), then the best exchange of
    two parts, again and again, while that helps (Heider, "A computationally simplified
    pair-exchange algorithm for the quadratic assignment problem", 1972).
    """
    k = problem.k
    flows = _flows(graph, parts, k)
    distances = problem.metric.distances.reshape(k, k).astype(np.int64)
    places = _exchange(flows, distances, _construct(flows, distances))
    return places[parts].astype(np.int32)


def _flows(graph: Graph, parts: IntArray, k: int) -> Matrix:
    """Return the weight of the directed edges between every two parts; 0 within a part."""
    flows = np.zeros((k, k), np.int64)
    np.add.at(flows, (parts[graph.sources(0, graph.n)], parts[graph.indices]), graph.edge_weights)
    np.fill_diagonal(flows, 0)
    return flows


def _construct(flows: Matrix, distances: Matrix) -> npt.NDArray[np.int64]:
    """Return the place of each part: next is always the one with the heaviest edges to others."""
    k = len(flows)
    places = np.full(k, -1)
    is_free = np.ones(k, bool)
    nearness = flows.sum(1)
    costs = distances.sum(1)
    done: list[int] = []
    for _ in range(k):
        part = int(np.where(places < 0, nearness, -1).argmax())
        if done:
            costs = distances[:, places[done]] @ flows[part, done]
        place = int(np.where(is_free, costs, np.iinfo(np.int64).max).argmin())
        places[part], is_free[place] = place, False
        nearness = flows[:, part] + (nearness if done else 0)
        done.append(part)
    return places


def _exchange(
    flows: Matrix, distances: Matrix, places: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    """Return the places after all exchanges that help."""
    near = distances[np.ix_(places, places)]
    sums = flows @ near
    while True:
        own = sums.diagonal()
        gains = own[:, None] + own - sums - sums.T - 2 * flows * near
        best = int(gains.argmax())
        i, j = divmod(best, len(places))
        if gains[i, j] <= 0:
            return places
        places[[i, j]] = places[[j, i]]
        sums += np.outer(flows[:, i] - flows[:, j], near[j] - near[i])
        sums[:, [i, j]] = sums[:, [j, i]]
        near[[i, j]] = near[[j, i]]
        near[:, [i, j]] = near[:, [j, i]]
