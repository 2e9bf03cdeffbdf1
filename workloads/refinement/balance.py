"""Final repairs on the input graph: internal weights, and the vertices that have the least."""

import pykokkos as pk

from jetpy.workloads.common.groups import (
    Graph,
    edges,
)


@pk.workunit
def weigh_internal(v: int, graph: Graph, parts: pk.View1D[pk.int32], internal: pk.View1D[pk.int64]):
    """Sum the weights of the edges from v into its part."""
    total: pk.int64 = 0
    for e in edges(v, graph):
        if parts[graph.indices[e]] == parts[v]:
            total += graph.edge_weights[e]
    internal[v] = total


@pk.workunit
def count_vertices(v: int, parts: pk.View1D[pk.int32], sizes: pk.View1D[pk.int32]):
    """Count the vertices of each part."""
    pk.atomic_fetch_add(sizes, [parts[v]], 1)


@pk.workunit
def list_loose(
    v: int,
    acc: pk.Acc[pk.int64],
    last_pass: bool,
    parts: pk.View1D[pk.int32],
    sizes: pk.View1D[pk.int32],
    internal: pk.View1D[pk.int64],
    most: pk.int64,
    loose: pk.View1D[pk.int32],
):
    """List the vertices of internal weight at most `most`, in parts of two or more vertices."""
    if internal[v] <= most and sizes[parts[v]] > 1:
        if last_pass:
            loose[acc] = v
        acc += 1
