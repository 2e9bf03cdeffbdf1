"""Checks of the rows that a process gives: of its own vertices, by numbers in the whole graph."""

import pykokkos as pk

from jetpy.workloads.groups import Offset, Weight

MULTIPLIER = 0x1E3779B97F4A7C15
"""Odd, and otherwise without a pattern."""
HIGH_BITS, MIDDLE_BITS = 31, 29


class Rows:
    """Rows of the vertices from `first` on, of a graph with n vertices."""

    indptr: pk.View1D[Offset]
    heads: pk.View1D[pk.int64]
    edge_weights: pk.View1D[Weight]
    first: pk.int64
    n: pk.int64


@pk.workunit
def count_suspects(v: int, acc: pk.Acc[pk.int64], rows: Rows):
    """Count the edges that lead out of the graph, or to their own tail, or are out of order."""
    tail: pk.int64 = rows.first + v
    before: pk.int64 = -1
    for e in range(rows.indptr[v], rows.indptr[v + 1]):
        head: pk.int64 = rows.heads[e]
        if head <= before or head >= rows.n or head == tail:
            acc += 1
        before = head


@pk.function
def scramble(h: pk.uint64, value: pk.uint64) -> pk.uint64:
    """Return a hash that has taken up one more number."""
    factor: pk.uint64 = MULTIPLIER
    return (h ^ (h >> HIGH_BITS) ^ value) * factor


@pk.workunit
def add_hashes(v: int, acc: pk.Acc[pk.int64], rows: Rows):
    """Sum up the hashes of edges that lead upwards, less those of edges that lead downwards.

    An edge has the same hash in both directions, of its ends and its weight.
    """
    tail: pk.int64 = rows.first + v
    for e in range(rows.indptr[v], rows.indptr[v + 1]):
        head: pk.int64 = rows.heads[e]
        low: pk.uint64 = tail
        high: pk.uint64 = head
        if head < tail:
            low = head
            high = tail
        weight: pk.uint64 = rows.edge_weights[e]
        zero: pk.uint64 = 0
        h: pk.uint64 = scramble(scramble(scramble(zero, low), high), weight)
        h = scramble(scramble(h, zero), zero)
        h = h ^ (h >> MIDDLE_BITS)
        signed: pk.int64 = h
        if head < tail:
            signed = -signed
        acc += signed
