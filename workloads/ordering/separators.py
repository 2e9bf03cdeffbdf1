"""Vertex separators by one index: greedy growing and passes of Fiduccia and Mattheyses.

Each vertex is on side 0, on side 1 or in the separator, and no edge joins the sides. A move takes a
vertex of the separator to a side, and its neighbours on the other side enter the separator. Each
side has a queue of the vertices of the separator, by gain: the decrease of the separator's weight.

Source: Ashcraft, Liu, "A partition improvement algorithm for generalized nested dissection",
technical report BCSTECH-94-020 (1994); for the multilevel method, Karypis, Kumar, "A fast and high
quality multilevel scheme for partitioning irregular graphs", SIAM Journal on Scientific Computing
20 (1998).
"""

import pykokkos as pk

from jetpy.workloads.common.fm import (
    begin_pass,
    enqueue,
    first_queued,
    keep_moves,
    log_entry,
    shut_out,
)
from jetpy.workloads.common.groups import NO_VERTEX
from jetpy.workloads.common.hashing import index_of_hash, mix
from jetpy.workloads.common.heaps import NOT_QUEUED, Field, Heaps, vertices_of
from jetpy.workloads.initial.inner_levels import Levels
from jetpy.workloads.initial.two_way import overload_of

SEPARATOR = 2
"""Side of a vertex in the separator."""
MAX_VAIN, VAIN_PER_VERTEX = 300, 2
"""A pass ends after MAX_VAIN moves without success, or VAIN_PER_VERTEX moves per vertex of the
separator."""
RATIO_BITS = 10
"""Bits of the ratio of a side's weight to the total weight, for scores."""
FAIR = 2 ** (2 * RATIO_BITS + 2)
"""The score of a separator of weight 1 that divides the others in half."""
SKEW = 3
"""Penalty of a lopsided separator: a separator of weight s, whose larger side has the share 1/2 + d
of the total weight W, counts as s (1 + a d^2). On the finest level, a is SKEW plus `Field.SKEW`
times s / W, rounded down. On inner levels, vertices are heavy, so that all separators are large;
there, a is SKEW."""


class Separations(Levels):
    """Levels of separators, and the queue of side 0; a second group has the queue of side 1.

    `internal` and `external` are the weights of a vertex's neighbours on side 0 and on side 1. They
    are up to date for the vertices of the separator. Both groups have the same `numbers`.
    """


@pk.function
def flipped(v: int) -> int:
    """Return a negative number for a vertex, or the vertex of such a number."""
    return -1 - v


@pk.function
def weigh_neighbours(v: int, state: Separations):
    """Compute the weight of the neighbours of a vertex on each side."""
    first: int = 0
    second: int = 0
    for e in range(state.rows[v], state.rows[v + 1]):
        u: int = state.ends[e]
        if state.sides[u] == 0:
            first += state.weights[u]
        elif state.sides[u] == 1:
            second += state.weights[u]
    state.internal[v] = first
    state.external[v] = second


@pk.function
def gain_to(v: int, side: int, state: Separations) -> int:
    """Return the decrease of the separator's weight if one of its vertices moves to a side."""
    if side == 0:
        return state.weights[v] - state.external[v]
    return state.weights[v] - state.internal[v]


@pk.function
def queue_for(v: int, side: int, here: int, state: Separations, other: Heaps):
    """Queue a vertex of the separator for a side, unless it is locked or pinned to the other."""
    if state.pinned[v] == 1 - side:
        return
    if side == 0:
        enqueue(v, gain_to(v, 0, state), 0, here, state)
    else:
        enqueue(v, gain_to(v, 1, state), 1, here, other)


@pk.function
def first_for(side: int, here: int, state: Separations, other: Heaps) -> int:
    """Return the first vertex in the queue of a side, or `NO_VERTEX`."""
    if side == 0:
        return first_queued(0, here, state)
    return first_queued(1, here, other)


@pk.function
def leave_queue(v: int, side: int, here: int, state: Separations, other: Heaps):
    """Keep a vertex out of the queue of a side until the next pass."""
    if side == 0:
        shut_out(v, 0, here, state)
    else:
        shut_out(v, 1, here, other)


@pk.function
def enter(u: int, here: int, state: Separations, other: Heaps):
    """Take a vertex of a side into the separator."""
    side: int = state.sides[u]
    state.sides[u] = SEPARATOR
    state.numbers[here + Field.WEIGHTS + side] -= state.weights[u]
    state.numbers[here + Field.CUT] += state.weights[u]
    log_entry(flipped(u), here, state)
    weigh_neighbours(u, state)
    for e in range(state.rows[u], state.rows[u + 1]):
        x: int = state.ends[e]
        if state.sides[x] == SEPARATOR:
            if side == 0:
                state.internal[x] -= state.weights[u]
            else:
                state.external[x] -= state.weights[u]
            queue_for(x, 1 - side, here, state, other)
    queue_for(u, 0, here, state, other)
    queue_for(u, 1, here, state, other)


