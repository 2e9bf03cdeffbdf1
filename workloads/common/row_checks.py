"""Checks of the rows of a whole graph, or of the vertices that a process owns.

``graph.indices`` are global ids, in 0..n - 1.
"""

import pykokkos as pk

from jetpy.workloads.common.groups import Graph, LongRows, Offset
from jetpy.workloads.common.long_rows import (
    is_left_to_lanes,
    lane_edges,
    row_of,
)

MULTIPLIER = 0x1E3779B97F4A7C15
"""An odd multiplier without a regular bit pattern."""
HIGH_BITS, MIDDLE_BITS = 31, 29


@pk.workunit
def check_symmetry(
    _index: int,
    graph: Graph,
    n: int,
    cursors: pk.View1D[Offset],
    found: pk.View1D[pk.int32],
):
    """Find out by one index whether all rows are ascending and each edge has an equal reverse edge.

    Rows are visited in ascending order. The edges to lower vertices of a row are matched, in their
    order, when those vertices are visited. There are no loops and no duplicates then. `cursors` has
    the begin of the edges of each row that are not yet matched; `found` is 1 if all are.
    """
    found[0] = 0
    for v in range(n):
        cursors[v] = graph.indptr[v]
    for tail in range(n):
        before: int = tail
        for e in range(cursors[tail], graph.indptr[tail + 1]):
            head: int = graph.indices[e]
            if head <= before:
                return
            reverse: int = cursors[head]
            if reverse == graph.indptr[head + 1] or graph.indices[reverse] != tail:
                return
            if graph.edge_weights[reverse] != graph.edge_weights[e]:
                return
            cursors[head] = reverse + 1
            before = head
    found[0] = 1


@pk.workunit
def count_decreases(v: int, acc: pk.Acc[pk.int64], indptr: pk.View1D[Offset]):
    """Count the rows whose end is before their begin."""
    if indptr[v + 1] < indptr[v]:
        acc += 1


@pk.workunit
def count_suspects(i: int, acc: pk.Acc[pk.int64], graph: Graph, n: int, long_rows: LongRows):
    """Count the edges whose head is out of range, equals the tail, or is not in ascending order."""
    v: int = row_of(i, long_rows)
    start: int = graph.indptr[v]
    if is_left_to_lanes(i, graph.indptr[v + 1] - start, long_rows):
        return
    for e in lane_edges(i, v, graph, long_rows):
        head: int = graph.indices[e]
        before: int = -1
        if e > start:
            before = graph.indices[e - 1]
        if head <= before or head >= n or head == graph.first_global_id + v:
            acc += 1


@pk.function
def scramble(h: pk.uint64, value: pk.uint64) -> pk.uint64:
    """Combine a hash with one more value."""
    factor: pk.uint64 = MULTIPLIER
    return (h ^ (h >> HIGH_BITS) ^ value) * factor


@pk.workunit
def add_hashes(i: int, acc: pk.Acc[pk.int64], graph: Graph, long_rows: LongRows):
    """Sum the hashes of edges to higher vertices, minus the hashes of edges to lower vertices.

    The hash covers both ends and the weight, and is equal in both directions.
    """
    v: int = row_of(i, long_rows)
    if is_left_to_lanes(i, graph.indptr[v + 1] - graph.indptr[v], long_rows):
        return
    tail: int = graph.first_global_id + v
    for e in lane_edges(i, v, graph, long_rows):
        head: int = graph.indices[e]
        low: pk.uint64 = tail
        high: pk.uint64 = head
        if head < tail:
            low = head
            high = tail
        weight: pk.uint64 = graph.edge_weights[e]
        zero: pk.uint64 = 0
        h: pk.uint64 = scramble(scramble(scramble(zero, low), high), weight)
        h = scramble(scramble(h, zero), zero)
        h = h ^ (h >> MIDDLE_BITS)
        signed: pk.int64 = h
        if head < tail:
            signed = -signed
        acc += signed
