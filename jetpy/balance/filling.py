"""Filling empty parts."""

from __future__ import annotations

import heapq

import numpy as np
import numpy.typing as npt

from jetpy.graph import Graph, IntArray


def fill(
    graph: Graph, parts: IntArray, internal: npt.NDArray[np.int64], k: int
) -> tuple[npt.NDArray[np.int32], int]:
    """Return parts (int32, shape (n,)), none of them empty, and by how much the cut has grown.

    `internal` (int64, shape (n,)) are the weights of the edges of each vertex to its own part.

    Each empty part gets a vertex of a part of two or more: the one that has least edges to its own
    part, by weight. With fewer vertices than parts, some stay empty.
    """
    result, sizes = parts.astype(np.int32), np.bincount(parts, minlength=k)
    empty, internal = np.flatnonzero(sizes == 0), internal.copy()
    candidates = np.flatnonzero(sizes[parts] > 1)
    loosest = _smallest(internal, candidates, 2 * len(empty))
    heap = sorted(zip(internal[loosest].tolist(), loosest.tolist(), strict=True))
    growth = 0
    for p in empty.tolist():
        while heap and (sizes[result[heap[0][1]]] < 2 or heap[0][0] != internal[heap[0][1]]):
            heapq.heappop(heap)
        if not heap:
            break
        loss, v = heapq.heappop(heap)
        row = slice(graph.indptr[v], graph.indptr[v + 1])
        inside = result[graph.indices[row]] == result[v]
        left = graph.indices[row][inside]
        np.subtract.at(internal, left, graph.edge_weights[row][inside])
        for u in left.tolist():
            heapq.heappush(heap, (int(internal[u]), u))
        sizes[result[v]] -= 1
        result[v], sizes[p], internal[v] = p, 1, 0
        growth += loss
    return result, growth


def _smallest(
    values: npt.NDArray[np.int64], candidates: npt.NDArray[np.intp], count: int
) -> npt.NDArray[np.intp]:
    """Return candidates among which are the first `count` by value, then number."""
    if len(candidates) <= count:
        return candidates
    own = values[candidates]
    most = np.partition(own, count - 1)[count - 1]
    last = np.flatnonzero(own == most)[:count]
    smallest: npt.NDArray[np.intp] = candidates[np.concatenate([np.flatnonzero(own < most), last])]
    return smallest
