"""Levels inside a bisection: matching, contraction and projection by one index.

Karypis, Kumar, "A fast and high quality multilevel scheme for partitioning irregular graphs", SIAM
Journal on Scientific Computing 20 (1998), sections 3.1 and 3.2: vertices are visited in random
order, and each is matched with the free neighbour of the heaviest edge, or of the highest rating
("expansion*2": Holtgrewe, Sanders, Schulz, "Engineering a scalable high quality graph partitioner",
IPDPS 2010). Vertices without edges are matched with each other. So are vertices at distance two, if
many others have no partner: LaSalle et al., "Improving graph partitioning for modern graphs and
architectures", IA3 2015. Vertices on different sides are not matched.
"""

import pykokkos as pk

from jetpy.workloads.common.fm import KEY_BITS
from jetpy.workloads.common.groups import INT32_MAX, NO_PART, NO_VERTEX
from jetpy.workloads.common.hashing import index_of_hash, mix
from jetpy.workloads.common.heaps import MAX_LEVELS, Field
from jetpy.workloads.initial.two_way import Sides

TAKEN = -(2**63 - 1)
"""Key of a matched vertex. It stays negative with the weight of any edge."""
VERTEX_ROOM = 4
"""Capacity for the vertices of all levels, per vertex of the finest one."""
ENTRY_ROOM = 3
"""Capacity for the entries of all levels, per entry of the finest one."""
HEAVIEST, OF_AVERAGE = 3, 2
"""A vertex of an inner level may weigh at most 3/2 of the average on a coarsest level."""
LEAST = 2
"""Two vertices of weight 1 may always be merged."""
LARGEST, OF_BEFORE = 19, 20
"""Coarsening ends if the next level would have more than 19/20 of the vertices."""
MANY_SINGLE = 8
"""Vertices are matched at distance two if more than an eighth are without a partner."""


class Levels(Sides):
    """Levels of bisections, with the coarse vertex of each vertex."""

    coarse_of: pk.View1D[pk.int32]


@pk.function
def shuffle(begin: int, end: int, origin: int, seed: pk.uint32, levels: Levels):
    """Store a hash of each vertex in `keys`, and a random permutation in `heap`.

    Source of the permutation: Fisher and Yates.
    """
    for v in range(begin, end):
        h: pk.uint32 = mix((v - origin) ^ seed)
        levels.keys[v] = h
        j: int = begin + index_of_hash(h, v - begin + 1)
        levels.heap[v] = levels.heap[j]
        levels.heap[j] = v


@pk.function
def heaviest_mate(u: int, heaviest: int, levels: Levels) -> int:
    """Return the free neighbour with the heaviest edge, then the highest hash, or `NO_VERTEX`.

    The key of a vertex is its hash while it is free.
    """
    best: int = NO_VERTEX
    best_key: pk.int64 = -1
    own: int = levels.sides[u]
    room: int = heaviest - levels.weights[u]
    for e in range(levels.rows[u], levels.rows[u + 1]):
        v: int = levels.ends[e]
        w: pk.int64 = levels.edge_weights[e]
        key: pk.int64 = (w << KEY_BITS) + levels.keys[v]
        if levels.weights[v] > room or levels.sides[v] != own:
            key = -1
        if key > best_key:
            best_key = key
            best = v
    return best


@pk.function
def rate(w: pk.double, weight: pk.double) -> pk.double:
    """Return the rating w^2 / c(v) of an edge; a vertex of weight 0 counts as one of weight 1."""
    if weight < 1.0:
        return w * w
    return (w * w) / weight


@pk.function
def rated_mate(u: int, heaviest: int, levels: Levels) -> int:
    """Return the free neighbour with the highest rating, then the highest hash, or `NO_VERTEX`.

    The edge to it has at least half the weight of the vertex's heaviest edge.
    """
    best: int = NO_VERTEX
    best_rating: pk.double = -1.0
    most: pk.int64 = 0
    weight: pk.int64 = 0
    own: int = levels.sides[u]
    room: int = heaviest - levels.weights[u]
    for e in range(levels.rows[u], levels.rows[u + 1]):
        v: int = levels.ends[e]
        w: pk.int64 = levels.edge_weights[e]
        if w > most:
            most = w
        if levels.sides[v] != own or levels.keys[v] == TAKEN or levels.weights[v] > room:
            continue
        rating: pk.double = rate(w, levels.weights[v])
        is_best: bool = rating > best_rating
        if rating == best_rating:
            is_best = levels.keys[v] > levels.keys[best]
        if is_best:
            best = v
            best_rating = rating
            weight = w
    if weight < most - weight:
        return NO_VERTEX
    return best


