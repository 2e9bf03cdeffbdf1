"""Rebalancing: evict the cheapest vertices from overweight parts (Jet, section 4.2).

Losses are sorted into slots: 0 for a gain, 1 for no loss, and from 2 on one slot for each factor
of about 1.5 in loss per vertex weight. The orders, and the plan of what may leave which part, are
those of `jetpy.workloads.conduct`.
"""

import pykokkos as pk

from jetpy.workloads.connectivity import (
    capacity,
    ends_row,
    is_tied,
    keep_part,
    move,
    pull_of,
    watch,
)
from jetpy.workloads.hashing import mix, place_of
from jetpy.workloads.slots import slot_of


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


@pk.function
def region_of(v: int, group: int, regions: int) -> pk.int64:
    """Return the place of a group's sum of a vertex's region, 32768 vertices.

    Those of its 64 blocks follow it.
    """
    place: pk.int64 = group
    return (place * regions + (v >> 15)) * 65


@pk.function
def block_of(v: int, group: int, regions: int) -> pk.int64:
    """Return the place of a group's sum of a vertex's block, 512 vertices."""
    return region_of(v, group, regions) + 1 + ((v >> 9) & 63)


@pk.workunit
def rate(
    i: int,
    watched: pk.View1D[pk.int32],
    indptr: pk.View1D[pk.int32],
    parts: pk.View1D[pk.int32],
    sources: pk.View1D[pk.int32],
    kept: pk.View1D[pk.int32],
    vertex_weights: pk.View1D[pk.int32],
    rows: pk.View1D[pk.int32],
    slots: pk.View1D[pk.int32],
    weights: pk.View1D[pk.int32],
    best: pk.View1D[pk.int32],
    own: pk.View1D[pk.int32],
    plan: pk.View1D[pk.int64],
    orders: pk.View1D[pk.int64],
    destinations: pk.View1D[pk.int32],
    loss_slots: pk.View1D[pk.int32],
    histogram: pk.View1D[pk.int32],
    sums: pk.View1D[pk.int32],
    distances: pk.View1D[pk.int32],
    metric: int,
    scale: int,
    siblings: int,
    regions: int,
    k: int,
    sections: int,
):
    """Sort the candidates into slots, and choose for each where it would go.

    A vertex is a candidate if it weighs at most what row 0 of the plan says of its part (-1 where
    that is open, 0 where it is neither that nor overweight), and has an adjacent part or is tied
    to its own by little (row 1). Weak: it would go to the adjacent open part where its edges cost
    least, or to one of its group by hash if none is adjacent. Strong: to one that is dealt later (0
    for now); its loss is not that of cost, but of weight: that of its mean connection to adjacent
    open parts. In an overweight part, slot -1 is that of no candidate; a candidate for part p gets
    destination -2 - p. Destinations and sums of the iteration before are forgotten.
    """
    if orders[5] < 2:
        return
    v: int = watched[i]
    if v < 0:
        return
    keep_part(v, parts, sources, kept, orders)
    destinations[v] = -1
    p: int = parts[v]
    if orders[5] == 3:
        group: int = p // siblings
        sums[region_of(v, group, regions)] = 0
        sums[block_of(v, group, regions)] = 0
    if plan[p] <= 0:
        return
    loss_slots[v] = -1
    if vertex_weights[v] > plan[p]:
        return
    seed: int = orders[0]
    inside: int = own[v]
    adjacent: int = 0
    found: int = -1
    highest: pk.int64 = 0
    found_hash: pk.uint32 = 0
    outside: pk.int64 = 0
    adjacent_open: int = 0
    row: int = rows[v]
    last: int = row + capacity(indptr[v + 1] - indptr[v], k)
    if best[v] != -1:
        inside = 0
        s: int = row
        while s < last:
            q: int = slots[s]
            if ends_row(q, row, last):
                break
            w: int = weights[s]
            if q == p:
                inside = w
            elif q >= 0 and w > 0:
                adjacent = 1
                if plan[q] < 0:
                    outside += w
                    adjacent_open += 1
                    pull: pk.int64 = pull_of(q, w, row, last, slots, weights, distances, metric, k)
                    if found < 0 or pull >= highest:
                        h: pk.uint32 = mix((v ^ seed) + (q << 16))
                        if (
                            found < 0
                            or pull > highest
                            or h > found_hash
                            or (h == found_hash and q < found)
                        ):
                            found = q
                            highest = pull
                            found_hash = h
            s += 1
    if adjacent == 0:
        best[v] = -1
        own[v] = inside
        if is_tied(inside, vertex_weights[v], plan[k + p]):
            return
    loss: pk.int64 = inside
    if orders[5] == 3:
        found = 0
        if adjacent_open > 0:
            outside //= adjacent_open
        loss -= outside
    else:
        if found < 0:
            first: int = p // siblings * siblings
            found = plan[2 * k + first + place_of(mix(v ^ seed), plan[3 * k + p])]
            highest = pull_of(found, 0, row, last, slots, weights, distances, metric, k)
        loss = pull_of(p, inside, row, last, slots, weights, distances, metric, k) - highest
    destinations[v] = -2 - found
    slot: int = slot_of(loss, vertex_weights[v], scale)
    loss_slots[v] = slot
    tally(v, p, slot, k, sections, vertex_weights, histogram)


