"""Packing vertices into parts by weight: what keeps the limits where refinement found no way."""

from __future__ import annotations

import heapq
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from jetpy.graph.csr import Graph, IntArray

Weights = npt.NDArray[np.int64]
Vertices = npt.NDArray[np.intp]


def pack(weights: IntArray | Weights, limits: Weights) -> npt.NDArray[np.int32]:
    """Return parts (int32, shape (n,)): the next heaviest vertex goes where most room is left.

    `limits` are what parts may weigh, int64, shape (k,). If they are the same, that is the lightest
    part.

    Source: Graham, "Bounds on multiprocessing timing anomalies", SIAM Journal on Applied
    Mathematics 17 (1969), longest processing time first.
    """
    parts = np.empty(len(weights), np.int32)
    heap = [(-limit, p) for p, limit in enumerate(limits.tolist())]
    heapq.heapify(heap)
    for v in _heaviest_first(weights):
        excess, p = heap[0]
        heapq.heapreplace(heap, (excess + int(weights[v]), p))
        parts[v] = p
    return parts


def one_each(weights: IntArray, shares: Weights, limits: Weights) -> npt.NDArray[np.int32]:
    """Return a part (int32, shape (n,)) for each of no more vertices than parts.

    The heaviest vertex gets the part of the largest share; unless limits (int64, shape (k,)) are
    kept only where parts share vertices and others are empty.
    """
    parts = np.empty(len(weights), np.int32)
    heaviest_first = np.argsort(-weights.astype(np.int64), kind="stable")
    parts[heaviest_first] = np.argsort(-shares, kind="stable")[: len(weights)]
    packed = pack(weights, limits)
    loads = np.bincount(packed, weights, len(limits))
    if (weights > limits[parts]).any() and (loads <= limits).all():
        return packed
    return parts


def fit(
    graph: Graph,
    parts: IntArray,
    internal: Weights,
    limits: Weights,
    free: npt.NDArray[np.bool_] | None = None,
) -> npt.NDArray[np.int32]:
    """Return parts (int32, shape (n,)) that keep their limits, most of them as they were.

    `internal` (int64, shape (n,)) are the weights of the edges of each vertex to its own part,
    `limits` (int64, shape (k,)) what parts may weigh; `free` (bool, shape (n,)) tells which
    vertices may move, all by default.

    Where `pack` does not keep these, neither need they, but no part is above its limit by more.

    The lightest vertices of overweight parts are put where they have most edges, if there is room,
    else where most is left. Where that fails, it is done with more of them, and with those of other
    parts, first of those with most room; at last with all vertices, as `pack` does.
    """
    weights, k = graph.vertex_weights, len(limits)
    free = np.ones(graph.n, np.bool_) if free is None else free
    rooms = limits - np.bincount(parts[~free], weights[~free], k).astype(np.int64)
    packed = np.bincount(pack(weights[free], rooms), weights[free], k).astype(np.int64)
    most = limits + max(0, int((packed - rooms).max()))
    loads = np.bincount(parts, weights, k).astype(np.int64)
    order, losses = np.argsort(loads - most, kind="stable"), 2 * internal - _degrees(graph)
    amounts = np.maximum(loads - most, 0)
    over, excess, share = int((amounts > 0).sum()), int(amounts.max()), 1
    while True:
        loose = _lightest(parts, weights, losses, np.where(free, amounts[parts], 0))
        for near in (True, False):
            result = _place(graph, parts, loose, most, near=near)
            if result is not None:
                return result
        involved = np.concatenate([order[: share * over], order[k - over :]])
        amounts[involved] = share * excess
        share *= 2


def _heaviest_first(weights: IntArray | Weights) -> list[int]:
    order: list[int] = np.argsort(-weights.astype(np.int64), kind="stable").tolist()
    return order


def _degrees(graph: Graph) -> Weights:
    """Return the weight of the edges of each vertex."""
    sums = np.concatenate([[0], np.cumsum(graph.edge_weights, dtype=np.int64)])
    return np.diff(sums[graph.indptr])


def _lightest(parts: IntArray, weights: IntArray, losses: Weights, amounts: Weights) -> Vertices:
    """Return the lightest vertices of each part, and of least loss, that weigh an amount.

    `amounts` (int64, shape (n,)) are those of the vertices' parts; 0 of vertices that stay.
    """
    inside = np.flatnonzero(amounts > 0)
    ordered = inside[np.lexsort((losses[inside], weights[inside], parts[inside]))]
    homes, own = parts[ordered], weights[ordered].astype(np.int64)
    before = np.cumsum(own) - own
    first = np.searchsorted(homes, homes)
    return ordered[before - before[first] < amounts[ordered]]


def _place(
    graph: Graph, parts: IntArray, vertices: Vertices, limits: Weights, *, near: bool
) -> npt.NDArray[np.int32] | None:
    """Return the parts after some vertices were put anew, heaviest first; None without room.

    Each goes where most room is left; if `near`, rather to the part of the most edges, if that has
    room.
    """
    result = parts.astype(np.int32)
    result[vertices] = -1
    rest = result >= 0
    held = np.bincount(result[rest], graph.vertex_weights[rest], len(limits))
    room = (limits - held).astype(int).tolist()
    heap = [(-space, p) for p, space in enumerate(room)]
    heapq.heapify(heap)
    for i in _heaviest_first(graph.vertex_weights[vertices]):
        v = int(vertices[i])
        weight = int(graph.vertex_weights[v])
        best = _nearest(graph, result, v, weight, room) if near else -1
        if best < 0:
            while room[heap[0][1]] != -heap[0][0]:
                heapq.heappop(heap)
            best = heap[0][1]
        if room[best] < weight:
            return None
        room[best] -= weight
        heapq.heappush(heap, (-room[best], best))
        result[v] = best
    return result


def _nearest(graph: Graph, parts: IntArray, v: int, weight: int, room: list[int]) -> int:
    """Return the part with room for a vertex to which it has most edges by weight; -1: none."""
    row = slice(graph.indptr[v], graph.indptr[v + 1])
    ties: dict[int, int] = {}
    neighbours: Sequence[int] = parts[graph.indices[row]].tolist()
    for p, edge in zip(neighbours, graph.edge_weights[row].tolist(), strict=True):
        if p >= 0 and room[p] >= weight:
            ties[p] = ties.get(p, 0) + edge
    return min(ties, key=lambda p: (-ties[p], p), default=-1)
