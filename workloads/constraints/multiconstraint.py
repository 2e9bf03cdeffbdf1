"""Refinement with several weights per vertex (multi-constraint): one index refines a whole level.

Every part has a limit and a lower limit for each weight. The excess is what parts weigh above the
one or below the other. Kernels first relieve parts above a limit and fill parts below a lower
limit, by the moves of lowest cost per reduction of the excess. Then passes of Fiduccia and
Mattheyses move vertices to parts with room for all of their weights (`jetpy.workloads.common.fm`,
from two parts to k). Vertices with more neighbours than there are parts have a row of a table, with
their connections to all parts. Connections of other vertices are computed when needed. Source:
Karypis, Kumar, "Multilevel algorithms for multi-constraint graph partitioning", SC 1998.
"""

from dataclasses import dataclass

import pykokkos as pk

from jetpy.workloads.common.fm import (
    KEY_BITS,
    ONLY_LEVEL,
    Moves,
    begin_pass,
    dequeue,
    enqueue,
    first_queued,
    keep_moves,
    lock,
    moves_in_vain,
    queued_gain,
    to_undo,
)
from jetpy.workloads.common.groups import NO_PART, NO_VERTEX, Graph, edges
from jetpy.workloads.common.heaps import LOCKED, Field
from jetpy.workloads.common.loads import Loads, excess_of, fits, growth_above, total_excess

RELIEF_BITS = 15
"""Reliefs are shares of a total weight, in fixed point with 15 bits."""
MAX_LOSS = 2**30
MAX_IN_VAIN = 200
"""Relief of parts ends after this number of moves without success."""
MIN_TRIED, TRIED_SHARE = 100, 20
"""A pass ends after this number of moves without success: a minimum, or n / TRIED_SHARE."""


@dataclass(frozen=True, eq=False)
class MultiConstraint(Moves, Loads):
    """A partition of a level."""

    parts: pk.View1D[pk.int32]
    targets: pk.View1D[pk.int32]  # the part that a vertex may move to; after a move, where it was
    connections: pk.View1D[pk.int64]  # edge weight to each part: a row for the current vertex, 0
    # between uses, then the table
    rows: pk.View1D[pk.int64]  # where the row of a vertex begins; 0 without a row of its own


@pk.function
def add_edges(v: int, graph: Graph, state: MultiConstraint):
    """Add the edges of a vertex to its connections."""
    row: pk.int64 = state.rows[v]
    for e in edges(v, graph):
        state.connections[row + state.parts[graph.indices[e]]] += graph.edge_weights[e]


@pk.function
def fill_table(n: int, graph: Graph, state: MultiConstraint):
    """Compute the connections of all vertices with a row."""
    for v in range(n):
        if state.rows[v] > 0:
            add_edges(v, graph, state)


@pk.function
def connect(v: int, graph: Graph, state: MultiConstraint):
    """Compute the connections of a vertex without a row."""
    if state.rows[v] == 0:
        add_edges(v, graph, state)


@pk.function
def disconnect(v: int, graph: Graph, state: MultiConstraint):
    """Reset the connections of a vertex without a row to 0."""
    if state.rows[v] > 0:
        return
    for e in edges(v, graph):
        state.connections[state.parts[graph.indices[e]]] = 0


@pk.function
def connection(v: int, q: int, state: MultiConstraint) -> pk.int64:
    """Return the edge weight from a vertex to part q, which must be up to date."""
    return state.connections[state.rows[v] + q]


@pk.function
def count_candidates(v: int, k: int, graph: Graph, state: MultiConstraint) -> int:
    """Return the number of candidates for the destination of a vertex."""
    if state.rows[v] > 0:
        return k
    return graph.indptr[v + 1] - graph.indptr[v]


@pk.function
def candidate(i: int, v: int, graph: Graph, state: MultiConstraint) -> int:
    """Return candidate i: each part if the vertex has a row, otherwise the part of a neighbour."""
    if state.rows[v] > 0:
        return i
    return state.parts[graph.indices[graph.indptr[v] + i]]


