"""Bisections by one index: greedy graph growing and passes of Fiduccia and Mattheyses.

`jetpy.workloads.common.fm` has the passes; each side has a queue. For growing, and its place in a
multilevel method: Karypis, Kumar, "A fast and high quality multilevel scheme for partitioning
irregular graphs", SIAM Journal on Scientific Computing 20 (1998). Vertices are indices into the
arrays of a level.
"""

import pykokkos as pk

from jetpy.workloads.common.fm import (
    Moves,
    begin_pass,
    dequeue,
    enqueue,
    first_queued,
    keep_moves,
    lock,
    moves_in_vain,
    to_undo,
)
from jetpy.workloads.common.groups import NO_VERTEX
from jetpy.workloads.common.hashing import index_of_hash, mix
from jetpy.workloads.common.heaps import LOCKED, NOT_QUEUED, Field, vertices_of

MIN_TRIED, MAX_TRIED = 14, 150
"""A pass ends after this number of moves without success: the first on small levels, the second on
large ones, between them 1/50 of the vertices."""
TRIED_SHARE = 50


class Sides(Moves):
    """Levels of bisections, with the side of each vertex, 0 or 1."""

    rows: pk.View1D[pk.int32]
    ends: pk.View1D[pk.int32]
    edge_weights: pk.View1D[pk.int32]
    weights: pk.View1D[pk.int32]
    sides: pk.View1D[pk.int32]
    internal: pk.View1D[pk.int32]  # edge weight of each vertex to its side
    external: pk.View1D[pk.int32]  # edge weight of each vertex to the other side


@pk.function
def gain_of(v: int, state: Sides) -> int:
    """Return the gain of a vertex that moves to the other side."""
    return state.external[v] - state.internal[v]


@pk.function
def queue(u: int, here: int, state: Sides):
    """Queue a vertex by its gain while it has edges to the other side and is not locked."""
    if state.positions[u] == LOCKED:
        return
    if state.external[u] > 0:
        enqueue(u, gain_of(u, state), state.sides[u], here, state)
    else:
        dequeue(u, state.sides[u], here, state)


@pk.function
def change_side(v: int, queues: int, here: int, state: Sides):
    """Move a vertex to the other side; with `queues` = 1, update the queue of its neighbours."""
    side: int = state.sides[v]
    other: int = 1 - side
    external: int = state.external[v]
    internal: int = state.internal[v]
    state.numbers[here + Field.CUT] -= external - internal
    state.numbers[here + Field.WEIGHTS + side] -= state.weights[v]
    state.numbers[here + Field.WEIGHTS + other] += state.weights[v]
    state.sides[v] = other
    state.external[v] = internal
    state.internal[v] = external
    for e in range(state.rows[v], state.rows[v + 1]):
        u: int = state.ends[e]
        w: int = state.edge_weights[e] * (1 - 2 * (state.sides[u] ^ other))
        state.internal[u] += w
        state.external[u] -= w
        if queues == 1:
            queue(u, here, state)


@pk.function
def measure(here: int, state: Sides):
    """Compute the weights of the sides, the internal and external weights, and the cut."""
    state.numbers[here + Field.WEIGHTS] = 0
    state.numbers[here + Field.WEIGHTS + 1] = 0
    twice: pk.int64 = 0
    for v in vertices_of(here, state):
        side: int = state.sides[v]
        inside: int = 0
        outside: int = 0
        for e in range(state.rows[v], state.rows[v + 1]):
            w: int = state.edge_weights[e]
            away: int = w * (state.sides[state.ends[e]] ^ side)
            outside += away
            inside += w - away
        state.internal[v] = inside
        state.external[v] = outside
        twice += outside
        state.numbers[here + Field.WEIGHTS + side] += state.weights[v]
    state.numbers[here + Field.CUT] = twice >> 1


@pk.function
def overload_of(here: int, state: Sides) -> pk.int64:
    """Return the largest excess of a side over its largest weight, 0 if there is none."""
    first: pk.int64 = state.numbers[here + Field.WEIGHTS] - state.numbers[here + Field.MOST]
    second: pk.int64 = (
        state.numbers[here + Field.WEIGHTS + 1] - state.numbers[here + Field.MOST + 1]
    )
    if second > first:
        first = second
    if first < 0:
        return 0
    return first


@pk.function
def distance_from_target(here: int, state: Sides) -> pk.int64:
    """Return the distance between the weight of side 0 and its target."""
    difference: pk.int64 = state.numbers[here + Field.WEIGHTS] - state.numbers[here + Field.TARGET]
    if difference < 0:
        return -difference
    return difference


@pk.function
def keep_if_best(
    number: int,
    excess: pk.int64,
    cost: pk.int64,
    distance: pk.int64,
    field: int,
    here: int,
    state: Sides,
    best: pk.View1D[pk.int32],
):
    """Copy the sides of the current level to `best` if no earlier ones were as good.

    Smaller excess is better, then a smaller cost, then a smaller distance. The first three numbers
    from `field` on are those of the best sides so far; number 0 comes first.
    """
    record: int = here + field
    is_best: bool = number == 0 or excess < state.numbers[record]
    if not is_best and excess == state.numbers[record]:
        is_best = cost < state.numbers[record + 1]
        if cost == state.numbers[record + 1]:
            is_best = distance < state.numbers[record + 2]
    if is_best:
        state.numbers[record] = excess
        state.numbers[record + 1] = cost
        state.numbers[record + 2] = distance
        for v in vertices_of(here, state):
            best[v] = state.sides[v]


@pk.function
def restore_best(here: int, state: Sides, best: pk.View1D[pk.int32]):
    """Set the sides of the current level to the best ones."""
    for v in vertices_of(here, state):
        state.sides[v] = best[v]


