"""Graphs whose arrays are on a GPU: checked there, and used in place.

What is not plainly a graph of integers, such as one that needs repair, is left to the host, which
says what is wrong with it, or mends it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from jetpy.errors import OutOfMemoryError
from jetpy.graph import MOST_NARROW, Graph
from jetpy.graph_on_gpu import Array, GraphOnGpu, OnGpu

LEAST_ENTRIES, MOST_SLICES = 1 << 22, 16
"""Directed edges up to which a graph is checked at once, and in how many slices at most others."""


def is_on_gpu(data: Any) -> bool:
    """Whether something is an array of CuPy or torch, or of another package, on an NVIDIA GPU."""
    if str(getattr(data, "layout", "torch.strided")) != "torch.strided":
        return False  # sparse ones of torch, which fail when they are asked
    return hasattr(data, "__cuda_array_interface__")


def graph_on_gpu(
    data: Any, edge_weights: Any, vertex_weights: Any, n: int | None, name: str
) -> Graph | None:
    """Return a graph of arrays on a GPU; None where there are none, or the host has to look.

    Parameters
    ----------
    data : tuple of arrays, edge list of shape (2, E), or a sparse matrix of CuPy
        As for `jetpy.as_graph`.
    edge_weights, vertex_weights : arrays on the GPU or the host, or None
        Instead of those of `data`.
    n : int or None
        Number of vertices of an edge list; by default the largest id plus 1.
    name : str

    Raises
    ------
    OutOfMemoryError
        If the GPU has no memory left for the check.
    """
    if isinstance(data, tuple) and 2 <= len(data) <= 4 and all(map(is_on_gpu, data[:2])):
        indptr, indices, *weights = data
        own = [*weights, None, None][:2]
        make: Callable[..., Any] = rows_of
        given = (indptr, indices)
    elif is_on_gpu(data) and getattr(data, "ndim", 0) == 2 and data.shape[0] == 2:
        if n is None and data.shape[1] <= 2:
            return None
        own, make, given = [None, None], rows_of_pairs, (data, n)
    elif hasattr(data, "tocsr") and is_on_gpu(getattr(data, "data", None)):
        rows = data.tocsr()
        if rows.shape[0] != rows.shape[1]:
            return None
        own, make, given = [rows.data, None], rows_of, (rows.indptr, rows.indices)
    else:
        return None
    edges = own[0] if edge_weights is None else edge_weights
    vertices = own[1] if vertex_weights is None else vertex_weights
    try:
        import cupy
    except ImportError:
        return None
    with cupy.cuda.Device(cupy.asarray(given[0]).device.id):
        try:
            arrays = check(cupy, make, given, edges, vertices)
        except cupy.cuda.memory.OutOfMemoryError as error:
            raise OutOfMemoryError(_explain(cupy, given)) from error
    return None if arrays is None else GraphOnGpu.of(arrays, name)


def _explain(cupy: Any, given: tuple[Any, ...]) -> str:
    """Tell that the memory of the current GPU does not suffice to check a graph, and what may."""
    entries = max(given[0].shape[-1], getattr(given[1], "shape", (0,))[-1])
    free = cupy.cuda.runtime.memGetInfo()[0] / (1 << 30)
    return (
        f"the memory of the GPU is full: {free:.1f} GiB are free, too little to check the "
        f"{entries:,} directed edges that are there. torch.cuda.empty_cache() and "
        "cupy.get_default_memory_pool().free_all_blocks() give back what is not in use; arrays of "
        "the host are checked there"
    )


def check(
    xp: Any, make: Callable[..., Any], given: tuple[Any, ...], edges: Any, vertices: Any
) -> OnGpu | None:
    """Return the arrays of a graph if nothing is wrong with it, else None.

    Parameters
    ----------
    xp : module
        CuPy.
    make : callable
        Returns offsets of rows, neighbours, and weights in their order, or None.
    given : tuple
        What it takes beside `xp` and the weights.
    edges, vertices : arrays or None
        Weights.
    """
    weights = None if edges is None else _whole(xp, edges)
    if edges is not None and weights is None:
        return None
    rows = make(xp, *given, weights)
    if rows is None:
        return None
    indptr, indices, weights = rows
    n = len(indptr) - 1
    own = xp.ones(n, np.int32) if vertices is None else _whole(xp, vertices)
    if own is None or own.shape != (n,) or not _is_symmetric(xp, indptr, indices, weights):
        return None
    if weights is None:
        weights = xp.ones(len(indices), np.int32)
    sums = [int(array.sum(dtype=np.int64)) for array in (weights, own)]
    return None if max(sums) > MOST_NARROW else OnGpu(indptr, indices, weights, own, *sums)


def rows_of(xp: Any, indptr: Any, indices: Any, weights: Array | None) -> Any:
    """Return a CSR adjacency, in the order that it has."""
    starts, ids = xp.asarray(indptr), xp.asarray(indices)
    if starts.ndim != 1 or ids.ndim != 1 or not 2 <= len(starts) <= MOST_NARROW:
        return None
    if not _are_ids(ids, len(starts) - 1) or starts.dtype.kind not in "iu":
        return None
    ends = int(starts[0]), int(starts[-1])
    if ends != (0, len(ids)) or (weights is not None and weights.shape != ids.shape):
        return None
    if bool((starts[1:] < starts[:-1]).any()):
        return None
    return _int32(xp, starts), _int32(xp, ids), weights


def rows_of_pairs(xp: Any, pairs: Any, n: int | None, weights: Array | None) -> Any:
    """Return the sorted rows of an edge list."""
    edges = xp.asarray(pairs)
    if edges.dtype.kind not in "iu" or not edges.shape[1]:
        return None
    n = int(edges.max()) + 1 if n is None else n
    if not _are_ids(edges, n) or (weights is not None and weights.shape != edges.shape[1:]):
        return None
    numbers = edges[0].astype(np.int64)
    numbers *= n
    numbers += edges[1].astype(np.int64, copy=False)
    if weights is None:
        numbers.sort()
    else:
        order = xp.argsort(numbers)
        numbers, weights = numbers[order], weights[order]
        del order
    indptr = xp.searchsorted(numbers, xp.arange(n + 1, dtype=np.int64) * n)
    numbers %= n
    return indptr.astype(np.int32), numbers.astype(np.int32), weights


def _are_ids(ids: Array, n: int) -> bool:
    """Whether numbers are vertices, and few enough for kernels of 32 bits."""
    if ids.dtype.kind not in "iu" or n > MOST_NARROW or not 0 < ids.size <= 2 * MOST_NARROW:
        return False
    return int(ids.min()) >= 0 and int(ids.max()) < n


def _int32(xp: Any, array: Array) -> Array:
    return xp.ascontiguousarray(array.astype(np.int32, copy=False))


def _whole(xp: Any, values: Any) -> Array | None:
    """Return positive whole numbers as int32; None if they are anything else."""
    weights = xp.asarray(values)
    if weights.dtype.kind not in "biuf" or weights.ndim != 1:
        return None
    if len(weights) and not bool(((weights >= 1) & (weights <= MOST_NARROW)).all()):
        return None
    kept = _int32(xp, weights)
    return kept if weights.dtype.kind != "f" or bool((kept == weights).all()) else None


def _is_symmetric(xp: Any, indptr: Array, indices: Array, weights: Array | None) -> bool:
    """Whether each edge is listed once in both directions, of equal weight, and none is a loop.

    Some rows are looked at together: what they list, and what is listed that leads to them. That
    takes memory for these alone, and as many looks at all entries as there are such slices.
    """
    n = len(indptr) - 1
    for first, end in _slices(xp, indptr):
        start, stop = int(indptr[first]), int(indptr[end])
        into = xp.flatnonzero((indices >= first) & (indices < end))
        if len(into) != stop - start:
            return False
        out = xp.arange(start, stop, dtype=np.int64)
        there, there_weights = _sorted_edges(xp, n, indptr, indices, weights, out, back=False)
        back, back_weights = _sorted_edges(xp, n, indptr, indices, weights, into, back=True)
        same = bool((there == back).all()) and not bool((there[1:] == there[:-1]).any())
        if not same or bool((there // n == there % n).any()):
            return False
        if weights is not None and not bool(xp.all(there_weights == back_weights)):
            return False
    return True


def _slices(xp: Any, indptr: Array) -> Iterator[tuple[int, int]]:
    """Yield the first row and that after the last of slices with about as many entries each."""
    n, entries = len(indptr) - 1, int(indptr[-1])
    count = max(1, min(MOST_SLICES, entries // LEAST_ENTRIES))
    wanted = xp.asarray([entries * i // count for i in range(1, count)], dtype=indptr.dtype)
    bounds = xp.searchsorted(indptr, wanted).tolist() if count > 1 else []
    yield from pairwise(sorted({0, *bounds, n}))


def _sorted_edges(
    xp: Any,
    n: int,
    indptr: Array,
    indices: Array,
    weights: Array | None,
    places: Array,
    *,
    back: bool,
) -> tuple[Array, Array | None]:
    """Return some edges as numbers, sorted, with their weights; the other way round if `back`."""
    tails = xp.searchsorted(indptr[1:], places, side="right").astype(np.int64, copy=False)
    heads = indices[places].astype(np.int64)
    edges, others = (heads, tails) if back else (tails, heads)
    edges *= n
    edges += others
    if weights is None:
        edges.sort()
        return edges, None
    order = xp.argsort(edges)
    return edges[order], weights[places[order]]
