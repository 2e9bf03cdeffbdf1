"""Parts in one piece, and the groups of vertices that may leave them without a break.

A vertex may leave a part if what is left of its piece stays together. Where it does not, the vertex
may take with it all but one of the pieces that it falls into. Searches from its neighbours tell:
all begin at once, those that meet become one, and a group has whatever the searches that end before
the last one have found. So what is far from the vertex is looked at only where its neighbours are.
"""

from enum import IntEnum

import pykokkos as pk

from jetpy.workloads.groups import NO_VERTEX, Graph
from jetpy.workloads.hashing import mix
from jetpy.workloads.heaps import NOT_QUEUED, Heaps, Number

KEY_BITS = 32
FEW_EDGES = 256
"""A search looks at vertices with more when it has looked at all others that it has found."""
MANY_EDGES = 1024
"""A queued vertex with more is not queued anew whenever a neighbour moves."""
STEPS_PER_SEARCH = 16
"""Edges that may be looked at for each search that begins, beside those for every group."""
NO_PLACE = -1
OVER = -1
"""Root of a search that has ended; those of others are lower by the vertices that wait."""


SEARCHES = Number.COUNT
"""Among the numbers of the heap: how many searches go on."""
EFFORT = Number.COUNT + 1
"""How many more edges may be looked at, about."""
ALL_NUMBERS = Number.COUNT + 2


class Part(IntEnum):
    """Places in the row of a part."""

    WEIGHT = 0
    LIMIT = 1
    SIZE = 2
    """Number of vertices."""
    FIRST = 3
    """First of the list of its vertices; `NO_VERTEX`."""
    CONNECTION = 4
    """Weight of the edges of a group to it; 0 between uses."""
    TOUCHED = 5
    """In row i: the part that a group was found i-th to have edges to."""
    GIVER = 6
    """The part before it on a path."""
    REACHED = 7
    """In row i: the part that a search for a path reached i-th."""
    CHANGES = 8
    """How often it has changed."""
    COUNT = 9


class Pieces(Heaps):
    """A partition, the vertices of each part as a list, and room for one search at a time.

    The heap has vertices that may be moved, those of highest key first.
    """

    parts: pk.View1D[pk.int32]
    movable: pk.View1D[pk.int32]  # 1 of vertices that may change their part, else 0
    part_rows: pk.View1D[pk.int64]  # by Part
    following: pk.View1D[pk.int32]  # the next vertex of the part; NO_VERTEX
    preceding: pk.View1D[pk.int32]
    labels: pk.View1D[pk.int32]  # the search that has found a vertex, from 1 on; 0 between uses
    roots: pk.View1D[pk.int32]  # the search that one has become part of; see OVER
    found: pk.View1D[pk.int32]  # the vertices that searches have found, in this order
    group: pk.View1D[pk.int32]
    seed: int
    most_steps: int  # edges that the searches for a group may look at


@pk.function
def number_of(p: int, what: int, state: Pieces) -> pk.int64:
    """Return a number of a part."""
    return state.part_rows[p * Part.COUNT + what]


@pk.function
def room_of(p: int, state: Pieces) -> pk.int64:
    """Return what a part may still gain; negative if it is too heavy."""
    return number_of(p, Part.LIMIT, state) - number_of(p, Part.WEIGHT, state)


@pk.function
def key_of(v: int, gain: pk.int64, state: Pieces) -> pk.int64:
    """Return the key of a vertex: a gain, then its hash."""
    seed: pk.uint32 = state.seed
    h: pk.uint32 = mix(v ^ seed)
    return (gain << KEY_BITS) + h


@pk.function
def is_kept(v: int, graph: Graph, state: Pieces) -> bool:
    """Whether a vertex keeps its key although a neighbour has moved."""
    degree: int = graph.indptr[v + 1] - graph.indptr[v]
    return degree > MANY_EDGES and state.positions[v] != NOT_QUEUED


@pk.function
def root_of(search: int, state: Pieces) -> int:
    """Return the search that one has become part of."""
    root: int = search
    while state.roots[root] >= 0:
        above: int = state.roots[root]
        if state.roots[above] >= 0:
            state.roots[root] = state.roots[above]
        root = above
    return root


@pk.function
def begin_searches(v: int, graph: Graph, state: Pieces) -> int:
    """Begin a search at each neighbour of a vertex in its part; return how many."""
    count: int = 0
    for e in range(graph.indptr[v], graph.indptr[v + 1]):
        u: int = graph.indices[e]
        if state.parts[u] == state.parts[v]:
            state.found[count] = u
            state.roots[count] = OVER - 1
            count += 1
            state.labels[u] = count
    return count


@pk.function
def is_due(degree: int, place: int, passed: int) -> bool:
    """Whether searches go on from the vertex found at a place, after that many were passed by."""
    if passed == NO_PLACE:
        return degree <= FEW_EDGES
    return place >= passed or degree > FEW_EDGES


@pk.function
def go_on(u: int, v: int, last: int, graph: Graph, state: Pieces) -> int:
    """Go on from u with its search around v, where last vertices are found; return how many are.

    Searches that meet become one.
    """
    found: int = last
    own: int = root_of(state.labels[u] - 1, state)
    for e in range(graph.indptr[u], graph.indptr[u + 1]):
        w: int = graph.indices[e]
        if state.parts[w] == state.parts[v] and w != v:
            if state.labels[w] == 0:
                state.labels[w] = own + 1
                state.roots[own] -= 1
                state.found[found] = w
                found += 1
            else:
                other: int = root_of(state.labels[w] - 1, state)
                if other != own:
                    state.roots[own] += state.roots[other] - OVER
                    state.roots[other] = own
                    state.numbers[SEARCHES] -= 1
    return found


