"""Constraints of coarsening: which vertices it may merge."""

import pykokkos as pk

from jetpy.workloads.common.groups import Constraints, Graph


@pk.function
def max_partner_weight(u: int, graph: Graph, constraints: Constraints) -> int:
    """Return the largest weight of a vertex that may merge with u."""
    return constraints.heaviest - graph.vertex_weights[u]


@pk.function
def is_pinned(v: int, constraints: Constraints) -> bool:
    """Whether a vertex is pinned: its part label is negative."""
    return constraints.within_parts and constraints.parts[v] < 0


@pk.function
def may_join(v: int, room: int, part: int, graph: Graph, constraints: Constraints) -> bool:
    """Whether v weighs at most `room` and, if coarsening keeps parts apart, is in part `part`."""
    if graph.vertex_weights[v] > room:
        return False
    return not constraints.within_parts or constraints.parts[v] == part
