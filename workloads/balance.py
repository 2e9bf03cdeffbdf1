"""Last steps on the input graph: what holds each vertex in its part."""

import pykokkos as pk


@pk.workunit
def weigh_ties(
    v: int,
    indptr: pk.View1D[pk.int32],
    indices: pk.View1D[pk.int32],
    edge_weights: pk.View1D[pk.int32],
    parts: pk.View1D[pk.int32],
    ties: pk.View1D[pk.int64],
):
    """Sum up the weights of the edges to the own part."""
    total: pk.int64 = 0
    e: int = indptr[v]
    while e < indptr[v + 1]:
        if parts[indices[e]] == parts[v]:
            total += edge_weights[e]
        e += 1
    ties[v] = total
