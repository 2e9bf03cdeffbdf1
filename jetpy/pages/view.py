"""How vertices in space are seen on a plane."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from jetpy.graph.coordinates import Coordinates
from jetpy.graph.csr import Graph

Floats = npt.NDArray[np.float64]

_TO_VIEWER = np.array([0.5, -0.75, 0.45])
_FLAT = 1e-9
_IN_SPACE = 0.72
"""Of an edge: its ends cover what is between them, and outlines stay sharp."""


@dataclass(frozen=True, eq=False)
class View:
    """Vertices as they are seen.

    Attributes
    ----------
    places : float64, shape (n, 2)
        To the right, and up; in units of the largest coordinate.
    depth : float64, shape (n,), or None
        How near they are to the viewer, where some may hide others.
    reach : float64, shape (n,)
        How far the surroundings of a vertex go that count as its own: as far as its longest edge
        or, in space, most of that way.
    how : str
        What to say of the view; nothing of a plane.
    """

    places: Floats
    depth: Floats | None
    reach: Floats
    how: str


def view_of(graph: Graph, coordinates: Coordinates) -> View:
    """Look at a graph: from above at a plane, from a corner at what has three dimensions.

    Parameters
    ----------
    graph : Graph
    coordinates : numbers, shape (n, 2) or (n, 3)
    """
    at = np.asarray(coordinates, np.float64)
    at = at / (np.abs(at).max(initial=0) or 1.0)
    reach = longest_edges(graph, at)
    extent = np.ptp(at, axis=0) if len(at) else np.zeros(at.shape[1])
    thick = extent > _FLAT * extent.max(initial=0)
    if at.shape[1] == 3 and not thick.all():
        flat = int(thick.argmin())
        return View(np.delete(at, flat, axis=1), None, reach, "")
    if at.shape[1] == 2:
        return View(at, None, reach, "")
    to_viewer = _TO_VIEWER / np.linalg.norm(_TO_VIEWER)
    right = np.cross([0.0, 0.0, 1.0], to_viewer)
    right /= np.linalg.norm(right)
    up = np.cross(to_viewer, right)
    how = (
        "Seen from outside without perspective, z upwards, x to the right and y away from the "
        "viewer; what lies behind is hidden."
    )
    return View(at @ np.stack([right, up], axis=1), at @ to_viewer, _IN_SPACE * reach, how)


def longest_edges(graph: Graph, at: Floats) -> Floats:
    """Return the length of the longest edge of each vertex; of those without, the median of all.

    >>> from jetpy.graph.generators import grid
    >>> path = grid(1, 3)
    >>> longest_edges(path, path.coordinates * 1.0)
    array([1., 1., 1.])
    """
    longest = np.zeros(graph.n)
    for start, stop in graph.row_blocks():
        sources = graph.sources(start, stop)
        targets = graph.indices[graph.indptr[start] : graph.indptr[stop]]
        np.maximum.at(longest, sources, np.linalg.norm(at[sources] - at[targets], axis=1))
    linked = graph.degrees > 0
    longest[~linked] = np.median(longest[linked]) if linked.any() else 1.0
    return longest
