"""Kernels that call functions of `jetpy.workloads.constraints.components` one at a time."""

import pykokkos as pk

from jetpy.workloads.common.groups import Graph
from jetpy.workloads.constraints.components import (
    ConnectedParts,
    Part,
    connect_group,
    detach,
    forget_connections,
    group_weight,
    number_of,
)


@pk.workunit
def detach_each(
    i: int,
    n: int,
    k: int,
    sizes: pk.View1D[pk.int32],
    groups: pk.View1D[pk.int32],
    weights: pk.View1D[pk.int64],
    connections: pk.View1D[pk.int64],
    graph: Graph,
    state: ConnectedParts,
):
    """Find the group of each vertex, its weight, and the weight of its edges to each part."""
    for v in range(n):
        size: int = detach(v, graph, state)
        sizes[v] = size
        for j in range(size):
            groups[v * n + j] = state.group[j]
        weights[v] = group_weight(size, graph, state)
        touched: int = connect_group(size, graph, state)
        for t in range(touched):
            p: int = number_of(t, Part.TOUCHED, state)
            connections[v * (k + 1) + p] = number_of(p, Part.CONNECTION, state)
        forget_connections(touched, state)
