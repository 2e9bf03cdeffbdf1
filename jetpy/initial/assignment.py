"""Assignment of the parts of a small graph to the positions of a distance matrix."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array, csr_array

from jetpy.graph.csr import Graph, IntArray
from jetpy.problem.problem import Problem

Matrix = npt.NDArray[np.int64]


def assign_parts(graph: Graph, parts: IntArray, problem: Problem) -> npt.NDArray[np.int32]:
    """Return the parts (int32, shape (n,)) renumbered to reduce the cost of the edges between them.

    Greedy construction (Mueller-Merbach, "Optimale Reihenfolgen", 1970), then repeatedly the best
    exchange of two parts while it reduces the cost (Heider, "A computationally simplified
    pair-exchange algorithm for the quadratic assignment problem", 1972).
    """
    k = problem.k
    flows = _flows(graph, parts, k)
    distances = problem.metric.distances.reshape(k, k).astype(np.int64)
    places = _exchange(flows, distances, _construct(flows, distances))
    return places[parts].astype(np.int32)


def _flows(graph: Graph, parts: IntArray, k: int) -> csr_array:
    """Return the weight of the directed edges between each two parts, shape (k, k), diagonal 0."""
    p, q = parts[graph.sources(0, graph.n)], parts[graph.indices]
    weights = graph.edge_weights.astype(np.int64)
    return coo_array((weights[p != q], (p[p != q], q[p != q])), shape=(k, k)).tocsr()


def _construct(flows: csr_array, distances: Matrix) -> npt.NDArray[np.int64]:
    """Return each part's position; the part with most edges to assigned parts is assigned next."""
    k = flows.shape[0]
    places = np.full(k, -1)
    is_free = np.ones(k, bool)
    nearness = flows.sum(1)
    costs = distances.sum(1)
    for number in range(k):
        part = int(np.where(places < 0, nearness, -1).argmax())
        others, weights = _row(flows, part)
        if number > 0:
            done = places[others] >= 0
            costs = distances[:, places[others[done]]] @ weights[done]
        else:
            nearness[:] = 0
        place = int(np.where(is_free, costs, np.iinfo(np.int64).max).argmin())
        places[part], is_free[place] = place, False
        nearness[others] += weights
    return places


def _row(flows: csr_array, part: int) -> tuple[IntArray, npt.NDArray[np.int64]]:
    """Return the parts adjacent to a part, and the weights of the edges to them."""
    entries = slice(flows.indptr[part], flows.indptr[part + 1])
    return flows.indices[entries], flows.data[entries]


def _exchange(
    flows: csr_array, distances: Matrix, places: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    """Return the positions after all exchanges that reduce the cost."""
    near = distances[np.ix_(places, places)]
    sums = flows @ near
    dense = flows.toarray()
    while True:
        own = sums.diagonal()
        gains = own[:, None] + own - sums - sums.T - 2 * dense * near
        best = int(gains.argmax())
        i, j = divmod(best, len(places))
        if gains[i, j] <= 0:
            return places
        places[[i, j]] = places[[j, i]]
        sums += np.outer(dense[:, i] - dense[:, j], near[j] - near[i])
        sums[:, [i, j]] = sums[:, [j, i]]
        near[[i, j]] = near[[j, i]]
        near[:, [i, j]] = near[:, [j, i]]
