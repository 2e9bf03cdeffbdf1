"""Graphs from arrays on a GPU, checked and used in place.

Input that is not clearly a valid graph with integer weights is left to the host, which reports the
error or repairs the graph.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jetpy.errors import BackendError, OutOfMemoryError
from jetpy.graph.csr import Graph
from jetpy.graph.dlpack import is_on_gpu
from jetpy.graph.on_gpu import GraphOnGpu, OnGpu


def graph_on_gpu(
    data: Any, edge_weights: Any, vertex_weights: Any, n: int | None, name: str
) -> Graph | None:
    """Return a graph from arrays on a GPU; None without these, or if the host must check them.

    Parameters
    ----------
    data : tuple of arrays, edge list of shape (2, E), or a sparse matrix of CuPy
        As for `jetpy.as_graph`.
    edge_weights, vertex_weights : arrays on the GPU or the host, or None
        Replace the weights in `data`.
    n : int or None
        Number of vertices of an edge list; by default the largest id plus 1.
    name : str

    Raises
    ------
    OutOfMemoryError
        If the GPU has not enough memory for the check.
    """
    if isinstance(data, tuple) and 2 <= len(data) <= 4 and all(map(is_on_gpu, data[:2])):
        indptr, indices, *weights = data
        own = [*weights, None, None][:2]
        given: tuple[Any, ...] = (indptr, indices)
    elif is_on_gpu(data) and getattr(data, "ndim", 0) == 2 and data.shape[0] == 2:
        if n is None and data.shape[1] <= 2:
            return None
        own, given = [None, None], (data,)
    elif hasattr(data, "tocsr") and is_on_gpu(getattr(data, "data", None)):
        rows = data.tocsr()
        if rows.shape[0] != rows.shape[1]:
            return None
        own, given = [rows.data, None], (rows.indptr, rows.indices)
    else:
        return None
    edges = own[0] if edge_weights is None else edge_weights
    vertices = own[1] if vertex_weights is None else vertex_weights
    if np.ndim(vertices) > 1:
        return None
    try:
        import cupy
    except ImportError:
        return None
    arrays = tuple(map(cupy.asarray, given))
    checked = _checked(cupy, arrays, n, edges, vertices)
    return None if checked is None else GraphOnGpu.of(checked, name)


def _checked(
    cupy: Any, arrays: tuple[Any, ...], n: int | None, edges: Any, vertices: Any
) -> OnGpu | None:
    """Check an adjacency or an edge list on the GPU that has it.

    Return None if it is invalid or the back end does not work.
    """
    from jetpy.device.backends import lease
    from jetpy.device.checked_rows import check, rows_of, rows_of_pairs

    number = int(arrays[0].device.id)
    with cupy.cuda.Device(number):
        try:
            with lease("cuda", device=number) as backend, backend.using():
                if len(arrays) == 1:
                    return check(backend, rows_of_pairs, (*arrays, n), edges, vertices)
                return check(backend, rows_of, arrays, edges, vertices)
        except cupy.cuda.memory.OutOfMemoryError as error:
            raise OutOfMemoryError(_explain(cupy, arrays)) from error
        except BackendError:
            return None


def _explain(cupy: Any, arrays: tuple[Any, ...]) -> str:
    """Return an error message: GPU memory is too small to check a graph, and possible remedies."""
    entries = arrays[-1].shape[-1]
    free = cupy.cuda.runtime.memGetInfo()[0] / (1 << 30)
    return (
        f"the memory of the GPU is full: {free:.1f} GiB are free, which is too little to check "
        f"{entries:,} directed edges. torch.cuda.empty_cache() and "
        "cupy.get_default_memory_pool().free_all_blocks() release unused memory; jetpy checks "
        "arrays in host memory on the host"
    )
