"""Adjacency from arrays on a GPU, checked there by kernels and not copied."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from jetpy.device.device_graph import ones
from jetpy.device.row_checks import HASHES, Rows, to_int32
from jetpy.engines.base import Array, Backend
from jetpy.graph.csr import MAX_NARROW
from jetpy.graph.dlpack import is_on_gpu, on_host
from jetpy.graph.on_gpu import OnGpu
from jetpy.workloads.common import edge_keys as kernels
from jetpy.workloads.common.lists import find_bounds
from jetpy.workloads.common.packing import LOWER_BITS
from jetpy.workloads.common.row_checks import count_decreases
from jetpy.workloads.common.values import add_weights

MIN_ENTRIES, MAX_SLICES = 1 << 22, 16
"""Maximum number of directed edges whose unsorted rows are sorted at once, and of slices."""


def check(
    backend: Backend,
    make: Callable[..., Rows | None],
    given: tuple[Any, ...],
    edges: Any,
    vertices: Any,
) -> OnGpu | None:
    """Return the arrays of a graph on the GPU, or None if they are not a valid graph.

    Parameters
    ----------
    backend : Backend
        Back end of the GPU that has the arrays.
    make : callable
        `rows_of` or `rows_of_pairs`; returns `Rows` without loops and duplicates, or None.
    given : tuple
        Arguments of `make` between `backend` and the edge weights.
    edges, vertices : arrays on the GPU or the host, or None
        Weights; None means that all are 1.

    Raises
    ------
    BackendError
        If the kernels cannot be compiled.
    """
    weights = None if edges is None else _whole_numbers(backend, edges, "biuf", 0, MAX_NARROW)
    if edges is not None and weights is None:
        return None
    rows = make(backend, *given, weights)
    if rows is None:
        return None
    if vertices is None:
        own: Array | None = ones(backend, rows.n)
    else:
        own = _whole_numbers(backend, vertices, "biuf", 0, MAX_NARROW)
    if own is None or len(own) != rows.n or rows.digest % HASHES:
        return None
    arrays = rows.edge_weights, own
    sums = [backend.reduce(len(array), add_weights, edge_weights=array) for array in arrays]
    return None if max(sums) > MAX_NARROW else OnGpu(rows.indptr, rows.indices, *arrays, *sums)


def rows_of(backend: Backend, indptr: Array, indices: Array, weights: Array | None) -> Rows | None:
    """Return a CSR adjacency with rows in the given order, or None if it is not valid.

    Symmetry is not checked.
    """
    n, count = indptr.size - 1, indices.size
    if not 1 <= n < MAX_NARROW or not 1 <= count <= MAX_NARROW:
        return None
    starts = _whole_numbers(backend, indptr, "iu", 0, count)
    ids = None if starts is None else _whole_numbers(backend, indices, "iu", 0, n - 1)
    if starts is None or ids is None or (weights is not None and len(weights) != count):
        return None
    if (int(starts[0]), int(starts[-1])) != (0, count):
        return None
    if backend.reduce(n, count_decreases, indptr=starts):
        return None
    weights = ones(backend, count) if weights is None else weights
    rows = Rows(backend, starts, ids, weights, n, 0)
    return None if rows.are_suspicious and _has_wrong_edges(rows) else rows


def rows_of_pairs(
    backend: Backend, pairs: Array, n: int | None, weights: Array | None
) -> Rows | None:
    """Return the sorted rows of an edge list, or None if it is invalid or has loops or duplicates.

    Symmetry is not checked. If `n` is None, it is the largest id plus 1.
    """
    count = pairs.shape[1]
    if not 0 < count <= MAX_NARROW or (n is not None and n > MAX_NARROW):
        return None
    highest = (MAX_NARROW if n is None else n) - 1
    tails = _whole_numbers(backend, pairs[0], "iu", 0, highest)
    heads = None if tails is None else _whole_numbers(backend, pairs[1], "iu", 0, highest)
    if heads is None or (weights is not None and len(weights) != count):
        return None
    keys = backend.empty(count, np.int64)
    backend.parallel_for(count, kernels.key_pairs, tails=tails, heads=heads, keys=keys)
    if weights is None:
        del tails, heads
    keys.sort()
    if backend.reduce(count, kernels.count_wrong_keys, keys=keys):
        return None
    if n is None:  # the largest head of a symmetric graph is the largest tail
        n = (int(keys[-1]) >> LOWER_BITS) + 1
    indptr, indices = backend.empty(n + 1), backend.empty(count)
    backend.parallel_for(n + 1, kernels.find_rows, keys=keys, count=count, indptr=indptr)
    backend.parallel_for(count, kernels.write_heads, keys=keys, indices=indices)
    del keys
    if weights is None:
        return Rows(backend, indptr, indices, ones(backend, count), n, 0)
    rows = Rows(backend, indptr, indices, backend.empty(count), n, 0)
    backend.parallel_for(
        count, kernels.write_weights, tails=tails, heads=heads, weights=weights, graph=rows
    )
    return rows


def _whole_numbers(
    backend: Backend, values: Any, kinds: str, lowest: int, highest: int
) -> Array | None:
    """Return integers within a range as int32 on the back end, or None if some are not.

    `kinds` has the accepted kinds of NumPy types, such as "iu".
    """
    numbers = backend.xp.asarray(values) if is_on_gpu(values) else values
    if not isinstance(numbers, backend.xp.ndarray) or _is_elsewhere(backend, numbers):
        numbers = on_host(values)
    if numbers.ndim != 1 or numbers.dtype.kind not in kinds:
        return None
    if not isinstance(numbers, backend.xp.ndarray):
        kind = np.float64 if numbers.dtype.kind == "f" else np.int64
        numbers = backend.from_host(numbers.astype(kind, copy=False))
    narrow, wrong = to_int32(backend, numbers, lowest, highest)
    return None if wrong else narrow


def _is_elsewhere(backend: Backend, array: Array) -> bool:
    """Return whether an array is on a different GPU than the back end."""
    return backend.gpu is not None and array.device.id != backend.gpu


def _has_wrong_edges(rows: Rows) -> bool:
    """Return whether unsorted rows have loops or duplicates; checks them slice by slice."""
    backend = rows.backend
    for first, end in _slices(rows):
        count = int(rows.indptr[end]) - int(rows.indptr[first])
        keys = backend.empty(count, np.int64)
        backend.parallel_for(count, kernels.key_rows, graph=rows, first=first, end=end, keys=keys)
        keys.sort()
        if backend.reduce(count, kernels.count_wrong_keys, keys=keys):
            return True
    return False


def _slices(rows: Rows) -> Iterator[tuple[int, int]]:
    """Yield the first row and the end of slices with about equal numbers of entries."""
    backend, entries = rows.backend, len(rows.indices)
    count = max(1, min(MAX_SLICES, entries // MIN_ENTRIES))
    wanted = np.array([entries * i // count for i in range(1, count)], np.int64)
    bounds = backend.empty(len(wanted), np.int64)
    backend.parallel_for(
        len(wanted),
        find_bounds,
        ascending=rows.indptr,
        count=rows.n,
        bounds=backend.from_host(wanted),
        found=bounds,
    )
    yield from pairwise(sorted({0, *backend.to_host(bounds).tolist(), rows.n}))
