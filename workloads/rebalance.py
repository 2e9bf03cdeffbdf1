"""Rebalancing: evict the cheapest vertices from overweight parts (Jet, section 4.2).

Losses are sorted into slots: 0 for a gain, 1 for no loss, and from 2 on one slot for each factor
of about 1.5 in loss per vertex weight.
"""

import pykokkos as pk

from jetpy.workloads.connectivity import capacity
from jetpy.workloads.hashing import mix


@pk.function
def slot_of(loss: int, weight: int) -> int:
    """Return the slot (0..49) of a loss: from weight / 128 up in factors of 1.5."""
    if loss < 0:
        return 0
    if loss == 0:
        return 1
    slot: int = 2
    threshold: pk.double = loss
    size: pk.double = weight
    threshold = threshold * 128.0
    while slot < 45 and size * 5.0625 < threshold:
        size = size * 5.0625
        slot += 4
    while slot < 49 and size < threshold:
        size = size * 1.5
        slot += 1
    return slot


@pk.workunit
def rate_weak(
    v: int,
    indptr: pk.View1D[pk.int32],
    parts: pk.View1D[pk.int32],
    vertex_weights: pk.View1D[pk.int32],
    rows: pk.View1D[pk.int32],
    slots: pk.View1D[pk.int32],
    weights: pk.View1D[pk.int32],
    best: pk.View1D[pk.int32],
    own: pk.View1D[pk.int32],
    leave_limit: pk.View1D[pk.int32],
    is_open: pk.View1D[pk.int32],
    open_parts: pk.View1D[pk.int32],
    open_count: int,
    destinations: pk.View1D[pk.int32],
    loss_slots: pk.View1D[pk.int32],
    histogram: pk.View1D[pk.int32],
    k: int,
    seed: int,
    sections: int,
):
    """Weak: choose each candidate's destination now, the best connected open part.

    A vertex is a candidate if its weight is at most its part's `leave_limit` (0 for a part that
    is not overweight). Without an adjacent open part it gets one by hash. The weights of
    candidates are summed up by part, loss slot and section (blocks of 512 vertices, dealt
    round), so that threads do not meet at one counter.
    """
    loss_slots[v] = -1
    p: int = parts[v]
    if leave_limit[p] == 0 or vertex_weights[v] > leave_limit[p]:
        return
    s: int = rows[v]
    last: int = s + capacity(indptr[v + 1] - indptr[v], k)
    inside: int = 0
    if best[v] == -1:
        last = s
        inside = own[v]
    found: int = -1
    highest: int = 0
    found_hash: pk.uint32 = 0
    while s < last:
        q: int = slots[s]
        if q == -1:
            break
        if q == p:
            inside = weights[s]
        elif q >= 0 and weights[s] > 0 and weights[s] >= highest:
            if is_open[q] == 1:
                h: pk.uint32 = mix((v ^ seed) + (q << 16))
                if weights[s] > highest or h > found_hash or (h == found_hash and q < found):
                    found = q
                    highest = weights[s]
                    found_hash = h
        s += 1
    if found < 0:
        place: pk.uint64 = mix(v ^ seed)
        wide: pk.uint64 = open_count
        place = (place * wide) >> 32
        found = open_parts[place]
    destinations[v] = found
    slot: int = slot_of(inside - highest, vertex_weights[v])
    loss_slots[v] = slot
    place_in: int = ((p * 50 + slot) * sections) + ((v >> 9) % sections)
    pk.atomic_fetch_add(histogram, [place_in], vertex_weights[v])


@pk.workunit
def rate_strong(
    v: int,
    indptr: pk.View1D[pk.int32],
    parts: pk.View1D[pk.int32],
    vertex_weights: pk.View1D[pk.int32],
    rows: pk.View1D[pk.int32],
    slots: pk.View1D[pk.int32],
    weights: pk.View1D[pk.int32],
    best: pk.View1D[pk.int32],
    own: pk.View1D[pk.int32],
    leave_limit: pk.View1D[pk.int32],
    is_open: pk.View1D[pk.int32],
    loss_slots: pk.View1D[pk.int32],
    histogram: pk.View1D[pk.int32],
    k: int,
    sections: int,
):
    """Strong: rate each candidate by its mean connection to adjacent open parts."""
    loss_slots[v] = -1
    p: int = parts[v]
    if leave_limit[p] == 0 or vertex_weights[v] > leave_limit[p]:
        return
    s: int = rows[v]
    last: int = s + capacity(indptr[v + 1] - indptr[v], k)
    inside: int = 0
    if best[v] == -1:
        last = s
        inside = own[v]
    outside: pk.int64 = 0
    adjacent: int = 0
    while s < last:
        q: int = slots[s]
        if q == -1:
            break
        if q == p:
            inside = weights[s]
        elif q >= 0 and weights[s] > 0:
            if is_open[q] == 1:
                outside += weights[s]
                adjacent += 1
        s += 1
    if adjacent > 0:
        outside //= adjacent
    loss: int = inside - outside
    slot: int = slot_of(loss, vertex_weights[v])
    loss_slots[v] = slot
    place_in: int = ((p * 50 + slot) * sections) + ((v >> 9) % sections)
    pk.atomic_fetch_add(histogram, [place_in], vertex_weights[v])