@pk.function
def mate_of(u: int, heaviest: int, by_weight: bool, levels: Levels) -> int:
    """Return the free neighbour to match, by the weight or the rating of the edge."""
    if by_weight:
        return heaviest_mate(u, heaviest, levels)
    return rated_mate(u, heaviest, levels)


@pk.function
def can_join(u: int, v: int, heaviest: int, levels: Levels) -> bool:
    """Whether two vertices are on the same side and together not too heavy."""
    return levels.sides[u] == levels.sides[v] and levels.weights[u] <= heaviest - levels.weights[v]


@pk.function
def matchmaker_of(u: int, levels: Levels) -> int:
    """Return the neighbour of the lowest degree, then of the lowest number."""
    found: int = NO_VERTEX
    lowest: int = INT32_MAX
    for e in range(levels.rows[u], levels.rows[u + 1]):
        v: int = levels.ends[e]
        degree: int = levels.rows[v + 1] - levels.rows[v]
        if degree < lowest or (degree == lowest and v < found):
            lowest = degree
            found = v
    return found


@pk.function
def match_at_distance_two(
    most_degree: int, heaviest: int, begin: int, end: int, levels: Levels
) -> int:
    """Match single vertices of at most some degree that have the same matchmaker.

    Returns the number of pairs. `external` has the vertex that waits at each matchmaker.
    """
    pairs: int = 0
    for v in range(begin, end):
        levels.external[v] = NO_VERTEX
    for j in range(begin, end):
        u: int = levels.heap[j]
        degree: int = levels.rows[u + 1] - levels.rows[u]
        if levels.positions[u] != u or degree == 0 or degree > most_degree:
            continue
        maker: int = matchmaker_of(u, levels)
        v: int = levels.external[maker]
        levels.external[maker] = u
        if v != NO_VERTEX and can_join(u, v, heaviest, levels):
            levels.positions[u] = v
            levels.positions[v] = u
            levels.external[maker] = NO_VERTEX
            pairs += 1
    return pairs


@pk.function
def match_level(heaviest: int, by_weight: bool, seed: pk.uint32, here: int, levels: Levels):
    """Match the vertices of a level; a pair weighs at most `heaviest` and is on one side.

    Stores the mates in `positions`. A vertex without a partner is its own mate. If many have none,
    leaves are matched at distance two, then all others.
    """
    begin: int = levels.numbers[here + Field.BEGIN]
    end: int = levels.numbers[here + Field.END]
    origin: int = levels.numbers[here + Field.ORIGIN]
    shuffle(begin, end, origin, seed, levels)
    lone: int = NO_VERTEX
    single: int = 0
    for j in range(begin, end):
        u: int = levels.heap[j]
        if levels.keys[u] == TAKEN:
            continue
        mate: int = mate_of(u, heaviest, by_weight, levels)
        if levels.rows[u] == levels.rows[u + 1]:
            mate = lone
            lone = u
            if mate != NO_VERTEX:
                lone = NO_VERTEX
                if not can_join(u, mate, heaviest, levels):
                    mate = NO_VERTEX
        elif mate == NO_VERTEX:
            single += 1
        if mate == NO_VERTEX:
            mate = u
        levels.positions[u] = mate
        levels.positions[mate] = u
        levels.keys[u] = TAKEN
        levels.keys[mate] = TAKEN
    if single * MANY_SINGLE > end - begin:
        single -= 2 * match_at_distance_two(1, heaviest, begin, end, levels)
    if single * MANY_SINGLE > end - begin:
        match_at_distance_two(INT32_MAX, heaviest, begin, end, levels)


@pk.function
def number_pairs(begin: int, end: int, levels: Levels) -> int:
    """Number the vertices of the next level from end + 1 on, and return their end."""
    c: int = end + 1
    for u in range(begin, end):
        mate: int = levels.positions[u]
        if mate >= u:
            levels.coarse_of[u] = c
            levels.coarse_of[mate] = c
            levels.weights[c] = levels.weights[u]
            levels.pinned[c] = levels.pinned[u]
            levels.sides[c] = levels.sides[u]
            if mate != u:
                levels.weights[c] += levels.weights[mate]
                if levels.pinned[c] == NO_PART:
                    levels.pinned[c] = levels.pinned[mate]
            levels.moved[c] = NO_VERTEX
            c += 1
    return c


@pk.function
def add_row(u: int, c: int, first: int, entry: int, levels: Levels) -> int:
    """Add a vertex's edges to a row of the next level, and return the end of that row."""
    last: int = entry
    for e in range(levels.rows[u], levels.rows[u + 1]):
        d: int = levels.coarse_of[levels.ends[e]]
        slot: int = levels.moved[d]
        is_new: bool = slot < first
        if is_new:
            slot = last
        before: int = levels.edge_weights[slot]
        if is_new:
            before = 0
        if d == c:
            is_new = False
        levels.edge_weights[slot] = before + levels.edge_weights[e]
        levels.ends[slot] = d
        if d == c:
            slot = NO_VERTEX
        levels.moved[d] = slot
        last += is_new
    return last


