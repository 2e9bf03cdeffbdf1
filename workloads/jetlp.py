"""Jetlp: unconstrained label propagation with two filters and locks (Jet, section 4.1).

The orders are those of `jetpy.workloads.conduct`.
"""

import pykokkos as pk

from jetpy.workloads.connectivity import capacity, ends_row, keep_part, move
from jetpy.workloads.hashing import mix
from jetpy.workloads.lanes import end_of, first_entry, is_left_to_lanes, step_of, vertex_of


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
    k: int,
):
    """Choose a destination for every watched vertex and pass it through the first filter.

    `best` caches the destination (-1: no adjacent part, -2: unknown), `gains` its gain F(v) and
    `own` the weight into the own part. A vertex that passes has its gain as priority, others
    -2147483647. Vertices with the number of the iteration as lock stay. Destinations of the
    iteration before are forgotten.
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
            w: int = weights[s]
            if q == p:
                inside = w
            elif q >= 0 and w > 0 and w >= highest:
                h: pk.uint32 = mix((v ^ seed) + (q << 16))
                if w > highest or h > found_hash or (h == found_hash and q < found):
                    found = q
                    highest = w
                    found_hash = h
            s += 1
        best[v] = found
        own[v] = inside
        gains[v] = highest - inside
    if best[v] >= 0:
        limit: pk.int64 = own[v]
        limit = limit * orders[1]
        limit //= 100
        if gains[v] >= 0 or -gains[v] < limit:
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
    hub_gains: pk.View1D[pk.int32],
    hub_degree: int,
    count: int,
    list_size: int,
    k: int,
):
    """Recompute a proposal's gain as if all neighbours of higher priority had moved.

    Where that is not negative, the vertex moves and is locked for the next iteration. Parts are
    read from `sources`, as others may be moving. The gains of hubs are added up for
    `afterburn_hubs`.
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
    gain: int = 0
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
        if p == destination:
            gain += edge_weights[e]
        elif p == source:
            gain -= edge_weights[e]
        e += step_of(i, count)
    if i >= count:
        pk.atomic_fetch_add(hub_gains, [v], gain)
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
    hub_gains: pk.View1D[pk.int32],
    list_size: int,
    k: int,
):
    """Finish the afterburner for a hub."""
    if orders[5] != 1:
        return
    v: int = hubs[h]
    if priorities[v] != -2147483647 and hub_gains[v] >= 0:
        destinations[v] = best[v]
        locks[v] = orders[2] + 1
        move(v, destinations, parts, sources, vertex_weights, movers, account, list_size, k)
    hub_gains[v] = 0
