"""Two heaps of vertices per bisection, one for each side. One index works on a bisection.

Both heaps lie in one segment of an array, because no vertex is in both: the heap of side 0 grows
from its begin, the heap of side 1 from its end. Each vertex stores its position. Keys are distinct,
so the first vertex does not depend on the history of the heap.
"""

from dataclasses import dataclass
from enum import IntEnum

import pykokkos as pk

NOT_QUEUED = -1
LOCKED = -2
"""Position of a vertex that may not enter a heap."""
ARITY_BITS = 2
ARITY = 1 << ARITY_BITS
"""Children of a position. The keys of four children are adjacent, and the heap is half as deep."""


class Field(IntEnum):
    """Fields of a bisection, as indices into `numbers`; fields of both sides take two entries."""

    BEGIN = 0
    """First vertex of the current level."""
    END = 1
    """One past its last vertex."""
    SIZES = 2
    """Sizes of the two heaps."""
    WEIGHTS = 4
    """Weights of the two sides."""
    MOST = 6
    """Largest weight of each side."""
    TARGET = 8
    """Target weight of side 0."""
    CUT = 9
    MOVED = 10
    """Number of moves since the pass began."""
    KEPT = 11
    """Number of moves up to the best state of the pass."""
    SEED = 12
    LEVELS = 13
    """Number of levels."""
    LAST_VERTEX = 14
    """End of the capacity for vertices."""
    LAST_ENTRY = 15
    """End of the capacity for entries."""
    ROOMS = 16
    """Largest weight of each side if exact weights are reachable."""
    TOTAL = 18
    """Total weight of all vertices."""
    PINNED = 19
    """Number of vertices that are pinned to a side."""
    SKEW = 20
    """Penalty of a lopsided separator that is large."""
    OUTSIDE = 21
    """Weights of the sides outside of the vertices at hand, which are a band."""
    ORIGIN = 23
    """Vertex that hashes count from."""
    PARTS_BEGIN = 24
    """First index of its parts in arrays of parts."""
    PARTS = 25
    """Number of its parts."""
    DESTINATION = 26
    """Part that the next vertex moves to."""
    UNIT = 27
    """Unit of gains in the rule that ends a pass."""
    BEST_GROWING = 28
    """Quality of the best bisection or separator that has been grown (`keep_if_best`)."""
    BEST_TRY = 31
    """Quality of the best try."""
    LEVEL_BEGINS = 34
    """First vertex of each level; one unused index separates consecutive levels."""
    MIDDLE = 53
    """Level at which tries begin."""
    COUNT = 54


MAX_LEVELS = 18
"""Largest number of levels of a bisection: `numbers` has no fields for more."""


@dataclass(frozen=True, eq=False)
class Heaps:
    """Keys and vertices of the heaps by slot, positions by vertex, and the fields of bisections."""

    keys: pk.View1D[pk.int64]  # key of the vertex in the same slot of `heap`
    heap: pk.View1D[pk.int32]
    positions: pk.View1D[pk.int32]  # position in the heap of its side; NOT_QUEUED, LOCKED
    numbers: pk.View1D[pk.int64]


@pk.function
def vertices_of(here: int, heaps: Heaps) -> range:
    """Return the vertices of the current level."""
    begin: int = heaps.numbers[here + Field.BEGIN]
    end: int = heaps.numbers[here + Field.END]
    return range(begin, end)


@pk.function
def top_of(side: int, here: int, heaps: Heaps) -> int:
    """Return the slot of the first vertex of a heap."""
    if side == 0:
        return heaps.numbers[here + Field.BEGIN]
    return heaps.numbers[here + Field.END] - 1


@pk.function
def slot_of(j: int, side: int, here: int, heaps: Heaps) -> int:
    """Return the slot of position j of a heap."""
    return top_of(side, here, heaps) + (1 - 2 * side) * j


@pk.function
def set_slot(v: int, key: pk.int64, j: int, slot: int, heaps: Heaps):
    """Store a vertex at position j of a heap, which is slot `slot`."""
    heaps.heap[slot] = v
    heaps.keys[slot] = key
    heaps.positions[v] = j


@pk.function
def rise(v: int, key: pk.int64, j: int, top: int, step: int, heaps: Heaps):
    """Store a vertex at the free position j of a heap, or above it (sift up).

    Position i of the heap is slot top + step * i.
    """
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
def sink(v: int, key: pk.int64, j: int, size: int, top: int, step: int, heaps: Heaps):
    """Store a vertex at the free position j of a heap of `size` vertices, or below (sift down)."""
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
def change_key(v: int, key: pk.int64, size: int, top: int, step: int, heaps: Heaps):
    """Change the key of a vertex of a heap of `size` vertices."""
    j: int = heaps.positions[v]
    old: pk.int64 = heaps.keys[top + step * j]
    if key > old:
        rise(v, key, j, top, step, heaps)
    elif key < old:
        sink(v, key, j, size, top, step, heaps)


@pk.function
def take_out(v: int, size: int, top: int, step: int, heaps: Heaps):
    """Remove a vertex from a heap of `size` vertices without it."""
    j: int = heaps.positions[v]
    heaps.positions[v] = NOT_QUEUED
    last: int = heaps.heap[top + step * size]
    if last != v:
        key: pk.int64 = heaps.keys[top + step * size]
        if key > heaps.keys[top + step * j]:
            rise(last, key, j, top, step, heaps)
        else:
            sink(last, key, j, size, top, step, heaps)


@pk.function
def insert(v: int, key: pk.int64, side: int, here: int, heaps: Heaps):
    """Insert a vertex into the heap of a side."""
    size: int = heaps.numbers[here + Field.SIZES + side]
    heaps.numbers[here + Field.SIZES + side] = size + 1
    rise(v, key, size, top_of(side, here, heaps), 1 - 2 * side, heaps)


@pk.function
def rekey(v: int, key: pk.int64, side: int, here: int, heaps: Heaps):
    """Change the key of a vertex of the heap of a side."""
    size: int = heaps.numbers[here + Field.SIZES + side]
    change_key(v, key, size, top_of(side, here, heaps), 1 - 2 * side, heaps)


@pk.function
def remove(v: int, side: int, here: int, heaps: Heaps):
    """Remove a vertex from the heap of a side."""
    size: int = heaps.numbers[here + Field.SIZES + side] - 1
    heaps.numbers[here + Field.SIZES + side] = size
    take_out(v, size, top_of(side, here, heaps), 1 - 2 * side, heaps)
