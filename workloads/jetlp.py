"""Jetlp: unconstrained label propagation with two filters and locks (Jet, section 4.1).

The orders are those of `jetpy.workloads.conduct`.
"""

import pykokkos as pk

from jetpy.workloads.connectivity import capacity, ends_row, keep_part, move, pull_of, saturated
from jetpy.workloads.distance import distance_of
from jetpy.workloads.hashing import mix, place_of
from jetpy.workloads.lanes import end_of, first_entry, is_left_to_lanes, step_of, vertex_of
from jetpy.workloads.slots import slot_of


@pk.workunit
def propose(
    i: int,
    watched: pk.View1D[pk.int32],
    indptr: pk.View1D[pk.int32],
    parts: pk.View1D[pk.int32],
    sources: pk.View1D[pk.int32],
    kept: pk.View1D[pk.int32],
    rows: pk.View1D[pk.int32],
    slots: pk.View1D[pk.int32],
    weights: pk.View1D[pk.int32],
    best: pk.View1D[pk.int32],
    gains: pk.View1D[pk.int32],
    own: pk.View1D[pk.int32],
    locks: pk.View1D[pk.int32],
    priorities: pk.View1D[pk.int32],
    destinations: pk.View1D[pk.int32],
    orders: pk.View1D[pk.int64],
    distances: pk.View1D[pk.int32],
    metric: int,
    unit: pk.int64,
    k: int,
):
    """Choose a destination for every watched vertex and pass it through the first filter.

    `best` caches the destination (-1: no adjacent part, -2: unknown), `gains` its gain F(v), in
    units large enough that it fits, and `own` the weight into the own part. A vertex passes if its
    gain is not negative, or falls short by less than a share of what its edges into the own part
    are going to cost; it has its gain as priority, others -2147483647. Vertices with the number of
    the iteration as lock stay. Destinations of the iteration before are forgotten.
    """
    if orders[5] != 1:
        return
    v: int = watched[i]
    if v < 0:
        return
    keep_part(v, parts, sources, kept, orders)
    priorities[v] = -2147483647
    destinations[v] = -1
    if locks[v] == orders[2]:
        return
    seed: int = orders[0]
    if best[v] == -2:
        p: int = parts[v]
        row: int = rows[v]
        s: int = row
        last: int = s + capacity(indptr[v + 1] - indptr[v], k)
        inside: int = 0
        found: int = -1
        highest: pk.int64 = 0
        found_hash: pk.uint32 = 0
        while s < last:
            q: int = slots[s]
            if ends_row(q, row, last):
                break
            w: int = weights[s]
            if q == p:
                inside = w
            elif q >= 0 and w > 0:
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
        best[v] = found
        own[v] = inside
        if found >= 0:
            highest -= pull_of(p, inside, row, last, slots, weights, distances, metric, k)
            if unit > 1:
                highest //= unit
            gains[v] = saturated(highest)
    if best[v] >= 0:
        if gains[v] >= 0:
            priorities[v] = gains[v]
            return
        loss: pk.int64 = -gains[v]
        limit: pk.int64 = own[v]
        limit = limit * distance_of(parts[v], best[v], metric, distances, k)
        limit = limit // 100 * orders[1] + limit % 100 * orders[1] // 100
        if loss * unit < limit:
            priorities[v] = gains[v]


@pk.workunit
def afterburn(
    i: int,
    vertices: pk.View1D[pk.int32],
    indptr: pk.View1D[pk.int32],
    indices: pk.View1D[pk.int32],
    edge_weights: pk.View1D[pk.int32],
    vertex_weights: pk.View1D[pk.int32],
    parts: pk.View1D[pk.int32],
    sources: pk.View1D[pk.int32],
    best: pk.View1D[pk.int32],
    priorities: pk.View1D[pk.int32],
    destinations: pk.View1D[pk.int32],
    locks: pk.View1D[pk.int32],
    movers: pk.View1D[pk.int32],
    account: pk.View1D[pk.int64],
    orders: pk.View1D[pk.int64],
    hubs: pk.View1D[pk.int32],
    starts: pk.View1D[pk.int32],
    late_gains: pk.View1D[pk.int64],
    hub_degree: int,
    count: int,
    list_size: int,
    capped: int,
    distances: pk.View1D[pk.int32],
    metric: int,
    k: int,
):
    """Recompute a proposal's gain as if all neighbours of higher priority had moved.

    Where that is not negative, the vertex moves and is locked for the next iteration. Parts are
    read from `sources`, as others may be moving. The gains of hubs are added up for
    `afterburn_hubs`, and if the inflow of parts is capped those of all are left to `admit`.
    """
    if orders[5] != 1:
        return
    v: int = vertex_of(i, count, vertices, hubs)
    if v < 0:
        return
    priority: int = priorities[v]
    if priority == -2147483647:
        return
    source: int = sources[v]
    destination: int = best[v]
    gain: pk.int64 = 0
    e: int = indptr[v]
    end: int = indptr[v + 1]
    if is_left_to_lanes(i, count, end - e, hub_degree):
        return
    end = e + end_of(i, count, end - e, starts)
    e += first_entry(i, count, starts)
    while e < end:
        u: int = indices[e]
        p: int = sources[u]
        other: int = priorities[u]
        if other != -2147483647:
            if other > priority or (other == priority and u < v):
                p = best[u]
        w: pk.int64 = edge_weights[e]
        if metric == 0:
            if p == destination:
                gain += w
            elif p == source:
                gain -= w
        else:
            nearer: int = distance_of(source, p, metric, distances, k)
            nearer -= distance_of(destination, p, metric, distances, k)
            gain += w * nearer
        e += step_of(i, count)
    if i >= count:
        pk.atomic_fetch_add(late_gains, [v], gain)
    elif capped == 1:
        late_gains[v] = gain
    elif gain >= 0:
        destinations[v] = destination
        locks[v] = orders[2] + 1
        move(v, destinations, parts, sources, vertex_weights, movers, account, list_size, k)


