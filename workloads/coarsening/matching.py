"""Heavy-edge matching by rounds of handshakes: two vertices match if each prefers the other.

The rating of an edge is w(u,v)^2 / (c(u) c(v)) or, by option, its weight w(u,v). It is multiplied
by one plus a hash below one millionth, which breaks ties between equal ratings. The lower neighbour
wins any remaining tie. Both ends of an edge see the same order of edges. Each round therefore
matches at least the best remaining edge, and the result does not depend on the order of execution.

Unless an option allows it, a light edge is not matched: an edge below half the weight of the
heaviest edge of either end. A vertex whose heavy neighbours are matched then stays single, because
a good cut would separate it from its light neighbours.
"""

from dataclasses import dataclass
from enum import IntEnum

import pykokkos as pk

from jetpy.workloads.coarsening.constraints import is_pinned, max_partner_weight
from jetpy.workloads.common.ghosts import global_id
from jetpy.workloads.common.groups import NO_VERTEX, Constraints, Graph, LongRows, Offset, Weight
from jetpy.workloads.common.hashing import ODD, mix, stir
from jetpy.workloads.common.long_rows import (
    LANES,
    is_lane,
    is_left_to_lanes,
    lane_edges,
    row_of,
    step_of,
    vertex_of,
)

NO_ENTRY = -1
NOT_CHOSEN = -2
NO_RATING = -1.0
MATCHED = -1
"""Stands for the weight of a vertex that is matched already."""
STRETCH_BITS = 52
"""Ratings are multiplied by 2^52 plus a 32-bit hash."""
COMPARERS = 16
"""Number of indices that reduce the lanes of a row in a first step; one index does the second."""
COMPARED = LANES // COMPARERS


class Trait(IntEnum):
    """What rating an edge needs to know of its head, in one place, so that it is one access."""

    WEIGHT = 0
    """The weight of the vertex, or `MATCHED`."""
    LEAST = 1
    """The weight below which its edges are light."""
    HASH = 2
    COUNT = 4
    """A power of two, so that a cache line contains all traits of a vertex."""


@dataclass(frozen=True, eq=False)
class Handshakes:
    """The state of the rounds."""

    match: pk.View1D[pk.int32]  # partner of each vertex, or NO_VERTEX
    preferred: pk.View1D[pk.int32]  # preferred neighbour of each vertex; NO_VERTEX, NOT_CHOSEN
    lane_best: pk.View1D[Offset]  # the best edge that each lane has found
    traits: pk.View1D[Weight]  # of each vertex, by Trait
    by_weight: bool  # whether the rating of an edge is its weight


