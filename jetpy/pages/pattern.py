"""The pattern of a permuted matrix as a matplotlib figure: `Ordering.plot`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from jetpy.errors import GraphError
from jetpy.pages.cells import cell_size, draw_cells
from jetpy.pages.figures import WIDTH, new_figure
from jetpy.pages.page import check_installed
from jetpy.pages.palette import FILLS
from jetpy.pages.style import styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Separators = npt.NDArray[np.int32]
"""First column of the subtree, first column of the separator, and first column after it, for each
separator: int32, shape (separators, 3)."""


def draw_pattern(pattern: sp.csr_array, separators: Separators) -> Figure:
    """Draw the pattern of a symmetric matrix; see `Ordering.plot`.

    Parameters
    ----------
    pattern : scipy.sparse.csr_array, shape (n, n)
        All entries are 1.
    separators : int32, shape (separators, 3)

    Raises
    ------
    GraphError
        If n is 0.
    """
    check_installed()
    n = pattern.shape[0]
    if not n:
        raise GraphError("the matrix has no rows; plot needs at least one")
    size = cell_size(n)
    meaning = None if size == 1 else f"entries in {size} x {size}"
    with styled():
        figure = new_figure(WIDTH)
        axes = draw_cells(figure, pattern, ("column", "row"), meaning)
        wide = separators[separators[:, 2] - separators[:, 1] >= size]
        if len(wide):
            _mark(axes, wide)
    return figure


def _mark(axes: Axes, separators: Separators) -> None:
    """Shade the rows and columns of separators, as far as their subtrees reach."""
    from matplotlib.collections import PatchCollection
    from matplotlib.patches import Patch, Rectangle

    boxes = []
    for low, start, end in (separators - 0.5).tolist():
        boxes.append(Rectangle((low, start), end - low, end - start))
        boxes.append(Rectangle((start, low), end - start, start - low))
    look: dict[str, Any] = {"facecolor": FILLS[0], "alpha": 0.4, "linewidth": 0.0}
    axes.add_collection(PatchCollection(boxes, zorder=0.5, **look), autolim=False)
    axes.legend(
        handles=[Patch(label="separators", **look)], loc="lower left", bbox_to_anchor=(0, 1)
    )
