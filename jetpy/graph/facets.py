"""Cells of meshes that share a facet."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from jetpy.errors import GraphError

Ids = npt.NDArray[np.int64]
MAX_CELLS = 64
"""Maximum number of cells that share a facet; all of them become neighbours of each other."""


def cells_with_facet(nodes: Ids, cells: Ids) -> tuple[Ids, Ids]:
    """Return pairs of cells that share a facet, in one direction, possibly with duplicates.

    Parameters
    ----------
    nodes : int64, shape (facets, corners)
        Node ids of each facet of each cell, ascending in each row.
    cells : int64, shape (facets,)
        Cell of each facet.

    Raises
    ------
    GraphError
        If more than `MAX_CELLS` cells share a facet.
    """
    order = np.lexsort(nodes.T)
    nodes, cells = nodes[order], cells[order]
    same = (nodes[1:] == nodes[:-1]).all(axis=1)
    run = np.concatenate(([0], np.cumsum(~same)))
    most = int(np.bincount(run).max(initial=0)) if len(cells) else 0
    if most > MAX_CELLS:
        place = int(np.searchsorted(run, np.bincount(run).argmax()))
        raise GraphError(
            f"{most} cells share the facet of nodes {nodes[place].tolist()}; at most {MAX_CELLS} "
            "may share a facet"
        )
    u, v = [], []
    for apart in range(1, most):
        first = np.flatnonzero(run[apart:] == run[:-apart])
        u.append(cells[first])
        v.append(cells[first + apart])
    empty = np.zeros(0, np.int64)
    return np.concatenate([empty, *u]), np.concatenate([empty, *v])