@pk.function
def detach(v: int, graph: Graph, state: Pieces) -> int:
    """Find the group of a vertex that may leave its part; return its size, 0 if there is none.

    There is none if that takes too many steps, or if one of the group is not movable.
    """
    if state.movable[v] == 0:
        return 0
    last: int = begin_searches(v, graph, state)
    state.numbers[SEARCHES] = last
    place: int = 0
    passed: int = NO_PLACE
    steps: int = -last * STEPS_PER_SEARCH
    while state.numbers[SEARCHES] > 1 and steps <= state.most_steps:
        if place == last:
            passed = last
            place = 0
        u: int = state.found[place]
        degree: int = graph.indptr[u + 1] - graph.indptr[u]
        if is_due(degree, place, passed):
            last = go_on(u, v, last, graph, state)
            steps += degree
            state.numbers[EFFORT] -= degree
            if state.numbers[SEARCHES] > 1:
                end_if_over(root_of(state.labels[u] - 1, state), state)
        place += 1
    return end_searches(v, last, state)


@pk.function
def end_if_over(search: int, state: Pieces):
    """End a search if no vertex waits that it has found, after one did."""
    state.roots[search] += 1
    if state.roots[search] == OVER:
        state.numbers[SEARCHES] -= 1


@pk.function
def end_searches(v: int, last: int, state: Pieces) -> int:
    """Make a group of what the searches that are over have found, and forget all searches."""
    size: int = 1
    refused: bool = state.numbers[SEARCHES] > 1
    state.group[0] = v
    for i in range(last):
        u: int = state.found[i]
        if state.roots[root_of(state.labels[u] - 1, state)] == OVER:
            state.group[size] = u
            size += 1
            if state.movable[u] == 0:
                refused = True
    for i in range(last):
        state.labels[state.found[i]] = 0
    if refused:
        return 0
    return size


@pk.function
def group_weight(size: int, graph: Graph, state: Pieces) -> pk.int64:
    """Return the weight of the group."""
    weight: pk.int64 = 0
    for i in range(size):
        weight += graph.vertex_weights[state.group[i]]
    return weight


@pk.function
def connect_group(size: int, graph: Graph, state: Pieces) -> int:
    """Find the weights of the group's edges to each part; return to how many there are any."""
    for i in range(size):
        state.labels[state.group[i]] = 1
    touched: int = 0
    for i in range(size):
        v: int = state.group[i]
        for e in range(graph.indptr[v], graph.indptr[v + 1]):
            u: int = graph.indices[e]
            if state.labels[u] == 0:
                row: int = state.parts[u] * Part.COUNT
                if state.part_rows[row + Part.CONNECTION] == 0:
                    state.part_rows[touched * Part.COUNT + Part.TOUCHED] = state.parts[u]
                    touched += 1
                state.part_rows[row + Part.CONNECTION] += graph.edge_weights[e]
    for i in range(size):
        state.labels[state.group[i]] = 0
    return touched


@pk.function
def forget_connections(touched: int, state: Pieces):
    """Set the weights of a group's edges to so many parts to 0."""
    for i in range(touched):
        p: int = number_of(i, Part.TOUCHED, state)
        state.part_rows[p * Part.COUNT + Part.CONNECTION] = 0


@pk.function
def link(v: int, p: int, state: Pieces):
    """Put a vertex in front of the list of a part."""
    first: int = number_of(p, Part.FIRST, state)
    state.preceding[v] = NO_VERTEX
    state.following[v] = first
    if first != NO_VERTEX:
        state.preceding[first] = v
    state.part_rows[p * Part.COUNT + Part.FIRST] = v


@pk.function
def unlink(v: int, state: Pieces):
    """Take a vertex out of the list of its part."""
    before: int = state.preceding[v]
    after: int = state.following[v]
    if before == NO_VERTEX:
        state.part_rows[state.parts[v] * Part.COUNT + Part.FIRST] = after
    else:
        state.following[before] = after
    if after != NO_VERTEX:
        state.preceding[after] = before


@pk.function
def move_group(size: int, weight: pk.int64, p: int, q: int, state: Pieces):
    """Move the group, of this weight, from part p to part q."""
    giver: int = p * Part.COUNT
    taker: int = q * Part.COUNT
    state.part_rows[giver + Part.WEIGHT] -= weight
    state.part_rows[taker + Part.WEIGHT] += weight
    state.part_rows[giver + Part.SIZE] -= size
    state.part_rows[taker + Part.SIZE] += size
    state.part_rows[giver + Part.CHANGES] += 1
    state.part_rows[taker + Part.CHANGES] += 1
    for i in range(size):
        v: int = state.group[i]
        unlink(v, state)
        state.parts[v] = q
        link(v, q, state)


@pk.workunit
def list_members(i: int, n: int, k: int, state: Pieces):
    """List the vertices of each part, in their order."""
    for p in range(k):
        state.part_rows[p * Part.COUNT + Part.FIRST] = NO_VERTEX
    v: int = n - 1
    while v >= 0:
        link(v, state.parts[v], state)
        v -= 1
