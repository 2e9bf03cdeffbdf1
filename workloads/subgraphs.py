"""Subgraphs: a graph without the edges between blocks, so that its blocks fall apart."""

import pykokkos as pk

from jetpy.workloads.lanes import end_of, first_entry, is_left_to_lanes, step_of


@pk.workunit
def mark_inside(
    i: int,
    indptr: pk.View1D[pk.int32],
    indices: pk.View1D[pk.int32],
    blocks: pk.View1D[pk.int32],
    marks: pk.View1D[pk.int32],
    hubs: pk.View1D[pk.int32],
    starts: pk.View1D[pk.int32],
    hub_degree: int,
    count: int,
):
    """Mark each directed edge within a block by 1, every other by 0."""
    v: int = i
    if i >= count:
        v = hubs[(i - count) >> 7]
    e: int = indptr[v]
    end: int = indptr[v + 1]
    if is_left_to_lanes(i, count, end - e, hub_degree):
        return
    end = e + end_of(i, count, end - e, starts)
    e += first_entry(i, count, starts)
    while e < end:
        marks[e] = 0
        if blocks[indices[e]] == blocks[v]:
            marks[e] = 1
        e += step_of(i, count)


@pk.workunit
def keep_inside(
    e: int,
    acc: pk.Acc[pk.int64],
    last_pass: bool,
    marks: pk.View1D[pk.int32],
    places: pk.View1D[pk.int32],
    indices: pk.View1D[pk.int32],
    edge_weights: pk.View1D[pk.int32],
    kept_indices: pk.View1D[pk.int32],
    kept_weights: pk.View1D[pk.int32],
):
    """Copy the marked edges; the place of an edge is how many stand before it."""
    if last_pass:
        places[e] = acc
        if marks[e] == 1:
            kept_indices[acc] = indices[e]
            kept_weights[acc] = edge_weights[e]
    acc += marks[e]


@pk.workunit
def offset_kept(
    v: int,
    indptr: pk.View1D[pk.int32],
    places: pk.View1D[pk.int32],
    kept_indptr: pk.View1D[pk.int32],
    total: int,
    nnz: int,
):
    """Find where each row begins; the last index, after all vertices, where they end."""
    kept_indptr[v] = total
    if indptr[v] < nnz:
        kept_indptr[v] = places[indptr[v]]
