"""Union-find coarsening: subsets of vertices along the edge that each likes best.

Lee et al., "G-kway", TODAES 2025, section 3.1. Every vertex selects a neighbour, and what hangs
together by selections is a subset, named by its lowest vertex. Subsets that are too large are
split: Lee et al., "iG-kway", DAC 2025, section IV.
"""

import pykokkos as pk

from jetpy.workloads.hashing import mix
from jetpy.workloads.lanes import end_of, first_entry, is_left_to_lanes, step_of


@pk.function
def score_of(
    e: int,
    room: int,
    home: int,
    indptr: pk.View1D[pk.int32],
    indices: pk.View1D[pk.int32],
    edge_weights: pk.View1D[pk.int32],
    vertex_weights: pk.View1D[pk.int32],
    parts: pk.View1D[pk.int32],
    within_parts: int,
    by_degree: int,
) -> pk.int64:
    """Return the score c * w(u, v) - degree(v), c being 2^31, plus that; -1 if v is no candidate.

    No candidate weighs more than `room`; with `within_parts` = 1 all are of part `home`, with
    `by_degree` = 0 degrees do not count.
    """
    v: int = indices[e]
    if vertex_weights[v] > room:
        return -1
    if within_parts == 1:
        if parts[v] != home:
            return -1
    score: pk.int64 = edge_weights[e]
    score = (score << 31) + 2147483647
    if by_degree == 1:
        score -= indptr[v + 1] - indptr[v]
    return score


@pk.function
def choice_of(v: int, seed: int) -> pk.int64:
    """Return by what neighbours of equal score are told apart: hash * 2^31 + 2^31 - 1 - v."""
    h: pk.uint32 = mix(v ^ seed)
    choice: pk.int64 = h
    return (choice << 31) + (2147483647 - v)


@pk.function
def chosen(choice: pk.int64) -> int:
    """Return the vertex of a choice."""
    return 2147483647 - (choice & 2147483647)


@pk.workunit
def select_neighbours(
    i: int,
    indptr: pk.View1D[pk.int32],
    indices: pk.View1D[pk.int32],
    edge_weights: pk.View1D[pk.int32],
    vertex_weights: pk.View1D[pk.int32],
    parts: pk.View1D[pk.int32],
    selected: pk.View1D[pk.int32],
    scores: pk.View1D[pk.int64],
    hubs: pk.View1D[pk.int32],
    starts: pk.View1D[pk.int32],
    within_parts: int,
    by_degree: int,
    seed: int,
    heaviest: int,
    hub_degree: int,
    count: int,
):
    """Let a vertex select the neighbour of highest score, or -1; of a hub, find that score.

    No two vertices that weigh more than `heaviest` together select each other.
    """
    u: int = i
    if i >= count:
        u = hubs[(i - count) >> 7]
    e: int = indptr[u]
    end: int = indptr[u + 1]
    if is_left_to_lanes(i, count, end - e, hub_degree):
        return
    end = e + end_of(i, count, end - e, starts)
    e += first_entry(i, count, starts)
    room: int = heaviest - vertex_weights[u]
    highest: pk.int64 = -1
    best: pk.int64 = -1
    while e < end:
        score: pk.int64 = score_of(
            e,
            room,
            parts[u],
            indptr,
            indices,
            edge_weights,
            vertex_weights,
            parts,
            within_parts,
            by_degree,
        )
        if score >= 0 and score >= highest:
            choice: pk.int64 = choice_of(indices[e], seed)
            if score > highest or choice > best:
                highest = score
                best = choice
        e += step_of(i, count)
    if i >= count:
        pk.atomic_fetch_max(scores, [u], highest)
    elif best >= 0:
        selected[u] = chosen(best)
    else:
        selected[u] = -1


