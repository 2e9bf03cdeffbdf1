"""List operations on a back end by jetpy's kernels; CuPy would compile a kernel for each."""

from __future__ import annotations

import numpy as np

from jetpy.engines.base import Array, Backend
from jetpy.workloads.common import lists as kernels


def joined(backend: Backend, *arrays: Array) -> Array:
    """Return the concatenation of arrays of one type."""
    found = backend.empty(sum(map(len, arrays)), arrays[0].dtype)
    end = 0
    for array in arrays:
        start, end = end, end + len(array)
        found[start:end] = array
    return found


def picked(backend: Backend, values: Array, places: Array, shift: int = 0) -> Array:
    """Return ``values[places - shift]``, all int32."""
    found = backend.empty(len(places))
    backend.parallel_for(
        len(places), kernels.pick, values=values, places=places, shift=shift, picked=found
    )
    return found


def ordered(backend: Backend, values: Array, order: Array) -> Array:
    """Return values (int32) in the given order (int64)."""
    found = backend.empty(len(order))
    backend.parallel_for(len(order), kernels.reorder, values=values, order=order, ordered=found)
    return found


def put(backend: Backend, values: Array, places: Array, given: Array) -> None:
    """Assign `given` to ``values[places]``, all int32, in place."""
    backend.parallel_for(len(places), kernels.put, values=values, places=places, given=given)


def add_to_all(backend: Backend, values: Array, more: int) -> None:
    """Add a number to all values (int32), in place."""
    backend.parallel_for(len(values), kernels.add_to_all, values=values, more=more)


def sorted_set(backend: Backend, values: Array) -> Array:
    """Return the distinct values (int32), ascending."""
    ascending, distinct = backend.xp.sort(values), backend.empty(len(values))
    count = backend.scan(len(values), kernels.list_different, ascending=ascending, listed=distinct)
    return distinct[:count].copy()


def counts_between(backend: Backend, ascending: Array, bounds: Array) -> np.ndarray:
    """Return the number of `ascending` values (int32) between consecutive bounds (int64).

    The bounds and the counts are on the host.
    """
    found = backend.empty(len(bounds), np.int64)
    backend.parallel_for(
        len(bounds),
        kernels.find_bounds,
        ascending=ascending,
        count=len(ascending),
        bounds=backend.from_host(bounds),
        found=found,
    )
    return np.diff(backend.to_host(found))
