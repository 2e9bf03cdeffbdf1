"""K-way passes of Fiduccia and Mattheyses by one index: a queue for each part.

Fiduccia, Mattheyses, "A linear-time heuristic for improving network partitions", DAC 1982, for k
parts: Karypis, Kumar, "Multilevel k-way partitioning scheme for irregular graphs", Journal of
Parallel and Distributed Computing 48 (1998), section 3.3. The vertex with the highest gain moves to
the adjacent part with the heaviest edges that has room. Parts may be too heavy within a pass by an
average vertex of the level. The moves after the best state are undone.

Each vertex has a slot for each other part that it is adjacent to, at the place of its row. A
vertex whose row has not been read since projection has the internal weight `UNREAD`: its coarse
vertex had no other adjacent part, so it has none before a neighbour moves.
"""

import pykokkos as pk

from jetpy.workloads.common.fm import KEY_BITS
from jetpy.workloads.common.groups import NO_PART, NO_VERTEX
from jetpy.workloads.common.hashing import mix
from jetpy.workloads.common.heaps import (
    LOCKED,
    NOT_QUEUED,
    Field,
    change_key,
    rise,
    take_out,
)
from jetpy.workloads.initial.inner_levels import Levels

UNREAD = -1
NO_KEY = -(2**63 - 1)
"""Key of an empty queue, below all others."""
PASSES = 4
"""Maximum number of passes on a level."""
THOUSAND = 1000
"""A pass that lowers the cut by less than a thousandth is the last one of its level."""
VAIN_SHARE, MIN_VAIN, MAX_VAIN = 10, 200, 300
"""A pass ends after moves in vain: a tenth of the vertices with slots, within two bounds."""
EARLY = 25
"""Number of moves in vain before a pass may end because success is unlikely (`is_hopeless`)."""
TENTHS, ALPHA = 10, 30
"""The factor alpha of that rule is 30 / 10."""
GAIN_UNITS = 4096
"""Gains of that rule are at most this large, so that its products fit into 64 bits."""


class Parts(Levels):
    """Levels with a k-way partition, whose parts are `sides`.

    The arrays of parts begin at field `PARTS_BEGIN` of the task.
    """

    slot_parts: pk.View1D[pk.int32]
    slot_weights: pk.View1D[pk.int32]
    slots: pk.View1D[pk.int32]  # number of slots of each vertex
    origins: pk.View1D[pk.int32]  # part that each vertex of the log has left
    part_weights: pk.View1D[pk.int64]
    most: pk.View1D[pk.int64]  # largest weight of each part on the current level
    least: pk.View1D[pk.int64]  # smallest weight of each part
    part_sizes: pk.View1D[pk.int32]  # number of vertices of each part
    tops: pk.View1D[pk.int64]  # highest key of each queue
    queue_begins: pk.View1D[pk.int32]
    queue_sizes: pk.View1D[pk.int32]
    marks: pk.View1D[pk.int32]  # last slot made for each part


@pk.function
def add_slot(first: int, count: int, p: int, w: int, parts: Parts) -> int:
    """Add a weight to the slot of a part among `count` slots; return their new number."""
    for j in range(first, first + count):
        if parts.slot_parts[j] == p:
            parts.slot_weights[j] += w
            return count
    parts.slot_parts[first + count] = p
    parts.slot_weights[first + count] = w
    return count + 1


@pk.function
def subtract_slot(first: int, count: int, p: int, w: int, parts: Parts) -> int:
    """Subtract a weight from the slot of a part among `count` slots; return their new number."""
    for j in range(first, first + count):
        if parts.slot_parts[j] == p:
            parts.slot_weights[j] -= w
            if parts.slot_weights[j] > 0:
                return count
            last: int = first + count - 1
            parts.slot_parts[j] = parts.slot_parts[last]
            parts.slot_weights[j] = parts.slot_weights[last]
            return count - 1
    return count


