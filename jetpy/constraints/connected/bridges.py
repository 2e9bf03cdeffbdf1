"""Bridges to the pieces of a part that hold fixed vertices: shortest paths, which it gets."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from jetpy.constraints.connected.contiguity import ContiguityProblem, Mask, find_components
from jetpy.graph.csr import Graph, IntArray

PASSES = 3
"""How often each part gets bridges: those of others may have broken it since."""
MAX_BRIDGES = 64
"""Of a part in a pass."""


def bridge(contiguity: ContiguityProblem, parts: IntArray) -> IntArray:
    """Return parts (int32, shape (n,)) whose kept pieces hang together, if paths allow it.

    One part after the other gets the vertices of the shortest path from its heaviest piece to the
    nearest other one, until there is none, or no path that neither crosses such paths of others nor
    takes the last vertex of a part.
    """
    result, free = parts.copy(), contiguity.movable.copy()
    for _ in range(PASSES):
        pieces = find_components(contiguity, result)
        apart = np.bincount(pieces.parts[pieces.kept], minlength=contiguity.k) > 1
        if not apart.any():
            break
        for p in np.flatnonzero(apart).tolist():
            _bridge_part(contiguity, p, result, free)
    return result


def _bridge_part(contiguity: ContiguityProblem, p: int, parts: IntArray, free: Mask) -> None:
    """Give a part its bridges: it changes the parts, and which vertices are free for bridges."""
    pieces = find_components(contiguity, parts)
    kept = np.flatnonzero(pieces.kept & (pieces.parts == p))
    first = kept[pieces.weights[kept].argmax()]
    start, goal = pieces.labels == first, np.isin(pieces.labels, kept[kept != first])
    for _ in range(MAX_BRIDGES):
        if not goal.any():
            break
        path = shortest_path(contiguity.graph, start, goal, free | (parts == p))
        if path is None or _takes_the_last(parts, path[:-1], contiguity.k):
            break
        reached = pieces.labels == pieces.labels[path[-1]]
        parts[path] = p
        free[path] = False
        start[path] = True
        start |= reached
        goal &= ~reached


def _takes_the_last(parts: IntArray, path: npt.NDArray[np.intp], k: int) -> bool:
    """Whether a path has all vertices of a part."""
    left = np.bincount(parts, minlength=k) - np.bincount(parts[path], minlength=k)
    return bool((left[parts[path]] == 0).any())


def shortest_path(
    graph: Graph, start: Mask, goal: Mask, allowed: Mask
) -> npt.NDArray[np.intp] | None:
    """Return the vertices of a shortest path from a start to a goal, the goal last; None without.

    Parameters
    ----------
    graph : Graph
    start, goal, allowed : bool, shape (n,)
        Where it may begin and end, and which vertices may lie between. The start is left out.
    """
    came_from = np.full(graph.n, -1, np.intp)
    seen, frontier = start.copy(), np.flatnonzero(start)
    while len(frontier):
        counts = graph.degrees[frontier].astype(np.int64)
        sources = np.repeat(frontier, counts)
        offsets = np.repeat(graph.indptr[frontier] - (np.cumsum(counts) - counts), counts)
        heads = graph.indices[np.arange(len(sources)) + offsets]
        new = ~seen[heads] & (allowed[heads] | goal[heads])
        frontier, first = np.unique(heads[new], return_index=True)
        came_from[frontier] = sources[new][first]
        seen[frontier] = True
        ends = frontier[goal[frontier]]
        if len(ends):
            path = [int(ends[0])]
            while not start[came_from[path[-1]]]:
                path.append(int(came_from[path[-1]]))
            return np.array(path[::-1], np.intp)
    return None
