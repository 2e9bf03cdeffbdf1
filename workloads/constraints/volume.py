"""Communication volume: one index moves vertices of a whole level, as Fiduccia and Mattheyses do.

The volume is the sum over nets of how many parts they touch, less one; a net is a vertex of the
finest level with its neighbours, or what has become of these on this one. Net v is vertex v of this
level with all its neighbours, by which it is known where v may go; it may weigh nothing. Others
come after these.

A table tells how many vertices of each net are in each part; beside the slots of net v stand the
benefits of v: what the nets of v weigh that touch the part already. As they change only where a net
gets its first vertex in a part, or loses its last one, few are brought up to date after a move.
Sources: Catalyurek, Aykanat, "Hypergraph-partitioning-based decomposition for parallel
sparse-matrix vector multiplication", IEEE TPDS 10 (1999); Fiduccia, Mattheyses, "A linear-time
heuristic for improving network partitions", DAC 1982; Akhremtsev, Sanders, Schlag, "High-quality
shared-memory graph partitioning", IEEE TPDS 31 (2020), for gains that are kept.
"""

from dataclasses import dataclass

import pykokkos as pk

from jetpy.workloads.common.groups import NO_PART, Connectivity, Weight
from jetpy.workloads.common.hashing import mix
from jetpy.workloads.common.heaps import (
    DONE,
    NOT_QUEUED,
    Field,
    Heaps,
    insert,
    rekey,
    remove,
)
from jetpy.workloads.refinement.connectivity import (
    add_to_row,
    capacity,
    first_slot,
    is_direct,
    slot_of_part,
    take_from_row,
)

KEY_BITS = 32
MIN_TRIED, TRIED_SHARE = 200, 50
"""Moves without success after which a pass ends: a share of the vertices, and a minimum."""
ONLY_HEAP = 0
STAYS = -2
"""Home of a vertex that never moves."""


@dataclass(frozen=True, eq=False)
class Nets:
    """The nets of each vertex, and the vertices of each net: rows of vertices, then of nets."""

    indptr: pk.View1D[pk.int32]
    indices: pk.View1D[pk.int32]
    weights: pk.View1D[Weight]  # of vertices, then of nets
    n: int  # number of vertices
    count: int  # number of nets


class Volume(Heaps):
    """A partition, what moves would gain, and those made."""

    parts: pk.View1D[pk.int32]
    loads: pk.View1D[pk.int64]  # weights of parts, then their limits
    benefits: pk.View1D[pk.int32]  # by slot of the table
    leaves: pk.View1D[pk.int32]  # what nets weigh that have a vertex alone in its part, less all
    stamps: pk.View1D[pk.int32]  # number of the move after which a vertex was queued last
    moved: pk.View1D[pk.int32]  # the vertices in the order of their moves
    homes: pk.View1D[pk.int32]  # where a queued vertex would go, or a moved one was; STAYS


@pk.function
def size_of(e: int, nets: Nets) -> int:
    """Return how many vertices a net has."""
    return nets.indptr[nets.n + e + 1] - nets.indptr[nets.n + e]


@pk.function
def slot_in(e: int, p: int, nets: Nets, table: Connectivity) -> int:
    """Return the slot of a part in the row of a net, -1 if it has none."""
    size: int = size_of(e, nets)
    row: int = table.rows[e]
    if is_direct(size, table.k):
        return row + p
    slots: int = capacity(size, table.k)
    return slot_of_part(p, first_slot(p, row, slots), row, slots, table)


@pk.function
def count_in(e: int, p: int, nets: Nets, table: Connectivity) -> int:
    """Return how many vertices of a net are in a part."""
    s: int = slot_in(e, p, nets, table)
    if s < 0:
        return 0
    return table.weights[s]


@pk.function
def benefit_in(v: int, p: int, nets: Nets, table: Connectivity) -> int:
    """Return what the nets of a vertex weigh that touch a part."""
    weight: int = 0
    for i in range(nets.indptr[v], nets.indptr[v + 1]):
        e: int = nets.indices[i]
        if count_in(e, p, nets, table) > 0:
            weight += nets.weights[nets.n + e]
    return weight


@pk.function
def leave_of(v: int, nets: Nets, table: Connectivity, state: Volume) -> int:
    """Return what the nets weigh in which a vertex is alone in its part, less all of its nets."""
    weight: int = 0
    for i in range(nets.indptr[v], nets.indptr[v + 1]):
        e: int = nets.indices[i]
        if count_in(e, state.parts[v], nets, table) != 1:
            weight -= nets.weights[nets.n + e]
    return weight


