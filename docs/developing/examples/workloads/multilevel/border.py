"""Border weight of a part: weight of its vertices with a neighbour in another part."""

import pykokkos as pk

from jetpy.workloads.common.groups import Graph, Weight, edges


@pk.workunit
def weigh_border(
    v: int, graph: Graph, parts: pk.View1D[pk.int32], weights: pk.View1D[Weight]
):
    """Add v's weight to its part's border weight if a neighbour is in another part."""
    for e in edges(v, graph):
        if parts[graph.indices[e]] != parts[v]:
            pk.atomic_fetch_add(weights, [parts[v]], graph.vertex_weights[v])
            return
