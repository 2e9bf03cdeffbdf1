"""Arrays of NumPy, torch, CuPy and others: edge lists of shape (2, E), and dense matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from jetpy.convert.matrices import from_dense
from jetpy.convert.raw import Raw
from jetpy.errors import GraphError


def is_array(data: Any) -> bool:
    """Whether something is an array of NumPy, of CuPy, of torch, or one that DLPack hands over."""
    ways = ("__array__", "__cuda_array_interface__", "__dlpack__")
    return any(hasattr(data, way) for way in ways)


def on_host(data: Any) -> npt.NDArray[Any]:
    """Return an array as one of NumPy, fetched from the GPU where it is there."""
    if isinstance(data, np.ndarray):
        return data
    if hasattr(data, "detach"):  # torch
        return np.asarray(data.detach().cpu())
    if hasattr(data, "get"):  # CuPy
        return np.asarray(data.get())
    if hasattr(data, "__cuda_array_interface__"):
        import cupy

        return np.asarray(cupy.asarray(data).get())
    return np.asarray(data) if hasattr(data, "__array__") else np.from_dlpack(data)


def from_array(data: Any, n: int | None) -> Raw:
    """Return an edge list of shape (2, E), of integers; or a square dense matrix.

    By default, an edge list has as many vertices as its largest id tells.
    """
    array = on_host(data)
    if array.ndim == 2 and array.shape[0] == 2 and array.dtype.kind in "iu":
        count = int(array.max(initial=-1)) + 1 if n is None else n
        return Raw(array[1], sources=array[0], n=count)
    if array.ndim == 2 and array.shape[0] == array.shape[1]:
        return from_dense(array)
    raise GraphError(
        "an array must be an edge list of integers, of shape (2, E), or a square matrix, not of "
        f"shape {array.shape} and {array.dtype}"
    )
