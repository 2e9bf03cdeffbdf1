"""Bridges: shortest paths that connect the components of a part with fixed vertices."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from jetpy.constraints.connected.contiguity import ContiguityProblem, Mask, find_components
from jetpy.graph.csr import Graph, IntArray
from jetpy.graph.ranges import entries_of

PASSES = 3
"""Number of passes over all parts; bridges of other parts may disconnect a part again."""
MAX_BRIDGES = 64
"""Maximum number of bridges of a part in a pass."""


def bridge(contiguity: ContiguityProblem, parts: IntArray) -> IntArray:
    """Return parts (int32, shape (n,)) in which bridges connect kept components, if possible.

    For each part in turn, the shortest path from its heaviest kept component to the nearest other
    one joins the part, until all are connected. A path must neither cross bridges of other parts
    nor take the last vertex of a part.
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
    """Build the bridges of a part; `parts` and `free` change in place."""
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
    """Return whether a path contains all vertices of a part."""
    left = np.bincount(parts, minlength=k) - np.bincount(parts[path], minlength=k)
    return bool((left[parts[path]] == 0).any())


def shortest_path(
    graph: Graph, start: Mask, goal: Mask, allowed: Mask
) -> npt.NDArray[np.intp] | None:
    """Return the vertices of a shortest path from `start` to `goal`, the goal last, or None.

    Parameters
    ----------
    graph : Graph
    start, goal, allowed : bool, shape (n,)
        Masks of the possible first, last and inner vertices. The result excludes the first one.
    """
    came_from = np.full(graph.n, -1, np.intp)
    seen, frontier = start.copy(), np.flatnonzero(start)
    while len(frontier):
        tails, entries = entries_of(graph, frontier)
        sources, heads = frontier[tails], graph.indices[entries]
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
