"""Queues of a bisection: heaps on large levels, on small ones lists without an order.

On a small level few vertices are next to the cut, so that it costs less to look at all their keys
than to keep a heap. A list fills the same positions as the heap of its side.
"""

import pykokkos as pk

from jetpy.workloads.common.groups import NO_VERTEX
from jetpy.workloads.common.heaps import (
    NOT_QUEUED,
    Field,
    Heaps,
    insert,
    rekey,
    remove,
    set_slot,
    slot_of,
    top_of,
)

MAX_UNORDERED = 1024
"""Vertices of a level up to which its queues have no order."""


@pk.function
def is_ordered(here: int, heaps: Heaps) -> bool:
    """Whether the queues of the level at work are heaps."""
    size: pk.int64 = heaps.numbers[here + Field.END] - heaps.numbers[here + Field.BEGIN]
    return size > MAX_UNORDERED


@pk.function
def enqueue(v: int, key: pk.int64, side: int, here: int, heaps: Heaps):
    """Queue a vertex."""
    if is_ordered(here, heaps):
        insert(v, key, side, here, heaps)
        return
    size: int = heaps.numbers[here + Field.SIZES + side]
    heaps.numbers[here + Field.SIZES + side] = size + 1
    set_slot(v, key, size, slot_of(size, side, here, heaps), heaps)


@pk.function
def change_key(v: int, key: pk.int64, side: int, here: int, heaps: Heaps):
    """Give a queued vertex another key."""
    if is_ordered(here, heaps):
        rekey(v, key, side, here, heaps)
        return
    heaps.keys[slot_of(heaps.positions[v], side, here, heaps)] = key


@pk.function
def dequeue(v: int, side: int, here: int, heaps: Heaps):
    """Take a vertex out of its queue."""
    if is_ordered(here, heaps):
        remove(v, side, here, heaps)
        return
    size: int = heaps.numbers[here + Field.SIZES + side] - 1
    heaps.numbers[here + Field.SIZES + side] = size
    j: int = heaps.positions[v]
    last: int = slot_of(size, side, here, heaps)
    set_slot(heaps.heap[last], heaps.keys[last], j, slot_of(j, side, here, heaps), heaps)
    heaps.positions[v] = NOT_QUEUED


@pk.function
def first_queued(side: int, here: int, heaps: Heaps) -> int:
    """Return the queued vertex of the highest key on a side; `NO_VERTEX` if there is none."""
    size: int = heaps.numbers[here + Field.SIZES + side]
    if size == 0:
        return NO_VERTEX
    low: int = top_of(side, here, heaps)
    if is_ordered(here, heaps):
        return heaps.heap[low]
    if side == 1:
        low = low + 1 - size
    best: pk.int64 = heaps.keys[low]
    found: int = low
    for slot in range(low + 1, low + size):
        key: pk.int64 = heaps.keys[slot]
        if key > best:
            best = key
            found = slot
    return heaps.heap[found]
