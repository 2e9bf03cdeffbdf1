"""Balance by moves that keep parts connected: weight is pushed along paths of parts.

An overweight part pushes weight to an adjacent part, which pushes it on, up to a part with room.
The last transfer of a path is made first, so that no other part becomes overweight.
"""

from dataclasses import dataclass

import pykokkos as pk

from jetpy.workloads.common.groups import (
    NO_PART,
    NO_VERTEX,
    Graph,
    edges,
)
from jetpy.workloads.common.hashing import index_of_hash, part_hash
from jetpy.workloads.common.heaps import NOT_QUEUED, Field, insert, rekey
from jetpy.workloads.common.packing import pack
from jetpy.workloads.constraints.components import (
    EFFORT,
    ConnectedParts,
    Link,
    Part,
    detach,
    group_weight,
    is_kept,
    key_of,
    move_group,
    number_of,
    room_of,
    spare_of,
    take_first,
)

NOT_REACHED = -2
"""Predecessor of a part that no path reaches."""
MAX_REACHED = 1024
"""Largest number of parts that a search for room may reach."""
MAX_FAILURES = 256
"""A part stays overweight after this number of consecutive paths on which nothing could move."""
ADJACENT, ANYWHERE = 0, 1
"""The vertices that may move to a part: adjacent ones, or all."""


@dataclass(frozen=True, eq=False)
class FailedPairs(ConnectedParts):
    """Pairs of parts between which nothing could move. An entry holds until a part changes."""

    failed_pairs: pk.View1D[pk.int64]  # by slot: the pair, packed, and its `changes_of` then
    pair_slots: int  # number of slots


@pk.function
def slot_of_pair(p: int, q: int, state: FailedPairs) -> int:
    """Return the slot of a pair of parts in `failed_pairs`."""
    return index_of_hash(part_hash(p, q, state.seed), state.pair_slots) << 1


@pk.function
def changes_of(p: int, q: int, state: FailedPairs) -> pk.int64:
    """Return the total number of changes of two parts."""
    return number_of(p, Part.CHANGES, state) + number_of(q, Part.CHANGES, state)


@pk.function
def has_failed(p: int, q: int, state: FailedPairs) -> bool:
    """Whether nothing can move from p to q, because it failed and neither has changed since."""
    slot: int = slot_of_pair(p, q, state)
    failed: bool = state.failed_pairs[slot] == pack(p, q)
    return failed and state.failed_pairs[slot + 1] == changes_of(p, q, state)


@pk.function
def find_room(p: int, graph: Graph, state: FailedPairs) -> int:
    """Find a part with room by breadth-first search from p, and store the path; or `NO_PART`.

    `NO_PART` marks the end of the list of reached parts.
    """
    state.part_rows[Part.REACHED] = p
    state.part_rows[p * Part.COUNT + Part.GIVER] = NO_PART
    reached: int = 1
    i: int = 0
    goal: int = NO_PART
    while i < reached and goal == NO_PART:
        giver: int = number_of(i, Part.REACHED, state)
        i += 1
        v: int = number_of(giver, Part.FIRST, state)
        while v != NO_VERTEX and goal == NO_PART:
            for e in edges(v, graph):
                q: int = state.parts[graph.indices[e]]
                if (
                    number_of(q, Part.GIVER, state) == NOT_REACHED
                    and goal == NO_PART
                    and reached < MAX_REACHED
                    and not has_failed(giver, q, state)
                ):
                    state.part_rows[q * Part.COUNT + Part.GIVER] = giver
                    state.part_rows[reached * Part.COUNT + Part.REACHED] = q
                    reached += 1
                    if room_of(q, state) > 0:
                        goal = q
            v = state.links[v * Link.COUNT + Link.FOLLOWING]
    state.part_rows[reached * Part.COUNT + Part.REACHED] = NO_PART
    return goal


@pk.function
def forget_paths(state: FailedPairs):
    """Reset all reached parts to not reached."""
    i: int = 0
    while number_of(i, Part.REACHED, state) != NO_PART:
        p: int = number_of(i, Part.REACHED, state)
        state.part_rows[p * Part.COUNT + Part.GIVER] = NOT_REACHED
        i += 1


@pk.function
def queue_for(v: int, p: int, q: int, where: int, graph: Graph, state: FailedPairs):
    """Queue a vertex of p by the gain of a move to q, if it may move there."""
    if state.parts[v] != p or state.movable[v] == 0 or is_kept(v, graph, state):
        return
    gain: pk.int64 = 0
    is_adjacent: bool = where == ANYWHERE
    state.numbers[EFFORT] -= graph.indptr[v + 1] - graph.indptr[v]
    for e in edges(v, graph):
        part: int = state.parts[graph.indices[e]]
        if part == q:
            gain += graph.edge_weights[e]
            is_adjacent = True
        elif part == p:
            gain -= graph.edge_weights[e]
    if is_adjacent:
        if state.positions[v] == NOT_QUEUED:
            insert(v, key_of(v, gain, state), 0, 0, state)
        else:
            rekey(v, key_of(v, gain, state), 0, 0, state)


