"""Subgraphs: the graph without the edges between clusters, which separates the clusters."""

import pykokkos as pk

from jetpy.workloads.common.groups import Graph, LongRows
from jetpy.workloads.common.long_rows import (
    is_left_to_lanes,
    lane_edges,
    row_of,
)


@pk.workunit
def mark_inside(
    i: int,
    graph: Graph,
    blocks: pk.View1D[pk.int32],
    marks: pk.View1D[pk.int32],
    long_rows: LongRows,
):
    """Mark each directed edge within a cluster by 1, and every other edge by 0."""
    v: int = row_of(i, long_rows)
    if is_left_to_lanes(i, graph.indptr[v + 1] - graph.indptr[v], long_rows):
        return
    for e in lane_edges(i, v, graph, long_rows):
        marks[e] = 0
        if blocks[graph.indices[e]] == blocks[v]:
            marks[e] = 1


@pk.workunit
def keep_inside(
    e: int,
    acc: pk.Acc[pk.int64],
    last_pass: bool,
    graph: Graph,
    inside: Graph,
    marks: pk.View1D[pk.int32],
    places: pk.View1D[pk.int32],
):
    """Copy the marked edges, and store for each edge the number of marked edges before it."""
    if last_pass:
        places[e] = acc
        if marks[e] == 1:
            inside.indices[acc] = graph.indices[e]
            inside.edge_weights[acc] = graph.edge_weights[e]
    acc += marks[e]


@pk.workunit
def offset_rows_inside(
    v: int, graph: Graph, inside: Graph, places: pk.View1D[pk.int32], total: int, nnz: int
):
    """Write the begin of each row; the launch has one more index, for the end of the last row."""
    inside.indptr[v] = total
    if graph.indptr[v] < nnz:
        inside.indptr[v] = places[graph.indptr[v]]
