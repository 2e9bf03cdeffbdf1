"""Filling empty parts."""

from __future__ import annotations

import heapq

import numpy as np
import numpy.typing as npt

from jetpy.graph import Graph, IntArray
from jetpy.metrics import uncut_degrees


def fill(graph: Graph, parts: IntArray, k: int) -> tuple[npt.NDArray[np.int32], int]:
    """Return parts (int32, shape (n,)), none of them empty, and by how much the cut has grown.

    Each empty part gets a vertex of a part of two or more: the one that has least edges to its own
    part, by weight. With fewer vertices than parts, some stay empty.
    """
    result, sizes = parts.astype(np.int32), np.bincount(parts, minlength=k)
    empty, ties = np.flatnonzero(sizes == 0), uncut_degrees(graph, parts)
    candidates = np.flatnonzero(sizes[parts] > 1)
    loosest = candidates[np.argsort(ties[candidates], kind="stable")[: 2 * len(empty)]]
    heap = list(zip(ties[loosest].tolist(), loosest.tolist(), strict=True))
    growth = 0
    for p in empty.tolist():
        while heap and (sizes[result[heap[0][1]]] < 2 or heap[0][0] != ties[heap[0][1]]):
            heapq.heappop(heap)
        if not heap:
            break
        tie, v = heapq.heappop(heap)
        row = slice(graph.indptr[v], graph.indptr[v + 1])
        left = graph.indices[row][result[graph.indices[row]] == result[v]]
        np.subtract.at(ties, left, graph.edge_weights[row][result[graph.indices[row]] == result[v]])
        for u in left.tolist():
            heapq.heappush(heap, (int(ties[u]), u))
        sizes[result[v]] -= 1
        result[v], sizes[p], ties[v] = p, 1, 0
        growth += tie
    return result, growth
