"""Packing vertices into parts by weight: what keeps the limits where refinement found no way."""

from __future__ import annotations

import heapq
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from jetpy.graph import Graph, IntArray

Weights = npt.NDArray[np.int64]
Vertices = npt.NDArray[np.intp]


def pack(weights: IntArray, k: int) -> npt.NDArray[np.int32]:
    """Return parts (int32, shape (n,)): the next heaviest vertex goes to the lightest part.

    Source: Graham, "Bounds on multiprocessing timing anomalies", SIAM Journal on Applied
    Mathematics 17 (1969), longest processing time first.
    """
    parts = np.empty(len(weights), np.int32)
    heap = [(0, p) for p in range(k)]
    for v in _heaviest_first(weights):
        load, p = heap[0]
        heapq.heapreplace(heap, (load + int(weights[v]), p))
        parts[v] = p
    return parts


def fit(graph: Graph, parts: IntArray, limit: int, k: int) -> npt.NDArray[np.int32]:
    """Return parts (int32, shape (n,)) that keep the limit, most of them as they were.

    Where `pack` does not keep it, neither need they, but no part is heavier than its heaviest.

    Vertices that are too many in a part are moved to where they have most edges, if there is room.
    Else overweight parts are packed anew, together with those that weigh least, and with ever
    more of these. When it comes to all parts, that is `pack`.
    """
    weights = graph.vertex_weights
    packed = pack(weights, k)
    most = max(limit, int(np.bincount(packed, weights, k).max()))
    loads = np.bincount(parts, weights, k).astype(np.int64)
    order = np.argsort(loads, kind="stable")
    light = over = int((loads > most).sum())
    surplus = _surplus(parts, weights, loads, most)
    result = _place(graph, parts, surplus, most, order, near=True)
    while result is None and light + over < k:
        involved = np.concatenate([order[:light], order[k - over :]])
        vertices = np.flatnonzero(np.isin(parts, involved))
        result = _place(graph, parts, vertices, most, involved, near=True)
        if result is None:
            result = _place(graph, parts, vertices, most, involved, near=False)
        light *= 2
    return packed if result is None else result


def _heaviest_first(weights: IntArray) -> list[int]:
    order: list[int] = np.argsort(-weights.astype(np.int64), kind="stable").tolist()
    return order


def _surplus(
    parts: IntArray, weights: IntArray, loads: Weights, limit: int
) -> npt.NDArray[np.intp]:
    """Return the vertices that have no room beside the heavier ones of their part."""
    inside = np.flatnonzero(loads[parts] > limit)
    kept: dict[int, int] = {}
    surplus = []
    for i in _heaviest_first(weights[inside]):
        v = int(inside[i])
        load = kept.get(int(parts[v]), 0) + int(weights[v])
        if load <= limit:
            kept[int(parts[v])] = load
        else:
            surplus.append(v)
    return np.array(surplus, np.intp)


def _place(
    graph: Graph,
    parts: IntArray,
    vertices: Vertices,
    limit: int,
    involved: Vertices,
    *,
    near: bool,
) -> npt.NDArray[np.int32] | None:
    """Return the parts after some vertices were put anew into parts involved, heaviest first.

    Each goes to the lightest; if `near`, rather to that of the most edges, if there is room.
    """
    result = parts.astype(np.int32)
    result[vertices] = -1
    rest = result >= 0
    loads = np.bincount(result[rest], graph.vertex_weights[rest], int(involved.max()) + 1)
    room = {p: limit - int(loads[p]) for p in involved.tolist()}
    heap = [(-space, p) for p, space in room.items()]
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


def _nearest(graph: Graph, parts: IntArray, v: int, weight: int, room: dict[int, int]) -> int:
    """Return the part with room for a vertex to which it has most edges by weight; -1: none."""
    row = slice(graph.indptr[v], graph.indptr[v + 1])
    ties: dict[int, int] = {}
    neighbours: Sequence[int] = parts[graph.indices[row]].tolist()
    for p, edge in zip(neighbours, graph.edge_weights[row].tolist(), strict=True):
        if room.get(p, -1) >= weight:
            ties[p] = ties.get(p, 0) + edge
    return min(ties, key=lambda p: (-ties[p], p), default=-1)
