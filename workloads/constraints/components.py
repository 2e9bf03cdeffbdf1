"""Parts in one piece, and the groups of vertices that may leave them without a break.

A vertex may leave a part if what is left of its piece stays together. Where it does not, the vertex
may take with it all but one of the pieces that it falls into. Searches from its neighbours tell:
all begin at once, those that meet become one, and a group has whatever the searches that end before
the last one have found. So what is far from the vertex is looked at only where its neighbours are.

A connected part has a spanning tree. A vertex without children in the tree may leave at once. Other
moves destroy the tree of a part; it gets a new one when searches have cost as much as building one.
"""

from enum import IntEnum

import pykokkos as pk

from jetpy.workloads.common.groups import (
    NO_VERTEX,
    Graph,
    edges,
)
from jetpy.workloads.common.hashing import mix
from jetpy.workloads.common.heaps import LOCKED, NOT_QUEUED, Field, Heaps, remove

KEY_BITS = 32
FEW_EDGES = 256
"""Vertices with more are not queued again whenever a neighbour moves, and a search looks at them
when it has looked at all others that it has found."""
STEPS_PER_SEARCH = 16
"""Edges that may be looked at for each search that begins, beside those for every group."""
NO_PLACE = -1
OVER = -1
"""Root of a search that has ended; those of others are lower by the vertices that wait."""


SEARCHES = Field.COUNT
"""Among the numbers of the heap: how many searches go on."""
EFFORT = Field.COUNT + 1
"""How many more edges may be looked at, about."""
ALL_NUMBERS = Field.COUNT + 2


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
    HAS_TREE = 9
    """1 if its spanning tree is known, else 0."""
    TREE_COST = 10
    """Edges that the last tree has looked at."""
    SEARCH_COST = 11
    """Edges that searches have looked at since then."""
    COUNT = 12


class Link(IntEnum):
    """Places in the row of a vertex."""

    FOLLOWING = 0
    """The next vertex of its part; `NO_VERTEX`."""
    PRECEDING = 1
    PARENT = 2
    """In the spanning tree of its part, if that has one; `NO_VERTEX` at the root."""
    CHILDREN = 3
    """How many it has in the tree."""
    FINDER = 4
    """The vertex from which a search has found it."""
    COUNT = 5


class Pieces(Heaps):
    """A partition, the vertices of each part as a list, and room for one search at a time.

    The heap has vertices that may be moved, those of highest key first.
    """

    parts: pk.View1D[pk.int32]
    movable: pk.View1D[pk.int32]  # 1 of vertices that may change their part, else 0
    part_rows: pk.View1D[pk.int64]  # by Part
    links: pk.View1D[pk.int32]  # by Link
    labels: pk.View1D[pk.int32]  # the search that has found a vertex, from 1 on; 0 between uses
    roots: pk.View1D[pk.int32]  # the search that one has become part of; see OVER
    found: pk.View1D[pk.int32]  # the vertices that searches have found, in this order
    group: pk.View1D[pk.int32]
    seed: int
    max_steps: int  # edges that the searches for a group may look at


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
    """Whether a vertex keeps its key, or stays out of the queue, although a neighbour has moved."""
    degree: int = graph.indptr[v + 1] - graph.indptr[v]
    return degree > FEW_EDGES and state.positions[v] != NOT_QUEUED


@pk.function
def take_first(graph: Graph, state: Pieces) -> int:
    """Take the first vertex out of the queue; with many edges it does not come back."""
    v: int = state.heap[0]
    remove(v, 0, 0, state)
    if graph.indptr[v + 1] - graph.indptr[v] > FEW_EDGES:
        state.positions[v] = LOCKED
    return v


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
    for e in edges(v, graph):
        u: int = graph.indices[e]
        if state.parts[u] == state.parts[v]:
            state.found[count] = u
            state.roots[count] = OVER - 1
            count += 1
            state.labels[u] = count
            state.links[u * Link.COUNT + Link.FINDER] = v
    return count


@pk.function
def is_leaf(v: int, state: Pieces) -> bool:
    """Whether a vertex has no children in the spanning tree of its part."""
    if number_of(state.parts[v], Part.HAS_TREE, state) == 0:
        return False
    return state.links[v * Link.COUNT + Link.CHILDREN] == 0


@pk.function
def adopt(u: int, v: int, state: Pieces):
    """Make a vertex, u, the parent of one without children."""
    state.links[v * Link.COUNT + Link.PARENT] = u
    state.links[v * Link.COUNT + Link.CHILDREN] = 0
    if u != NO_VERTEX:
        state.links[u * Link.COUNT + Link.CHILDREN] += 1


