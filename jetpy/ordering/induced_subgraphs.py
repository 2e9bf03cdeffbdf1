"""Subgraphs that selected vertices induce, on the back end."""

from __future__ import annotations

from jetpy.device.device_graph import Adjacency, DeviceGraph
from jetpy.device.long_rows import find_long_rows
from jetpy.engines.base import Array, Backend
from jetpy.workloads.coarsening.contraction import offset_rows
from jetpy.workloads.common.values import add_weights
from jetpy.workloads.ordering import induced_subgraphs as kernels
from jetpy.workloads.ordering.induced_subgraphs import NO_PLACE, Selection, Subgraph


def induced(backend: Backend, graph: DeviceGraph, selection: Selection) -> DeviceGraph:
    """Return the subgraphs that selected slots induce; vertex i is ``selection.slots[i]``."""
    n, kind = len(selection.slots), backend.sum_type
    counts, offsets = backend.empty(n, kind), backend.full(n + 1, 0, kind)
    nothing, own = backend.empty(0), backend.empty(n, kind)
    rows = Subgraph(counts, offsets, nothing, backend.empty(0, kind), own)
    given = {"graph": graph, "selection": selection}
    backend.parallel_for(n, kernels.count_row, subgraph=rows, **given)
    nnz = backend.scan(n, offset_rows, counts=counts, indptr=offsets)
    inside = Adjacency(offsets, backend.empty(nnz), backend.empty(nnz, kind))
    rows = Subgraph(counts, offsets, inside.indices, inside.edge_weights, own)
    backend.parallel_for(n, kernels.copy_row, subgraph=rows, **given)
    weight = backend.reduce(nnz, add_weights, edge_weights=inside.edge_weights)
    long_rows = find_long_rows(backend, offsets, nnz)
    return DeviceGraph(offsets, inside.indices, inside.edge_weights, own, weight, long_rows)


def joined(backend: Backend, graph: DeviceGraph, order: Array) -> DeviceGraph:
    """Return the subgraph that the vertices in `order` induce."""
    selection = Selection(graph.n, order, backend.full(graph.n, NO_PLACE))
    backend.parallel_for(len(order), kernels.place_selected, selection=selection)
    return induced(backend, graph, selection)
