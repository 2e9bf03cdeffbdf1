"""Contraction of pairs or groups into the next coarser graph (Jet, Algorithm 3.1)."""

from __future__ import annotations

from typing import Any

from jetpy.device.device_graph import Adjacency, DeviceGraph, all_vertices
from jetpy.device.long_rows import find_long_rows
from jetpy.engines.base import Array, Backend
from jetpy.workloads.coarsening import contraction as kernels
from jetpy.workloads.coarsening import slot_merging as slot_kernels
from jetpy.workloads.coarsening.contraction import MARKS, Grouping, Pairs, Tables
from jetpy.workloads.coarsening.slot_merging import Slots
from jetpy.workloads.common.groups import NO_VERTEX
from jetpy.workloads.common.packing import LOWER_BITS, LOWER_MASK
from jetpy.workloads.common.values import add_weights

BLOCKS, MIN_ROWS = 16, 128
"""Blocks of coarse rows for each thread, and minimum number of rows of a block."""


def contract(backend: Backend, graph: DeviceGraph, match: Array) -> tuple[DeviceGraph, Array]:
    """Return the coarse graph, and the coarse vertex of each vertex (int32, shape (n,)).

    `match` (int32, shape (n,)) has each vertex's partner, or `NO_VERTEX`. Vertex weights add up.
    Parallel edges merge into one with their summed weight; edges within a pair disappear.
    """
    pairs = Pairs(match, backend.empty(graph.n), backend.empty(graph.n))
    rows = {"graph": graph, "pairs": pairs, "offsets": backend.empty(graph.n + 1, backend.sum_type)}
    if backend.is_wide:
        n = backend.scan(graph.n, kernels.number_lower, pairs=pairs)
        backend.scan(n, kernels.reserve_rows, **rows)
    else:
        n = backend.scan(graph.n, kernels.number_pairs, **rows) >> LOWER_BITS
    weights = backend.empty(n, backend.sum_type)
    backend.parallel_for(n, kernels.join_pairs, graph=graph, pairs=pairs, coarse_weights=weights)
    offsets = rows["offsets"][: n + 1]
    return merge(backend, graph, pairs, offsets, weights, graph.nnz), pairs.coarse_of


def contract_groups(
    backend: Backend, graph: DeviceGraph, group_of: Array
) -> tuple[DeviceGraph, Array]:
    """Contract groups of any size; return the same values as `contract`.

    `group_of` (int32, shape (n,)) has the vertex that identifies each vertex's group and is in it.
    For a while, memory holds a second graph: the coarse graph with all parallel edges.
    """
    coarse_of, places = backend.empty(graph.n), backend.empty(graph.n, backend.sum_type)
    n = backend.scan(graph.n, kernels.number_groups, group_of=group_of, coarse_of=coarse_of)
    grouping = Grouping(group_of, coarse_of, places, backend.full(n, 0, backend.sum_type))
    weights = backend.full(n, 0, backend.sum_type)
    backend.parallel_for(
        graph.n, kernels.join_groups, graph=graph, grouping=grouping, coarse_weights=weights
    )
    offsets = backend.full(n + 1, 0, backend.sum_type)
    backend.scan(n, kernels.offset_rows, counts=grouping.lengths, indptr=offsets)
    gathered = Adjacency(
        offsets, backend.empty(graph.nnz), backend.empty(graph.nnz, backend.sum_type)
    )
    graph.long_rows.launch(
        graph.n, kernels.gather_rows, graph=graph, grouping=grouping, gathered=gathered
    )
    themselves = all_vertices(backend, n)
    alone = Pairs(backend.full(n, NO_VERTEX), themselves, themselves)
    return merge(backend, gathered, alone, offsets, weights, graph.nnz), coarse_of


def merge(
    backend: Backend,
    graph: DeviceGraph | Adjacency,
    pairs: Pairs,
    offsets: Array,
    vertex_weights: Array,
    room: int,
) -> DeviceGraph:
    """Merge the rows of pairs into the coarse graph; coarse row c has room from `offsets[c]` on.

    `offsets` ends with `room`, the number of entries of these rows.
    """
    merged = _merge_rows if backend.warp_size == 1 else _merge_slots
    coarse, weight = merged(backend, graph, pairs, offsets, room)
    return DeviceGraph(
        coarse.indptr,
        coarse.indices,
        coarse.edge_weights,
        vertex_weights,
        weight,
        find_long_rows(backend, coarse.indptr, len(coarse.indices)),
    )


def _merge_rows(
    backend: Backend, graph: DeviceGraph | Adjacency, pairs: Pairs, offsets: Array, room: int
) -> tuple[Adjacency, int]:
    """Merge with one index per block of coarse rows; return the rows and their total weight."""
    n, kind = len(offsets) - 1, backend.sum_type
    rows = max(MIN_ROWS, -(-n // (BLOCKS * backend.threads)))
    blocks = -(-n // rows)
    marks = backend.empty(blocks * MARKS, kind)
    tables = Tables(
        offsets, backend.empty(room), backend.empty(room, kind), backend.empty(n, kind), marks
    )
    backend.run_tasks(
        blocks,
        kernels.merge_rows,
        n=n,
        rows_per_index=rows,
        graph=graph,
        pairs=pairs,
        tables=tables,
    )
    indptr = backend.full(n + 1, 0, kind)
    nnz = backend.scan(n, kernels.offset_rows, counts=tables.counts, indptr=indptr)
    coarse = Adjacency(indptr, backend.empty(nnz), backend.empty(nnz, kind))
    backend.parallel_for(n, kernels.copy_rows, tables=tables, coarse=coarse)
    return coarse, backend.reduce(nnz, add_weights, edge_weights=coarse.edge_weights)


def _merge_slots(
    backend: Backend, graph: DeviceGraph | Adjacency, pairs: Pairs, offsets: Array, room: int
) -> tuple[Adjacency, int]:
    """Merge with one index per slot of a coarse row; return the rows and their total weight."""
    n, kind = len(offsets) - 1, backend.sum_type
    slots = Slots(offsets, backend.empty(room), backend.empty(room, kind))
    fine: dict[str, Any] = {"graph": graph, "pairs": pairs, "slots": slots}
    long_rows = find_long_rows(backend, offsets, room)
    longest = long_rows.chunks.longest
    backend.parallel_for(room, slot_kernels.gather_slots, n=n, longest=longest, **fine)
    long_rows.launch_lanes(slot_kernels.merge_long_rows, **fine)
    nnz = backend.reduce(room, slot_kernels.merge_slots, n=n, slots=slots, longest=longest)
    coarse = Adjacency(backend.empty(n + 1, kind), backend.empty(nnz), backend.empty(nnz, kind))
    both, sums_weights = {"slots": slots, "coarse": coarse}, not backend.is_wide
    total = backend.scan(room, slot_kernels.copy_slots, sums_weights=sums_weights, **both)
    backend.parallel_for(n + 1, slot_kernels.offset_used, room=room, nnz=nnz, **both)
    if sums_weights:
        return coarse, total & LOWER_MASK
    return coarse, backend.reduce(nnz, add_weights, edge_weights=coarse.edge_weights)
