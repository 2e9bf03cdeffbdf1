"""Contraction of a matching into the next coarser graph (Jet, Algorithm 3.1)."""

from __future__ import annotations

from jetpy.backends.base import Array, Backend
from jetpy.backends.hubs import find_hubs
from jetpy.backends.level import DeviceGraph
from jetpy.workloads import contraction as kernels


def contract(backend: Backend, graph: DeviceGraph, match: Array) -> tuple[DeviceGraph, Array]:
    """Return the coarse graph and the coarse vertex of each fine one (int32, shape (n,)).

    Vertex weights add up; parallel edges merge into one with their summed weight; edges inside
    a pair vanish.
    """
    coarse_of, leaders = backend.empty(graph.n), backend.empty(graph.n)
    offsets = backend.empty(graph.n + 1)
    pairs = {"leaders": leaders, "match": match}
    total = backend.scan(
        graph.n,
        kernels.number_pairs,
        indptr=graph.indptr,
        coarse_of=coarse_of,
        offsets=offsets,
        **pairs,
    )
    n = total >> 32
    offsets = offsets[: n + 1]
    vertex_weights = backend.empty(n)
    backend.parallel_for(
        n,
        kernels.join_pairs,
        vertex_weights=graph.vertex_weights,
        coarse_of=coarse_of,
        coarse_weights=vertex_weights,
        **pairs,
    )
    counts = backend.empty(n)
    long_rows = find_hubs(backend, offsets, graph.nnz)
    keys, sums = backend.empty(graph.nnz), backend.empty(graph.nnz)
    tables = {"offsets": offsets, "keys": keys, "sums": sums}
    fine = {
        "indptr": graph.indptr,
        "indices": graph.indices,
        "edge_weights": graph.edge_weights,
        "coarse_of": coarse_of,
        "counts": counts,
        **pairs,
        **tables,
    }
    backend.parallel_for(n, kernels.merge_rows, hub_degree=long_rows.degree, **fine)
    long_rows.launch_lanes(kernels.clear_long_rows, counts=counts, **tables)
    long_rows.launch_lanes(kernels.merge_long_rows, **fine)
    indptr = backend.full(n + 1, 0)
    nnz = backend.scan(n, kernels.offset_rows, counts=counts, indptr=indptr)
    indices, edge_weights = backend.empty(nnz), backend.empty(nnz)
    coarse = {"indptr": indptr, "indices": indices, "edge_weights": edge_weights}
    backend.parallel_for(n, kernels.copy_rows, hub_degree=long_rows.degree, **coarse, **tables)
    long_rows.launch_lanes(kernels.copy_long_rows, counts=counts, **coarse, **tables)
    weight = backend.reduce(nnz, kernels.add_weights, edge_weights=edge_weights)
    hubs = find_hubs(backend, indptr, nnz)
    return DeviceGraph(indptr, indices, edge_weights, vertex_weights, weight, hubs), coarse_of