@pk.function
def move_to(v: int, side: int, here: int, state: Separations, other: Heaps):
    """Move a vertex of the separator to a side, and lock it."""
    leave_queue(v, 0, here, state, other)
    leave_queue(v, 1, here, state, other)
    state.sides[v] = side
    state.numbers[here + Field.WEIGHTS + side] += state.weights[v]
    state.numbers[here + Field.CUT] -= state.weights[v]
    log_entry(v, here, state)
    for e in range(state.rows[v], state.rows[v + 1]):
        u: int = state.ends[e]
        if state.sides[u] == SEPARATOR:
            if side == 0:
                state.internal[u] += state.weights[v]
            else:
                state.external[u] += state.weights[v]
            queue_for(u, 1 - side, here, state, other)
        elif state.sides[u] != side:
            enter(u, here, state, other)


@pk.function
def undo(here: int, state: Separations):
    """Undo the logged changes after the best state of the pass; they begin with a move."""
    begin: int = state.numbers[here + Field.BEGIN]
    kept: int = state.numbers[here + Field.KEPT]
    last: int = begin + state.numbers[here + Field.MOVED]
    while last > begin + kept:
        mover: int = last - 1
        while state.moved[mover] < 0:
            mover -= 1
        v: int = state.moved[mover]
        side: int = state.sides[v]
        state.sides[v] = SEPARATOR
        state.numbers[here + Field.WEIGHTS + side] -= state.weights[v]
        state.numbers[here + Field.CUT] += state.weights[v]
        for j in range(mover + 1, last):
            u: int = flipped(state.moved[j])
            state.sides[u] = 1 - side
            state.numbers[here + Field.WEIGHTS + 1 - side] += state.weights[u]
            state.numbers[here + Field.CUT] -= state.weights[u]
        last = mover
    state.numbers[here + Field.MOVED] = kept


@pk.function
def has_empty_side(here: int, state: Separations) -> bool:
    """Whether a side has no vertices."""
    first: pk.int64 = state.numbers[here + Field.WEIGHTS]
    second: pk.int64 = state.numbers[here + Field.WEIGHTS + 1]
    return first == 0 or second == 0


@pk.function
def excess_of(here: int, state: Separations) -> pk.int64:
    """Return the excess of the larger side over its largest weight; the total if one is empty."""
    if has_empty_side(here, state):
        return state.numbers[here + Field.TOTAL]
    return overload_of(here, state)


@pk.function
def score_of(here: int, state: Separations) -> pk.int64:
    """Return the weight of the separator, times a penalty if it is lopsided."""
    total: pk.int64 = state.numbers[here + Field.TOTAL]
    skew: pk.int64 = state.numbers[here + Field.WEIGHTS]
    if state.numbers[here + Field.WEIGHTS + 1] > skew:
        skew = state.numbers[here + Field.WEIGHTS + 1]
    skew = 2 * skew - total
    if skew < 0:
        skew = 0
    skew = (skew << RATIO_BITS) // total
    cut: pk.int64 = state.numbers[here + Field.CUT]
    penalty: pk.int64 = SKEW
    if state.numbers[here + Field.LEVELS] == 0:
        penalty += state.numbers[here + Field.SKEW] * cut // total
    return cut * (FAIR + penalty * skew * skew)


@pk.function
def weigh_sides(here: int, state: Separations):
    """Compute the weights of the sides and of the separator."""
    for part in range(2):
        state.numbers[here + Field.WEIGHTS + part] = state.numbers[here + Field.OUTSIDE + part]
    state.numbers[here + Field.CUT] = 0
    for v in vertices_of(here, state):
        side: int = state.sides[v]
        if side == SEPARATOR:
            state.numbers[here + Field.CUT] += state.weights[v]
        else:
            state.numbers[here + Field.WEIGHTS + side] += state.weights[v]


@pk.function
def begin_queues(here: int, state: Separations, other: Heaps):
    """Empty both queues and the log, of moves and, flipped, of vertices that they bring."""
    begin_pass(here, state)
    for v in vertices_of(here, state):
        state.positions[v] = NOT_QUEUED
        other.positions[v] = NOT_QUEUED


@pk.function
def entering(v: int, side: int, state: Separations) -> int:
    """Return the number of vertices that enter the separator if a vertex moves to a side."""
    count: int = 0
    for e in range(state.rows[v], state.rows[v + 1]):
        if state.sides[state.ends[e]] == 1 - side:
            count += 1
    return count


@pk.function
def may_move(v: int, side: int, here: int, state: Separations) -> bool:
    """Whether a vertex fits into a side, and the log has room for its move."""
    weight: pk.int64 = state.numbers[here + Field.WEIGHTS + side] + state.weights[v]
    if weight > state.numbers[here + Field.MOST + side]:
        return False
    room: pk.int64 = state.numbers[here + Field.END] - state.numbers[here + Field.BEGIN]
    room -= state.numbers[here + Field.MOVED] + 1
    return state.rows[v + 1] - state.rows[v] <= room or entering(v, side, state) <= room