@pk.function
def read_slots(v: int, base: int, parts: Parts):
    """Compute the slots and the internal weight of a vertex from its row."""
    own: int = parts.sides[v]
    first: int = parts.rows[v]
    last: int = first
    inside: int = 0
    for e in range(first, parts.rows[v + 1]):
        p: int = parts.sides[parts.ends[e]]
        w: int = parts.edge_weights[e]
        if p == own:
            inside += w
            continue
        j: int = parts.marks[base + p]
        is_known: bool = False
        if j >= first and j < last:
            is_known = parts.slot_parts[j] == p
        if is_known:
            parts.slot_weights[j] += w
        else:
            parts.marks[base + p] = last
            parts.slot_parts[last] = p
            parts.slot_weights[last] = w
            last += 1
    parts.internal[v] = inside
    parts.slots[v] = last - first


@pk.function
def excess_of_parts(here: int, parts: Parts) -> pk.int64:
    """Return the sum of what parts weigh above their largest weight."""
    base: int = parts.numbers[here + Field.PARTS_BEGIN]
    k: int = parts.numbers[here + Field.PARTS]
    excess: pk.int64 = 0
    for p in range(base, base + k):
        if parts.part_weights[p] > parts.most[p]:
            excess += parts.part_weights[p] - parts.most[p]
    return excess


@pk.function
def measure_parts(here: int, parts: Parts):
    """Compute the weights and sizes of the parts, all slots, and the cut."""
    begin: int = parts.numbers[here + Field.BEGIN]
    end: int = parts.numbers[here + Field.END]
    base: int = parts.numbers[here + Field.PARTS_BEGIN]
    k: int = parts.numbers[here + Field.PARTS]
    for p in range(base, base + k):
        parts.part_weights[p] = 0
        parts.part_sizes[p] = 0
        parts.marks[p] = NO_VERTEX
    twice: pk.int64 = 0
    for v in range(begin, end):
        own: int = base + parts.sides[v]
        parts.part_weights[own] += parts.weights[v]
        parts.part_sizes[own] += 1
        read_slots(v, base, parts)
        for j in range(parts.rows[v], parts.rows[v] + parts.slots[v]):
            twice += parts.slot_weights[j]
    parts.numbers[here + Field.CUT] = twice >> 1


@pk.function
def update_top(p: int, parts: Parts):
    """Store the highest key of a queue."""
    parts.tops[p] = NO_KEY
    if parts.queue_sizes[p] > 0:
        parts.tops[p] = parts.keys[parts.queue_begins[p]]


@pk.function
def unqueue(v: int, p: int, parts: Parts):
    """Remove a vertex from the queue of a part if it is queued."""
    if parts.positions[v] < 0:
        return
    size: int = parts.queue_sizes[p] - 1
    parts.queue_sizes[p] = size
    take_out(v, size, parts.queue_begins[p], 1, parts)
    update_top(p, parts)


@pk.function
def queue_by_gain(v: int, gain: pk.int64, p: int, here: int, parts: Parts):
    """Queue a vertex of a part by its gain, or update its key."""
    seed: pk.uint32 = parts.numbers[here + Field.SEED]
    origin: int = parts.numbers[here + Field.ORIGIN]
    h: pk.uint32 = mix((v - origin) ^ seed)
    key: pk.int64 = (gain << KEY_BITS) + h
    top: int = parts.queue_begins[p]
    size: int = parts.queue_sizes[p]
    if parts.positions[v] == NOT_QUEUED:
        parts.queue_sizes[p] = size + 1
        rise(v, key, size, top, 1, parts)
    else:
        change_key(v, key, size, top, 1, parts)
    update_top(p, parts)


@pk.function
def best_gain(v: int, parts: Parts) -> int:
    """Return the gain of a vertex that moves to the adjacent part of the heaviest edges."""
    first: int = parts.rows[v]
    best: int = 0
    for j in range(first, first + parts.slots[v]):
        if parts.slot_weights[j] > best:
            best = parts.slot_weights[j]
    return best - parts.internal[v]


