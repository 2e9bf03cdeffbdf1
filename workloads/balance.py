"""Last steps on the input graph: what holds each vertex in its part."""

import pykokkos as pk

from jetpy.workloads.groups import Graph


@pk.workunit
def weigh_internal(v: int, graph: Graph, parts: pk.View1D[pk.int32], internal: pk.View1D[pk.int64]):
    """Sum up the weights of the edges to the own part."""
    total: pk.int64 = 0
    e: int = graph.indptr[v]
    while e < graph.indptr[v + 1]:
        if parts[graph.indices[e]] == parts[v]:
            total += graph.edge_weights[e]
        e += 1
    internal[v] = total
