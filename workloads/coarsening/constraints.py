"""Constraints of coarsening: which vertices may become one."""

import pykokkos as pk

from jetpy.workloads.common.groups import Constraints, Graph


@pk.function
def room_beside(u: int, graph: Graph, constraints: Constraints) -> int:
    """Return the most that a vertex may weigh that joins another one."""
    return constraints.heaviest - graph.vertex_weights[u]


@pk.function
def is_pinned(v: int, constraints: Constraints) -> bool:
    """Whether a vertex has the label of those that are pinned to a part."""
    return constraints.within_parts and constraints.parts[v] < 0


@pk.function
def may_join(v: int, room: int, part: int, graph: Graph, constraints: Constraints) -> bool:
    """Whether a vertex weighs at most `room`, and is in a part, if parts are kept."""
    if graph.vertex_weights[v] > room:
        return False
    return not constraints.within_parts or constraints.parts[v] == part
