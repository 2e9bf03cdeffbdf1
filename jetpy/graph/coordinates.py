"""Vertex coordinates. Only drawings use them; partitions never depend on them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from jetpy.errors import GraphError

Coordinates = npt.NDArray[Any]
"""Finite numbers, shape (n, 2) or (n, 3)."""
Locate = Callable[[], Coordinates]
"""Function that computes the coordinates when they are first needed."""


def checked_coordinates(coordinates: npt.ArrayLike, n: int) -> Coordinates:
    """Return the coordinates of n vertices as an array, of shape (n, 2) or (n, 3).

    Raises
    ------
    GraphError
        If the array has another shape, or an entry is not a finite number.

    >>> checked_coordinates([[0, 0.5], [1, 2]], 2).shape
    (2, 2)
    """
    array = np.asarray(coordinates)
    if array.ndim != 2 or len(array) != n or array.shape[1] not in (2, 3):
        raise GraphError(
            f"coordinates has shape {array.shape}; it must have 2 or 3 numbers for each of {n} "
            "vertices"
        )
    if array.dtype.kind not in "iufb":
        raise GraphError(f"coordinates must be numbers, not {array.dtype}")
    finite = np.isfinite(array).all(axis=1)
    if not finite.all():
        v = int(finite.argmin())
        raise GraphError(
            f"vertex {v} has coordinates {array[v].tolist()}; coordinates must be finite"
        )
    return array
