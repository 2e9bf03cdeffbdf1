"""A kernel that calls functions of `jetpy.workloads.constraints.multiconstraint` one at a time."""

import pykokkos as pk

from jetpy.workloads.common.groups import NO_PART, Graph
from jetpy.workloads.constraints.multiconstraint import (
    MultiConstraint,
    best_relief,
    best_with_room,
    connect,
    disconnect,
    fill_table,
    neediest,
    roomiest,
)


@pk.workunit
def choose_each(
    i: int,
    n: int,
    k: int,
    improving: pk.View1D[pk.int32],
    relieving: pk.View1D[pk.int32],
    graph: Graph,
    state: MultiConstraint,
):
    """Find the part to which each vertex moves to improve the cut, and to reduce the excess."""
    widest: int = roomiest(k, state)
    needy: int = neediest(k, state)
    fill_table(n, graph, state)
    for v in range(n):
        connect(v, graph, state)
        improving[v] = best_with_room(v, k, graph, state)
        relieving[v] = NO_PART
        if k > 1:
            relieving[v] = best_relief(v, widest, needy, k, graph, state)
        disconnect(v, graph, state)
