"""Packing of vertices into parts by weight, to keep limits that refinement cannot keep."""

from __future__ import annotations

import heapq
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from jetpy.graph.csr import Graph, IntArray
from jetpy.problem.limits import outside

Weights = npt.NDArray[np.int64]
Vertices = npt.NDArray[np.intp]


def pack(
    weights: IntArray | Weights, limits: Weights, lower_limits: Weights | None = None
) -> npt.NDArray[np.int32]:
    """Return parts (int32, shape (n,)): heaviest vertex first, each into the part with most room.

    `limits` and `lower_limits` (int64, shape (k,)) are the maximum and minimum part weights. If the
    limits are equal, the part with most room is the lightest part. If a part then weighs less than
    its minimum, two other rules are tried: the part that lacks most of its minimum comes first, or
    the part furthest below the middle of its limits. Each vertex of weight 0 goes into the part
    with fewest vertices.

    Source: Graham, "Bounds on multiprocessing timing anomalies", SIAM Journal on Applied
    Mathematics 17 (1969), longest processing time first.
    """
    parts = _greedily(weights, limits)
    if lower_limits is None or not (lower_limits > 0).any():
        return parts
    lower = lower_limits.clip(0)
    lacking = _greedily(weights, lower)
    tries = [parts, lacking, _greedily(weights, (lower + limits) // 2)]
    return min(tries, key=lambda own: _excess(weights, own, limits, lower))


def _excess(weights: IntArray | Weights, parts: IntArray, limits: Weights, lower: Weights) -> float:
    """Return the total weight of parts outside their limits."""
    return float(outside(np.bincount(parts, weights, len(limits)), lower, limits).sum())


def _greedily(weights: IntArray | Weights, rooms: Weights) -> npt.NDArray[np.int32]:
    """Return parts: heaviest vertex first, each into the part with most of its room left."""
    parts = np.empty(len(weights), np.int32)
    heap = [(-room, p) for p, room in enumerate(rooms.tolist())]
    heapq.heapify(heap)
    weighty = np.flatnonzero(weights)
    for v in weighty[_heaviest_first(weights[weighty])].tolist():
        excess, p = heap[0]
        heapq.heapreplace(heap, (excess + int(weights[v]), p))
        parts[v] = p
    sizes = np.bincount(parts[weighty], minlength=len(rooms)).tolist()
    smallest = [(size, p) for p, size in enumerate(sizes)]
    heapq.heapify(smallest)
    for v in np.flatnonzero(weights == 0).tolist():
        size, p = smallest[0]
        heapq.heapreplace(smallest, (size + 1, p))
        parts[v] = p
    return parts


def one_each(
    weights: IntArray, shares: Weights, limits: Weights, lower_limits: Weights
) -> npt.NDArray[np.int32]:
    """Return a separate part (int32, shape (n,)) for each vertex; n is at most k.

    The heaviest vertex gets the part of the largest share. If that breaks a limit (int64, shape
    (k,)), it gets the part of the largest limit. If that breaks one, too, and `pack` does not,
    return the packed parts, in which vertices may share a part.
    """
    heaviest_first = np.argsort(-weights.astype(np.int64), kind="stable")

    def largest_first(sizes: Weights) -> npt.NDArray[np.int32]:
        parts = np.empty(len(weights), np.int32)
        parts[heaviest_first] = np.argsort(-sizes, kind="stable")[: len(weights)]
        return parts

    by_share = largest_first(shares)
    tries = [by_share, largest_first(limits), pack(weights, limits, lower_limits)]
    kept = (own for own in tries if _excess(weights, own, limits, lower_limits) == 0)
    return next(kept, by_share)


def fit(
    graph: Graph,
    parts: IntArray,
    internal: Weights,
    limits: Weights,
    free: npt.NDArray[np.bool_] | None = None,
) -> npt.NDArray[np.int32]:
    """Return parts (int32, shape (n,)) that keep their limits and differ little from `parts`.

    `internal` (int64, shape (n,)) has the weight of each vertex's edges to its own part, `limits`
    (int64, shape (k,)) the maximum part weights. `free` (bool, shape (n,)) marks the vertices that
    may move; by default all may.

    If `pack` exceeds the limits, the result may exceed them, but by no more than `pack` does.

    The lightest vertices of overweight parts move to the part with most of their edges if it has
    room, else to the part with most room. If that fails, more vertices take part, also from other
    parts, those with most room first. In the end all vertices take part, as in `pack`.
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
    """Return the total edge weight of each vertex, int64, shape (n,)."""
    sums = np.concatenate([[0], np.cumsum(graph.edge_weights, dtype=np.int64)])
    return np.diff(sums[graph.indptr])


def _lightest(parts: IntArray, weights: IntArray, losses: Weights, amounts: Weights) -> Vertices:
    """Return the lightest vertices of each part, ties by least loss, up to a total weight per part.

    Vertices of weight 0 are not among them, because a part without them is no lighter. `amounts`
    (int64, shape (n,)) has this weight for each vertex's part; 0 for vertices that stay.
    """
    inside = np.flatnonzero((amounts > 0) & (weights > 0))
    ordered = inside[np.lexsort((losses[inside], weights[inside], parts[inside]))]
    homes, own = parts[ordered], weights[ordered].astype(np.int64)
    before = np.cumsum(own) - own
    first = np.searchsorted(homes, homes)
    return ordered[before - before[first] < amounts[ordered]]


def _place(
    graph: Graph, parts: IntArray, vertices: Vertices, limits: Weights, *, near: bool
) -> npt.NDArray[np.int32] | None:
    """Return the parts after reassigning `vertices`, heaviest first; None if one does not fit.

    Each vertex goes to the part with most room. If `near`, the part with most of its edges comes
    first, if it has room.
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
    """Return the part with most edge weight to v among the parts with room; -1 if there is none."""
    row = slice(graph.indptr[v], graph.indptr[v + 1])
    ties: dict[int, int] = {}
    neighbours: Sequence[int] = parts[graph.indices[row]].tolist()
    for p, edge in zip(neighbours, graph.edge_weights[row].tolist(), strict=True):
        if p >= 0 and room[p] >= weight:
            ties[p] = ties.get(p, 0) + edge
    return min(ties, key=lambda p: (-ties[p], p), default=-1)