@pk.function
def better_side(first: int, second: int, here: int, state: Separations) -> int:
    """Return the side for the next move, given the first vertices of both queues.

    The vertex of higher gain moves; at equal gains, to the lighter side.
    """
    if first == NO_VERTEX:
        return 1
    if second == NO_VERTEX:
        return 0
    difference: int = gain_to(first, 0, state) - gain_to(second, 1, state)
    if difference == 0:
        if state.numbers[here + Field.WEIGHTS + 1] < state.numbers[here + Field.WEIGHTS]:
            return 1
        return 0
    if difference > 0:
        return 0
    return 1


@pk.function
def improve_separator(here: int, state: Separations, other: Heaps) -> bool:
    """Make one pass of Fiduccia and Mattheyses, and return whether it has improved the separator.

    Smaller overload is better, then a smaller score.
    """
    begin_queues(here, state, other)
    most: int = 0
    for v in vertices_of(here, state):
        if state.sides[v] == SEPARATOR:
            weigh_neighbours(v, state)
            queue_for(v, 0, here, state, other)
            queue_for(v, 1, here, state, other)
            most += VAIN_PER_VERTEX
    if most > MAX_VAIN:
        most = MAX_VAIN
    overload: pk.int64 = excess_of(here, state)
    score: pk.int64 = score_of(here, state)
    vain: int = 0
    while vain < most:
        v: int = first_for(0, here, state, other)
        second: int = first_for(1, here, state, other)
        if v == NO_VERTEX and second == NO_VERTEX:
            break
        side: int = better_side(v, second, here, state)
        if side == 1:
            v = second
        if not may_move(v, side, here, state):
            leave_queue(v, side, here, state, other)
            continue
        move_to(v, side, here, state, other)
        vain += 1
        now: pk.int64 = excess_of(here, state)
        new_score: pk.int64 = score_of(here, state)
        if now < overload or (now == overload and new_score < score):
            overload = now
            score = new_score
            keep_moves(here, state)
            vain = 0
    undo(here, state)
    return state.numbers[here + Field.KEPT] > 0


@pk.function
def refine_separator(passes: int, here: int, state: Separations, other: Heaps):
    """Make up to `passes` passes, while they improve the separator."""
    done: int = 0
    while done < passes:
        done += 1
        if not improve_separator(here, state, other):
            break


@pk.function
def separate_sides(here: int, state: Separations):
    """Make a separator of a bisection: the vertices of one side that are adjacent to the other.

    It is the side on which they weigh less.
    """
    difference: pk.int64 = 0
    for v in vertices_of(here, state):
        if state.external[v] > 0:
            difference += state.weights[v] * (1 - 2 * state.sides[v])
    side: int = 0
    if difference > 0:
        side = 1
    for v in vertices_of(here, state):
        if state.external[v] > 0 and state.sides[v] == side:
            state.sides[v] = SEPARATOR
    weigh_sides(here, state)


@pk.function
def restore(count: int, here: int, state: Separations):
    """Set the sides after the first `count` moves of a growth, which `coarse_of` lists."""
    begin: int = state.numbers[here + Field.BEGIN]
    end: int = state.numbers[here + Field.END]
    for v in range(begin, end):
        state.sides[v] = 1
    for j in range(begin, begin + count):
        v: int = state.coarse_of[j]
        state.sides[v] = 0
        for e in range(state.rows[v], state.rows[v + 1]):
            if state.sides[state.ends[e]] == 1:
                state.sides[state.ends[e]] = SEPARATOR
    weigh_sides(here, state)


@pk.function
def grow_separator(salt: int, here: int, state: Separations, other: Heaps):
    """Grow side 0 from a vertex by the vertex of highest gain; keep the best separator on the way.

    `coarse_of` of the level, which is the coarsest, has the vertices in the order of their moves.
    """
    begin: int = state.numbers[here + Field.BEGIN]
    end: int = state.numbers[here + Field.END]
    for v in range(begin, end):
        state.sides[v] = 1
    weigh_sides(here, state)
    begin_queues(here, state, other)
    seed: pk.uint32 = state.numbers[here + Field.SEED]
    start: int = begin + index_of_hash(mix(mix(seed + salt)), end - begin)
    enter(start, here, state, other)
    overload: pk.int64 = excess_of(here, state)
    score: pk.int64 = score_of(here, state)
    moves: int = 0
    kept: int = 0
    v: int = first_for(0, here, state, other)
    while v != NO_VERTEX:
        state.numbers[here + Field.MOVED] = 0
        if may_move(v, 0, here, state):
            move_to(v, 0, here, state, other)
            state.coarse_of[begin + moves] = v
            moves += 1
            now: pk.int64 = excess_of(here, state)
            new_score: pk.int64 = score_of(here, state)
            if now < overload or (now == overload and new_score < score):
                overload = now
                score = new_score
                kept = moves
        else:
            leave_queue(v, 0, here, state, other)
        v = first_for(0, here, state, other)
    restore(kept, here, state)
