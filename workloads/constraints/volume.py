"""Communication volume: one index refines a whole level by passes of `jetpy.workloads.common.fm`.

The volume is the sum over nets of the number of parts that a net touches, minus one. A net is a
vertex of the finest level with its neighbours, projected to this level. Net v consists of vertex v
of this level and all its neighbours. It shows where v may move, and its weight may be 0. Other nets
follow.

A table has the number of vertices of each net in each part. The same slots of net v hold the
benefits of v: the weight of its nets that touch the part. A benefit changes only if a net gets its
first vertex in a part or loses its last one, so few are updated after a move. Sources: Catalyurek,
Aykanat, "Hypergraph-partitioning-based decomposition for parallel sparse-matrix vector
multiplication", IEEE TPDS 10 (1999); Akhremtsev, Sanders, Schlag, "High-quality shared-memory graph
partitioning", IEEE TPDS 31 (2020), for stored gains.
"""

from dataclasses import dataclass

import pykokkos as pk

from jetpy.workloads.common.fm import (
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
from jetpy.workloads.common.groups import NO_PART, NO_VERTEX, Connectivity, Weight
from jetpy.workloads.common.heaps import LOCKED, Field
from jetpy.workloads.refinement.connectivity import (
    add_to_row,
    capacity,
    first_slot,
    is_direct,
    search_width,
    slot_of_part,
    take_from_row,
)

LIMITS, LOWER_LIMITS, SIZES = 1, 2, 3
"""Places in `loads`, in multiples of k: maximum and minimum part weights, numbers of vertices."""
MIN_TRIED, TRIED_SHARE = 200, 50
"""A pass ends after this number of moves without success: a minimum, or n / TRIED_SHARE."""


@dataclass(frozen=True, eq=False)
class Nets:
    """The nets of each vertex, then the vertices of each net, as rows."""

    indptr: pk.View1D[pk.int32]
    indices: pk.View1D[pk.int32]
    weights: pk.View1D[Weight]  # weights of vertices, then of nets
    n: int  # number of vertices
    count: int  # number of nets


@dataclass(frozen=True, eq=False)
class Volume(Moves):
    """A partition, and the gains and the log of its moves."""

    parts: pk.View1D[pk.int32]
    loads: pk.View1D[pk.int64]  # k numbers each: weights of the parts, then `LIMITS` and so on
    benefits: pk.View1D[pk.int32]  # by slot of the table
    leaves: pk.View1D[pk.int32]  # minus the weight of nets with another vertex in the same part
    stamps: pk.View1D[pk.int32]  # index of the move after which a vertex was last queued
    targets: pk.View1D[pk.int32]  # the part that a vertex may move to; after a move, where it was


@pk.function
def size_of(e: int, nets: Nets) -> int:
    """Return the number of vertices of a net."""
    return nets.indptr[nets.n + e + 1] - nets.indptr[nets.n + e]


@pk.function
def slot_in(e: int, p: int, nets: Nets, table: Connectivity) -> int:
    """Return the slot of part p in the row of a net, or -1."""
    size: int = size_of(e, nets)
    row: int = table.rows[e]
    if is_direct(size, table.k):
        return row + p
    slots: int = capacity(size, table.k)
    first: int = first_slot(p, row, search_width(e, slots, table))
    return slot_of_part(p, first, row, slots, table)


@pk.function
def count_in(e: int, p: int, nets: Nets, table: Connectivity) -> int:
    """Return the number of vertices of a net in part p."""
    s: int = slot_in(e, p, nets, table)
    if s < 0:
        return 0
    return table.weights[s]


@pk.function
def benefit_in(v: int, p: int, nets: Nets, table: Connectivity) -> int:
    """Return the weight of the nets of v that touch part p."""
    weight: int = 0
    for i in range(nets.indptr[v], nets.indptr[v + 1]):
        e: int = nets.indices[i]
        if count_in(e, p, nets, table) > 0:
            weight += nets.weights[nets.n + e]
    return weight


@pk.function
def leave_of(v: int, nets: Nets, table: Connectivity, state: Volume) -> int:
    """Return minus the weight of the nets of v that have another vertex in its part."""
    weight: int = 0
    for i in range(nets.indptr[v], nets.indptr[v + 1]):
        e: int = nets.indices[i]
        if count_in(e, state.parts[v], nets, table) != 1:
            weight -= nets.weights[nets.n + e]
    return weight


@pk.function
def find_best(v: int, nets: Nets, table: Connectivity, state: Volume) -> int:
    """Find the best target of a vertex, or `NO_PART`, and return the gain of the move.

    Ties go to the lowest part. The last vertex of a part does not move, nor one without which it
    would be below its lower limit.
    """
    own: int = state.parts[v]
    weight: pk.int64 = nets.weights[v]
    size: int = size_of(v, nets)
    row: int = table.rows[v]
    direct: bool = is_direct(size, table.k)
    best: int = NO_PART
    most: int = 0
    for j in range(capacity(size, table.k)):
        p: int = table.parts[row + j]
        if direct:
            p = j
        if p < 0 or p == own or table.weights[row + j] == 0:
            continue
        benefit: int = state.benefits[row + j]
        if best == NO_PART or benefit > most or (benefit == most and p < best):
            if state.loads[p] + weight <= state.loads[LIMITS * table.k + p]:
                best = p
                most = benefit
    lower: pk.int64 = state.loads[LOWER_LIMITS * table.k + own]
    if state.loads[SIZES * table.k + own] == 1 or state.loads[own] - weight < lower:
        best = NO_PART
    state.targets[v] = best
    return state.leaves[v] + most


@pk.function
def queue(v: int, nets: Nets, table: Connectivity, state: Volume):
    """Queue a vertex by the gain of its best move, or remove it if it has none."""
    if state.positions[v] == LOCKED:
        return
    gain: int = find_best(v, nets, table, state)
    if state.targets[v] == NO_PART:
        dequeue(v, 0, ONLY_LEVEL, state)
    else:
        enqueue(v, gain, 0, ONLY_LEVEL, state)


@pk.function
def add_benefit(u: int, p: int, weight: int, nets: Nets, table: Connectivity, state: Volume):
    """Add to the benefit of vertex u for part p, if u may move there."""
    s: int = slot_in(u, p, nets, table)
    if s >= 0:
        state.benefits[s] += weight


@pk.function
def change_gains(e: int, p: int, q: int, nets: Nets, table: Connectivity, state: Volume):
    """Update the gains that depend on a net after one of its vertices moved from part p to q."""
    weight: int = nets.weights[nets.n + e]
    left: int = count_in(e, p, nets, table)
    come: int = count_in(e, q, nets, table)
    if weight > 0 and (left < 2 or come <= 2):
        for i in range(nets.indptr[nets.n + e], nets.indptr[nets.n + e + 1]):
            u: int = nets.indices[i]
            if left == 0:
                add_benefit(u, p, -weight, nets, table, state)
            if left == 1 and state.parts[u] == p:
                state.leaves[u] += weight
            if come == 1:
                add_benefit(u, q, weight, nets, table, state)
            if come == 2 and state.parts[u] == q:
                state.leaves[u] -= weight


@pk.function
def move(v: int, nets: Nets, table: Connectivity, state: Volume):
    """Move a vertex to its target, or back, and update all gains."""
    p: int = state.parts[v]
    q: int = state.targets[v]
    begin: int = nets.indptr[v]
    end: int = nets.indptr[v + 1]
    state.loads[p] -= nets.weights[v]
    state.loads[q] += nets.weights[v]
    state.loads[SIZES * table.k + p] -= 1
    state.loads[SIZES * table.k + q] += 1
    state.parts[v] = q
    state.targets[v] = p
    for i in range(begin, end):
        e: int = nets.indices[i]
        size: int = size_of(e, nets)
        take_from_row(e, size, p, 1, table)
        add_to_row(e, size, q, 1, table)
    for i in range(begin, end):
        change_gains(nets.indices[i], p, q, nets, table, state)
    for i in range(begin, end):
        u: int = nets.indices[i]
        if u < nets.n and count_in(u, q, nets, table) == 1:
            s: int = slot_in(u, q, nets, table)
            state.benefits[s] = benefit_in(u, q, nets, table)
    state.leaves[v] = leave_of(v, nets, table, state)


@pk.function
def queue_around(v: int, nets: Nets, table: Connectivity, state: Volume):
    """Queue the vertices whose gains have changed by the move of v."""
    p: int = state.targets[v]
    q: int = state.parts[v]
    count: int = state.numbers[Field.MOVED]
    for i in range(nets.indptr[v], nets.indptr[v + 1]):
        e: int = nets.indices[i]
        left: int = count_in(e, p, nets, table)
        come: int = count_in(e, q, nets, table)
        if nets.weights[nets.n + e] > 0 and (left < 2 or come <= 2):
            for j in range(nets.indptr[nets.n + e], nets.indptr[nets.n + e + 1]):
                u: int = nets.indices[j]
                if state.stamps[u] != count:
                    state.stamps[u] = count
                    queue(u, nets, table, state)
        elif e < nets.n and (left == 0 or come == 1) and state.stamps[e] != count:
            state.stamps[e] = count
            queue(e, nets, table, state)


@pk.function
def improve(nets: Nets, table: Connectivity, state: Volume) -> bool:
    """Make one pass of Fiduccia and Mattheyses; return whether it has improved the partition."""
    begin_pass(ONLY_LEVEL, state)
    for v in range(nets.n):
        state.stamps[v] = 0
        queue(v, nets, table, state)
    most: int = nets.n // TRIED_SHARE
    if most < MIN_TRIED:
        most = MIN_TRIED
    total: pk.int64 = 0
    highest: pk.int64 = 0
    while moves_in_vain(ONLY_LEVEL, state) < most:
        u: int = first_queued(0, ONLY_LEVEL, state)
        if u == NO_VERTEX:
            break
        gain: pk.int64 = queued_gain(u, 0, ONLY_LEVEL, state)
        queue(u, nets, table, state)
        if queued_gain(u, 0, ONLY_LEVEL, state) != gain:
            continue
        lock(u, 0, ONLY_LEVEL, state)
        move(u, nets, table, state)
        total += gain
        if total > highest:
            highest = total
            keep_moves(ONLY_LEVEL, state)
        queue_around(u, nets, table, state)
    for i in to_undo(ONLY_LEVEL, state):
        move(state.moved[i], nets, table, state)
    return state.numbers[Field.KEPT] > 0


@pk.workunit
def shrink(
    i: int,
    passes: int,
    seed: pk.uint32,
    nets: Nets,
    table: Connectivity,
    state: Volume,
):
    """Reduce the volume of a partition; the table must be empty before."""
    for e in range(nets.count):
        for j in range(nets.indptr[nets.n + e], nets.indptr[nets.n + e + 1]):
            add_to_row(e, size_of(e, nets), state.parts[nets.indices[j]], 1, table)
    for v in range(nets.n):
        state.leaves[v] = leave_of(v, nets, table, state)
        for j in range(nets.indptr[nets.n + v], nets.indptr[nets.n + v + 1]):
            p: int = state.parts[nets.indices[j]]
            s: int = slot_in(v, p, nets, table)
            if state.benefits[s] == 0:
                state.benefits[s] = benefit_in(v, p, nets, table)
    done: int = 0
    while done < passes:
        done += 1
        state.numbers[Field.SEED] = seed + done
        if not improve(nets, table, state):
            break
