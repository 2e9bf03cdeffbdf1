"""Overlay of two partitions: the clusters that both keep together, and the distance of the two."""

import pykokkos as pk

from jetpy.workloads.common.groups import (
    Graph,
    edges,
)


@pk.workunit
def number_block(
    v: int,
    parts: pk.View1D[pk.int32],
    others: pk.View1D[pk.int32],
    blocks: pk.View1D[pk.int32],
    k: int,
):
    """Write the overlay cluster of a vertex: its pair of parts."""
    blocks[v] = parts[v] * k + others[v]


@pk.workunit
def first_of_pair(v: int, blocks: pk.View1D[pk.int32], k: int, parts: pk.View1D[pk.int32]):
    """Write the first part of the pair of a vertex."""
    parts[v] = blocks[v] // k


@pk.workunit
def weigh_difference(
    v: int,
    acc: pk.Acc[pk.int64],
    graph: Graph,
    parts: pk.View1D[pk.int32],
    others: pk.View1D[pk.int32],
):
    """Sum the weights of the directed edges that exactly one of the partitions cuts."""
    for e in edges(v, graph):
        u: int = graph.indices[e]
        if parts[u] == parts[v] and others[u] != others[v]:
            acc += graph.edge_weights[e]
        if parts[u] != parts[v] and others[u] == others[v]:
            acc += graph.edge_weights[e]