@pk.function
def find_best(v: int, nets: Nets, table: Connectivity, state: Volume) -> int:
    """Find where a vertex should go, `NO_PART` if nowhere; return what that gains.

    The first part by number, if several gain the same. No vertex leaves its part empty.
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
            if state.loads[p] + weight <= state.loads[table.k + p]:
                best = p
                most = benefit
    if state.loads[own] == weight:
        best = NO_PART
    state.homes[v] = best
    return state.leaves[v] + most


@pk.function
def queue(v: int, nets: Nets, table: Connectivity, seed: pk.uint32, state: Volume):
    """Queue a vertex by what its best move gains, if it has one."""
    if state.positions[v] == DONE:
        return
    gain: pk.int64 = find_best(v, nets, table, state)
    if state.homes[v] == NO_PART:
        if state.positions[v] != NOT_QUEUED:
            remove(v, 0, ONLY_HEAP, state)
        return
    h: pk.uint32 = mix(v ^ seed)
    key: pk.int64 = (gain << KEY_BITS) + h
    if state.positions[v] == NOT_QUEUED:
        insert(v, key, 0, ONLY_HEAP, state)
    else:
        rekey(v, key, 0, ONLY_HEAP, state)


@pk.function
def add_benefit(u: int, p: int, weight: int, nets: Nets, table: Connectivity, state: Volume):
    """Add to the benefit that a vertex has from a part, if it may go there."""
    s: int = slot_in(u, p, nets, table)
    if s >= 0:
        state.benefits[s] += weight


@pk.function
def change_gains(e: int, p: int, q: int, nets: Nets, table: Connectivity, state: Volume):
    """Update everything that depends on a net after one of its vertices moved from part p to q."""
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
def move(v: int, q: int, nets: Nets, table: Connectivity, state: Volume):
    """Put a vertex into another part, and bring the gains of all up to date."""
    p: int = state.parts[v]
    begin: int = nets.indptr[v]
    end: int = nets.indptr[v + 1]
    state.loads[p] -= nets.weights[v]
    state.loads[q] += nets.weights[v]
    state.parts[v] = q
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
def queue_around(
    v: int,
    p: int,
    count: int,
    nets: Nets,
    table: Connectivity,
    seed: pk.uint32,
    state: Volume,
):
    """Queue again the vertices whose gains have changed since a vertex left a part."""
    q: int = state.parts[v]
    for i in range(nets.indptr[v], nets.indptr[v + 1]):
        e: int = nets.indices[i]
        left: int = count_in(e, p, nets, table)
        come: int = count_in(e, q, nets, table)
        if nets.weights[nets.n + e] > 0 and (left < 2 or come <= 2):
            for j in range(nets.indptr[nets.n + e], nets.indptr[nets.n + e + 1]):
                u: int = nets.indices[j]
                if state.stamps[u] != count:
                    state.stamps[u] = count
                    queue(u, nets, table, seed, state)
        elif e < nets.n and (left == 0 or come == 1) and state.stamps[e] != count:
            state.stamps[e] = count
            queue(e, nets, table, seed, state)


@pk.function
def begin_pass(nets: Nets, table: Connectivity, seed: pk.uint32, state: Volume):
    """Queue all vertices that may move."""
    state.numbers[Field.SIZES] = 0
    for v in range(nets.n):
        state.stamps[v] = 0
        state.positions[v] = NOT_QUEUED
        if state.homes[v] == STAYS:
            state.positions[v] = DONE
        else:
            queue(v, nets, table, seed, state)


@pk.function
def improve(nets: Nets, table: Connectivity, seed: pk.uint32, state: Volume) -> bool:
    """Make one pass of Fiduccia and Mattheyses; return whether it has improved anything."""
    begin_pass(nets, table, seed, state)
    most: int = nets.n // TRIED_SHARE
    if most < MIN_TRIED:
        most = MIN_TRIED
    count: int = 0
    kept: int = 0
    total: pk.int64 = 0
    highest: pk.int64 = 0
    while state.numbers[Field.SIZES] > 0 and count - kept < most:
        v: int = state.heap[0]
        expected: pk.int64 = state.keys[0]
        queue(v, nets, table, seed, state)
        if state.positions[v] != 0 or state.keys[0] != expected:
            continue
        remove(v, 0, ONLY_HEAP, state)
        state.positions[v] = DONE
        p: int = state.parts[v]
        state.moved[count] = v
        count += 1
        total += expected >> KEY_BITS
        move(v, state.homes[v], nets, table, state)
        state.homes[v] = p
        if total > highest:
            highest = total
            kept = count
        queue_around(v, p, count, nets, table, seed, state)
    while count > kept:
        count -= 1
        last: int = state.moved[count]
        move(last, state.homes[last], nets, table, state)
    return kept > 0


@pk.workunit
def shrink(
    i: int,
    passes: int,
    seed: pk.uint32,
    nets: Nets,
    table: Connectivity,
    state: Volume,
):
    """Make the volume of a partition smaller; the table is empty before."""
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
        salt: pk.uint32 = seed + done
        if not improve(nets, table, salt, state):
            break
