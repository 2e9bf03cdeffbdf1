"""Contraction: pairs or groups become coarse vertices; parallel edges merge in per-row tables.

The members of a group are first put together, edges and all, in one row; merging rows is then the
same as for pairs of one vertex each.
"""

import pykokkos as pk

from jetpy.workloads.hashing import place_of
from jetpy.workloads.lanes import end_of, first_entry, is_left_to_lanes, step_of


@pk.workunit
def number_pairs(
    v: int,
    acc: pk.Acc[pk.int64],
    last_pass: bool,
    match: pk.View1D[pk.int32],
    indptr: pk.View1D[pk.int32],
    coarse_of: pk.View1D[pk.int32],
    leaders: pk.View1D[pk.int32],
    offsets: pk.View1D[pk.int32],
):
    """Number the coarse vertices by the lower vertex of each pair, and reserve their rows.

    Each has room for all edges of its vertices. Numbers add up above the lower 32 bits, room below.
    """
    partner: int = match[v]
    if partner < 0 or v < partner:
        added: pk.int64 = 1
        added = (added << 32) + indptr[v + 1] - indptr[v]
        if partner >= 0:
            added += indptr[partner + 1] - indptr[partner]
        if last_pass:
            c: pk.int64 = acc >> 32
            coarse_of[v] = c
            leaders[c] = v
            offsets[c] = acc & 2147483647
            offsets[c + 1] = (acc + added) & 2147483647
        acc += added


@pk.workunit
def join_pairs(
    c: int,
    leaders: pk.View1D[pk.int32],
    match: pk.View1D[pk.int32],
    vertex_weights: pk.View1D[pk.int32],
    coarse_of: pk.View1D[pk.int32],
    coarse_weights: pk.View1D[pk.int32],
):
    """Give the second vertex of a pair its number, and sum the weights."""
    u: int = leaders[c]
    v: int = match[u]
    weight: int = vertex_weights[u]
    if v >= 0:
        coarse_of[v] = c
        weight += vertex_weights[v]
    coarse_weights[c] = weight


@pk.workunit
def number_groups(
    v: int,
    acc: pk.Acc[pk.int64],
    last_pass: bool,
    group_of: pk.View1D[pk.int32],
    coarse_of: pk.View1D[pk.int32],
):
    """Number the coarse vertices by the vertices that name groups."""
    if group_of[v] == v:
        if last_pass:
            coarse_of[v] = acc
        acc += 1


@pk.workunit
def join_groups(
    v: int,
    group_of: pk.View1D[pk.int32],
    indptr: pk.View1D[pk.int32],
    vertex_weights: pk.View1D[pk.int32],
    coarse_of: pk.View1D[pk.int32],
    coarse_weights: pk.View1D[pk.int32],
    lengths: pk.View1D[pk.int32],
    places: pk.View1D[pk.int32],
):
    """Give a vertex its group's number, and a place for its edges in the group's row.

    Weights and lengths of rows add up. Who comes first gets the first place: the order of a row's
    entries is left to chance; nothing may depend on it.
    """
    c: int = coarse_of[group_of[v]]
    if group_of[v] != v:
        coarse_of[v] = c
    pk.atomic_fetch_add(coarse_weights, [c], vertex_weights[v])
    places[v] = pk.atomic_fetch_add(lengths, [c], indptr[v + 1] - indptr[v])


@pk.workunit
def gather_rows(
    i: int,
    indptr: pk.View1D[pk.int32],
    indices: pk.View1D[pk.int32],
    edge_weights: pk.View1D[pk.int32],
    coarse_of: pk.View1D[pk.int32],
    offsets: pk.View1D[pk.int32],
    places: pk.View1D[pk.int32],
    gathered_indices: pk.View1D[pk.int32],
    gathered_weights: pk.View1D[pk.int32],
    hubs: pk.View1D[pk.int32],
    starts: pk.View1D[pk.int32],
    hub_degree: int,
    count: int,
):
    """Copy a vertex's edges, to coarse vertices, into the row of its group."""
    v: int = i
    if i >= count:
        v = hubs[(i - count) >> 7]
    degree: int = indptr[v + 1] - indptr[v]
    if is_left_to_lanes(i, count, degree, hub_degree):
        return
    source: int = indptr[v]
    target: int = offsets[coarse_of[v]] + places[v]
    entry: int = first_entry(i, count, starts)
    end: int = end_of(i, count, degree, starts)
    while entry < end:
        gathered_indices[target + entry] = coarse_of[indices[source + entry]]
        gathered_weights[target + entry] = edge_weights[source + entry]
        entry += step_of(i, count)


