"""Heavy-edge matching by rounds of handshakes: two vertices match when each prefers the other.

An edge is rated w(u,v)^2 / (c(u) c(v)); ties go to the higher hash of the edge, then to the
lower neighbour. This order is the same from both ends, so every round matches at least the best
remaining edge, and the outcome does not depend on who comes first.
"""

import pykokkos as pk

from jetpy.workloads.hashing import mix
from jetpy.workloads.lanes import is_left_to_lanes, step_of, vertex_of


@pk.function
def hash_edge(u: int, v: int, seed: int) -> pk.uint32:
    """Return the hash of an edge, the same from both ends."""
    h: pk.uint32 = mix(u ^ seed)
    h = (h + mix(v ^ seed)) * 1597334677
    return h ^ (h >> 15)


@pk.function
def has_chosen(u: int, match: pk.View1D[pk.int32], preferred: pk.View1D[pk.int32]) -> bool:
    """Whether a vertex is matched, finds no partner, or prefers one that is still unmatched."""
    kept: int = preferred[u]
    if match[u] >= 0 or kept == -1:
        return True
    return kept >= 0 and match[kept] < 0


@pk.workunit
def prefer_heaviest(
    i: int,
    vertices: pk.View1D[pk.int32],
    indptr: pk.View1D[pk.int32],
    indices: pk.View1D[pk.int32],
    edge_weights: pk.View1D[pk.int32],
    vertex_weights: pk.View1D[pk.int32],
    match: pk.View1D[pk.int32],
    preferred: pk.View1D[pk.int32],
    parts: pk.View1D[pk.int32],
    hubs: pk.View1D[pk.int32],
    finalists: pk.View1D[pk.int32],
    within_parts: int,
    seed: int,
    heaviest: int,
    hub_degree: int,
    count: int,
):
    """Let an unmatched vertex choose its best unmatched neighbour, or keep the one it has.

    `preferred` is -2 before the first choice and -1 where there is none. Candidates only
    disappear, so a choice that is still unmatched is still the best. With `within_parts` = 1
    only neighbours of the same part are candidates. A lane notes the entry of its best one, a
    finalist, for `compare_finalists`; here a hub's row is one piece.
    """
    u: int = vertex_of(i, count, vertices, hubs)
    if has_chosen(u, match, preferred):
        return
    e: int = indptr[u]
    end: int = indptr[u + 1]
    if is_left_to_lanes(i, count, end - e, hub_degree):
        return
    if i >= count:
        e += (i - count) & 127
    room: int = heaviest - vertex_weights[u]
    weight_u: pk.double = vertex_weights[u]
    best: int = -1
    best_entry: int = -1
    best_rating: pk.double = -1.0
    best_hash: pk.uint32 = 0
    while e < end:
        v: int = indices[e]
        entry: int = e
        e += step_of(i, count)
        if within_parts == 1:
            if parts[v] != parts[u]:
                continue
        if match[v] < 0 and vertex_weights[v] <= room:
            w: pk.double = edge_weights[entry]
            weight_v: pk.double = vertex_weights[v]
            rating: pk.double = (w * w) / (weight_u * weight_v)
            if rating >= best_rating:
                h: pk.uint32 = hash_edge(u, v, seed)
                if rating > best_rating or h > best_hash or (h == best_hash and v < best):
                    best = v
                    best_entry = entry
                    best_rating = rating
                    best_hash = h
    if i < count:
        preferred[u] = best
    else:
        finalists[i - count] = best_entry


@pk.function
def best_finalist(
    u: int,
    first: int,
    step: int,
    end: int,
    indices: pk.View1D[pk.int32],
    edge_weights: pk.View1D[pk.int32],
    vertex_weights: pk.View1D[pk.int32],
    finalists: pk.View1D[pk.int32],
    seed: int,
) -> int:
    """Return which of some finalists `prefer_heaviest` would choose; -1 if they are none."""
    weight_u: pk.double = vertex_weights[u]
    best: int = -1
    best_entry: int = -1
    best_rating: pk.double = -1.0
    best_hash: pk.uint32 = 0
    place: int = first
    while place < end:
        entry: int = finalists[place]
        place += step
        if entry < 0:
            continue
        v: int = indices[entry]
        w: pk.double = edge_weights[entry]
        weight_v: pk.double = vertex_weights[v]
        rating: pk.double = (w * w) / (weight_u * weight_v)
        if rating >= best_rating:
            h: pk.uint32 = hash_edge(u, v, seed)
            if rating > best_rating or h > best_hash or (h == best_hash and v < best):
                best = v
                best_entry = entry
                best_rating = rating
                best_hash = h
    return best_entry


@pk.workunit
def compare_finalists(
    j: int,
    indices: pk.View1D[pk.int32],
    edge_weights: pk.View1D[pk.int32],
    vertex_weights: pk.View1D[pk.int32],
    match: pk.View1D[pk.int32],
    preferred: pk.View1D[pk.int32],
    hubs: pk.View1D[pk.int32],
    finalists: pk.View1D[pk.int32],
    seed: int,
):
    """Leave the best of eight finalists of a hub in the first one's place."""
    u: int = hubs[j >> 4]
    if not has_chosen(u, match, preferred):
        finalists[j * 8] = best_finalist(
            u, j * 8, 1, j * 8 + 8, indices, edge_weights, vertex_weights, finalists, seed
        )


@pk.workunit
def prefer_finalist(
    h: int,
    indices: pk.View1D[pk.int32],
    edge_weights: pk.View1D[pk.int32],
    vertex_weights: pk.View1D[pk.int32],
    match: pk.View1D[pk.int32],
    preferred: pk.View1D[pk.int32],
    hubs: pk.View1D[pk.int32],
    finalists: pk.View1D[pk.int32],
    seed: int,
):
    """Let a hub choose the best finalist that `compare_finalists` has left."""
    u: int = hubs[h]
    if has_chosen(u, match, preferred):
        return
    entry: int = best_finalist(
        u, h * 128, 8, h * 128 + 128, indices, edge_weights, vertex_weights, finalists, seed
    )
    preferred[u] = -1
    if entry >= 0:
        preferred[u] = indices[entry]


@pk.workunit
def match_mutual(
    i: int,
    active: pk.View1D[pk.int32],
    match: pk.View1D[pk.int32],
    preferred: pk.View1D[pk.int32],
):
    """Match a vertex with the one it prefers if that one prefers it, too."""
    u: int = active[i]
    v: int = preferred[u]
    if v >= 0:
        if preferred[v] == u:
            match[u] = v


@pk.workunit
def list_active(
    i: int,
    acc: pk.Acc[pk.int64],
    last_pass: bool,
    active: pk.View1D[pk.int32],
    match: pk.View1D[pk.int32],
    preferred: pk.View1D[pk.int32],
    remaining: pk.View1D[pk.int32],
):
    """List the vertices that may still find a partner in a later round."""
    u: int = active[i]
    if match[u] < 0 and preferred[u] >= 0:
        if last_pass:
            remaining[acc] = u
        acc += 1


@pk.workunit
def list_unmatched(
    v: int,
    acc: pk.Acc[pk.int64],
    last_pass: bool,
    match: pk.View1D[pk.int32],
    unmatched: pk.View1D[pk.int32],
):
    """List the vertices without a partner, in ascending order."""
    if match[v] < 0:
        if last_pass:
            unmatched[acc] = v
        acc += 1
