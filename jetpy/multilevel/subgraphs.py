"""Removal of the edges between blocks of a graph, on the back end."""

from __future__ import annotations

from jetpy.device.device_graph import Adjacency, DeviceGraph
from jetpy.device.long_rows import find_long_rows
from jetpy.engines.base import Array, Backend
from jetpy.workloads.common.values import add_weights
from jetpy.workloads.multilevel import subgraphs as kernels


def within_blocks(backend: Backend, graph: DeviceGraph, blocks: Array) -> DeviceGraph:
    """Return the subgraphs induced by all blocks (int32, shape (n,)), as one graph.

    Vertex ids stay the same. Source: Samoldekin, Schulz, Woydt (2025), Algorithm 1, for all blocks
    at once.
    """
    n, nnz = graph.n, graph.nnz
    marks, places = backend.empty(nnz), backend.empty(nnz)
    graph.long_rows.launch(n, kernels.mark_inside, graph=graph, blocks=blocks, marks=marks)
    inside = Adjacency(backend.empty(n + 1), backend.empty(nnz), backend.empty(nnz))
    rows = {"graph": graph, "inside": inside, "places": places}
    total = backend.scan(nnz, kernels.keep_inside, marks=marks, **rows)
    backend.parallel_for(n + 1, kernels.offset_rows_inside, total=total, nnz=nnz, **rows)
    indices, edge_weights = inside.indices[:total], inside.edge_weights[:total]
    weight = backend.reduce(total, add_weights, edge_weights=edge_weights)
    long_rows = find_long_rows(backend, inside.indptr, total)
    return DeviceGraph(
        inside.indptr, indices, edge_weights, graph.vertex_weights, weight, long_rows
    )