@pk.function
def growth_of(q: int, v: int, state: MultiConstraint) -> pk.int64:
    """Return the increase of the excess of part q by vertex v."""
    growth: pk.int64 = growth_above(q, v, state)
    for j in range(state.kinds):
        w: pk.int64 = state.weights[v * state.kinds + j]
        load: pk.int64 = state.loads[q * state.kinds + j]
        need: pk.int64 = state.lower_limits[q * state.kinds + j] - load
        if need > w:
            need = w
        if need > 0:
            growth -= need * state.factors[j]
    return growth


@pk.function
def growth_without(v: int, state: MultiConstraint) -> pk.int64:
    """Return the increase of the excess of the part of vertex v if v leaves it."""
    p: int = state.parts[v]
    return excess_of(p, v, -1, state) - excess_of(p, v, 0, state)


@pk.function
def may_leave_for(q: int, v: int, state: MultiConstraint) -> bool:
    """Whether vertex v may leave its part for part q: it is not needed there, or less than in q."""
    p: int = state.parts[v]
    for j in range(state.kinds):
        load: pk.int64 = state.loads[p * state.kinds + j] - state.weights[v * state.kinds + j]
        if load < state.lower_limits[p * state.kinds + j]:
            loss: pk.int64 = growth_without(v, state)
            return loss <= 0 or loss + growth_of(q, v, state) < 0
    return True


@pk.function
def move(v: int, graph: Graph, state: MultiConstraint):
    """Move a vertex to its target, or back, and update the rows of its neighbours."""
    p: int = state.parts[v]
    q: int = state.targets[v]
    for j in range(state.kinds):
        w: pk.int64 = state.weights[v * state.kinds + j]
        state.loads[p * state.kinds + j] -= w
        state.loads[q * state.kinds + j] += w
    state.parts[v] = q
    state.targets[v] = p
    for e in edges(v, graph):
        row: pk.int64 = state.rows[graph.indices[e]]
        if row > 0:
            state.connections[row + p] -= graph.edge_weights[e]
            state.connections[row + q] += graph.edge_weights[e]


@pk.function
def best_with_room(v: int, k: int, graph: Graph, state: MultiConstraint) -> int:
    """Return the part with room of largest connection, or `NO_PART` if no connection is positive.

    If the part of v needs v for its lower limits, the other part must need it more. Ties go to the
    lowest part. The connections of v must be up to date.
    """
    own: int = state.parts[v]
    best: int = NO_PART
    most: pk.int64 = 0
    for i in range(count_candidates(v, k, graph, state)):
        q: int = candidate(i, v, graph, state)
        weight: pk.int64 = connection(v, q, state)
        if q == own or q == best or weight == 0 or weight < most:
            continue
        if weight == most and q > best:
            continue
        if fits(v, q, state) and may_leave_for(q, v, state):
            best = q
            most = weight
    return best


@pk.function
def queue_by_gain(v: int, k: int, graph: Graph, state: MultiConstraint):
    """Queue a vertex by the gain of its best move, or remove it if it has none."""
    if state.positions[v] == LOCKED:
        return
    connect(v, graph, state)
    q: int = best_with_room(v, k, graph, state)
    gain: pk.int64 = 0
    if q != NO_PART:
        gain = connection(v, q, state) - connection(v, state.parts[v], state)
    disconnect(v, graph, state)
    state.targets[v] = q
    if q == NO_PART:
        dequeue(v, 0, ONLY_LEVEL, state)
    else:
        enqueue(v, gain, 0, ONLY_LEVEL, state)


@pk.function
def is_interior(v: int, graph: Graph, state: MultiConstraint) -> bool:
    """Whether all neighbours of a vertex are in its part."""
    for e in edges(v, graph):
        if state.parts[graph.indices[e]] != state.parts[v]:
            return False
    return True