@pk.function
def insert_edge(
    key: int,
    weight: int,
    start: int,
    size: int,
    keys: pk.View1D[pk.int32],
    sums: pk.View1D[pk.int32],
):
    """Add an edge to the hash table of a coarse row, by linear probing."""
    h: pk.uint32 = key
    slot: int = place_of(h * 1597334677, size)
    while keys[start + slot] >= 0 and keys[start + slot] != key:
        slot += 1
        if slot == size:
            slot = 0
    if keys[start + slot] == key:
        sums[start + slot] += weight
    else:
        keys[start + slot] = key
        sums[start + slot] = weight


@pk.workunit
def merge_rows(
    c: int,
    leaders: pk.View1D[pk.int32],
    match: pk.View1D[pk.int32],
    indptr: pk.View1D[pk.int32],
    indices: pk.View1D[pk.int32],
    edge_weights: pk.View1D[pk.int32],
    coarse_of: pk.View1D[pk.int32],
    offsets: pk.View1D[pk.int32],
    keys: pk.View1D[pk.int32],
    sums: pk.View1D[pk.int32],
    counts: pk.View1D[pk.int32],
    hub_degree: int,
):
    """Merge the edges of one coarse row; its entries end up at the front of its slots.

    A short row is a list that is searched from the front, a long one a hash table whose gaps
    are closed in the end. Those of hubs are left to lanes (`merge_long_rows`).
    """
    u: int = leaders[c]
    second: int = match[u]
    start: int = offsets[c]
    size: int = offsets[c + 1] - offsets[c]
    if size > hub_degree:
        return
    slot: int = 0
    used: int = 0
    if size > 24:
        while slot < size:
            keys[start + slot] = -1
            slot += 1
    while u >= 0:
        e: int = indptr[u]
        end: int = indptr[u + 1]
        while e < end:
            key: int = coarse_of[indices[e]]
            if key != c:
                if size > 24:
                    insert_edge(key, edge_weights[e], start, size, keys, sums)
                else:
                    slot = start
                    while slot < start + used and keys[slot] != key:
                        slot += 1
                    if slot == start + used:
                        keys[slot] = key
                        sums[slot] = edge_weights[e]
                        used += 1
                    else:
                        sums[slot] += edge_weights[e]
            e += 1
        u = second
        second = -1
    if size > 24:
        slot = 0
        while slot < size:
            if keys[start + slot] >= 0:
                keys[start + used] = keys[start + slot]
                sums[start + used] = sums[start + slot]
                used += 1
            slot += 1
    counts[c] = used


@pk.workunit
def clear_long_rows(
    i: int,
    offsets: pk.View1D[pk.int32],
    keys: pk.View1D[pk.int32],
    sums: pk.View1D[pk.int32],
    counts: pk.View1D[pk.int32],
    hubs: pk.View1D[pk.int32],
    starts: pk.View1D[pk.int32],
):
    """Empty the tables of coarse rows that are left to lanes."""
    c: int = hubs[i >> 7]
    size: int = offsets[c + 1] - offsets[c]
    start: int = offsets[c]
    slot: int = first_entry(i, 0, starts)
    end: int = end_of(i, 0, size, starts)
    while slot < end:
        keys[start + slot] = -1
        sums[start + slot] = 0
        slot += 128
    counts[c] = 0


@pk.function
def claim_slot(key: int, start: int, size: int, keys: pk.View1D[pk.int32]) -> int:
    """Find the slot of a key in a row that others insert into, or take a free one for it.

    Returns its place in `keys`, or -1 - place where it was free.
    """
    h: pk.uint32 = key
    slot: int = place_of(h * 1597334677, size)
    while True:
        found: int = keys[start + slot]
        if found < 0:
            found = pk.atomic_compare_exchange(keys, [start + slot], found, key)
            if found < 0:
                return -1 - (start + slot)
        if found == key:
            return start + slot
        slot += 1
        if slot == size:
            slot = 0
    return 0


