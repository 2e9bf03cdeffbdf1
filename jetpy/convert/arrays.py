"""Arrays of NumPy, torch, CuPy and others: edge lists of shape (2, E), and dense matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from jetpy.convert.device import on_host
from jetpy.convert.matrices import from_dense
from jetpy.convert.raw import Raw
from jetpy.errors import GraphError

ONE_EDGE = ((0, 1), (1, 0))
"""A list of two directed edges that is the same graph as a matrix."""


def from_array(data: Any, n: int | None) -> Raw:
    """Return an edge list of shape (2, E), of integers; or a square dense matrix.

    By default, an edge list has as many vertices as its largest id tells.

    Raises
    ------
    GraphError
        If the array is neither, or could be both.
    """
    array = on_host(data)
    is_list = array.ndim == 2 and array.shape[0] == 2 and array.dtype.kind in "iu"
    if is_list and n is None and array.shape[1] == 2 and not np.array_equal(array, ONE_EDGE):
        raise GraphError(
            "an array of shape (2, 2) may be two edges or a matrix; give n=, the number of "
            "vertices, with edges, and a SciPy matrix otherwise"
        )
    if is_list:
        largest = int(array.max()) if array.size else -1
        return Raw(array[1], sources=array[0], n=largest + 1 if n is None else n)
    if array.ndim == 2 and array.shape[0] == array.shape[1]:
        return from_dense(array)
    remedy = "; give the transpose, array.T" if array.ndim == 2 and array.shape[1] == 2 else ""
    raise GraphError(
        "an array must be an edge list of integers, of shape (2, E), or a square matrix, not of "
        f"shape {array.shape} and {array.dtype}{remedy}"
    )