@pk.function
def update_queue(u: int, base: int, here: int, parts: Parts):
    """Queue a vertex by its gain while it has slots and is not locked."""
    if parts.positions[u] == LOCKED:
        return
    p: int = base + parts.sides[u]
    if parts.slots[u] > 0:
        queue_by_gain(u, best_gain(u, parts), p, here, parts)
    else:
        unqueue(u, p, parts)


@pk.function
def swap_slot(v: int, a: int, b: int, parts: Parts):
    """Exchange the slot of part b of a vertex for one of part a, which it leaves for b."""
    first: int = parts.rows[v]
    count: int = parts.slots[v]
    inside: int = parts.internal[v]
    found: int = NO_VERTEX
    for j in range(first, first + count):
        if parts.slot_parts[j] == b:
            found = j
    parts.internal[v] = 0
    if found != NO_VERTEX:
        parts.internal[v] = parts.slot_weights[found]
        count -= 1
        parts.slot_parts[found] = parts.slot_parts[first + count]
        parts.slot_weights[found] = parts.slot_weights[first + count]
    if inside > 0:
        parts.slot_parts[first + count] = a
        parts.slot_weights[first + count] = inside
        count += 1
    parts.slots[v] = count


@pk.function
def move_vertex(v: int, b: int, queues: int, here: int, parts: Parts):
    """Move a vertex to part b; with `queues` = 1, update the queues of its neighbours."""
    base: int = parts.numbers[here + Field.PARTS_BEGIN]
    a: int = parts.sides[v]
    weight: pk.int64 = parts.weights[v]
    before: int = parts.internal[v]
    swap_slot(v, a, b, parts)
    parts.numbers[here + Field.CUT] -= parts.internal[v] - before
    parts.sides[v] = b
    parts.part_weights[base + a] -= weight
    parts.part_weights[base + b] += weight
    parts.part_sizes[base + a] -= 1
    parts.part_sizes[base + b] += 1
    for e in range(parts.rows[v], parts.rows[v + 1]):
        u: int = parts.ends[e]
        if parts.internal[u] == UNREAD:
            read_slots(u, base, parts)
        else:
            w: int = parts.edge_weights[e]
            p: int = parts.sides[u]
            first: int = parts.rows[u]
            count: int = parts.slots[u]
            if p == a:
                parts.internal[u] -= w
            else:
                count = subtract_slot(first, count, a, w, parts)
            if p == b:
                parts.internal[u] += w
            else:
                count = add_slot(first, count, b, w, parts)
            parts.slots[u] = count
        if queues == 1:
            update_queue(u, base, here, parts)


@pk.function
def best_part(v: int, slack: pk.int64, base: int, parts: Parts) -> int:
    """Return the adjacent part with the heaviest edges that has room, or `NO_PART`.

    Ties go to the part with the most room, then to the lower number.
    """
    first: int = parts.rows[v]
    best: int = NO_PART
    best_weight: int = 0
    best_room: pk.int64 = 0
    for j in range(first, first + parts.slots[v]):
        p: int = parts.slot_parts[j]
        w: int = parts.slot_weights[j]
        if w < best_weight:
            continue
        room: pk.int64 = parts.most[base + p] + slack - parts.part_weights[base + p]
        if room < parts.weights[v]:
            continue
        if (
            best == NO_PART
            or w > best_weight
            or room > best_room
            or (room == best_room and p < best)
        ):
            best = p
            best_weight = w
            best_room = room
    return best


@pk.function
def lightest_part(v: int, base: int, k: int, parts: Parts) -> int:
    """Return the part with the most room for a vertex, or `NO_PART` if none has room."""
    best: int = NO_PART
    best_room: pk.int64 = parts.weights[v] - 1
    for p in range(k):
        room: pk.int64 = parts.most[base + p] - parts.part_weights[base + p]
        if room > best_room and p != parts.sides[v]:
            best = p
            best_room = room
    return best


@pk.function
def weight_to(v: int, p: int, parts: Parts) -> int:
    """Return the weight of the edges from a vertex to another part."""
    first: int = parts.rows[v]
    for j in range(first, first + parts.slots[v]):
        if parts.slot_parts[j] == p:
            return parts.slot_weights[j]
    return 0


