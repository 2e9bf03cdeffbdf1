"""Spatial weights of libpysal: `Graph`, `W` and `WSP`."""

from __future__ import annotations

from typing import Any

import numpy as np

from jetpy.graph.convert.networks import is_from
from jetpy.graph.raw import Names, Raw


def is_libpysal(data: Any) -> bool:
    """Return whether `data` holds spatial weights of libpysal."""
    kinds = (("libpysal.graph", "Graph"), ("libpysal.weights", "W"), ("libpysal.weights", "WSP"))
    return any(is_from(package, kind, data) for package, kind in kinds)


def from_libpysal(weights: Any, weight: str | None) -> Raw:
    """Convert spatial weights, whose ids become vertex names; ignore values if `weight` is None.

    An entry 0 on the diagonal, by which libpysal stores an isolated observation, is not an edge.
    """
    matrix = weights.sparse.tocoo()
    is_edge = (matrix.row != matrix.col) | (matrix.data != 0)
    ids = weights.unique_ids if hasattr(weights, "unique_ids") else weights.id_order
    names = range(matrix.shape[0]) if ids is None else np.asarray(ids).tolist()
    return Raw(
        matrix.col[is_edge],
        sources=matrix.row[is_edge],
        n=matrix.shape[0],
        edge_weights=None if weight is None else matrix.data[is_edge],
        naming=Names(names),
        names=names,
    )
