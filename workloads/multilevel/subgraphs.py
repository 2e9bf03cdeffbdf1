"""Subgraphs: a graph without the edges between blocks, so that its blocks fall apart."""

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
    """Mark each directed edge within a block by 1, every other by 0."""
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
    """Copy the marked edges; the place of an edge is how many stand before it."""
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
    """Find where each row begins; the last index, after all vertices, where they end."""
    inside.indptr[v] = total
    if graph.indptr[v] < nnz:
        inside.indptr[v] = places[graph.indptr[v]]
