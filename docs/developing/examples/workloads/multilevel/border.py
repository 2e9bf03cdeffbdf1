"""How much of each part lies at its border."""

import pykokkos as pk

from jetpy.workloads.common.groups import Graph, Weight


@pk.workunit
def weigh_border(v: int, graph: Graph, parts: pk.View1D[pk.int32], weights: pk.View1D[Weight]):
    """Add a vertex's weight to the border of its part, if a neighbour is in another one."""
    e: int = graph.indptr[v]
    end: int = graph.indptr[v + 1]
    while e < end:
        if parts[graph.indices[e]] != parts[v]:
            pk.atomic_fetch_add(weights, [parts[v]], graph.vertex_weights[v])
            return
        e += 1