@pk.function
def improve(graph: Graph, n: int, k: int, state: MultiConstraint) -> bool:
    """Make one pass of Fiduccia and Mattheyses; return whether it has improved the partition."""
    begin_pass(ONLY_LEVEL, state)
    for v in range(n):
        if not is_interior(v, graph, state):
            queue_by_gain(v, k, graph, state)
    most: int = n // TRIED_SHARE
    if most < MIN_TRIED:
        most = MIN_TRIED
    total: pk.int64 = 0
    best_total: pk.int64 = 0
    while moves_in_vain(ONLY_LEVEL, state) < most:
        u: int = first_queued(0, ONLY_LEVEL, state)
        if u == NO_VERTEX:
            break
        gain: pk.int64 = queued_gain(u, 0, ONLY_LEVEL, state)
        queue_by_gain(u, k, graph, state)
        if queued_gain(u, 0, ONLY_LEVEL, state) != gain:
            continue
        lock(u, 0, ONLY_LEVEL, state)
        move(u, graph, state)
        total += gain
        if total > best_total:
            best_total = total
            keep_moves(ONLY_LEVEL, state)
        for e in edges(u, graph):
            queue_by_gain(graph.indices[e], k, graph, state)
    for i in to_undo(ONLY_LEVEL, state):
        move(state.moved[i], graph, state)
    return state.numbers[Field.KEPT] > 0


@pk.function
def roomiest(k: int, state: MultiConstraint) -> int:
    """Return the part whose scarcest room, scaled, is largest; ties go to the lowest part."""
    best: int = 0
    most: pk.int64 = 0
    for p in range(k):
        least: pk.int64 = 1
        least <<= KEY_BITS
        for j in range(state.kinds):
            room: pk.int64 = state.limits[p * state.kinds + j] - state.loads[p * state.kinds + j]
            room *= state.factors[j]
            if room < least:
                least = room
        if p == 0 or least > most:
            best = p
            most = least
    return best


@pk.function
def neediest(k: int, state: MultiConstraint) -> int:
    """Return the part furthest below its lower limits, or `NO_PART`; ties go to the lowest part."""
    best: int = NO_PART
    most: pk.int64 = 0
    for p in range(k):
        need: pk.int64 = 0
        for j in range(state.kinds):
            below: pk.int64 = state.lower_limits[p * state.kinds + j]
            below -= state.loads[p * state.kinds + j]
            if below > 0:
                need += below * state.factors[j]
        if need > most:
            best = p
            most = need
    return best


@pk.function
def best_relief(
    v: int, widest: int, needy: int, k: int, graph: Graph, state: MultiConstraint
) -> int:
    """Return the part that a vertex should move to for a smaller excess.

    Candidates are the adjacent parts, the part with most room and the one furthest below its lower
    limits, `needy`, if any. The smallest growth of the excess wins, then the largest connection. If
    the best one lacks room, all parts are candidates.
    """
    own: int = state.parts[v]
    best: int = NO_PART
    least: pk.int64 = 0
    for i in range(-2, count_candidates(v, k, graph, state)):
        q: int = widest
        if i >= 0:
            q = candidate(i, v, graph, state)
            if connection(v, q, state) == 0:
                continue
        elif i == -2:
            q = needy
        if q == own or q == best or q == NO_PART:
            continue
        growth: pk.int64 = growth_of(q, v, state)
        if best != NO_PART:
            if growth > least:
                continue
            more: pk.int64 = connection(v, q, state) - connection(v, best, state)
            if growth == least and (more < 0 or (more == 0 and q > best)):
                continue
        best = q
        least = growth
    if best != NO_PART and least <= 0:
        return best
    for p in range(k):
        if p != own and (best == NO_PART or growth_of(p, v, state) < least):
            best = p
            least = growth_of(p, v, state)
    return best


@pk.function
def price_of(v: int, q: int, state: MultiConstraint) -> pk.int64:
    """Return the gain of a relieving move, weighted by its relief: the reduction of the excess.

    A larger relief increases a gain and decreases a loss.
    """
    gain: pk.int64 = connection(v, q, state) - connection(v, state.parts[v], state)
    relief: pk.int64 = -growth_without(v, state) - growth_of(q, v, state)
    relief >>= RELIEF_BITS
    if relief < 1:
        relief = 1
    if gain >= 0:
        return (gain * relief) >> RELIEF_BITS
    loss: pk.int64 = (-gain) << RELIEF_BITS
    loss //= relief
    if loss > MAX_LOSS:
        loss = MAX_LOSS
    return -loss