@pk.function
def part_to_leave(excess: pk.int64, base: int, k: int, parts: Parts) -> int:
    """Return the part whose first vertex moves next, or `NO_PART`.

    With an excess, it is the part with the largest excess, otherwise the part of the highest key.
    """
    found: int = NO_PART
    most: pk.int64 = NO_KEY
    if excess > 0:
        most = 0
    for p in range(base, base + k):
        value: pk.int64 = parts.tops[p]
        if excess > 0:
            value = 0
            if parts.queue_sizes[p] > 0:
                value = parts.part_weights[p] - parts.most[p]
        if value > most:
            most = value
            found = p
    return found


@pk.function
def next_to_move(excess: pk.int64, slack: pk.int64, here: int, parts: Parts) -> int:
    """Return the vertex to move next, or `NO_VERTEX`; field `DESTINATION` is its new part.

    A vertex whose best part has no room is queued again by the gain that it can have. It leaves the
    queue if no part has room, or its own would be too light or empty.
    """
    base: int = parts.numbers[here + Field.PARTS_BEGIN]
    k: int = parts.numbers[here + Field.PARTS]
    more: pk.int64 = slack
    if excess > 0:
        more = 0
    p: int = part_to_leave(excess, base, k, parts)
    while p != NO_PART:
        v: int = parts.heap[parts.queue_begins[p]]
        to: int = best_part(v, more, base, parts)
        if to == NO_PART and excess > 0:
            to = lightest_part(v, base, k, parts)
        if parts.part_weights[p] - parts.weights[v] < parts.least[p] or parts.part_sizes[p] == 1:
            to = NO_PART
        if to == NO_PART:
            unqueue(v, p, parts)
        else:
            gain: pk.int64 = weight_to(v, to, parts) - parts.internal[v]
            if gain >= parts.tops[p] >> KEY_BITS:
                parts.numbers[here + Field.DESTINATION] = to
                return v
            queue_by_gain(v, gain, p, here, parts)
        p = part_to_leave(excess, base, k, parts)
    return NO_VERTEX


@pk.function
def begin_k_way_pass(excess: pk.int64, here: int, parts: Parts):
    """Lock the pinned vertices, and queue the others that have slots or are in a heavy part.

    A moved vertex is locked, so the queue of a part never needs more places than the part has
    vertices now.
    """
    begin: int = parts.numbers[here + Field.BEGIN]
    end: int = parts.numbers[here + Field.END]
    base: int = parts.numbers[here + Field.PARTS_BEGIN]
    k: int = parts.numbers[here + Field.PARTS]
    place: int = begin
    for p in range(base, base + k):
        parts.queue_begins[p] = place
        parts.queue_sizes[p] = 0
        parts.tops[p] = NO_KEY
        place += parts.part_sizes[p]
    for v in range(begin, end):
        parts.positions[v] = NOT_QUEUED
        if parts.pinned[v] != NO_PART:
            parts.positions[v] = LOCKED
        is_wanted: bool = parts.slots[v] > 0
        if excess > 0 and not is_wanted:
            own: int = base + parts.sides[v]
            is_wanted = parts.part_weights[own] > parts.most[own]
            if is_wanted and parts.internal[v] == UNREAD:
                read_slots(v, base, parts)
        if is_wanted and parts.positions[v] != LOCKED:
            queue_by_gain(v, best_gain(v, parts), base + parts.sides[v], here, parts)
    parts.numbers[here + Field.MOVED] = 0
    parts.numbers[here + Field.KEPT] = 0


@pk.function
def is_hopeless(count: pk.int64, total: pk.int64, squares: pk.int64) -> bool:
    """Whether a pass is unlikely to find a better state, given its moves since the best one.

    `total` is the sum of their gains, `squares` the sum of the squares. Source: Osipov, Sanders,
    "n-level graph partitioning", ESA 2010: a random walk of `count` steps with mean m and variance
    s ends if count m^2 > alpha s.
    """
    if count < EARLY or total >= 0:
        return False
    spread: pk.int64 = squares * count - total * total
    return TENTHS * count * total * total > ALPHA * spread