@pk.function
def has_room(v: int, here: int, state: Sides) -> bool:
    """Whether a vertex fits into the other side."""
    other: int = 1 - state.sides[v]
    weight: pk.int64 = state.numbers[here + Field.WEIGHTS + other] + state.weights[v]
    return weight <= state.numbers[here + Field.MOST + other]


@pk.function
def first_to_move(here: int, state: Sides) -> int:
    """Return the vertex to move next, the first of a queue, or `NO_VERTEX`.

    If both first vertices fit, the one with the higher gain moves. If only one fits, it moves. If
    gains are equal, none fits, a side is too heavy or a queue is empty, the first vertex of the
    side above its target moves.
    """
    side: int = 1
    if state.numbers[here + Field.WEIGHTS] > state.numbers[here + Field.TARGET]:
        side = 0
    size: int = state.numbers[here + Field.SIZES]
    other_size: int = state.numbers[here + Field.SIZES + 1]
    if size > 0 and other_size > 0 and overload_of(here, state) == 0:
        a: int = first_queued(0, here, state)
        b: int = first_queued(1, here, state)
        a_fits: bool = has_room(a, here, state)
        b_fits: bool = has_room(b, here, state)
        if a_fits and b_fits:
            difference: int = gain_of(a, state) - gain_of(b, state)
            if difference > 0:
                side = 0
            elif difference < 0:
                side = 1
        elif a_fits:
            side = 0
        elif b_fits:
            side = 1
        if side == 0:
            return a
        return b
    return first_queued(side, here, state)


@pk.function
def improve(here: int, state: Sides) -> bool:
    """Make one pass of Fiduccia and Mattheyses, and return whether it has improved the bisection.

    Smaller overload is better, then a smaller cut, then sides nearer to their targets.
    """
    begin: int = state.numbers[here + Field.BEGIN]
    end: int = state.numbers[here + Field.END]
    begin_pass(here, state)
    overload: pk.int64 = overload_of(here, state)
    cut: pk.int64 = state.numbers[here + Field.CUT]
    distance: pk.int64 = distance_from_target(here, state)
    for v in range(begin, end):
        if state.external[v] > 0 or (overload > 0 and state.weights[v] > 0):
            enqueue(v, gain_of(v, state), state.sides[v], here, state)
    most: int = (end - begin) // TRIED_SHARE
    if most < MIN_TRIED:
        most = MIN_TRIED
    if most > MAX_TRIED:
        most = MAX_TRIED
    while moves_in_vain(here, state) < most:
        u: int = first_to_move(here, state)
        if u == NO_VERTEX:
            break
        lock(u, state.sides[u], here, state)
        change_side(u, 1, here, state)
        now: pk.int64 = overload_of(here, state)
        if now > overload:
            continue
        new_cut: pk.int64 = state.numbers[here + Field.CUT]
        new_distance: pk.int64 = distance_from_target(here, state)
        if now < overload or new_cut < cut or (new_cut == cut and new_distance < distance):
            overload = now
            cut = new_cut
            distance = new_distance
            keep_moves(here, state)
    for i in to_undo(here, state):
        change_side(state.moved[i], 0, here, state)
    return state.numbers[here + Field.KEPT] > 0


@pk.function
def refine(passes: int, here: int, state: Sides):
    """Make up to `passes` passes, while they improve the bisection."""
    done: int = 0
    while done < passes:
        done += 1
        if not improve(here, state):
            break


@pk.function
def grow(salt: int, here: int, state: Sides):
    """Grow side 0 from a vertex, by the vertex of highest gain, until it reaches its target weight.

    If the queue is empty, growth continues from another vertex. It starts from the vertices that
    are pinned to side 0, if there are any.
    """
    begin: int = state.numbers[here + Field.BEGIN]
    end: int = state.numbers[here + Field.END]
    for v in range(begin, end):
        state.sides[v] = 1
    if state.numbers[here + Field.PINNED] > 0:
        for v in range(begin, end):
            if state.pinned[v] == 0:
                state.sides[v] = 0
    measure(here, state)
    begin_pass(here, state)
    if state.numbers[here + Field.PINNED] > 0:
        for v in range(begin, end):
            queue(v, here, state)
    seed: pk.uint32 = state.numbers[here + Field.SEED]
    next_seed: int = begin + index_of_hash(mix(mix(seed + salt)), end - begin)
    left: int = end - begin
    target: pk.int64 = state.numbers[here + Field.TARGET]
    while state.numbers[here + Field.WEIGHTS] < target:
        if state.numbers[here + Field.SIZES + 1] == 0:
            while left > 0 and state.positions[next_seed] != NOT_QUEUED:
                left -= 1
                next_seed += 1
                if next_seed == end:
                    next_seed = begin
            if left == 0:
                break
            enqueue(next_seed, 0, 1, here, state)
        u: int = first_queued(1, here, state)
        lock(u, 1, here, state)
        excess: pk.int64 = state.numbers[here + Field.WEIGHTS] + state.weights[u] - target
        if excess > target - state.numbers[here + Field.WEIGHTS]:
            continue
        change_side(u, 1, here, state)


@pk.function
def bisect(growings: int, passes: int, here: int, state: Sides, best: pk.View1D[pk.int32]):
    """Grow side 0 from several vertices, refine each bisection, and keep the best one.

    Smaller overload is better, then a smaller cut.
    """
    for growing in range(growings):
        grow(growing, here, state)
        refine(passes, here, state)
        excess: pk.int64 = overload_of(here, state)
        cut: pk.int64 = state.numbers[here + Field.CUT]
        keep_if_best(growing, excess, cut, 0, Field.BEST_GROWING, here, state, best)
    restore_best(here, state, best)
