"""Projection of vertices to the drawing plane."""

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
"""Fraction of an edge that each end covers in 3D: no gap between them, and sharp outlines."""


@dataclass(frozen=True, eq=False)
class View:
    """Vertices projected to the drawing plane.

    Attributes
    ----------
    places : float64, shape (n, 2)
        To the right, and up; in units of the largest coordinate.
    depth : float64, shape (n,), or None
        Closeness to the viewer in 3D, where vertices may hide others.
    reach : float64, shape (n,)
        Radius of the area drawn around a vertex: the length of its longest edge or, in 3D, a
        fraction of it.
    how : str
        Sentence about the projection for the caption; empty in 2D.
    """

    places: Floats
    depth: Floats | None
    reach: Floats
    how: str


def view_of(graph: Graph, coordinates: Coordinates) -> View:
    """Project a graph: orthogonally if it is planar, from a corner if it is three-dimensional.

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
        "The view is a parallel projection from outside: x points right, y away from the viewer "
        "and z up. Vertices behind others are hidden."
    )
    return View(at @ np.stack([right, up], axis=1), at @ to_viewer, _IN_SPACE * reach, how)


def longest_edges(graph: Graph, at: Floats) -> Floats:
    """Return the length of each vertex's longest edge; the median for isolated vertices.

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