@pk.function
def next_to_go(heavier: int, graph: Graph, state: FailedPairs) -> int:
    """Remove and return the first queued vertex, or return `heavier` if none is queued."""
    if state.numbers[Field.SIZES] == 0:
        return heavier
    return take_first(graph, state)


@pk.function
def empty_queue(state: FailedPairs):
    """Empty the queue."""
    queued: int = state.numbers[Field.SIZES]
    for i in range(queued):
        state.positions[state.heap[i]] = NOT_QUEUED
    state.numbers[Field.SIZES] = 0


@pk.function
def transfer(
    amount: pk.int64, p: int, q: int, where: int, graph: Graph, state: FailedPairs
) -> pk.int64:
    """Move groups from p to q that fit there, until `amount` has moved; return the moved weight.

    Groups heavier than the rest of `amount` wait. The lightest of them moves if the queue is empty.
    """
    before: pk.int64 = number_of(q, Part.WEIGHT, state)
    start: int = number_of(p, Part.FIRST, state)
    while start != NO_VERTEX:
        state.positions[start] = NOT_QUEUED
        queue_for(start, p, q, where, graph, state)
        start = state.links[start * Link.COUNT + Link.FOLLOWING]
    heavier: int = NO_VERTEX
    lightest: pk.int64 = room_of(q, state) + 1
    left: pk.int64 = amount
    is_last: bool = False
    v: int = next_to_go(NO_VERTEX, graph, state)
    while left > 0 and v != NO_VERTEX and state.numbers[EFFORT] > 0:
        size: int = 0
        if state.parts[v] == p and graph.vertex_weights[v] <= room_of(q, state):
            size = detach(v, graph, state)
        if size > 0 and size < number_of(p, Part.SIZE, state):
            weight: pk.int64 = group_weight(size, graph, state)
            fits: bool = weight <= room_of(q, state) and weight <= spare_of(p, state)
            if fits and (weight <= left or is_last):
                move_group(size, weight, p, q, graph, state)
                left -= weight
                for i in range(size):
                    u: int = state.group[i]
                    for e in edges(u, graph):
                        queue_for(graph.indices[e], p, q, where, graph, state)
            elif weight < lightest and weight <= spare_of(p, state):
                heavier = v
                lightest = weight
        if is_last:
            left = 0
        is_last = state.numbers[Field.SIZES] == 0
        v = next_to_go(heavier, graph, state)
    empty_queue(state)
    return number_of(q, Part.WEIGHT, state) - before


@pk.function
def push_along_path(goal: int, where: int, graph: Graph, state: FailedPairs) -> bool:
    """Push weight along the path to a part with room; return whether the first part lost any."""
    first: int = goal
    while number_of(first, Part.GIVER, state) != NO_PART:
        first = number_of(first, Part.GIVER, state)
    amount: pk.int64 = -room_of(first, state)
    if room_of(goal, state) < amount:
        amount = room_of(goal, state)
    q: int = goal
    while q != first:
        p: int = number_of(q, Part.GIVER, state)
        moved: pk.int64 = transfer(amount, p, q, where, graph, state)
        if moved == 0:
            slot: int = slot_of_pair(p, q, state)
            state.failed_pairs[slot] = pack(p, q)
            state.failed_pairs[slot + 1] = changes_of(p, q, state)
            return False
        if moved < amount:
            amount = moved
        q = p
    return True


@pk.function
def roomiest(k: int, state: FailedPairs) -> int:
    """Return the lowest of the parts with most room."""
    best: int = 0
    for p in range(k):
        if room_of(p, state) > room_of(best, state):
            best = p
    return best


@pk.function
def find_goal(p: int, k: int, where: int, graph: Graph, state: FailedPairs) -> int:
    """Return the part that receives weight of p, and store the path to it; or `NO_PART`."""
    if where == ADJACENT:
        return find_room(p, graph, state)
    q: int = roomiest(k, state)
    if room_of(q, state) <= 0:
        q = NO_PART
    state.part_rows[Part.REACHED] = p
    state.part_rows[Part.COUNT + Part.REACHED] = q
    state.part_rows[p * Part.COUNT + Part.GIVER] = NO_PART
    if q != NO_PART:
        state.part_rows[q * Part.COUNT + Part.GIVER] = p
        state.part_rows[2 * Part.COUNT + Part.REACHED] = NO_PART
    return q


@pk.workunit
def push_weight(i: int, n: int, k: int, where: int, graph: Graph, state: FailedPairs):
    """Make overweight parts lighter, one after the other, while that helps.

    If their vertices may move anywhere, the part with most room receives them directly.
    """
    for v in range(n):
        state.positions[v] = NOT_QUEUED
    helped: bool = True
    while helped:
        helped = False
        for p in range(k):
            failures: int = 0
            while room_of(p, state) < 0 and failures < MAX_FAILURES and state.numbers[EFFORT] > 0:
                goal: int = find_goal(p, k, where, graph, state)
                if goal == NO_PART:
                    failures = MAX_FAILURES
                elif push_along_path(goal, where, graph, state):
                    helped = True
                    failures = 0
                else:
                    failures += 1
                forget_paths(state)
