"""Rebalancing: evict the cheapest vertices from overweight parts (Jet, section 4.2).

Losses are sorted into slots: 0 for a gain, 1 for no loss, and from 2 on one slot for each factor
of about 1.5 in loss per vertex weight.
"""

import pykokkos as pk

from jetpy.workloads.connectivity import capacity, clear_account, ends_row
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


@pk.function
def pick(key: int, count: int) -> int:
    """Choose one of `count` by the hash of a key."""
    place: pk.uint64 = mix(key)
    wide: pk.uint64 = count
    place = (place * wide) >> 32
    return place


@pk.function
def tally(
    v: int,
    p: int,
    slot: int,
    k: int,
    sections: int,
    vertex_weights: pk.View1D[pk.int32],
    histogram: pk.View1D[pk.int32],
):
    """Add a candidate's weight to its part and slot.

    Counters are kept by section (blocks of 512 vertices, dealt round), far from each other in
    memory, so that threads do not meet at one.
    """
    section: int = (v >> 9) % sections
    place: int = (section * k + p) * 50 + slot
    pk.atomic_fetch_add(histogram, [place], vertex_weights[v])


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
    leave_limit: pk.View1D[pk.int64],
    is_open: pk.View1D[pk.int64],
    open_parts: pk.View1D[pk.int64],
    orders: pk.View1D[pk.int64],
    destinations: pk.View1D[pk.int32],
    loss_slots: pk.View1D[pk.int32],
    histogram: pk.View1D[pk.int32],
    account: pk.View1D[pk.int64],
    k: int,
    sections: int,
):
    """Weak: choose each candidate's destination now, the best connected open part.

    A vertex is a candidate if its weight is at most its part's `leave_limit` (0 for a part that
    is not overweight). Without an adjacent open part it gets one by hash. Slot -1 is that of no
    candidate, -2 that of an interior one, which `rate_interior` looks at. The orders are a seed
    and, in place 3, the number of open parts.
    """
    if v == 0:
        clear_account(account, k)
    loss_slots[v] = -1
    p: int = parts[v]
    if leave_limit[p] == 0 or vertex_weights[v] > leave_limit[p]:
        return
    if best[v] == -1:
        loss_slots[v] = -2
        return
    seed: int = orders[0]
    s: int = rows[v]
    last: int = s + capacity(indptr[v + 1] - indptr[v], k)
    inside: int = 0
    found: int = -1
    highest: int = 0
    found_hash: pk.uint32 = 0
    while s < last:
        q: int = slots[s]
        if ends_row(q, rows[v], last):
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
        found = open_parts[pick(v ^ seed, orders[3])]
    destinations[v] = found
    slot: int = slot_of(inside - highest, vertex_weights[v])
    loss_slots[v] = slot
    tally(v, p, slot, k, sections, vertex_weights, histogram)


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
    leave_limit: pk.View1D[pk.int64],
    is_open: pk.View1D[pk.int64],
    destinations: pk.View1D[pk.int32],
    loss_slots: pk.View1D[pk.int32],
    histogram: pk.View1D[pk.int32],
    account: pk.View1D[pk.int64],
    k: int,
    sections: int,
):
    """Strong: rate each candidate by its mean connection to adjacent open parts.

    Its destination is 0 until `deal_evicted` chooses one.
    """
    if v == 0:
        clear_account(account, k)
    loss_slots[v] = -1
    p: int = parts[v]
    if leave_limit[p] == 0 or vertex_weights[v] > leave_limit[p]:
        return
    if best[v] == -1:
        loss_slots[v] = -2
        return
    s: int = rows[v]
    last: int = s + capacity(indptr[v + 1] - indptr[v], k)
    inside: int = 0
    outside: pk.int64 = 0
    adjacent: int = 0
    while s < last:
        q: int = slots[s]
        if ends_row(q, rows[v], last):
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
    destinations[v] = 0
    slot: int = slot_of(loss, vertex_weights[v])
    loss_slots[v] = slot
    tally(v, p, slot, k, sections, vertex_weights, histogram)


@pk.workunit
def rate_interior(
    v: int,
    parts: pk.View1D[pk.int32],
    vertex_weights: pk.View1D[pk.int32],
    own: pk.View1D[pk.int32],
    cutoffs: pk.View1D[pk.int32],
    open_parts: pk.View1D[pk.int64],
    orders: pk.View1D[pk.int64],
    destinations: pk.View1D[pk.int32],
    loss_slots: pk.View1D[pk.int32],
    histogram: pk.View1D[pk.int32],
    k: int,
    sections: int,
):
    """Rate a candidate without adjacent parts, unless the others up to its slot suffice.

    `cutoffs` are those of the other candidates alone: more candidates can only lower them. The
    destination is by hash.
    """
    if loss_slots[v] != -2:
        return
    p: int = parts[v]
    slot: int = slot_of(own[v], vertex_weights[v])
    if slot > cutoffs[p]:
        return
    seed: int = orders[0]
    destinations[v] = open_parts[pick(v ^ seed, orders[3])]
    loss_slots[v] = slot
    tally(v, p, slot, k, sections, vertex_weights, histogram)


