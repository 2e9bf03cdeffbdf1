"""Two heaps of vertices for each bisection, which one index works on alone.

Both lie in one stretch of an array, as no vertex is in both: that of side 0 grows from its begin,
that of side 1 from its end. A vertex knows its position; keys are different from each other, so
that which vertex is first does not depend on what has happened to a heap.
"""

from enum import IntEnum

import pykokkos as pk

NOT_QUEUED = -1
LOCKED = -2
"""Position of a vertex that may not enter a heap."""
ARITY_BITS = 2
ARITY = 1 << ARITY_BITS
"""Children of a position: four have their keys side by side, and make heaps half as deep."""


class Field(IntEnum):
    """Places among the numbers of a bisection; what belongs to sides stands in a row."""

    BEGIN = 0
    """First vertex of the level at work."""
    END = 1
    """The vertex after its last."""
    SIZES = 2
    """Of the heaps."""
    WEIGHTS = 4
    """Of the sides."""
    MOST = 6
    """What each side may weigh."""
    TARGET = 8
    """What side 0 should weigh."""
    CUT = 9
    MOVED = 10
    """Number of moves since the pass began."""
    KEPT = 11
    """Number of these that led to the best state so far."""
    SEED = 12
    LEVELS = 13
    """Number of levels."""
    ENTRIES = 14
    """First entry that no level has."""
    LAST_VERTEX = 15
    """The end of the room for vertices."""
    LAST_ENTRY = 16
    """The end of the room for entries."""
    ROOMS = 17
    """What each side may weigh if weights can be had exactly."""
    TOTAL = 19
    """Weight of both sides."""
    PINNED = 20
    """Number of vertices that have to be on a side."""
    LEVEL_BEGINS = 21
    """Where each level begins; between the end of one and the next is a gap of one."""
    COUNT = 40


MAX_LEVELS = 18
"""Maximum number of levels of one bisection, which its numbers have room for."""


class Heaps:
    """The heaps, by vertex and by place; and the numbers of each bisection, by `Field`."""

    keys: pk.View1D[pk.int64]  # of the vertices in `heap`, place by place
    heap: pk.View1D[pk.int32]
    positions: pk.View1D[pk.int32]  # in the heap of the side; NOT_QUEUED, LOCKED
    numbers: pk.View1D[pk.int64]


@pk.function
def top_of(side: int, here: int, heaps: Heaps) -> int:
    """Return where the first vertex of a heap stands."""
    if side == 0:
        return heaps.numbers[here + Field.BEGIN]
    return heaps.numbers[here + Field.END] - 1


@pk.function
def slot_of(j: int, side: int, here: int, heaps: Heaps) -> int:
    """Return where a position of a heap is in the arrays."""
    return top_of(side, here, heaps) + (1 - 2 * side) * j


@pk.function
def set_slot(v: int, key: pk.int64, j: int, slot: int, heaps: Heaps):
    """Put a vertex to a position of a heap, given its slot in the arrays."""
    heaps.heap[slot] = v
    heaps.keys[slot] = key
    heaps.positions[v] = j


@pk.function
def rise(v: int, key: pk.int64, j: int, side: int, here: int, heaps: Heaps):
    """Put a vertex to a position of a heap that is free, or above it."""
    top: int = top_of(side, here, heaps)
    step: int = 1 - 2 * side
    hole: int = j
    while hole > 0:
        above: int = (hole - 1) >> ARITY_BITS
        slot: int = top + step * above
        if heaps.keys[slot] > key:
            break
        set_slot(heaps.heap[slot], heaps.keys[slot], hole, top + step * hole, heaps)
        hole = above
    set_slot(v, key, hole, top + step * hole, heaps)


@pk.function
def sink(v: int, key: pk.int64, j: int, side: int, here: int, heaps: Heaps):
    """Put a vertex to a position of a heap that is free, or below it."""
    top: int = top_of(side, here, heaps)
    step: int = 1 - 2 * side
    size: int = heaps.numbers[here + Field.SIZES + side]
    hole: int = j
    while (hole << ARITY_BITS) + 1 < size:
        first: int = (hole << ARITY_BITS) + 1
        last: int = first + ARITY
        if last > size:
            last = size
        below: int = first
        highest: pk.int64 = heaps.keys[top + step * first]
        for child in range(first + 1, last):
            other: pk.int64 = heaps.keys[top + step * child]
            if other > highest:
                below = child
                highest = other
        if highest < key:
            break
        set_slot(heaps.heap[top + step * below], highest, hole, top + step * hole, heaps)
        hole = below
    set_slot(v, key, hole, top + step * hole, heaps)


@pk.function
def insert(v: int, key: pk.int64, side: int, here: int, heaps: Heaps):
    """Put a vertex into a heap."""
    size: int = heaps.numbers[here + Field.SIZES + side]
    heaps.numbers[here + Field.SIZES + side] = size + 1
    rise(v, key, size, side, here, heaps)


@pk.function
def rekey(v: int, key: pk.int64, side: int, here: int, heaps: Heaps):
    """Give a vertex of a heap another key."""
    j: int = heaps.positions[v]
    old: pk.int64 = heaps.keys[slot_of(j, side, here, heaps)]
    if key > old:
        rise(v, key, j, side, here, heaps)
    elif key < old:
        sink(v, key, j, side, here, heaps)


@pk.function
def remove(v: int, side: int, here: int, heaps: Heaps):
    """Take a vertex out of a heap."""
    size: int = heaps.numbers[here + Field.SIZES + side] - 1
    heaps.numbers[here + Field.SIZES + side] = size
    j: int = heaps.positions[v]
    heaps.positions[v] = NOT_QUEUED
    top: int = top_of(side, here, heaps)
    step: int = 1 - 2 * side
    last: int = heaps.heap[top + step * size]
    if last != v:
        key: pk.int64 = heaps.keys[top + step * size]
        if key > heaps.keys[top + step * j]:
            rise(last, key, j, side, here, heaps)
        else:
            sink(last, key, j, side, here, heaps)
