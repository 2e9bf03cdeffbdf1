"""Objects with `edge_index` and `num_nodes`, such as ``Data`` of PyTorch Geometric."""

from __future__ import annotations

from typing import Any

import numpy as np

from jetpy.errors import GraphError
from jetpy.graph.dlpack import is_array
from jetpy.graph.validate import checked_n


def has_edge_index(data: Any) -> bool:
    """Return whether an object has the attributes `edge_index` and `num_nodes`."""
    return hasattr(data, "edge_index") and hasattr(data, "num_nodes")


def unpacked(data: Any, weight: str | None) -> tuple[Any, Any, int | None]:
    """Return the edge list, shape (2, E), the edge weights, and the number of vertices.

    Arrays on a GPU stay there. The weights are None if `weight` is None or `data` has no
    `edge_weight`. The number of vertices is None if `data.num_nodes` is None.

    Raises
    ------
    GraphError
        If `edge_index` is not of shape (2, E).
    OptionError
        If `num_nodes` is not an integer in 0..2**31 - 2.
    """
    given = data.edge_index
    edges = given if is_array(given) else np.asarray(given)
    if edges.ndim != 2 or edges.shape[0] != 2:
        shape = "None" if given is None else f"of shape {tuple(edges.shape)}"
        raise GraphError(
            f"edge_index of {type(data).__name__!r} is {shape}; it must be an array of integers "
            "of shape (2, E)"
        )
    weights = None if weight is None else getattr(data, "edge_weight", None)
    return edges, weights, checked_n(data.num_nodes, "num_nodes")