@pk.workunit
def afterburn_hubs(
    h: int,
    vertex_weights: pk.View1D[pk.int32],
    parts: pk.View1D[pk.int32],
    sources: pk.View1D[pk.int32],
    best: pk.View1D[pk.int32],
    priorities: pk.View1D[pk.int32],
    destinations: pk.View1D[pk.int32],
    locks: pk.View1D[pk.int32],
    movers: pk.View1D[pk.int32],
    account: pk.View1D[pk.int64],
    orders: pk.View1D[pk.int64],
    hubs: pk.View1D[pk.int32],
    late_gains: pk.View1D[pk.int64],
    list_size: int,
    k: int,
):
    """Finish the afterburner for a hub."""
    if orders[5] != 1:
        return
    v: int = hubs[h]
    if priorities[v] != -2147483647 and late_gains[v] >= 0:
        destinations[v] = best[v]
        locks[v] = orders[2] + 1
        move(v, destinations, parts, sources, vertex_weights, movers, account, list_size, k)
    late_gains[v] = 0


@pk.workunit
def tally_inflow(
    i: int,
    vertices: pk.View1D[pk.int32],
    vertex_weights: pk.View1D[pk.int32],
    parts: pk.View1D[pk.int32],
    best: pk.View1D[pk.int32],
    priorities: pk.View1D[pk.int32],
    late_gains: pk.View1D[pk.int64],
    ranks: pk.View1D[pk.int32],
    inflow: pk.View1D[pk.int32],
    outflow: pk.View1D[pk.int32],
    orders: pk.View1D[pk.int64],
    scale: int,
    sections: int,
    k: int,
):
    """Sum up the weights that want to move, by source, and by destination and rank of the gain.

    The rank (0..49) is that of the gain per vertex weight; -1 if the vertex stays.
    """
    if orders[5] != 1:
        return
    v: int = vertices[i]
    if v < 0:
        return
    ranks[v] = -1
    if priorities[v] == -2147483647 or late_gains[v] < 0:
        return
    rank: int = slot_of(late_gains[v], vertex_weights[v], scale)
    ranks[v] = rank
    section: int = (v >> 9) % sections
    pk.atomic_fetch_add(inflow, [(section * k + best[v]) * 50 + rank], vertex_weights[v])
    pk.atomic_fetch_add(outflow, [section * k + parts[v]], vertex_weights[v])


@pk.workunit
def cap_inflow(
    p: int,
    limits: pk.View1D[pk.int64],
    inflow: pk.View1D[pk.int32],
    outflow: pk.View1D[pk.int32],
    cutoffs: pk.View1D[pk.int32],
    shares: pk.View1D[pk.int64],
    account: pk.View1D[pk.int64],
    orders: pk.View1D[pk.int64],
    sections: int,
    overfill: int,
    k: int,
):
    """Find the lowest rank that a part admits, and how much of that, in 65536ths.

    It is to weigh no more than its limit and `overfill` percent, if all leave that want to, and as
    many of the lowest rank come as are expected. Both sums are zero afterwards.
    """
    if orders[5] != 1:
        return
    room: pk.int64 = limits[p] * (100 + overfill)
    room = room // 100 - account[p]
    section: int = 0
    while section < sections:
        room += outflow[section * k + p]
        outflow[section * k + p] = 0
        section += 1
    if room < 0:
        room = 0
    cutoffs[p] = 0
    shares[p] = 65536
    rank: int = 49
    while rank >= 0:
        wanted: pk.int64 = 0
        section = 0
        while section < sections:
            place: int = (section * k + p) * 50 + rank
            wanted += inflow[place]
            inflow[place] = 0
            section += 1
        if wanted > room and room >= 0:
            cutoffs[p] = rank
            shares[p] = room * 65536 // wanted
            room = 0
        room -= wanted
        rank -= 1


@pk.workunit
def admit(
    i: int,
    vertices: pk.View1D[pk.int32],
    vertex_weights: pk.View1D[pk.int32],
    parts: pk.View1D[pk.int32],
    sources: pk.View1D[pk.int32],
    best: pk.View1D[pk.int32],
    destinations: pk.View1D[pk.int32],
    locks: pk.View1D[pk.int32],
    late_gains: pk.View1D[pk.int64],
    ranks: pk.View1D[pk.int32],
    cutoffs: pk.View1D[pk.int32],
    shares: pk.View1D[pk.int64],
    movers: pk.View1D[pk.int32],
    account: pk.View1D[pk.int64],
    orders: pk.View1D[pk.int64],
    list_size: int,
    k: int,
):
    """Move the vertices that their destinations admit: by rank, in the lowest one by hash."""
    if orders[5] != 1:
        return
    v: int = vertices[i]
    if v < 0:
        return
    late_gains[v] = 0
    rank: int = ranks[v]
    p: int = best[v]
    if rank < 0:
        return
    if rank < cutoffs[p]:
        return
    if rank == cutoffs[p]:
        seed: int = orders[0]
        if place_of(mix(v ^ seed), 65536) >= shares[p]:
            return
    destinations[v] = p
    locks[v] = orders[2] + 1
    move(v, destinations, parts, sources, vertex_weights, movers, account, list_size, k)