@pk.workunit
def watch_interior(
    v: int,
    parts: pk.View1D[pk.int32],
    vertex_weights: pk.View1D[pk.int32],
    plan: pk.View1D[pk.int64],
    best: pk.View1D[pk.int32],
    watched: pk.View1D[pk.int32],
    account: pk.View1D[pk.int64],
    k: int,
):
    """Watch all vertices that may leave a part that has lost its limit of ties."""
    if best[v] == -3:
        p: int = parts[v]
        if plan[k + p] < 0 and vertex_weights[v] <= plan[p]:
            watch(v, best, watched, account, k)


@pk.workunit
def cut_off(
    p: int,
    histogram: pk.View1D[pk.int32],
    plan: pk.View1D[pk.int64],
    cutoffs: pk.View1D[pk.int32],
    rests: pk.View1D[pk.int64],
    lasts: pk.View1D[pk.int64],
    account: pk.View1D[pk.int64],
    k: int,
    sections: int,
    orders: pk.View1D[pk.int64],
):
    """Find the last slot that a part has to evict from (-1: none) and how much weight of it.

    The histogram is zero afterwards. Where all candidates do not suffice, the part loses its
    limit of ties, and the account says so.
    """
    if orders[5] < 2:
        return
    rest: pk.int64 = plan[4 * k + p]
    if rest <= 0:
        cutoffs[p] = -1
        return
    cutoff: int = 0
    last_rest: pk.int64 = rest
    slot: int = 0
    section: int = 0
    while slot < 50:
        if rest > 0:
            cutoff = slot
            last_rest = rest
        section = 0
        while section < sections:
            rest -= histogram[(section * k + p) * 50 + slot]
            section += 1
        slot += 1
    cutoffs[p] = cutoff
    rests[p] = last_rest
    lasts[p] = 0
    section = 0
    while section < sections:
        slot = 0
        while slot < 50:
            histogram[(section * k + p) * 50 + slot] = 0
            slot += 1
        section += 1
    if rest > 0 and plan[k + p] >= 0:
        plan[k + p] = -1
        account[k + 130] = 1


@pk.workunit
def list_candidates(
    i: int,
    acc: pk.Acc[pk.int64],
    last_pass: bool,
    candidates: pk.View1D[pk.int32],
    parts: pk.View1D[pk.int32],
    loss_slots: pk.View1D[pk.int32],
    cutoffs: pk.View1D[pk.int32],
    vertices: pk.View1D[pk.int32],
):
    """List the candidates up to the cut-off."""
    v: int = candidates[i]
    if v >= 0:
        if loss_slots[v] >= 0 and loss_slots[v] <= cutoffs[parts[v]]:
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
    half: int,
    k: int,
    orders: pk.View1D[pk.int64],
):
    """Sum up the weights of candidates in the last slot by the next 2 `half` bits of their number.

    And by the first half of these, which stand before all others in `digits`. Only candidates whose
    higher bits are the ones found so far, `lasts`.
    """
    if orders[5] < 2:
        return
    v: int = vertices[i]
    if v < 0:
        return
    if loss_slots[v] < 0:
        return
    p: int = parts[v]
    high: pk.int64 = v
    high = high >> shift
    if loss_slots[v] == cutoffs[p] and (high >> (2 * half)) == lasts[p]:
        base: int = 1 << half
        first: pk.int64 = p * base + ((high >> half) & (base - 1))
        pk.atomic_fetch_add(digits, [first], vertex_weights[v])
        pk.atomic_fetch_add(digits, [(k + first) * base + (high & (base - 1))], vertex_weights[v])


@pk.workunit
def narrow_down(
    p: int,
    cutoffs: pk.View1D[pk.int32],
    rests: pk.View1D[pk.int64],
    lasts: pk.View1D[pk.int64],
    digits: pk.View1D[pk.int32],
    half: int,
    k: int,
    orders: pk.View1D[pk.int64],
):
    """Find the next 2 `half` bits of the number of the last vertex that a part evicts.

    The digits are zero afterwards.
    """
    if orders[5] < 2:
        return
    if cutoffs[p] < 0:
        return
    base: int = 1 << half
    rest: pk.int64 = rests[p]
    found: pk.int64 = lasts[p]
    level: int = 0
    while level < 2:
        start: pk.int64 = p * base
        if level == 1:
            start = (k + p * base + (found & (base - 1))) * base
        total: pk.int64 = 0
        before: pk.int64 = 0
        digit: int = 0
        counter: int = 0
        while counter < base - 1:
            total += digits[start + counter]
            counter += 1
            if total < rest:
                digit = counter
                before = total
        rest -= before
        found = found * base + digit
        level += 1
    rests[p] = rest
    lasts[p] = found
    block: int = p * base
    end: int = block + base
    while block < end:
        if digits[block] > 0:
            digits[block] = 0
            place: int = (k + block) * base
            last: int = place + base
            while place < last:
                digits[place] = 0
                place += 1
        block += 1


