"""Heavy-edge matching by rounds of handshakes: two vertices match if each prefers the other.

The rating of an edge is w(u,v)^2 / (c(u) c(v)) or, by option, its weight w(u,v). It is multiplied
by one plus a hash below one millionth, which breaks ties between equal ratings. The lower neighbour
wins any remaining tie. Both ends of an edge see the same order of edges. Each round therefore
matches at least the best remaining edge, and the result does not depend on the order of execution.
A vertex lighter than the average of the finest level is rated as an average one: if all preferred
the same few light neighbours, only few would match in a round. An edge of weight 0 is rated below
all edges of positive weight.

Unless an option allows it, a light edge is not matched: an edge below half the weight of the
heaviest edge of either end. A vertex whose heavy neighbours are matched then stays single, because
a good cut would separate it from its light neighbours.
"""

from dataclasses import dataclass

import pykokkos as pk

from jetpy.workloads.coarsening.constraints import is_pinned, max_partner_weight
from jetpy.workloads.common.ghosts import global_id, owned_global_id
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
from jetpy.workloads.common.prefetching import FEW_VERTICES, first_edges, prefetch, prefetch_rows

NO_ENTRY = -1
NO_CANDIDATE = -2
"""Preferred neighbour of a vertex that may match none of its neighbours any more."""
MIN_RATING = 2.0**-300
"""Less than the rating of any edge whose ends may match."""
WEIGHT_OF_0 = 2.0**-100
"""Stands for the weight 0 of an edge in ratings: less than any quotient of other weights."""
STRETCH_BITS = 52
"""Ratings are multiplied by 2^52 plus a 32-bit hash."""
COMPARERS = 16
"""Number of indices that reduce the lanes of a row in a first step; one index does the second."""
COMPARED = LANES // COMPARERS


@dataclass(frozen=True, eq=False)
class Handshakes:
    """The state of the rounds."""

    match: pk.View1D[pk.int32]  # partner of each vertex, or NO_VERTEX
    preferred: pk.View1D[pk.int32]  # preferred neighbour of each vertex; NO_VERTEX at first
    lane_best: pk.View1D[Offset]  # the best edge that each lane has found
    least: pk.View1D[Weight]  # half the weight of each vertex's heaviest edge, rounded up
    bans_light_edges: bool
    by_weight: bool  # whether the rating of an edge is its weight
    all_units: bool  # whether every weight is 1, and so every rating; any vertices may match
    seed: int


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
def hash_edge(u: int, v: int, seed: int) -> pk.uint32:
    """Return the hash of an edge, equal from both ends."""
    return stir(mix(u ^ seed) + mix(v ^ seed), ODD)


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
    """Return the rating of an edge, or 0 if its ends may not match.

    The conditions are a factor, so that they compile to code without branches: a mispredicted
    branch would cost more than all of them.
    """
    v: int = graph.indices[e]
    one: pk.int64 = 1
    h: pk.int64 = hash_edge(owned_global_id(u, graph), global_id(v, graph), handshakes.seed)
    stretch: pk.double = (one << STRETCH_BITS) + h
    if handshakes.all_units:
        is_free: pk.double = handshakes.match[v] == NO_VERTEX
        return stretch * is_free
    w: pk.double = graph.edge_weights[e]
    weight_u: pk.double = graph.vertex_weights[u]
    weight_v: pk.double = graph.vertex_weights[v]
    if graph.edge_weights[e] == 0:
        w = WEIGHT_OF_0
    if graph.vertex_weights[u] < constraints.lightest:
        weight_u = constraints.lightest
    if graph.vertex_weights[v] < constraints.lightest:
        weight_v = constraints.lightest
    rating: pk.double = (w * w) / (weight_u * weight_v)
    if handshakes.by_weight:
        rating = w
    allowed: int = handshakes.match[v] == NO_VERTEX
    allowed = allowed & (graph.vertex_weights[v] <= room)
    if handshakes.bans_light_edges:
        least: int = handshakes.least[u]
        if handshakes.least[v] < least:
            least = handshakes.least[v]
        allowed = allowed & (graph.edge_weights[e] >= least)
    if constraints.within_parts:
        allowed = allowed & (constraints.parts[v] == part)
    factor: pk.double = allowed
    return rating * stretch * factor


@pk.function
def has_chosen(u: int, handshakes: Handshakes) -> bool:
    """Whether a vertex is matched, has no candidate, or prefers one that is still unmatched.

    Candidates only disappear, so a preferred vertex that is still unmatched is still the best.
    """
    v: int = handshakes.preferred[u]
    if handshakes.match[u] != NO_VERTEX or v == NO_CANDIDATE:
        return True
    return v != NO_VERTEX and handshakes.match[v] == NO_VERTEX


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
    best_rating: pk.double = MIN_RATING
    last: int = NO_ENTRY
    for index in range(first, end, step):
        e: int = entry_at(index, of_lanes, handshakes)
        if of_lanes and e == NO_ENTRY:
            continue
        rating: pk.double = rate(u, e, room, part, graph, handshakes, constraints)
        if rating >= best_rating:
            last = e
        if rating > best_rating:
            best = e
            best_rating = rating
    if last == best:
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
    handshakes.preferred[u] = NO_CANDIDATE
    if e != NO_ENTRY:
        handshakes.preferred[u] = graph.indices[e]


@pk.function
def prefetch_neighbours(u: int, graph: Graph, handshakes: Handshakes):
    """Ask for what ratings of the edges of a vertex depend on."""
    for e in first_edges(u, graph):
        v: int = graph.indices[e]
        prefetch(handshakes.match[v])
        if not handshakes.all_units:
            prefetch(graph.vertex_weights[v])
        if handshakes.bans_light_edges:
            prefetch(handshakes.least[v])


@pk.workunit
def prefer_heaviest(
    i: int,
    count: int,
    vertices: pk.View1D[pk.int32],
    graph: Graph,
    handshakes: Handshakes,
    constraints: Constraints,
    long_rows: LongRows,
):
    """Choose the best unmatched neighbour of an unmatched vertex, or keep its valid choice.

    `vertices` lists `count` vertices. A lane stores the best edge that it finds. A long row is one
    chunk here.
    """
    if not is_lane(i, long_rows) and graph.n_owned > FEW_VERTICES:
        next_one: int = prefetch_rows(i - long_rows.lanes, count, vertices, graph)
        if next_one != NO_VERTEX and not has_chosen(next_one, handshakes):
            prefetch_neighbours(next_one, graph, handshakes)
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
    if v != NO_CANDIDATE:
        if handshakes.preferred[v] == u:
            handshakes.match[u] = v


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
    if v == NO_CANDIDATE:
        return
    if handshakes.preferred[v] != u:
        if last_pass:
            remaining[acc] = u
        acc += 1
    elif last_pass:
        handshakes.match[u] = v


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
