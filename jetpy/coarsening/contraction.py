"""Contraction of pairs or groups into the next coarser graph (Jet, Algorithm 3.1)."""

from __future__ import annotations

from collections.abc import Mapping

from jetpy.backends.base import Array, Backend
from jetpy.backends.level import DeviceGraph
from jetpy.backends.long_rows import find_hubs
from jetpy.workloads import contraction as kernels


def contract(backend: Backend, graph: DeviceGraph, match: Array) -> tuple[DeviceGraph, Array]:
    """Return the coarse graph and the coarse vertex of each fine one (int32, shape (n,)).

    `match` (int32, shape (n,)) has each vertex's partner, -1 for none. Vertex weights add up;
    parallel edges merge into one with their summed weight; edges inside a pair vanish.
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
    vertex_weights = backend.empty(n)
    backend.parallel_for(
        n,
        kernels.join_pairs,
        vertex_weights=graph.vertex_weights,
        coarse_of=coarse_of,
        coarse_weights=vertex_weights,
        **pairs,
    )
    fine = {
        "indptr": graph.indptr,
        "indices": graph.indices,
        "edge_weights": graph.edge_weights,
        "coarse_of": coarse_of,
        **pairs,
    }
    return _merge(backend, fine, offsets[: n + 1], vertex_weights), coarse_of


def contract_groups(
    backend: Backend, graph: DeviceGraph, group_of: Array
) -> tuple[DeviceGraph, Array]:
    """Contract groups of any size as `contract` does pairs.

    `group_of` (int32, shape (n,)) has the vertex that names each vertex's group, its own in that
    one. The coarse graph with all its parallel edges needs memory once more, for a while.
    """
    coarse_of = backend.empty(graph.n)
    n = backend.scan(graph.n, kernels.number_groups, group_of=group_of, coarse_of=coarse_of)
    vertex_weights, lengths = backend.full(n, 0), backend.full(n, 0)
    places = backend.empty(graph.n)
    backend.parallel_for(
        graph.n,
        kernels.join_groups,
        group_of=group_of,
        indptr=graph.indptr,
        vertex_weights=graph.vertex_weights,
        coarse_of=coarse_of,
        coarse_weights=vertex_weights,
        lengths=lengths,
        places=places,
    )
    offsets = backend.full(n + 1, 0)
    backend.scan(n, kernels.offset_rows, counts=lengths, indptr=offsets)
    indices, edge_weights = backend.empty(graph.nnz), backend.empty(graph.nnz)
    graph.hubs.launch(
        graph.n,
        kernels.gather_rows,
        indptr=graph.indptr,
        indices=graph.indices,
        edge_weights=graph.edge_weights,
        coarse_of=coarse_of,
        offsets=offsets,
        places=places,
        gathered_indices=indices,
        gathered_weights=edge_weights,
    )
    themselves = backend.xp.arange(n, dtype=coarse_of.dtype)
    gathered = {
        "indptr": offsets,
        "indices": indices,
        "edge_weights": edge_weights,
        "coarse_of": themselves,
        "leaders": themselves,
        "match": backend.full(n, -1),
    }
    return _merge(backend, gathered, offsets, vertex_weights), coarse_of


def _merge(
    backend: Backend, fine: Mapping[str, Array], offsets: Array, vertex_weights: Array
) -> DeviceGraph:
    """Merge the rows of pairs into those of the coarse graph; these have room from `offsets` on."""
    n, room = len(vertex_weights), len(fine["indices"])
    counts = backend.empty(n)
    long_rows = find_hubs(backend, offsets, room)
    keys, sums = backend.empty(room), backend.empty(room)
    tables = {"offsets": offsets, "keys": keys, "sums": sums}
    rows = {"counts": counts, **fine, **tables}
    backend.parallel_for(n, kernels.merge_rows, hub_degree=long_rows.degree, **rows)
    long_rows.launch_lanes(kernels.clear_long_rows, counts=counts, **tables)
    long_rows.launch_lanes(kernels.merge_long_rows, **rows)
    indptr = backend.full(n + 1, 0)
    nnz = backend.scan(n, kernels.offset_rows, counts=counts, indptr=indptr)
    indices, edge_weights = backend.empty(nnz), backend.empty(nnz)
    coarse = {"indptr": indptr, "indices": indices, "edge_weights": edge_weights}
    backend.parallel_for(n, kernels.copy_rows, hub_degree=long_rows.degree, **coarse, **tables)
    long_rows.launch_lanes(kernels.copy_long_rows, counts=counts, **coarse, **tables)
    weight = backend.reduce(nnz, kernels.add_weights, edge_weights=edge_weights)
    hubs = find_hubs(backend, indptr, nnz)
    return DeviceGraph(indptr, indices, edge_weights, vertex_weights, weight, hubs)