@pk.function
def contract(begin: int, end: int, entry: int, levels: Levels) -> int:
    """Build the rows of the next level from `entry` on, and return their end."""
    first: int = entry
    for u in range(begin, end):
        mate: int = levels.positions[u]
        if mate >= u:
            c: int = levels.coarse_of[u]
            levels.rows[c] = first
            last: int = add_row(u, c, first, first, levels)
            if mate != u:
                last = add_row(mate, c, first, last, levels)
            first = last
    return first


@pk.function
def can_hold_level(here: int, levels: Levels) -> bool:
    """Return whether there is room for a level as large as the current one behind it."""
    begin: int = levels.numbers[here + Field.BEGIN]
    end: int = levels.numbers[here + Field.END]
    if end + 1 + (end - begin) >= levels.numbers[here + Field.LAST_VERTEX]:
        return False
    size: int = levels.rows[end] - levels.rows[begin]
    return levels.rows[end] + size <= levels.numbers[here + Field.LAST_ENTRY]


@pk.function
def is_useful(last: int, here: int, levels: Levels) -> bool:
    """Return whether a next level that ends before vertex `last` is small enough."""
    begin: int = levels.numbers[here + Field.BEGIN]
    end: int = levels.numbers[here + Field.END]
    return (last - end - 1) * OF_BEFORE <= (end - begin) * LARGEST


@pk.function
def enter_level(last: int, entry: int, here: int, levels: Levels):
    """Switch to the next level, which ends before vertex `last` and before `entry`."""
    begin: int = levels.numbers[here + Field.END] + 1
    level: int = levels.numbers[here + Field.LEVELS] + 1
    levels.rows[last] = entry
    levels.numbers[here + Field.BEGIN] = begin
    levels.numbers[here + Field.END] = last
    levels.numbers[here + Field.LEVELS] = level
    levels.numbers[here + Field.LEVEL_BEGINS + level] = begin


@pk.function
def coarsen(heaviest: int, by_weight: bool, here: int, levels: Levels) -> bool:
    """Coarsen the current level and switch to the result; return False if it is full or useless."""
    if not can_hold_level(here, levels):
        return False
    begin: int = levels.numbers[here + Field.BEGIN]
    end: int = levels.numbers[here + Field.END]
    level: int = levels.numbers[here + Field.LEVELS]
    seed: pk.uint32 = mix(levels.numbers[here + Field.SEED] + level)
    match_level(heaviest, by_weight, seed, here, levels)
    last: int = number_pairs(begin, end, levels)
    if not is_useful(last, here, levels):
        return False
    entry: int = contract(begin, end, levels.rows[end], levels)
    enter_level(last, entry, here, levels)
    return True


@pk.function
def coarse_weight(total: pk.int64, coarsest: int) -> int:
    """Return the largest weight of a vertex if `coarsest` vertices should have a total weight."""
    heaviest: pk.int64 = total * HEAVIEST
    heaviest //= OF_AVERAGE * coarsest
    return heaviest


@pk.function
def heaviest_of(total: pk.int64, coarsest: int) -> int:
    """Return the same, but at least the weight of two vertices of weight 1."""
    if coarse_weight(total, coarsest) < LEAST:
        return LEAST
    return coarse_weight(total, coarsest)


@pk.function
def coarsen_to(coarsest: int, heaviest: int, by_weight: bool, here: int, levels: Levels):
    """Coarsen until a level has at most `coarsest` vertices, or coarsening ends before."""
    while (
        levels.numbers[here + Field.END] - levels.numbers[here + Field.BEGIN] > coarsest
        and levels.numbers[here + Field.LEVELS] < MAX_LEVELS
    ):
        if not coarsen(heaviest, by_weight, here, levels):
            break


@pk.function
def project(here: int, levels: Levels):
    """Switch to the next finer level: its vertices get the sides of their coarse vertices."""
    level: int = levels.numbers[here + Field.LEVELS] - 1
    begin: int = levels.numbers[here + Field.LEVEL_BEGINS + level]
    end: int = levels.numbers[here + Field.LEVEL_BEGINS + level + 1] - 1
    for v in range(begin, end):
        levels.sides[v] = levels.sides[levels.coarse_of[v]]
    levels.numbers[here + Field.LEVELS] = level
    levels.numbers[here + Field.BEGIN] = begin
    levels.numbers[here + Field.END] = end