@pk.function
def is_evicted(
    v: int,
    p: int,
    shift: int,
    sources: pk.View1D[pk.int32],
    vertex_weights: pk.View1D[pk.int32],
    loss_slots: pk.View1D[pk.int32],
    cutoffs: pk.View1D[pk.int32],
    rests: pk.View1D[pk.int64],
    lasts: pk.View1D[pk.int64],
    destinations: pk.View1D[pk.int32],
) -> bool:
    """Whether a candidate is among the first of its part, by slot and number, that weigh enough.

    Where its number has the bits of the last one's, apart from the `shift` lowest: whether those
    with smaller such numbers do not weigh enough without it.
    """
    if loss_slots[v] != cutoffs[p]:
        return loss_slots[v] < cutoffs[p]
    high: pk.int64 = v >> shift
    if high != lasts[p]:
        return high < lasts[p]
    before: pk.int64 = 0
    u: int = high << shift
    while u < v:
        if sources[u] == p and loss_slots[u] == cutoffs[p] and destinations[u] != -1:
            before += vertex_weights[u]
        u += 1
    return before < rests[p]


@pk.workunit
def evict(
    i: int,
    vertices: pk.View1D[pk.int32],
    parts: pk.View1D[pk.int32],
    sources: pk.View1D[pk.int32],
    vertex_weights: pk.View1D[pk.int32],
    loss_slots: pk.View1D[pk.int32],
    cutoffs: pk.View1D[pk.int32],
    rests: pk.View1D[pk.int64],
    lasts: pk.View1D[pk.int64],
    destinations: pk.View1D[pk.int32],
    sums: pk.View1D[pk.int32],
    movers: pk.View1D[pk.int32],
    account: pk.View1D[pk.int64],
    orders: pk.View1D[pk.int64],
    siblings: int,
    regions: int,
    shift: int,
    list_size: int,
    k: int,
):
    """Weak: move the first candidates of each part, by slot and number, to where they would go.

    None where the candidates of some part do not suffice. Strong: give them a destination, which
    is not theirs yet, and sum up their weights by blocks and regions.
    """
    if orders[5] < 2 or account[k + 130] == 1:
        return
    v: int = vertices[i]
    if v < 0:
        return
    p: int = parts[v]
    if loss_slots[v] < 0 or cutoffs[p] < 0:
        return
    if is_evicted(
        v,
        p,
        shift,
        sources,
        vertex_weights,
        loss_slots,
        cutoffs,
        rests,
        lasts,
        destinations,
    ):
        destinations[v] = -2 - destinations[v]
        if orders[5] == 3:
            group: int = p // siblings
            pk.atomic_fetch_add(sums, [region_of(v, group, regions)], vertex_weights[v])
            pk.atomic_fetch_add(sums, [block_of(v, group, regions)], vertex_weights[v])
        else:
            move(v, destinations, parts, sources, vertex_weights, movers, account, list_size, k)


@pk.workunit
def deal_evicted(
    i: int,
    vertices: pk.View1D[pk.int32],
    parts: pk.View1D[pk.int32],
    sources: pk.View1D[pk.int32],
    vertex_weights: pk.View1D[pk.int32],
    plan: pk.View1D[pk.int64],
    destinations: pk.View1D[pk.int32],
    sums: pk.View1D[pk.int32],
    movers: pk.View1D[pk.int32],
    account: pk.View1D[pk.int64],
    orders: pk.View1D[pk.int64],
    siblings: int,
    regions: int,
    list_size: int,
    k: int,
):
    """Strong: move an evicted vertex to its share of the open parts' spare weight.

    All of a group in ascending order are cut into pieces, one for each open part.
    """
    if orders[5] != 3:
        return
    v: int = vertices[i]
    if v < 0:
        return
    if destinations[v] < 0:
        return
    group: int = sources[v] // siblings
    before: pk.int64 = 0
    place: pk.int64 = region_of(0, group, regions)
    while place < region_of(v, group, regions):
        before += sums[place]
        place += 65
    place += 1
    while place < block_of(v, group, regions):
        before += sums[place]
        place += 1
    u: int = (v >> 9) << 9
    while u < v:
        if destinations[u] >= 0 and sources[u] // siblings == group:
            before += vertex_weights[u]
        u += 1
    low: int = group * siblings
    high: int = low + plan[3 * k + low] - 1
    while low < high:
        middle: int = (low + high) >> 1
        if before < plan[5 * k + middle]:
            high = middle
        else:
            low = middle + 1
    destinations[v] = plan[2 * k + low]
    move(v, destinations, parts, sources, vertex_weights, movers, account, list_size, k)
