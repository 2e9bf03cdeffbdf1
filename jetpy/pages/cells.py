"""Drawings of sparse matrices: several rows share a cell if there are many; darker is more."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from jetpy.pages.palette import SERIES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import FigureBase

MAX_CELLS = 256
"""Maximum number of rows of cells."""
_LEAST_SHADE = 0.12


def cell_size(n: int) -> int:
    """Return the number of rows of a matrix with n rows that share a cell."""
    return -(-n // MAX_CELLS)


def draw_cells(
    figure: FigureBase, matrix: sp.csr_array, labels: tuple[str, str], meaning: str | None
) -> Axes:
    """Draw the sum of the entries in each cell of a matrix.

    Parameters
    ----------
    figure : matplotlib.figure.FigureBase
        An empty figure, about as wide as it is high.
    matrix : scipy.sparse.csr_array, shape (n, n)
        At least one entry; no entry is negative.
    labels : tuple of str
        Meaning of a column and of a row.
    meaning : str or None
        Label of the colour bar; None for no bar.

    Returns
    -------
    matplotlib.axes.Axes
        Its unit is a row of the matrix; row 0 is at the top.
    """
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import ListedColormap, LogNorm, to_rgb
    from matplotlib.ticker import FixedLocator, MaxNLocator, NullLocator, StrMethodFormatter

    size = cell_size(matrix.shape[0])
    cells = -(-matrix.shape[0] // size)
    entries = matrix.tocoo()
    cell = (entries.row // size).astype(np.int64) * cells + entries.col // size
    sums = np.bincount(cell, entries.data, cells**2).reshape(cells, cells)
    shades = np.linspace(_LEAST_SHADE, 1, 32)
    shading = ListedColormap([(*to_rgb(SERIES[4]), shade) for shade in shades])
    low, high = sums[sums > 0].min(), sums.max()
    norm = LogNorm(low if low < high else high / 2, high)
    shaded = shading(norm(np.where(sums > 0, sums, high)))
    shaded[sums == 0] = 0
    axes = figure.subplots()
    edges = (-0.5, cells * size - 0.5)
    pixels = (255 * shaded).astype(np.uint8)
    axes.imshow(pixels, interpolation="none", extent=(*edges, *edges[::-1]), zorder=1)
    axes.grid(visible=False)
    axes.set(xlabel=labels[0], ylabel=labels[1])
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(MaxNLocator(6, integer=True, min_n_ticks=1))
    if meaning is not None:
        bar = figure.colorbar(ScalarMappable(norm, shading), ax=axes, shrink=0.75, pad=0.03)
        bar.set_label(meaning)
        bar.outline.set_visible(False)
        ticks = np.unique(np.rint(np.geomspace(low, high, 4)))
        bar.ax.yaxis.set_major_locator(FixedLocator(ticks.tolist()))
        bar.ax.yaxis.set_minor_locator(NullLocator())
        bar.ax.yaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    return axes