@pk.function
def in_units(gain: pk.int64, unit: pk.int64) -> pk.int64:
    """Return a gain in units, within `GAIN_UNITS`."""
    rounded: pk.int64 = gain // unit
    if rounded > GAIN_UNITS:
        return GAIN_UNITS
    if rounded < -GAIN_UNITS:
        return -GAIN_UNITS
    return rounded


@pk.function
def excess_change(p: int, before: pk.int64, parts: Parts) -> pk.int64:
    """Return by how much the excess of a part has grown since it had the weight `before`."""
    now: pk.int64 = parts.part_weights[p] - parts.most[p]
    if now < 0:
        now = 0
    then: pk.int64 = before - parts.most[p]
    if then < 0:
        then = 0
    return now - then


@pk.function
def make_pass(slack: pk.int64, vain: int, here: int, parts: Parts) -> bool:
    """Make one pass, and return whether it has improved the partition.

    A smaller excess is better, then a smaller cut.
    """
    begin: int = parts.numbers[here + Field.BEGIN]
    base: int = parts.numbers[here + Field.PARTS_BEGIN]
    unit: pk.int64 = parts.numbers[here + Field.UNIT]
    best_excess: pk.int64 = excess_of_parts(here, parts)
    excess: pk.int64 = best_excess
    best_cut: pk.int64 = parts.numbers[here + Field.CUT]
    begin_k_way_pass(excess, here, parts)
    moved: int = 0
    kept: int = 0
    total: pk.int64 = 0
    squares: pk.int64 = 0
    while moved - kept < vain:
        v: int = next_to_move(excess, slack, here, parts)
        if v == NO_VERTEX:
            break
        a: int = parts.sides[v]
        b: int = parts.numbers[here + Field.DESTINATION]
        unqueue(v, base + a, parts)
        parts.positions[v] = LOCKED
        parts.moved[begin + moved] = v
        parts.origins[begin + moved] = a
        moved += 1
        before: pk.int64 = parts.numbers[here + Field.CUT]
        weight_a: pk.int64 = parts.part_weights[base + a]
        weight_b: pk.int64 = parts.part_weights[base + b]
        move_vertex(v, b, 1, here, parts)
        excess += excess_change(base + a, weight_a, parts)
        excess += excess_change(base + b, weight_b, parts)
        cut: pk.int64 = parts.numbers[here + Field.CUT]
        gain: pk.int64 = in_units(before - cut, unit)
        total += gain
        squares += gain * gain
        if excess < best_excess or (excess == best_excess and cut < best_cut):
            best_excess = excess
            best_cut = cut
            kept = moved
            total = 0
            squares = 0
        elif is_hopeless(moved - kept, total, squares):
            break
    for j in range(kept, moved):
        move_vertex(parts.moved[begin + j], parts.origins[begin + j], 0, here, parts)
    return kept > 0


@pk.function
def refine_parts(here: int, parts: Parts):
    """Make passes on the current level, while they improve the partition enough."""
    begin: int = parts.numbers[here + Field.BEGIN]
    end: int = parts.numbers[here + Field.END]
    slack: pk.int64 = parts.numbers[here + Field.TOTAL]
    slack //= end - begin
    vain: int = 0
    for v in range(begin, end):
        if parts.slots[v] > 0:
            vain += 1
    vain //= VAIN_SHARE
    if vain < MIN_VAIN:
        vain = MIN_VAIN
    if vain > MAX_VAIN:
        vain = MAX_VAIN
    for _pass in range(PASSES):
        excess: pk.int64 = excess_of_parts(here, parts)
        cut: pk.int64 = parts.numbers[here + Field.CUT]
        if not make_pass(slack, vain, here, parts):
            break
        gained: pk.int64 = cut - parts.numbers[here + Field.CUT]
        if excess_of_parts(here, parts) == excess and gained * THOUSAND < cut:
            break