@pk.function
def queue_for_relief(v: int, widest: int, needy: int, k: int, graph: Graph, state: MultiConstraint):
    """Queue a vertex by the price of its move, if its part has too much or another too little."""
    if state.positions[v] == LOCKED:
        return
    loss: pk.int64 = growth_without(v, state)
    if loss >= 0 and needy == NO_PART:
        dequeue(v, 0, ONLY_LEVEL, state)
        return
    connect(v, graph, state)
    q: int = best_relief(v, widest, needy, k, graph, state)
    price: pk.int64 = price_of(v, q, state)
    disconnect(v, graph, state)
    state.targets[v] = q
    if loss >= 0 and loss + growth_of(q, v, state) >= 0:
        dequeue(v, 0, ONLY_LEVEL, state)
    else:
        enqueue(v, price, 0, ONLY_LEVEL, state)


@pk.function
def queue_part(
    p: int,
    interior: bool,
    widest: int,
    needy: int,
    n: int,
    k: int,
    graph: Graph,
    state: MultiConstraint,
):
    """Queue the vertices of part p, or of all parts if it is `NO_PART`, for relief.

    Vertices without neighbours in other parts are only queued if `interior`.
    """
    for v in range(n):
        if p == NO_PART or state.parts[v] == p:
            if interior or not is_interior(v, graph, state):
                queue_for_relief(v, widest, needy, k, graph, state)


@pk.function
def relieve(graph: Graph, n: int, k: int, state: MultiConstraint) -> bool:
    """Move vertices out of overweight parts, and into parts below their lower limits.

    Vertices without neighbours in other parts follow when no others are left. Each vertex moves at
    most once. A move may overload its target, as a last resort. It is undone unless the excess
    falls later. Return whether the excess has fallen.
    """
    begin_pass(ONLY_LEVEL, state)
    widest: int = roomiest(k, state)
    needy: int = neediest(k, state)
    interior: bool = False
    queue_part(NO_PART, interior, widest, needy, n, k, graph, state)
    excess: pk.int64 = total_excess(k, state)
    least: pk.int64 = excess
    while excess > 0 and moves_in_vain(ONLY_LEVEL, state) < MAX_IN_VAIN:
        u: int = first_queued(0, ONLY_LEVEL, state)
        if u == NO_VERTEX:
            if interior:
                break
            interior = True
            queue_part(NO_PART, interior, widest, needy, n, k, graph, state)
            continue
        price: pk.int64 = queued_gain(u, 0, ONLY_LEVEL, state)
        widest = roomiest(k, state)
        needy = neediest(k, state)
        queue_for_relief(u, widest, needy, k, graph, state)
        if queued_gain(u, 0, ONLY_LEVEL, state) != price:
            continue
        lock(u, 0, ONLY_LEVEL, state)
        p: int = state.parts[u]
        q: int = state.targets[u]
        was_in_excess: bool = excess_of(q, u, 0, state) > 0
        excess -= excess_of(p, u, 0, state) + excess_of(q, u, 0, state)
        move(u, graph, state)
        excess += excess_of(p, u, 0, state) + excess_of(q, u, 0, state)
        if excess < least:
            least = excess
            keep_moves(ONLY_LEVEL, state)
        if excess_of(q, u, 0, state) > 0 and not was_in_excess:
            queue_part(q, interior, widest, needy, n, k, graph, state)
        for e in edges(u, graph):
            queue_for_relief(graph.indices[e], widest, needy, k, graph, state)
    for i in to_undo(ONLY_LEVEL, state):
        move(state.moved[i], graph, state)
    return state.numbers[Field.KEPT] > 0


@pk.workunit
def refine_level(
    i: int, n: int, k: int, passes: int, seed: pk.uint32, graph: Graph, state: MultiConstraint
):
    """Refine a partition of a level: relieve and fill parts, then improve the cut.

    The loads and connections must be 0 before.
    """
    for v in range(n):
        for j in range(state.kinds):
            state.loads[state.parts[v] * state.kinds + j] += state.weights[v * state.kinds + j]
    fill_table(n, graph, state)
    state.numbers[Field.SEED] = seed
    while total_excess(k, state) > 0:
        if not relieve(graph, n, k, state):
            break
    done: int = 0
    while done < passes:
        done += 1
        state.numbers[Field.SEED] = seed + done
        if not improve(graph, n, k, state):
            break
