"""Passes of Fiduccia and Mattheyses: queues of free vertices by gain, and a log of moves.

Fiduccia, Mattheyses, "A linear-time heuristic for improving network partitions", DAC 1982: every
vertex moves at most once in a pass, the best first, and the moves after the best state are undone.
A pass selects the first vertex of a queue, locks it, moves it, and queues its neighbours by their
new gains. It keeps the moves so far if the state is the best of the pass, and at the end undoes the
others. Each kernel has this loop itself, because functions of kernels cannot be parameters.

Queues are heaps on large levels and unordered lists on small ones. On a small level few vertices
are adjacent to the cut, so scanning all their keys costs less than maintaining a heap. A list fills
the same positions as the heap of its side.
"""

from dataclasses import dataclass

import pykokkos as pk

from jetpy.workloads.common.groups import NO_PART, NO_VERTEX
from jetpy.workloads.common.hashing import mix
from jetpy.workloads.common.heaps import (
    LOCKED,
    NOT_QUEUED,
    Field,
    Heaps,
    insert,
    rekey,
    remove,
    set_slot,
    slot_of,
    top_of,
    vertices_of,
)

ONLY_LEVEL = 0
"""Row of `numbers` for a kernel that has one level and one queue, the queue of side 0."""
KEY_BITS = 32
"""Bits of a key below the gain. They hold the hash of the vertex, so ties go to the higher hash."""
NO_GAIN = -(2**KEY_BITS)
"""Gain of a vertex that is not queued, below any other gain."""
MAX_UNORDERED = 1024
"""Largest number of vertices of a level whose queues are unordered."""


@dataclass(frozen=True, eq=False)
class Moves(Heaps):
    """The queues of a level and the log of moves of the pass."""

    moved: pk.View1D[pk.int32]  # the log: locked vertices in the order of their moves
    pinned: pk.View1D[pk.int32]  # the part, or side, that a vertex must be in, or NO_PART


@pk.function
def is_ordered(here: int, heaps: Heaps) -> bool:
    """Whether the queues of the current level are heaps."""
    size: pk.int64 = heaps.numbers[here + Field.END] - heaps.numbers[here + Field.BEGIN]
    return size > MAX_UNORDERED


@pk.function
def begin_pass(here: int, moves: Moves):
    """Empty the queues and the log, and lock only the pinned vertices."""
    for v in vertices_of(here, moves):
        moves.positions[v] = NOT_QUEUED
        if moves.pinned[v] != NO_PART:
            moves.positions[v] = LOCKED
    moves.numbers[here + Field.SIZES] = 0
    moves.numbers[here + Field.SIZES + 1] = 0
    moves.numbers[here + Field.MOVED] = 0
    moves.numbers[here + Field.KEPT] = 0


@pk.function
def enqueue(v: int, gain: pk.int64, side: int, here: int, heaps: Heaps):
    """Queue a vertex by its gain, or update its key; a locked vertex stays out."""
    j: int = heaps.positions[v]
    if j == LOCKED:
        return
    seed: pk.uint32 = heaps.numbers[here + Field.SEED]
    origin: int = heaps.numbers[here + Field.ORIGIN]
    h: pk.uint32 = mix((v - origin) ^ seed)
    key: pk.int64 = (gain << KEY_BITS) + h
    if j != NOT_QUEUED:
        if is_ordered(here, heaps):
            rekey(v, key, side, here, heaps)
        else:
            heaps.keys[slot_of(j, side, here, heaps)] = key
    elif is_ordered(here, heaps):
        insert(v, key, side, here, heaps)
    else:
        size: int = heaps.numbers[here + Field.SIZES + side]
        heaps.numbers[here + Field.SIZES + side] = size + 1
        set_slot(v, key, size, slot_of(size, side, here, heaps), heaps)


@pk.function
def dequeue(v: int, side: int, here: int, heaps: Heaps):
    """Remove a vertex from its queue if it is queued."""
    j: int = heaps.positions[v]
    if j < 0:
        return
    if is_ordered(here, heaps):
        remove(v, side, here, heaps)
        return
    size: int = heaps.numbers[here + Field.SIZES + side] - 1
    heaps.numbers[here + Field.SIZES + side] = size
    last: int = slot_of(size, side, here, heaps)
    set_slot(heaps.heap[last], heaps.keys[last], j, slot_of(j, side, here, heaps), heaps)
    heaps.positions[v] = NOT_QUEUED


@pk.function
def first_queued(side: int, here: int, heaps: Heaps) -> int:
    """Return the queued vertex with the highest key on a side, or `NO_VERTEX`."""
    size: int = heaps.numbers[here + Field.SIZES + side]
    if size == 0:
        return NO_VERTEX
    low: int = top_of(side, here, heaps)
    if is_ordered(here, heaps):
        return heaps.heap[low]
    if side == 1:
        low = low + 1 - size
    best: pk.int64 = heaps.keys[low]
    top: int = low
    for slot in range(low + 1, low + size):
        key: pk.int64 = heaps.keys[slot]
        if key > best:
            best = key
            top = slot
    return heaps.heap[top]


@pk.function
def queued_gain(v: int, side: int, here: int, heaps: Heaps) -> pk.int64:
    """Return the gain of a queued vertex, or `NO_GAIN` if it is not queued."""
    j: int = heaps.positions[v]
    if j < 0:
        return NO_GAIN
    return heaps.keys[slot_of(j, side, here, heaps)] >> KEY_BITS


@pk.function
def shut_out(v: int, side: int, here: int, heaps: Heaps):
    """Keep a vertex out of the queue of a side until the next pass."""
    dequeue(v, side, here, heaps)
    heaps.positions[v] = LOCKED


@pk.function
def log_entry(entry: int, here: int, moves: Moves):
    """Append an entry to the log."""
    count: int = moves.numbers[here + Field.MOVED]
    moves.moved[moves.numbers[here + Field.BEGIN] + count] = entry
    moves.numbers[here + Field.MOVED] = count + 1


@pk.function
def lock(v: int, side: int, here: int, moves: Moves):
    """Remove a vertex from its queue until the next pass, and append it to the log."""
    shut_out(v, side, here, moves)
    log_entry(v, here, moves)


@pk.function
def keep_moves(here: int, moves: Moves):
    """Keep the moves so far, because the state is the best of the pass."""
    moves.numbers[here + Field.KEPT] = moves.numbers[here + Field.MOVED]


@pk.function
def moves_in_vain(here: int, moves: Moves) -> int:
    """Return the number of moves since the best state of the pass."""
    return moves.numbers[here + Field.MOVED] - moves.numbers[here + Field.KEPT]


@pk.function
def to_undo(here: int, moves: Moves) -> range:
    """Return the log positions of the moves after the best state of the pass.

    They may be undone in any order, because a state depends only on the parts of the vertices.
    """
    begin: int = moves.numbers[here + Field.BEGIN]
    kept: int = moves.numbers[here + Field.KEPT]
    moved: int = moves.numbers[here + Field.MOVED]
    return range(begin + kept, begin + moved)