@pk.function
def grow_tree(p: int, graph: Graph, state: Pieces):
    """Find a spanning tree of a part from its vertex of most edges, if the part is one piece."""
    root: int = number_of(p, Part.FIRST, state)
    v: int = root
    most: int = 0
    while v != NO_VERTEX:
        if graph.indptr[v + 1] - graph.indptr[v] > most:
            most = graph.indptr[v + 1] - graph.indptr[v]
            root = v
        v = state.links[v * Link.COUNT + Link.FOLLOWING]
    state.found[0] = root
    state.labels[root] = 1
    adopt(NO_VERTEX, root, state)
    last: int = 1
    place: int = 0
    cost: pk.int64 = 1
    while place < last:
        u: int = state.found[place]
        place += 1
        cost += graph.indptr[u + 1] - graph.indptr[u]
        for e in edges(u, graph):
            w: int = graph.indices[e]
            if state.parts[w] == p and state.labels[w] == 0:
                state.labels[w] = 1
                state.found[last] = w
                last += 1
                adopt(u, w, state)
    for i in range(last):
        state.labels[state.found[i]] = 0
    row: int = p * Part.COUNT
    state.part_rows[row + Part.HAS_TREE] = 0
    if last == state.part_rows[row + Part.SIZE]:
        state.part_rows[row + Part.HAS_TREE] = 1
    state.part_rows[row + Part.TREE_COST] = cost
    state.part_rows[row + Part.SEARCH_COST] = 0
    state.numbers[EFFORT] -= cost


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
    for e in edges(u, graph):
        w: int = graph.indices[e]
        if state.parts[w] == state.parts[v] and w != v:
            if state.labels[w] == 0:
                state.labels[w] = own + 1
                state.roots[own] -= 1
                state.found[found] = w
                state.links[w * Link.COUNT + Link.FINDER] = u
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
    state.group[0] = v
    row: int = state.parts[v] * Part.COUNT
    if state.part_rows[row + Part.SEARCH_COST] >= state.part_rows[row + Part.TREE_COST]:
        if state.part_rows[row + Part.HAS_TREE] == 0:
            grow_tree(state.parts[v], graph, state)
    if is_leaf(v, state):
        return 1
    last: int = begin_searches(v, graph, state)
    state.numbers[SEARCHES] = last
    place: int = 0
    passed: int = NO_PLACE
    steps: int = -last * STEPS_PER_SEARCH
    while state.numbers[SEARCHES] > 1 and steps <= state.max_steps:
        if place == last:
            passed = last
            place = 0
        u: int = state.found[place]
        degree: int = graph.indptr[u + 1] - graph.indptr[u]
        if is_due(degree, place, passed):
            last = go_on(u, v, last, graph, state)
            steps += degree
            state.part_rows[row + Part.SEARCH_COST] += degree
            state.numbers[EFFORT] -= degree
            if state.numbers[SEARCHES] > 1:
                end_if_over(root_of(state.labels[u] - 1, state), state)
        place += 1
    return end_searches(last, state)


@pk.function
def end_if_over(search: int, state: Pieces):
    """End a search if no vertex waits that it has found, after one did."""
    state.roots[search] += 1
    if state.roots[search] == OVER:
        state.numbers[SEARCHES] -= 1


@pk.function
def end_searches(last: int, state: Pieces) -> int:
    """Make a group of what the searches that are over have found, and forget all searches."""
    size: int = 1
    refused: bool = state.numbers[SEARCHES] > 1
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
        for e in edges(v, graph):
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
    """Set the weights of a group's edges to the `touched` parts to 0."""
    for i in range(touched):
        p: int = number_of(i, Part.TOUCHED, state)
        state.part_rows[p * Part.COUNT + Part.CONNECTION] = 0


@pk.function
def link(v: int, p: int, state: Pieces):
    """Put a vertex in front of the list of a part."""
    first: int = number_of(p, Part.FIRST, state)
    state.links[v * Link.COUNT + Link.PRECEDING] = NO_VERTEX
    state.links[v * Link.COUNT + Link.FOLLOWING] = first
    if first != NO_VERTEX:
        state.links[first * Link.COUNT + Link.PRECEDING] = v
    state.part_rows[p * Part.COUNT + Part.FIRST] = v


@pk.function
def unlink(v: int, state: Pieces):
    """Take a vertex out of the list of its part."""
    before: int = state.links[v * Link.COUNT + Link.PRECEDING]
    after: int = state.links[v * Link.COUNT + Link.FOLLOWING]
    if before == NO_VERTEX:
        state.part_rows[state.parts[v] * Part.COUNT + Part.FIRST] = after
    else:
        state.links[before * Link.COUNT + Link.FOLLOWING] = after
    if after != NO_VERTEX:
        state.links[after * Link.COUNT + Link.PRECEDING] = before


@pk.function
def cut_from_tree(size: int, p: int, state: Pieces):
    """Take the group out of the tree of its part, which is lost unless the group is a leaf."""
    v: int = state.group[0]
    if size == 1 and is_leaf(v, state):
        above: int = state.links[v * Link.COUNT + Link.PARENT]
        if above != NO_VERTEX:
            state.links[above * Link.COUNT + Link.CHILDREN] -= 1
    else:
        state.part_rows[p * Part.COUNT + Part.HAS_TREE] = 0


@pk.function
def graft(size: int, q: int, graph: Graph, state: Pieces):
    """Add the group to the tree of a part, which is lost if the first vertex is not beside it."""
    v: int = state.group[0]
    above: int = NO_VERTEX
    for e in edges(v, graph):
        if state.parts[graph.indices[e]] == q:
            above = graph.indices[e]
    if above == NO_VERTEX:
        state.part_rows[q * Part.COUNT + Part.HAS_TREE] = 0
    elif number_of(q, Part.HAS_TREE, state) == 1:
        adopt(above, v, state)
        for i in range(1, size):
            state.links[state.group[i] * Link.COUNT + Link.CHILDREN] = 0
        for i in range(1, size):
            u: int = state.group[i]
            finder: int = state.links[u * Link.COUNT + Link.FINDER]
            state.links[u * Link.COUNT + Link.PARENT] = finder
            state.links[finder * Link.COUNT + Link.CHILDREN] += 1


@pk.function
def move_group(size: int, weight: pk.int64, p: int, q: int, graph: Graph, state: Pieces):
    """Move the group, of this weight, from part p to part q."""
    cut_from_tree(size, p, state)
    graft(size, q, graph, state)
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
    """List the vertices of each part, those of part k among them, in their order."""
    for p in range(k + 1):
        state.part_rows[p * Part.COUNT + Part.FIRST] = NO_VERTEX
    v: int = n - 1
    while v >= 0:
        link(v, state.parts[v], state)
        v -= 1
