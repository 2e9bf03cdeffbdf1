"""Transfer of values between the levels of a hierarchy, on the host or a GPU."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np

from jetpy.errors import GraphError
from jetpy.graph.dlpack import cupy_module, is_on_gpu, on_host

Array = Any
"""An array of NumPy or CuPy."""


def placed(values: Any, n: int, level: int) -> tuple[Array, Any]:
    """Return values as an array of NumPy, or of CuPy if they are on a GPU, and that module.

    Parameters
    ----------
    values : array of NumPy, CuPy, torch or another package, shape (n, ...)
    n : int
        Number of vertices of the level.
    level : int
        Index of the level, for messages.

    Raises
    ------
    GraphError
        If the first axis does not have length n, or the array is on a GPU and CuPy is missing.
    """
    xp: Any = cupy_module() if is_on_gpu(values) else np
    array = np.asarray(on_host(values)) if xp is np else xp.asarray(values)
    if array.ndim == 0 or array.shape[0] != n:
        raise GraphError(
            f"the values have shape {array.shape}; the first axis must have one entry for each of "
            f"the {n} vertices of level {level}"
        )
    return array, xp


def using(array: Array, xp: Any) -> AbstractContextManager[Any]:
    """Select the GPU of an array of CuPy; for an array of NumPy, do nothing."""
    device: AbstractContextManager[Any] = nullcontext() if xp is np else array.device
    return device


def composed(maps: Sequence[Array], xp: Any) -> Array:
    """Return the composition of the maps of consecutive levels, finest first, as indices of `xp`.

    There must be at least one map.
    """
    first, *others = (on_host(one) if xp is np else xp.asarray(one) for one in maps)
    for other in others:
        first = other[first]
    return first


@dataclass(frozen=True, eq=False)
class Groups:
    """The vertices of a level, sorted by coarse vertex.

    Attributes
    ----------
    coarse_of : int32, shape (fine n,)
        Coarse vertex of each vertex; each coarse vertex contains at least one.
    order : int64, shape (fine n,)
        Vertices sorted by coarse vertex, ascending within each.
    starts, counts : int64, shape (n,)
        Start of each coarse vertex in `order`, and the number of its vertices.
    xp : module
        NumPy or CuPy, for all arrays.
    """

    coarse_of: Array
    order: Array
    starts: Array
    counts: Array
    xp: Any

    @classmethod
    def of(cls, coarse_of: Array, n: int, xp: Any) -> Groups:
        """Return the groups of a map to `n` coarse vertices."""
        counts = xp.bincount(coarse_of, minlength=n)
        starts = xp.cumsum(counts) - counts
        return cls(coarse_of, xp.argsort(coarse_of, kind="stable"), starts, counts, xp)


def _totals(values: Array, groups: Groups) -> Array:
    """Return sums: of integers with 64 bits, of floats with at least 32."""
    kinds = {"b": np.int64, "i": np.int64, "u": np.uint64}
    kind = kinds.get(values.dtype.kind, np.result_type(values.dtype, np.float32))
    ordered = values[groups.order].astype(kind, copy=False)
    return groups.xp.add.reduceat(ordered, groups.starts, axis=0) if len(ordered) else ordered


def _sum(values: Array, groups: Groups) -> Array:
    sums = _totals(values, groups)
    return sums.astype(values.dtype, copy=False) if values.dtype.kind in "fc" else sums


def _mean(values: Array, groups: Groups) -> Array:
    counts = groups.counts.reshape(-1, *[1] * (values.ndim - 1))
    kind = values.dtype if values.dtype.kind in "fc" else np.float64
    return (_totals(values, groups) / counts).astype(kind, copy=False)


def _max(values: Array, groups: Groups) -> Array:
    if groups.xp is np:
        ordered = values[groups.order]
        return np.maximum.reduceat(ordered, groups.starts, axis=0) if len(ordered) else ordered
    columns, ends = values.reshape(len(values), -1), groups.starts + groups.counts - 1
    largest = groups.xp.empty((len(ends), columns.shape[1]), values.dtype)
    for number, column in enumerate(columns.T):  # CuPy has no maximum.reduceat
        by_value = groups.xp.argsort(column.astype("u1") if column.dtype == bool else column)
        order = by_value[groups.xp.argsort(groups.coarse_of[by_value], kind="stable")]
        largest[:, number] = column[order[ends]]
    return largest.reshape(len(ends), *values.shape[1:])


def _first(values: Array, groups: Groups) -> Array:
    return values[groups.order[groups.starts]]


REDUCTIONS: dict[str, Callable[[Array, Groups], Array]] = {
    "sum": _sum,
    "mean": _mean,
    "max": _max,
    "first": _first,
}
"""Called with the values of vertices, shape (fine n, ...), and their groups; each returns an array
of shape (n, ...)."""