@pk.workunit
def cut_off(
    p: int,
    histogram: pk.View1D[pk.int32],
    excess: pk.View1D[pk.int32],
    cutoffs: pk.View1D[pk.int32],
    sections: int,
):
    """Find the last slot that a part has to evict from (-1: none)."""
    cutoffs[p] = -1
    rest: int = excess[p]
    slot: int = 0
    while rest > 0 and slot < 50:
        cutoffs[p] = slot
        section: int = 0
        while section < sections:
            rest -= histogram[(p * 50 + slot) * sections + section]
            section += 1
        slot += 1


@pk.workunit
def list_candidates(
    v: int,
    acc: pk.Acc[pk.int64],
    last_pass: bool,
    parts: pk.View1D[pk.int32],
    loss_slots: pk.View1D[pk.int32],
    cutoffs: pk.View1D[pk.int32],
    keys: pk.View1D[pk.int64],
):
    """List candidates up to the cut-off, keyed by part, slot and vertex for sorting."""
    slot: pk.int64 = loss_slots[v]
    if slot >= 0:
        if slot <= cutoffs[parts[v]]:
            if last_pass:
                key: pk.int64 = parts[v]
                key = (key << 37) + (slot << 31)
                key = key + v
                keys[acc] = key
            acc += 1


@pk.workunit
def weigh_candidates(
    i: int,
    acc: pk.Acc[pk.int64],
    last_pass: bool,
    keys: pk.View1D[pk.int64],
    vertex_weights: pk.View1D[pk.int32],
    before: pk.View1D[pk.int64],
    part_starts: pk.View1D[pk.int64],
):
    """Sum the weights of sorted candidates, and note the sum at which each part begins."""
    if last_pass:
        before[i] = acc
        begins: int = 1
        if i > 0:
            if (keys[i] >> 37) == (keys[i - 1] >> 37):
                begins = 0
        if begins == 1:
            part_starts[keys[i] >> 37] = acc
    acc += vertex_weights[keys[i] & 2147483647]


@pk.workunit
def list_evicted(
    i: int,
    acc: pk.Acc[pk.int64],
    last_pass: bool,
    keys: pk.View1D[pk.int64],
    before: pk.View1D[pk.int64],
    part_starts: pk.View1D[pk.int64],
    excess: pk.View1D[pk.int32],
    moves: pk.View1D[pk.int32],
):
    """List, part by part, the shortest prefix of candidates that weighs at least the excess."""
    if before[i] - part_starts[keys[i] >> 37] < excess[keys[i] >> 37]:
        if last_pass:
            moves[acc] = keys[i] & 2147483647
        acc += 1


@pk.workunit
def weigh_evicted(
    i: int,
    acc: pk.Acc[pk.int64],
    last_pass: bool,
    moves: pk.View1D[pk.int32],
    vertex_weights: pk.View1D[pk.int32],
    before: pk.View1D[pk.int64],
):
    """Sum the weights of the evicted vertices in the order of their list."""
    if last_pass:
        before[i] = acc
    acc += vertex_weights[moves[i]]


@pk.workunit
def deal_evicted(
    i: int,
    moves: pk.View1D[pk.int32],
    before: pk.View1D[pk.int64],
    open_parts: pk.View1D[pk.int32],
    capacity_ends: pk.View1D[pk.int64],
    open_count: int,
    destinations: pk.View1D[pk.int32],
):
    """Cut the list of evicted vertices into pieces, one for each open part's spare capacity."""
    low: int = 0
    high: int = open_count - 1
    while low < high:
        middle: int = (low + high) >> 1
        if before[i] < capacity_ends[middle]:
            high = middle
        else:
            low = middle + 1
    destinations[moves[i]] = open_parts[low]