@pk.workunit
def compare_choices(
    i: int,
    indptr: pk.View1D[pk.int32],
    indices: pk.View1D[pk.int32],
    edge_weights: pk.View1D[pk.int32],
    vertex_weights: pk.View1D[pk.int32],
    parts: pk.View1D[pk.int32],
    scores: pk.View1D[pk.int64],
    choices: pk.View1D[pk.int64],
    hubs: pk.View1D[pk.int32],
    starts: pk.View1D[pk.int32],
    within_parts: int,
    by_degree: int,
    seed: int,
    heaviest: int,
):
    """Find the first choice among a hub's neighbours of highest score."""
    u: int = hubs[i >> 7]
    if scores[u] < 0:
        return
    e: int = indptr[u] + first_entry(i, 0, starts)
    end: int = indptr[u] + end_of(i, 0, indptr[u + 1] - indptr[u], starts)
    room: int = heaviest - vertex_weights[u]
    best: pk.int64 = -1
    while e < end:
        score: pk.int64 = score_of(
            e,
            room,
            parts[u],
            indptr,
            indices,
            edge_weights,
            vertex_weights,
            parts,
            within_parts,
            by_degree,
        )
        if score == scores[u]:
            choice: pk.int64 = choice_of(indices[e], seed)
            if choice > best:
                best = choice
        e += step_of(i, 0)
    pk.atomic_fetch_max(choices, [u], best)


@pk.workunit
def select_for_hubs(
    h: int,
    choices: pk.View1D[pk.int64],
    selected: pk.View1D[pk.int32],
    hubs: pk.View1D[pk.int32],
):
    """Let a hub select what `compare_choices` has found."""
    u: int = hubs[h]
    selected[u] = -1
    if choices[u] >= 0:
        selected[u] = chosen(choices[u])


@pk.workunit
def join_subsets(
    v: int,
    selected: pk.View1D[pk.int32],
    subsets: pk.View1D[pk.int32],
    joined: pk.View1D[pk.int32],
    shortcut: int,
):
    """Give the lower of two subsets to a vertex and the one that it selects.

    Subsets are read as they were before the round, so that order does not show. With `shortcut` =
    1 whole subsets are joined, as well as they are known, and vertices catch up with the one that
    names theirs: the number of rounds becomes logarithmic in the length of chains.
    """
    u: int = selected[v]
    if u < 0:
        return
    a: int = subsets[v]
    b: int = subsets[u]
    if a > b:
        pk.atomic_fetch_min(joined, [v], b)
        if shortcut == 1:
            pk.atomic_fetch_min(joined, [a], b)
    elif a < b:
        pk.atomic_fetch_min(joined, [u], a)
        if shortcut == 1:
            pk.atomic_fetch_min(joined, [b], a)
    if shortcut == 1:
        if subsets[a] < a:
            pk.atomic_fetch_min(joined, [v], subsets[a])


@pk.workunit
def take_subsets(
    v: int,
    acc: pk.Acc[pk.int64],
    subsets: pk.View1D[pk.int32],
    joined: pk.View1D[pk.int32],
    labels: pk.View1D[pk.int32],
    label: int,
):
    """Take over the subsets after a round; count and label the vertices whose has changed."""
    if joined[v] != subsets[v]:
        subsets[v] = joined[v]
        labels[v] = label
        acc += 1


@pk.workunit
def weigh_subsets(
    v: int,
    subsets: pk.View1D[pk.int32],
    vertex_weights: pk.View1D[pk.int32],
    sizes: pk.View1D[pk.int32],
    totals: pk.View1D[pk.int32],
):
    """Sum up the vertices of each subset, and their weights."""
    pk.atomic_fetch_add(sizes, [subsets[v]], 1)
    pk.atomic_fetch_add(totals, [subsets[v]], vertex_weights[v])


