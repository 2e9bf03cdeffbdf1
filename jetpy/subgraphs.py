"""Takes the edges between blocks out of a graph, on the back end."""

from __future__ import annotations

from jetpy.backends.base import Array, Backend
from jetpy.backends.level import DeviceGraph
from jetpy.backends.long_rows import find_hubs
from jetpy.workloads import contraction as contraction_kernels
from jetpy.workloads import subgraphs as kernels


def within_blocks(backend: Backend, graph: DeviceGraph, blocks: Array) -> DeviceGraph:
    """Return all subgraphs that blocks (int32, shape (n,)) induce, as one graph.

    Vertices keep their numbers. Source: Samoldekin, Schulz, Woydt (2025), Algorithm 1, for all
    blocks at once.
    """
    n, nnz = graph.n, graph.nnz
    marks, places = backend.empty(nnz), backend.empty(nnz)
    indices, edge_weights = backend.empty(nnz), backend.empty(nnz)
    graph.hubs.launch(
        n,
        kernels.mark_inside,
        indptr=graph.indptr,
        indices=graph.indices,
        blocks=blocks,
        marks=marks,
    )
    total = backend.scan(
        nnz,
        kernels.keep_inside,
        marks=marks,
        places=places,
        indices=graph.indices,
        edge_weights=graph.edge_weights,
        kept_indices=indices,
        kept_weights=edge_weights,
    )
    indptr = backend.empty(n + 1)
    backend.parallel_for(
        n + 1,
        kernels.offset_kept,
        indptr=graph.indptr,
        places=places,
        kept_indptr=indptr,
        total=total,
        nnz=nnz,
    )
    indices, edge_weights = indices[:total], edge_weights[:total]
    weight = backend.reduce(total, contraction_kernels.add_weights, edge_weights=edge_weights)
    hubs = find_hubs(backend, indptr, total)
    return DeviceGraph(indptr, indices, edge_weights, graph.vertex_weights, weight, hubs)
