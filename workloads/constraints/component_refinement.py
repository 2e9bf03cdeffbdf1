"""Moves that lower the cut, and keep the balance and the connectivity of parts.

The vertex of highest gain moves first, with the group that would otherwise be cut off. Its
neighbours are then queued again.
"""

import pykokkos as pk

from jetpy.workloads.common.groups import NO_PART, Graph
from jetpy.workloads.common.heaps import NOT_QUEUED, Field, insert, rekey, remove
from jetpy.workloads.constraints.components import (
    EFFORT,
    ConnectedParts,
    Part,
    connect_group,
    detach,
    forget_connections,
    group_weight,
    is_kept,
    key_of,
    move_group,
    number_of,
    room_of,
    spare_of,
    take_first,
)


@pk.function
def strongest(p: int, weight: pk.int64, touched: int, state: ConnectedParts) -> int:
    """Return the part with room to which the group, now in p, has most edge weight, or `NO_PART`.

    Ties go to the part with most room, then to the lowest.
    """
    best: int = NO_PART
    for i in range(touched):
        q: int = number_of(i, Part.TOUCHED, state)
        if q != p and room_of(q, state) >= weight:
            if best == NO_PART:
                best = q
            else:
                more: pk.int64 = number_of(q, Part.CONNECTION, state)
                more -= number_of(best, Part.CONNECTION, state)
                if more == 0:
                    more = room_of(q, state) - room_of(best, state)
                if more > 0 or (more == 0 and q < best):
                    best = q
    return best


@pk.function
def requeue(v: int, graph: Graph, state: ConnectedParts):
    """Queue a vertex by the highest gain of its moves; remove it if no other part is adjacent."""
    if state.movable[v] == 0 or is_kept(v, graph, state):
        return
    state.group[0] = v
    state.numbers[EFFORT] -= graph.indptr[v + 1] - graph.indptr[v]
    touched: int = connect_group(1, graph, state)
    p: int = state.parts[v]
    gain: pk.int64 = 0
    for i in range(touched):
        q: int = number_of(i, Part.TOUCHED, state)
        if q != p and number_of(q, Part.CONNECTION, state) > gain:
            gain = number_of(q, Part.CONNECTION, state)
    is_inner: bool = gain == 0
    gain -= number_of(p, Part.CONNECTION, state)
    forget_connections(touched, state)
    if state.positions[v] == NOT_QUEUED:
        if not is_inner:
            insert(v, key_of(v, gain, state), 0, 0, state)
    elif is_inner:
        remove(v, 0, 0, state)
    else:
        rekey(v, key_of(v, gain, state), 0, 0, state)


@pk.function
def try_to_move(v: int, graph: Graph, state: ConnectedParts):
    """Move a vertex and its group to the part with the highest gain, if that is positive."""
    p: int = state.parts[v]
    size: int = detach(v, graph, state)
    if size == 0 or size >= number_of(p, Part.SIZE, state):
        return
    weight: pk.int64 = group_weight(size, graph, state)
    if weight > spare_of(p, state):
        return
    touched: int = connect_group(size, graph, state)
    q: int = strongest(p, weight, touched, state)
    gain: pk.int64 = 0
    if q != NO_PART:
        gain = number_of(q, Part.CONNECTION, state) - number_of(p, Part.CONNECTION, state)
    forget_connections(touched, state)
    if gain <= 0:
        return
    move_group(size, weight, p, q, graph, state)
    for i in range(size):
        state.found[i] = state.group[i]
    for i in range(size):
        u: int = state.found[i]
        for e in range(graph.indptr[u] - 1, graph.indptr[u + 1]):
            w: int = u
            if e >= graph.indptr[u]:
                w = graph.indices[e]
            requeue(w, graph, state)


@pk.workunit
def lower_cut(i: int, n: int, graph: Graph, state: ConnectedParts):
    """Move vertices, highest gain first, until no move has a positive gain."""
    for v in range(n):
        state.positions[v] = NOT_QUEUED
    for v in range(n):
        requeue(v, graph, state)
    while state.numbers[Field.SIZES] > 0 and state.numbers[EFFORT] > 0:
        try_to_move(take_first(graph, state), graph, state)