@pk.workunit
def merge_long_rows(
    i: int,
    leaders: pk.View1D[pk.int32],
    match: pk.View1D[pk.int32],
    indptr: pk.View1D[pk.int32],
    indices: pk.View1D[pk.int32],
    edge_weights: pk.View1D[pk.int32],
    coarse_of: pk.View1D[pk.int32],
    offsets: pk.View1D[pk.int32],
    keys: pk.View1D[pk.int32],
    sums: pk.View1D[pk.int32],
    counts: pk.View1D[pk.int32],
    hubs: pk.View1D[pk.int32],
    starts: pk.View1D[pk.int32],
):
    """Let a lane merge its share of the edges of a coarse row into the row's hash table.

    The order of a row's entries is left to chance; nothing may depend on it.
    """
    c: int = hubs[i >> 7]
    u: int = leaders[c]
    second: int = match[u]
    degree: int = indptr[u + 1] - indptr[u]
    size: int = offsets[c + 1] - offsets[c]
    entry: int = first_entry(i, 0, starts)
    end: int = end_of(i, 0, size, starts)
    claimed: int = 0
    while entry < end:
        e: int = indptr[u] + entry
        if entry >= degree:
            e = indptr[second] + (entry - degree)
        entry += 128
        key: int = coarse_of[indices[e]]
        if key != c:
            place: int = claim_slot(key, offsets[c], size, keys)
            if place < 0:
                place = -1 - place
                claimed += 1
            pk.atomic_fetch_add(sums, [place], edge_weights[e])
    if claimed > 0:
        pk.atomic_fetch_add(counts, [c], claimed)


@pk.workunit
def copy_long_rows(
    i: int,
    offsets: pk.View1D[pk.int32],
    keys: pk.View1D[pk.int32],
    sums: pk.View1D[pk.int32],
    counts: pk.View1D[pk.int32],
    hubs: pk.View1D[pk.int32],
    starts: pk.View1D[pk.int32],
    indptr: pk.View1D[pk.int32],
    indices: pk.View1D[pk.int32],
    edge_weights: pk.View1D[pk.int32],
):
    """Let a lane copy its share of a merged row out of the table; uses up `counts`."""
    c: int = hubs[i >> 7]
    size: int = offsets[c + 1] - offsets[c]
    first: int = offsets[c] + first_entry(i, 0, starts)
    end: int = offsets[c] + end_of(i, 0, size, starts)
    used: int = 0
    slot: int = first
    while slot < end:
        if keys[slot] >= 0:
            used += 1
        slot += 128
    if used == 0:
        return
    left: int = pk.atomic_fetch_add(counts, [c], -used)
    target: int = indptr[c] + left - used
    slot = first
    while slot < end:
        if keys[slot] >= 0:
            indices[target] = keys[slot]
            edge_weights[target] = sums[slot]
            target += 1
        slot += 128


@pk.workunit
def offset_rows(
    c: int,
    acc: pk.Acc[pk.int64],
    last_pass: bool,
    counts: pk.View1D[pk.int32],
    indptr: pk.View1D[pk.int32],
):
    """Turn row lengths into row offsets; entry n of `indptr` is the total."""
    if last_pass:
        indptr[c] = acc
    acc += counts[c]
    if last_pass:
        indptr[c + 1] = acc


@pk.workunit
def copy_rows(
    c: int,
    offsets: pk.View1D[pk.int32],
    keys: pk.View1D[pk.int32],
    sums: pk.View1D[pk.int32],
    indptr: pk.View1D[pk.int32],
    indices: pk.View1D[pk.int32],
    edge_weights: pk.View1D[pk.int32],
    hub_degree: int,
):
    """Copy the merged rows out of the tables, but for those of hubs."""
    source: int = offsets[c]
    if offsets[c + 1] - source > hub_degree:
        return
    target: int = indptr[c]
    end: int = indptr[c + 1]
    while target < end:
        indices[target] = keys[source]
        edge_weights[target] = sums[source]
        source += 1
        target += 1


@pk.workunit
def add_weights(e: int, acc: pk.Acc[pk.int64], edge_weights: pk.View1D[pk.int32]):
    """Sum up the weights of edges."""
    acc += edge_weights[e]
