"""Vertices for parts below their lower limits, moved one by one on the host, as a last resort."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from jetpy.graph.csr import Graph, IntArray
from jetpy.graph.ranges import entries_of
from jetpy.problem.problem import Problem

Weights = npt.NDArray[np.int64]


def raise_to_lower_limits(
    graph: Graph, parts: IntArray, problem: Problem, free: npt.NDArray[np.bool_]
) -> npt.NDArray[np.int32]:
    """Return parts (int32, shape (n,)) in which parts below their lower limits have got vertices.

    The part that lacks most gets the vertices that lose least, adjacent ones first, from parts that
    keep their own lower limits. `free` (bool, shape (n,)) marks the vertices that may move. Parts
    stay below their lower limits if no vertex fits.
    """
    parts = parts.astype(np.int32)
    weights = graph.vertex_weights
    loads = np.bincount(parts, weights, problem.k).astype(np.int64)
    hopeless = np.zeros(problem.k, np.bool_)
    while True:
        lacks = np.where(hopeless, 0, problem.lower_limits - loads)
        q = int(lacks.argmax())
        if lacks[q] <= 0:
            return parts
        hopeless[q] = not _raise(graph, parts, loads, q, problem, free)


def _raise(
    graph: Graph,
    parts: npt.NDArray[np.int32],
    loads: Weights,
    q: int,
    problem: Problem,
    free: npt.NDArray[np.bool_],
) -> bool:
    """Move vertices into part q, in place; return whether any has moved."""
    weights, lower, limit = graph.vertex_weights, problem.lower_limits, int(problem.limits[q])
    fits = loads[parts] - weights >= lower[parts]
    fits &= free & (parts != q) & (weights > 0) & (loads[q] + weights <= limit)
    candidates = np.flatnonzero(fits)
    if not len(candidates):
        return False
    gains, is_adjacent = _gains(graph, parts, candidates, q)
    if is_adjacent.any():
        candidates, gains = candidates[is_adjacent], gains[is_adjacent]
    moved = False
    for v in candidates[np.argsort(-gains, kind="stable")].tolist():
        p, weight = int(parts[v]), int(weights[v])
        if loads[q] >= lower[q]:
            break
        if loads[p] - weight >= lower[p] and loads[q] + weight <= limit:
            loads[p] -= weight
            loads[q] += weight
            parts[v] = q
            moved = True
    return moved


def _gains(
    graph: Graph, parts: IntArray, vertices: npt.NDArray[np.intp], q: int
) -> tuple[Weights, npt.NDArray[np.bool_]]:
    """Return the gain of each vertex if it moved to part q alone, and whether it is adjacent."""
    rows, entries = entries_of(graph, vertices)
    others = parts[graph.indices[entries]]
    edges = graph.edge_weights[entries].astype(np.int64)
    gains = np.zeros(len(vertices), np.int64)
    np.add.at(gains, rows, np.where(others == q, edges, 0))
    np.subtract.at(gains, rows, np.where(others == parts[vertices][rows], edges, 0))
    is_adjacent = np.bincount(rows[others == q], minlength=len(vertices)) > 0
    return gains, is_adjacent
