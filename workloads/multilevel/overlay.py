"""Two partitions of one graph: the blocks that both keep together, and how far they are apart."""

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
    """Number the pair of parts of a vertex."""
    blocks[v] = parts[v] * k + others[v]


@pk.workunit
def weigh_difference(
    v: int,
    acc: pk.Acc[pk.int64],
    graph: Graph,
    parts: pk.View1D[pk.int32],
    others: pk.View1D[pk.int32],
):
    """Sum up directed edges that one partition cuts and the other does not."""
    for e in edges(v, graph):
        u: int = graph.indices[e]
        if parts[u] == parts[v] and others[u] != others[v]:
            acc += graph.edge_weights[e]
        if parts[u] != parts[v] and others[u] == others[v]:
            acc += graph.edge_weights[e]
