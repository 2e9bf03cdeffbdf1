"""Drawings of the quotient graph and of the cut matrix."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.sparse import csgraph

from jetpy.pages.cells import draw_cells
from jetpy.pages.colouring import colours_of
from jetpy.pages.figures import WIDTH
from jetpy.pages.palette import FILLS, MUTED, ON_FILL

if TYPE_CHECKING:
    from matplotlib.figure import FigureBase

Floats = npt.NDArray[np.float64]
Weights = npt.NDArray[np.int64]

MAX_PARTS = 300
MAX_EDGES = 1200
"""Maximum sizes of a quotient graph that is drawn."""
_ROUNDS = 100


def is_drawable(cut_matrix: sp.csr_array) -> bool:
    """Return whether the quotient graph is small enough to be drawn."""
    return bool(cut_matrix.shape[0] <= MAX_PARTS and cut_matrix.nnz <= 2 * MAX_EDGES)


def draw_quotient(
    figure: FigureBase, places: Floats, cut_matrix: sp.csr_array, part_weights: Weights
) -> None:
    """Draw the quotient graph: circle areas are part weights, line widths grow with the cut.

    Parameters
    ----------
    figure : matplotlib.figure.FigureBase
        An empty figure.
    places : float64, shape (k, 2)
        Positions from `layout`.
    cut_matrix : scipy.sparse.csr_array, shape (k, k)
        Total weight of the edges between each pair of parts; `is_drawable`.
    part_weights : int64, shape (k,)
    """
    from matplotlib.collections import LineCollection, PatchCollection
    from matplotlib.patches import Circle

    k = len(part_weights)
    part_weights = part_weights if part_weights.any() else np.ones_like(part_weights)
    upper = sp.triu(cut_matrix, format="coo")
    meetings = np.stack([upper.row, upper.col, upper.data], axis=1).astype(np.int64)
    radius = 0.45 * _spacing(places) * np.sqrt(part_weights / max(1, part_weights.max()))
    points = 72 * WIDTH / (np.ptp(places, axis=0).max() + 2 * radius.max())
    widest = float(np.clip(0.5 * points * radius.max(), 1, 4))
    axes = figure.subplots()
    axes.set_axis_off()
    widths = widest * np.sqrt(upper.data / max(1, upper.data.max(initial=0)))
    lines = list(np.stack([places[upper.row], places[upper.col]], axis=1))
    axes.add_collection(LineCollection(lines, colors=MUTED, linewidths=widths, zorder=1))
    colours = colours_of(k, meetings)
    for colour, fill in enumerate(FILLS):
        own = np.flatnonzero(colours == colour).tolist()
        circles = [Circle(tuple(places[part]), radius[part]) for part in own]
        look: dict[str, Any] = {"facecolor": fill, "edgecolor": ON_FILL, "linewidth": 0.5}
        axes.add_collection(PatchCollection(circles, zorder=2, **look))
    if radius.max() * points > 3 * len(str(k - 1)):
        for part in np.flatnonzero(part_weights).tolist():
            x, y = places[part]
            axes.text(x, y, f"{part}", color=ON_FILL, ha="center", va="center", size=8)
    axes.set_aspect("equal")
    axes.autoscale_view()


def draw_cut_matrix(figure: FigureBase, cut_matrix: sp.csr_array) -> None:
    """Draw the weight of the edges between each pair of parts; darker is heavier.

    Parameters
    ----------
    figure : matplotlib.figure.FigureBase
        An empty figure, about as wide as it is high.
    cut_matrix : scipy.sparse.csr_array, shape (k, k)
        Total weight of the edges between each pair of parts; at least one entry.
    """
    draw_cells(figure, cut_matrix, ("part", "part"), "weight of cut edges")


def layout(cut_matrix: sp.csr_array) -> Floats:
    """Lay out parts by stress majorisation, with distances close to those in the quotient graph.

    Parameters
    ----------
    cut_matrix : scipy.sparse.csr_array, shape (k, k)

    Returns
    -------
    float64, shape (k, 2)
        The longer side of the drawing is along x.

    Source: Gansner, Koren, North, "Graph Drawing by Stress Majorization", GD 2004.
    """
    k = cut_matrix.shape[0]
    apart = csgraph.shortest_path(cut_matrix, directed=False, unweighted=True)
    apart[np.isinf(apart)] = apart[np.isfinite(apart)].max(initial=0) + 1
    np.fill_diagonal(apart, 1)
    weights = apart**-2.0
    np.fill_diagonal(weights, 0)
    inverse = np.linalg.pinv(np.diag(weights.sum(axis=1)) - weights)
    squares = apart**2 * (1 - np.eye(k))
    centred = squares - squares.mean(axis=0) - squares.mean(axis=1)[:, None] + squares.mean()
    values, vectors = np.linalg.eigh(-0.5 * centred)  # classical scaling as the initial layout
    places: Floats = np.zeros((k, 2))
    largest = vectors[:, :-3:-1] * np.sqrt(np.maximum(values[:-3:-1], 0))
    places[:, : largest.shape[1]] = largest
    for _ in range(_ROUNDS):
        lengths = np.linalg.norm(places[:, None] - places, axis=2)
        pull = -weights * apart / np.maximum(lengths, 1e-9)
        np.fill_diagonal(pull, 0)
        np.fill_diagonal(pull, -pull.sum(axis=1))
        places = inverse @ (pull @ places)
    return places[:, np.argsort(-np.ptp(places, axis=0))]


def _spacing(places: Floats) -> float:
    """Return the lower quartile of the distances between parts and their nearest neighbours."""
    if len(places) == 1:
        return 1.0
    lengths = np.linalg.norm(places[:, None] - places, axis=2)
    np.fill_diagonal(lengths, np.inf)
    return float(np.quantile(lengths.min(axis=1), 0.25))