@pk.workunit
def list_crowded(
    v: int,
    acc: pk.Acc[pk.int64],
    last_pass: bool,
    subsets: pk.View1D[pk.int32],
    labels: pk.View1D[pk.int32],
    sizes: pk.View1D[pk.int32],
    totals: pk.View1D[pk.int32],
    keys: pk.View1D[pk.int64],
    most: int,
    heaviest: int,
    bits: int,
):
    """List the vertices of subsets of more than `most` vertices, or heavier than `heaviest`.

    Each by a key for sorting: subset, label and vertex. Vertices have so many bits, labels those
    that are left of 63; a label too large for them is the largest.
    """
    s: int = subsets[v]
    if sizes[s] > most or totals[s] > heaviest:
        if last_pass:
            one: pk.int64 = 1
            label: pk.int64 = labels[v]
            largest: pk.int64 = (one << (63 - 2 * bits)) - 1
            if label > largest:
                label = largest
            key: pk.int64 = s
            key = (key << (63 - 2 * bits)) + label
            keys[acc] = (key << bits) + v
        acc += 1


@pk.workunit
def find_first(
    i: int,
    keys: pk.View1D[pk.int64],
    firsts: pk.View1D[pk.int32],
    bits: int,
):
    """Note where each subset begins among the sorted keys."""
    s: pk.int64 = keys[i] >> (63 - bits)
    if i > 0:
        if (keys[i - 1] >> (63 - bits)) == s:
            return
    firsts[s] = i


@pk.function
def vertex_in(key: pk.int64, bits: int) -> int:
    """Return the vertex of a key."""
    one: pk.int64 = 1
    return key & ((one << bits) - 1)


@pk.workunit
def add_up(
    i: int,
    acc: pk.Acc[pk.int64],
    last_pass: bool,
    keys: pk.View1D[pk.int64],
    vertex_weights: pk.View1D[pk.int32],
    sums: pk.View1D[pk.int64],
    bits: int,
):
    """Sum up the weights before each vertex, in the order of the keys."""
    if last_pass:
        sums[i] = acc
    acc += vertex_weights[vertex_in(keys[i], bits)]


@pk.function
def bin_of(
    i: int,
    first: int,
    keys: pk.View1D[pk.int64],
    vertex_weights: pk.View1D[pk.int32],
    sums: pk.View1D[pk.int64],
    heaviest: int,
    bits: int,
) -> pk.int64:
    """Return the bin that a vertex lies in, if bins have room for `heaviest`; -1 between two.

    Vertices fill bin by bin, in the order of the keys, from place `first` on.
    """
    before: pk.int64 = sums[i] - sums[first]
    number: pk.int64 = before
    number //= heaviest
    if before + vertex_weights[vertex_in(keys[i], bits)] > (number + 1) * heaviest:
        return -1
    return number


@pk.workunit
def split_subsets(
    i: int,
    acc: pk.Acc[pk.int64],
    last_pass: bool,
    keys: pk.View1D[pk.int64],
    firsts: pk.View1D[pk.int32],
    vertex_weights: pk.View1D[pk.int32],
    sums: pk.View1D[pk.int64],
    groups: pk.View1D[pk.int32],
    leaders: pk.View1D[pk.int32],
    most: int,
    heaviest: int,
    bits: int,
):
    """Number the groups that sorted subsets are split into, and note the first vertex of each.

    Groups are chunks of `most` vertices; in each, vertices that lie in one bin. A vertex that lies
    between two bins is a group of its own, so that none of several is heavier than `heaviest`.
    """
    first: int = firsts[keys[i] >> (63 - bits)]
    first += (i - first) // most * most
    begins: int = 1
    if i > first:
        number: pk.int64 = bin_of(i, first, keys, vertex_weights, sums, heaviest, bits)
        if number >= 0:
            if bin_of(i - 1, first, keys, vertex_weights, sums, heaviest, bits) == number:
                begins = 0
    acc += begins
    if last_pass:
        groups[i] = acc - 1
        if begins == 1:
            leaders[acc - 1] = vertex_in(keys[i], bits)


@pk.workunit
def follow_leaders(
    i: int,
    keys: pk.View1D[pk.int64],
    groups: pk.View1D[pk.int32],
    leaders: pk.View1D[pk.int32],
    group_of: pk.View1D[pk.int32],
    bits: int,
):
    """Name each vertex's group by its first vertex."""
    group_of[vertex_in(keys[i], bits)] = leaders[groups[i]]
