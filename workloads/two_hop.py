"""Two-hop matching: partners that are not adjacent but share neighbours.

Each kind (leaves, twins, relatives) names a group for every unmatched vertex; vertices of one
group are then paired in ascending order. Groups are found by sorting the keys
group * 2^32 + vertex, which leaves no room for races.
"""

import pykokkos as pk

from jetpy.workloads.hashing import mix
from jetpy.workloads.lanes import end_of, first_entry, step_of


@pk.workunit
def key_leaves(
    i: int,
    unmatched: pk.View1D[pk.int32],
    indptr: pk.View1D[pk.int32],
    indices: pk.View1D[pk.int32],
    keys: pk.View1D[pk.int64],
    n: int,
):
    """Group a vertex of degree one by its neighbour; isolated vertices form a group, too."""
    v: int = unmatched[i]
    degree: int = indptr[v + 1] - indptr[v]
    group: pk.int64 = -1
    if degree == 1:
        group = indices[indptr[v]]
    if degree == 0:
        group = n
    key: pk.int64 = v
    if group >= 0:
        keys[i] = (group << 32) + key
    else:
        keys[i] = -1


@pk.workunit
def key_twins(
    i: int,
    unmatched: pk.View1D[pk.int32],
    indptr: pk.View1D[pk.int32],
    indices: pk.View1D[pk.int32],
    digests: pk.View1D[pk.int32],
    keys: pk.View1D[pk.int64],
    highest_degree: int,
):
    """Group a vertex by a digest of its neighbourhood: two order-independent 31-bit sums.

    A vertex of high degree has no group.
    """
    v: int = unmatched[i]
    if indptr[v + 1] - indptr[v] > highest_degree:
        keys[i] = -1
        return
    first: pk.uint32 = 0
    second: pk.uint32 = 0
    e: int = indptr[v]
    end: int = indptr[v + 1]
    while e < end:
        h: pk.uint32 = mix(indices[e] + 1)
        first = first + h
        h = h * 1597334677
        second = second + (h ^ (h >> 15))
        e += 1
    group: pk.int64 = first >> 1
    key: pk.int64 = v
    keys[i] = (group << 32) + key
    digests[v] = second >> 1


@pk.workunit
def find_matchmakers(
    i: int,
    match: pk.View1D[pk.int32],
    indptr: pk.View1D[pk.int32],
    indices: pk.View1D[pk.int32],
    hubs: pk.View1D[pk.int32],
    starts: pk.View1D[pk.int32],
    matchmakers: pk.View1D[pk.int64],
):
    """Find the neighbour of lowest degree of each unmatched hub: degree * 2^32 + vertex."""
    v: int = hubs[i >> 7]
    if match[v] >= 0:
        return
    e: int = indptr[v] + first_entry(i, 0, starts)
    end: int = indptr[v] + end_of(i, 0, indptr[v + 1] - indptr[v], starts)
    best: pk.int64 = matchmakers[v]
    while e < end:
        u: pk.int64 = indices[e]
        degree: pk.int64 = indptr[u + 1] - indptr[u]
        if (degree << 32) + u < best:
            best = (degree << 32) + u
        e += step_of(i, 0)
    pk.atomic_fetch_min(matchmakers, [v], best)


@pk.workunit
def key_relatives(
    i: int,
    unmatched: pk.View1D[pk.int32],
    indptr: pk.View1D[pk.int32],
    indices: pk.View1D[pk.int32],
    matchmakers: pk.View1D[pk.int64],
    keys: pk.View1D[pk.int64],
    highest_degree: int,
    hub_degree: int,
):
    """Group a vertex by its matchmaker: the neighbour of lowest degree, unless that is high.

    Hubs have theirs found by `find_matchmakers`.
    """
    v: int = unmatched[i]
    matchmaker: pk.int64 = -1
    lowest: int = highest_degree + 1
    e: int = indptr[v]
    end: int = indptr[v + 1]
    if end - e > hub_degree:
        if (matchmakers[v] >> 32) < lowest:
            matchmaker = matchmakers[v] & 2147483647
        e = end
    while e < end:
        u: int = indices[e]
        degree: int = indptr[u + 1] - indptr[u]
        if degree < lowest or (degree == lowest and u < matchmaker):
            lowest = degree
            matchmaker = u
        e += 1
    key: pk.int64 = v
    if matchmaker >= 0:
        keys[i] = (matchmaker << 32) + key
    else:
        keys[i] = -1


@pk.workunit
def rank_groups(
    i: int,
    acc: pk.Acc[pk.int64],
    last_pass: bool,
    keys: pk.View1D[pk.int64],
    group_of: pk.View1D[pk.int32],
    starts: pk.View1D[pk.int32],
):
    """Number the groups of sorted keys, and note where each begins."""
    begins: int = 1
    if i > 0:
        if (keys[i] >> 32) == (keys[i - 1] >> 32):
            begins = 0
    acc += begins
    if last_pass:
        group_of[i] = acc - 1
        if begins == 1:
            starts[acc - 1] = i


@pk.workunit
def pair_in_group(
    i: int,
    count: int,
    keys: pk.View1D[pk.int64],
    group_of: pk.View1D[pk.int32],
    starts: pk.View1D[pk.int32],
    vertex_weights: pk.View1D[pk.int32],
    digests: pk.View1D[pk.int32],
    match: pk.View1D[pk.int32],
    parts: pk.View1D[pk.int32],
    within_parts: int,
    heaviest: int,
):
    """Match every second member of a group with the one after it (equal digests only).

    With `within_parts` = 1 both must be in the same part.
    """
    if keys[i] < 0 or i + 1 >= count:
        return
    if group_of[i] != group_of[i + 1] or ((i - starts[group_of[i]]) & 1) == 1:
        return
    u: int = keys[i] & 2147483647
    v: int = keys[i + 1] & 2147483647
    if within_parts == 1:
        if parts[u] != parts[v]:
            return
    if vertex_weights[u] + vertex_weights[v] <= heaviest and digests[u] == digests[v]:
        match[u] = v
        match[v] = u
