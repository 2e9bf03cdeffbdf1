"""Contraction of pairs or groups into the next coarser graph (Jet, Algorithm 3.1)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from jetpy.device.device_graph import Adjacency, DeviceGraph, all_vertices
from jetpy.device.long_rows import LongRows, find_long_rows
from jetpy.engines.base import Array, Backend
from jetpy.graph.csr import INT32_MAX
from jetpy.workloads.coarsening import contraction as kernels
from jetpy.workloads.coarsening import slot_merging as slot_kernels
from jetpy.workloads.coarsening.contraction import LONGEST_LIST, MARKS, Grouping, Pairs, Tables
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
    offsets = backend.empty(graph.n + 1, backend.sum_type)
    rows = {
        "graph": graph,
        "pairs": pairs,
        "offsets": offsets,
        "longest": longest_list(backend, graph.nnz),
    }
    if backend.is_wide:
        n = backend.scan(graph.n, kernels.number_lower, pairs=pairs)
        room = backend.scan(n, kernels.reserve_rows, **rows)
    else:
        both = backend.scan(graph.n, kernels.number_pairs, **rows)
        n, room = both >> LOWER_BITS, both & LOWER_MASK
    weights = backend.empty(n, backend.sum_type)
    backend.parallel_for(n, kernels.join_pairs, graph=graph, pairs=pairs, coarse_weights=weights)
    finish = begin_merge(backend, graph, pairs, offsets[: n + 1], weights, room)
    return finish(), pairs.coarse_of


def longest_list(backend: Backend, entries: int) -> int:
    """Return the length above which the rows of a coarse graph are hash tables with free slots.

    `entries` is the number of directed edges of the fine graph.
    """
    if not backend.is_wide and kernels.slots_for(entries, 0) > INT32_MAX:
        return INT32_MAX
    return backend.longest_row if backend.warp_size > 1 else LONGEST_LIST


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
    slots = backend.empty(n + 1, backend.sum_type)
    room = backend.scan(
        n,
        kernels.reserve_rows,
        graph=gathered,
        pairs=alone,
        offsets=slots,
        longest=longest_list(backend, graph.nnz),
    )
    finish = begin_merge(backend, gathered, alone, slots, weights, room)
    del gathered
    return finish(), coarse_of


def begin_merge(
    backend: Backend,
    graph: DeviceGraph | Adjacency,
    pairs: Pairs,
    offsets: Array,
    vertex_weights: Array,
    room: int,
) -> Callable[[], DeviceGraph]:
    """Merge the rows of pairs; coarse row c has slots from `offsets[c]` on.

    `offsets` ends with `room`, the number of slots of all rows (`slots_for`). The result makes the
    coarse graph of the slots; the caller can free `graph` before.
    """
    if backend.warp_size == 1:
        tables = _merge_rows(backend, graph, pairs, offsets, room)
        return partial(_copy_rows, backend, tables, vertex_weights)
    long_rows = find_long_rows(backend, offsets, room)
    slots = Slots(offsets, backend.empty(room), backend.empty(room, backend.sum_type))
    fine: dict[str, Any] = {"graph": graph, "pairs": pairs, "slots": slots}
    longest, n = long_rows.chunks.longest, len(offsets) - 1
    backend.parallel_for(room, slot_kernels.gather_slots, n=n, longest=longest, **fine)
    long_rows.launch_lanes(slot_kernels.merge_long_rows, **fine)
    return partial(_copy_slots, backend, slots, vertex_weights, long_rows)


def _merge_rows(
    backend: Backend, graph: DeviceGraph | Adjacency, pairs: Pairs, offsets: Array, room: int
) -> Tables:
    """Merge with one index per block of coarse rows; return the tables of the rows."""
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
    return tables


def _copy_rows(backend: Backend, tables: Tables, vertex_weights: Array) -> DeviceGraph:
    """Copy the coarse graph out of the tables of its rows."""
    n, kind = len(vertex_weights), backend.sum_type
    indptr = backend.full(n + 1, 0, kind)
    nnz = backend.scan(n, kernels.offset_rows, counts=tables.counts, indptr=indptr)
    coarse = Adjacency(indptr, backend.empty(nnz), backend.empty(nnz, kind))
    backend.parallel_for(n, kernels.copy_rows, tables=tables, coarse=coarse)
    weight = backend.reduce(nnz, add_weights, edge_weights=coarse.edge_weights)
    return _graph_of(coarse, vertex_weights, weight, find_long_rows(backend, indptr, nnz))


def _copy_slots(
    backend: Backend, slots: Slots, vertex_weights: Array, long_rows: LongRows
) -> DeviceGraph:
    """Merge the slots of each coarse row, one index per slot, and copy the coarse graph out.

    `long_rows` are those of the slots.
    """
    n, room, kind = len(vertex_weights), len(slots.keys), backend.sum_type
    longest = long_rows.chunks.longest
    nnz = backend.reduce(room, slot_kernels.merge_slots, n=n, slots=slots, longest=longest)
    coarse = Adjacency(backend.empty(n + 1, kind), backend.empty(nnz), backend.empty(nnz, kind))
    both, sums_weights = {"slots": slots, "coarse": coarse}, not backend.is_wide
    total = backend.scan(room, slot_kernels.copy_slots, sums_weights=sums_weights, **both)
    backend.parallel_for(n + 1, slot_kernels.offset_used, room=room, nnz=nnz, **both)
    if sums_weights:
        weight = total & LOWER_MASK
    else:
        weight = backend.reduce(nnz, add_weights, edge_weights=coarse.edge_weights)
    if long_rows.count > 0:
        long_rows = find_long_rows(backend, coarse.indptr, nnz)
    return _graph_of(coarse, vertex_weights, weight, long_rows)


def _graph_of(
    rows: Adjacency, vertex_weights: Array, weight: int, long_rows: LongRows
) -> DeviceGraph:
    return DeviceGraph(
        rows.indptr, rows.indices, rows.edge_weights, vertex_weights, weight, long_rows
    )