@pk.workunit
def cut_off(
    p: int,
    histogram: pk.View1D[pk.int32],
    excess: pk.View1D[pk.int64],
    cutoffs: pk.View1D[pk.int32],
    rests: pk.View1D[pk.int64],
    lasts: pk.View1D[pk.int64],
    k: int,
    sections: int,
    clear: int,
):
    """Find the last slot that a part has to evict from (-1: none) and how much weight of it.

    With `clear` = 1 the histogram is zero afterwards.
    """
    rest: pk.int64 = excess[p]
    cutoffs[p] = -1
    lasts[p] = 0
    slot: int = 0
    section: int = 0
    while rest > 0 and slot < 50:
        cutoffs[p] = slot
        rests[p] = rest
        section = 0
        while section < sections:
            rest -= histogram[(section * k + p) * 50 + slot]
            section += 1
        slot += 1
    if clear == 1:
        section = 0
        while section < sections:
            slot = 0
            while slot < 50:
                histogram[(section * k + p) * 50 + slot] = 0
                slot += 1
            section += 1


@pk.workunit
def list_candidates(
    v: int,
    acc: pk.Acc[pk.int64],
    last_pass: bool,
    parts: pk.View1D[pk.int32],
    loss_slots: pk.View1D[pk.int32],
    cutoffs: pk.View1D[pk.int32],
    vertices: pk.View1D[pk.int32],
):
    """List the candidates up to the cut-off."""
    if loss_slots[v] >= 0:
        if loss_slots[v] <= cutoffs[parts[v]]:
            if last_pass:
                vertices[acc] = v
            acc += 1


@pk.workunit
def tally_tied(
    i: int,
    vertices: pk.View1D[pk.int32],
    parts: pk.View1D[pk.int32],
    vertex_weights: pk.View1D[pk.int32],
    loss_slots: pk.View1D[pk.int32],
    cutoffs: pk.View1D[pk.int32],
    lasts: pk.View1D[pk.int64],
    digits: pk.View1D[pk.int32],
    shift: int,
):
    """Sum up the weights of candidates in the last slot by the next six bits of their number.

    Only those whose higher bits are the ones found so far, `lasts`.
    """
    v: int = vertices[i]
    slot: int = loss_slots[v]
    if slot < 0:
        return
    p: int = parts[v]
    high: pk.int64 = v
    high = high >> shift
    if slot == cutoffs[p] and (high >> 6) == lasts[p]:
        pk.atomic_fetch_add(digits, [p * 64 + (high & 63)], vertex_weights[v])


@pk.workunit
def narrow_down(
    p: int,
    rests: pk.View1D[pk.int64],
    lasts: pk.View1D[pk.int64],
    digits: pk.View1D[pk.int32],
):
    """Find the next six bits of the number of the last vertex that a part evicts."""
    rest: pk.int64 = rests[p]
    digit: int = 0
    while digit < 63 and digits[p * 64 + digit] < rest:
        rest -= digits[p * 64 + digit]
        digit += 1
    rests[p] = rest
    lasts[p] = lasts[p] * 64 + digit
    digit = 0
    while digit < 64:
        digits[p * 64 + digit] = 0
        digit += 1


@pk.workunit
def select_evicted(
    i: int,
    vertices: pk.View1D[pk.int32],
    parts: pk.View1D[pk.int32],
    loss_slots: pk.View1D[pk.int32],
    cutoffs: pk.View1D[pk.int32],
    lasts: pk.View1D[pk.int64],
    destinations: pk.View1D[pk.int32],
):
    """Let all stay (-1) but the first of each part, by slot and number, up to the last to go."""
    v: int = vertices[i]
    slot: int = loss_slots[v]
    if slot >= 0:
        p: int = parts[v]
        if slot < cutoffs[p] or (slot == cutoffs[p] and v <= lasts[p]):
            return
    destinations[v] = -1


@pk.workunit
def deal_evicted(
    i: int,
    acc: pk.Acc[pk.int64],
    last_pass: bool,
    vertices: pk.View1D[pk.int32],
    vertex_weights: pk.View1D[pk.int32],
    open_parts: pk.View1D[pk.int64],
    capacity_ends: pk.View1D[pk.int64],
    orders: pk.View1D[pk.int64],
    destinations: pk.View1D[pk.int32],
):
    """Cut the list of evicted vertices into pieces, one for each open part's spare capacity."""
    v: int = vertices[i]
    if destinations[v] >= 0:
        if last_pass:
            low: int = 0
            high: int = orders[3] - 1
            while low < high:
                middle: int = (low + high) >> 1
                if acc < capacity_ends[middle]:
                    high = middle
                else:
                    low = middle + 1
            destinations[v] = open_parts[low]
        acc += vertex_weights[v]