@pk.workunit
def find_least(
    i: int,
    graph: Graph,
    long_rows: LongRows,
    constraints: Constraints,
    least: pk.View1D[Weight],
):
    """Find the weight below which an edge of a vertex is light; `least` must be 0 before.

    Edges to pinned vertices do not count, because they cannot be matched.
    """
    v: int = row_of(i, long_rows)
    if is_left_to_lanes(i, graph.indptr[v + 1] - graph.indptr[v], long_rows):
        return
    heaviest: int = 0
    for e in lane_edges(i, v, graph, long_rows):
        if graph.edge_weights[e] > heaviest and not is_pinned(graph.indices[e], constraints):
            heaviest = graph.edge_weights[e]
    if is_lane(i, long_rows):
        pk.atomic_fetch_max(least, [v], heaviest - heaviest // 2)
    else:
        least[v] = heaviest - heaviest // 2


@pk.function
def place_of(v: int, trait: int) -> pk.int64:
    """Return the index of a trait of a vertex."""
    first: pk.int64 = v
    return first * Trait.COUNT + trait


@pk.workunit
def gather_traits(
    v: int,
    graph: Graph,
    bans_light_edges: bool,
    least: pk.View1D[Weight],
    seed: int,
    traits: pk.View1D[Weight],
):
    """Store the traits of a vertex before the first round; without `least`, no edge is light."""
    traits[place_of(v, Trait.WEIGHT)] = graph.vertex_weights[v]
    traits[place_of(v, Trait.LEAST)] = 0
    if bans_light_edges:
        traits[place_of(v, Trait.LEAST)] = least[v]
    h: pk.int32 = mix(global_id(v, graph) ^ seed)
    traits[place_of(v, Trait.HASH)] = h


@pk.workunit
def mark_ghosts(i: int, graph: Graph, handshakes: Handshakes):
    """Mark a ghost as matched if the process that owns it has matched it."""
    v: int = graph.n_owned + i
    if handshakes.match[v] != NO_VERTEX:
        handshakes.traits[place_of(v, Trait.WEIGHT)] = MATCHED


@pk.function
def match_with(u: int, v: int, handshakes: Handshakes):
    """Match u with v, which another index matches with u."""
    handshakes.match[u] = v
    handshakes.traits[place_of(u, Trait.WEIGHT)] = MATCHED


@pk.function
def rate(
    u: int,
    e: int,
    room: int,
    part: int,
    graph: Graph,
    handshakes: Handshakes,
    constraints: Constraints,
) -> pk.double:
    """Return the rating of an edge, or `NO_RATING` if its ends may not match.

    The conditions are separate and all evaluated, so that they compile to code without branches: a
    mispredicted branch would cost more than all of them.
    """
    v: int = graph.indices[e]
    w: pk.double = graph.edge_weights[e]
    weight_u: pk.double = graph.vertex_weights[u]
    weight: int = handshakes.traits[place_of(v, Trait.WEIGHT)]
    weight_v: pk.double = weight
    least: int = handshakes.traits[place_of(v, Trait.LEAST)]
    if handshakes.traits[place_of(u, Trait.LEAST)] < least:
        least = handshakes.traits[place_of(u, Trait.LEAST)]
    hash_u: pk.uint32 = handshakes.traits[place_of(u, Trait.HASH)]
    hash_v: pk.uint32 = handshakes.traits[place_of(v, Trait.HASH)]
    one: pk.int64 = 1
    h: pk.int64 = stir(hash_u + hash_v, ODD)
    stretch: pk.double = (one << STRETCH_BITS) + h
    rating: pk.double = (w * w) / (weight_u * weight_v)
    if handshakes.by_weight:
        rating = w
    rating = rating * stretch
    if weight == MATCHED:
        rating = NO_RATING
    if weight > room:
        rating = NO_RATING
    if graph.edge_weights[e] < least:
        rating = NO_RATING
    if constraints.within_parts:
        if constraints.parts[v] != part:
            rating = NO_RATING
    return rating


@pk.function
def has_chosen(u: int, handshakes: Handshakes) -> bool:
    """Whether a vertex is matched, has no candidate, or prefers one that is still unmatched.

    Candidates only disappear, so a preferred vertex that is still unmatched is still the best.
    """
    v: int = handshakes.preferred[u]
    if handshakes.match[u] != NO_VERTEX or v == NO_VERTEX:
        return True
    return v != NOT_CHOSEN and handshakes.match[v] == NO_VERTEX


@pk.function
def entry_at(index: int, of_lanes: bool, handshakes: Handshakes) -> int:
    """Return `index`, or the entry that lane `index` has found, possibly `NO_ENTRY`."""
    if of_lanes:
        return handshakes.lane_best[index]
    return index


@pk.function
def best_entry(
    u: int,
    first: int,
    end: int,
    step: int,
    of_lanes: bool,
    graph: Graph,
    handshakes: Handshakes,
    constraints: Constraints,
) -> int:
    """Return the best edge of a vertex to an unmatched one that it may match, or `NO_ENTRY`.

    Examines every `step`-th entry or, if `of_lanes`, every `step`-th element of `lane_best`.
    """
    room: int = max_partner_weight(u, graph, constraints)
    part: int = constraints.parts[u]
    best: int = NO_ENTRY
    best_rating: pk.double = 0.0
    is_tied: bool = False
    for index in range(first, end, step):
        e: int = entry_at(index, of_lanes, handshakes)
        if of_lanes and e == NO_ENTRY:
            continue
        rating: pk.double = rate(u, e, room, part, graph, handshakes, constraints)
        if rating == best_rating:
            is_tied = True
        if rating > best_rating:
            best = e
            best_rating = rating
    if not is_tied:
        return best
    for index in range(first, end, step):
        e: int = entry_at(index, of_lanes, handshakes)
        if of_lanes and e == NO_ENTRY:
            continue
        rating: pk.double = rate(u, e, room, part, graph, handshakes, constraints)
        if rating == best_rating:
            if global_id(graph.indices[e], graph) < global_id(graph.indices[best], graph):
                best = e
    return best


@pk.function
def prefer(u: int, e: int, graph: Graph, handshakes: Handshakes):
    """Make the head of an edge the preferred neighbour of a vertex; `NO_ENTRY` means none."""
    handshakes.preferred[u] = NO_VERTEX
    if e != NO_ENTRY:
        handshakes.preferred[u] = graph.indices[e]


@pk.workunit
def prefer_heaviest(
    i: int,
    vertices: pk.View1D[pk.int32],
    graph: Graph,
    handshakes: Handshakes,
    constraints: Constraints,
    long_rows: LongRows,
):
    """Choose the best unmatched neighbour of an unmatched vertex, or keep its valid choice.

    A lane stores the best edge that it finds. A long row is one chunk here.
    """
    u: int = vertex_of(i, vertices, long_rows)
    if has_chosen(u, handshakes):
        return
    first: int = graph.indptr[u]
    end: int = graph.indptr[u + 1]
    if is_left_to_lanes(i, end - first, long_rows):
        return
    if is_lane(i, long_rows):
        first += i % LANES
    e: int = best_entry(u, first, end, step_of(i, long_rows), False, graph, handshakes, constraints)
    if is_lane(i, long_rows):
        handshakes.lane_best[i] = e
    else:
        prefer(u, e, graph, handshakes)


@pk.workunit
def compare_lanes(
    j: int, graph: Graph, handshakes: Handshakes, constraints: Constraints, long_rows: LongRows
):
    """Reduce `COMPARED` edges that lanes have found to the best one, in the first element."""
    u: int = long_rows.vertices[j // COMPARERS]
    if not has_chosen(u, handshakes):
        first: int = j * COMPARED
        handshakes.lane_best[first] = best_entry(
            u, first, first + COMPARED, 1, True, graph, handshakes, constraints
        )


@pk.workunit
def prefer_lane_best(
    r: int, graph: Graph, handshakes: Handshakes, constraints: Constraints, long_rows: LongRows
):
    """Choose for the vertex of a long row by the best edges that `compare_lanes` has left."""
    u: int = long_rows.vertices[r]
    if not has_chosen(u, handshakes):
        first: int = r * LANES
        e: int = best_entry(u, first, first + LANES, COMPARED, True, graph, handshakes, constraints)
        prefer(u, e, graph, handshakes)


@pk.workunit
def match_mutual(i: int, active: pk.View1D[pk.int32], handshakes: Handshakes):
    """Match a vertex with the neighbour that it prefers if the preference is mutual."""
    u: int = active[i]
    v: int = handshakes.preferred[u]
    if v != NO_VERTEX:
        if handshakes.preferred[v] == u:
            match_with(u, v, handshakes)


@pk.workunit
def match_and_list(
    i: int,
    acc: pk.Acc[pk.int64],
    last_pass: bool,
    active: pk.View1D[pk.int32],
    handshakes: Handshakes,
    remaining: pk.View1D[pk.int32],
):
    """Match mutual preferences as `match_mutual` does, and list the vertices to try again."""
    u: int = active[i]
    v: int = handshakes.preferred[u]
    if v == NO_VERTEX:
        return
    if handshakes.preferred[v] != u:
        if last_pass:
            remaining[acc] = u
        acc += 1
    elif last_pass:
        match_with(u, v, handshakes)


@pk.workunit
def list_unmatched(
    v: int,
    acc: pk.Acc[pk.int64],
    last_pass: bool,
    match: pk.View1D[pk.int32],
    unmatched: pk.View1D[pk.int32],
):
    """List the vertices without a partner, in ascending order."""
    if match[v] == NO_VERTEX:
        if last_pass:
            unmatched[acc] = v
        acc += 1
