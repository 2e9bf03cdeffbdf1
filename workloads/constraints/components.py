"""Groups of vertices that may leave a connected part, found by interleaved searches.

A vertex may leave a part if the rest of its component stays connected. Otherwise it may take along
all but one of the components that the rest falls into. Searches from its neighbours find them. All
begin at once, and searches that meet merge. The group is what the searches that end before the last
one have found. The last search need not end, so most distant vertices are not visited.

A connected part has a spanning tree, and a leaf of the tree may leave at once. Other moves destroy
the tree. The part gets a new one when searches have cost as much as building one.
"""

from dataclasses import dataclass
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
"""A vertex of higher degree is not queued again when a neighbour moves. A search expands it only
after all other vertices that it has found."""
STEPS_PER_SEARCH = 16
"""Edge visits per search that the searches for a group may make in addition to `max_steps`."""
NO_PLACE = -1
OVER = -1
"""Root of a search that has ended. Each waiting vertex of a search lowers its root by 1."""


SEARCHES = Field.COUNT
"""Index in `numbers`, after the heap's: number of active searches."""
EFFORT = Field.COUNT + 1
"""Index in `numbers`: approximate number of edge visits that are left."""
ALL_NUMBERS = Field.COUNT + 2


class Part(IntEnum):
    """Fields of a part."""

    WEIGHT = 0
    LIMIT = 1
    SIZE = 2
    """Number of vertices."""
    FIRST = 3
    """First vertex of its list, or `NO_VERTEX`."""
    CONNECTION = 4
    """Edge weight of a group to it; 0 between uses."""
    TOUCHED = 5
    """In row i: the i-th part found to be adjacent to a group."""
    GIVER = 6
    """Its predecessor on a path."""
    REACHED = 7
    """In row i: the i-th part that a search for a path has reached."""
    CHANGES = 8
    """Number of times that it has changed."""
    HAS_TREE = 9
    """1 if its spanning tree is known, otherwise 0."""
    TREE_COST = 10
    """Edge visits of the last construction of its tree."""
    SEARCH_COST = 11
    """Edge visits of searches since then."""
    LOWER_LIMIT = 12
    COUNT = 13


class Link(IntEnum):
    """Fields of a vertex."""

    FOLLOWING = 0
    """Next vertex of its part, or `NO_VERTEX`."""
    PRECEDING = 1
    PARENT = 2
    """Its parent in the spanning tree of its part, if that is known; `NO_VERTEX` at the root."""
    CHILDREN = 3
    """Number of its children in the tree."""
    FINDER = 4
    """The vertex from which a search found it."""
    COUNT = 5


@dataclass(frozen=True, eq=False)
class ConnectedParts(Heaps):
    """A partition, the vertices of each part as a linked list, and the state of one search.

    The heap contains the vertices that may move.
    """

    parts: pk.View1D[pk.int32]
    movable: pk.View1D[pk.int32]  # 1 if a vertex may change its part, otherwise 0
    part_rows: pk.View1D[pk.int64]  # by Part
    links: pk.View1D[pk.int32]  # by Link
    labels: pk.View1D[pk.int32]  # search that has found each vertex, from 1 on; 0 between uses
    roots: pk.View1D[pk.int32]  # search that each search has merged into; see OVER
    found: pk.View1D[pk.int32]  # the vertices that searches have found, in this order
    group: pk.View1D[pk.int32]  # the vertices of the group
    seed: int
    max_steps: int  # edge visits allowed to the searches for a group


@pk.function
def number_of(p: int, what: int, state: ConnectedParts) -> pk.int64:
    """Return a field of a part."""
    return state.part_rows[p * Part.COUNT + what]


@pk.function
def room_of(p: int, state: ConnectedParts) -> pk.int64:
    """Return the spare weight of a part, negative if it is overweight."""
    return number_of(p, Part.LIMIT, state) - number_of(p, Part.WEIGHT, state)


@pk.function
def spare_of(p: int, state: ConnectedParts) -> pk.int64:
    """Return the weight that a part can lose, negative if it is too light."""
    return number_of(p, Part.WEIGHT, state) - number_of(p, Part.LOWER_LIMIT, state)


@pk.function
def key_of(v: int, gain: pk.int64, state: ConnectedParts) -> pk.int64:
    """Return the key of a vertex: its gain, then its hash."""
    seed: pk.uint32 = state.seed
    h: pk.uint32 = mix(v ^ seed)
    return (gain << KEY_BITS) + h


@pk.function
def is_kept(v: int, graph: Graph, state: ConnectedParts) -> bool:
    """Whether a vertex of high degree keeps its key, or stays out, when a neighbour has moved."""
    degree: int = graph.indptr[v + 1] - graph.indptr[v]
    return degree > FEW_EDGES and state.positions[v] != NOT_QUEUED


@pk.function
def take_first(graph: Graph, state: ConnectedParts) -> int:
    """Remove and return the first queued vertex; one of high degree is locked."""
    v: int = state.heap[0]
    remove(v, 0, 0, state)
    if graph.indptr[v + 1] - graph.indptr[v] > FEW_EDGES:
        state.positions[v] = LOCKED
    return v


@pk.function
def root_of(search: int, state: ConnectedParts) -> int:
    """Return the search that a search has merged into."""
    root: int = search
    while state.roots[root] >= 0:
        above: int = state.roots[root]
        if state.roots[above] >= 0:
            state.roots[root] = state.roots[above]
        root = above
    return root


@pk.function
def begin_searches(v: int, graph: Graph, state: ConnectedParts) -> int:
    """Begin a search at each neighbour of a vertex in its part; return the number of searches."""
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
def is_leaf(v: int, state: ConnectedParts) -> bool:
    """Whether a vertex has no children in the known spanning tree of its part."""
    if number_of(state.parts[v], Part.HAS_TREE, state) == 0:
        return False
    return state.links[v * Link.COUNT + Link.CHILDREN] == 0


@pk.function
def adopt(u: int, v: int, state: ConnectedParts):
    """Make u the parent of v, which has no children."""
    state.links[v * Link.COUNT + Link.PARENT] = u
    state.links[v * Link.COUNT + Link.CHILDREN] = 0
    if u != NO_VERTEX:
        state.links[u * Link.COUNT + Link.CHILDREN] += 1


@pk.function
def grow_tree(p: int, graph: Graph, state: ConnectedParts):
    """Build a spanning tree of a part from its vertex of highest degree, if it is connected."""
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
    index: int = 0
    cost: pk.int64 = 1
    while index < last:
        u: int = state.found[index]
        index += 1
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
def is_due(degree: int, index: int, passed: int) -> bool:
    """Whether to expand ``found[index]``: low degrees first, and after `passed` vertices all."""
    if passed == NO_PLACE:
        return degree <= FEW_EDGES
    return index >= passed or degree > FEW_EDGES


@pk.function
def expand(u: int, v: int, last: int, graph: Graph, state: ConnectedParts) -> int:
    """Expand u in its search around v, and return the new number of found vertices.

    The number was `last` before. Searches that meet merge.
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
def detach(v: int, graph: Graph, state: ConnectedParts) -> int:
    """Find the group of vertices that may leave a part with v, and return its size.

    Returns 0 if the searches take too many steps, or if a vertex of the group is not movable.
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
    index: int = 0
    passed: int = NO_PLACE
    steps: int = -last * STEPS_PER_SEARCH
    while state.numbers[SEARCHES] > 1 and steps <= state.max_steps:
        if index == last:
            passed = last
            index = 0
        u: int = state.found[index]
        degree: int = graph.indptr[u + 1] - graph.indptr[u]
        if is_due(degree, index, passed):
            last = expand(u, v, last, graph, state)
            steps += degree
            state.part_rows[row + Part.SEARCH_COST] += degree
            state.numbers[EFFORT] -= degree
            if state.numbers[SEARCHES] > 1:
                end_if_exhausted(root_of(state.labels[u] - 1, state), state)
        index += 1
    return end_searches(last, state)


@pk.function
def end_if_exhausted(search: int, state: ConnectedParts):
    """Count an expanded vertex of a search, and end the search if no found vertex waits."""
    state.roots[search] += 1
    if state.roots[search] == OVER:
        state.numbers[SEARCHES] -= 1


@pk.function
def end_searches(last: int, state: ConnectedParts) -> int:
    """Collect the group from the searches that have ended, and reset all searches."""
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
def group_weight(size: int, graph: Graph, state: ConnectedParts) -> pk.int64:
    """Return the weight of the group."""
    weight: pk.int64 = 0
    for i in range(size):
        weight += graph.vertex_weights[state.group[i]]
    return weight


@pk.function
def connect_group(size: int, graph: Graph, state: ConnectedParts) -> int:
    """Sum the edge weights of the group to each part, and return the number of adjacent parts.

    Parts to which all edges weigh 0 do not count.
    """
    for i in range(size):
        state.labels[state.group[i]] = 1
    touched: int = 0
    for i in range(size):
        v: int = state.group[i]
        for e in edges(v, graph):
            u: int = graph.indices[e]
            if state.labels[u] == 0 and graph.edge_weights[e] > 0:
                row: int = state.parts[u] * Part.COUNT
                if state.part_rows[row + Part.CONNECTION] == 0:
                    state.part_rows[touched * Part.COUNT + Part.TOUCHED] = state.parts[u]
                    touched += 1
                state.part_rows[row + Part.CONNECTION] += graph.edge_weights[e]
    for i in range(size):
        state.labels[state.group[i]] = 0
    return touched


@pk.function
def forget_connections(touched: int, state: ConnectedParts):
    """Reset the edge weights of a group to the `touched` parts to 0."""
    for i in range(touched):
        p: int = number_of(i, Part.TOUCHED, state)
        state.part_rows[p * Part.COUNT + Part.CONNECTION] = 0


@pk.function
def link(v: int, p: int, state: ConnectedParts):
    """Insert a vertex at the front of the list of part p."""
    first: int = number_of(p, Part.FIRST, state)
    state.links[v * Link.COUNT + Link.PRECEDING] = NO_VERTEX
    state.links[v * Link.COUNT + Link.FOLLOWING] = first
    if first != NO_VERTEX:
        state.links[first * Link.COUNT + Link.PRECEDING] = v
    state.part_rows[p * Part.COUNT + Part.FIRST] = v


@pk.function
def unlink(v: int, state: ConnectedParts):
    """Remove a vertex from the list of its part."""
    before: int = state.links[v * Link.COUNT + Link.PRECEDING]
    after: int = state.links[v * Link.COUNT + Link.FOLLOWING]
    if before == NO_VERTEX:
        state.part_rows[state.parts[v] * Part.COUNT + Part.FIRST] = after
    else:
        state.links[before * Link.COUNT + Link.FOLLOWING] = after
    if after != NO_VERTEX:
        state.links[after * Link.COUNT + Link.PRECEDING] = before


@pk.function
def cut_from_tree(size: int, p: int, state: ConnectedParts):
    """Remove the group from the tree of its part; the tree is lost unless the group is a leaf."""
    v: int = state.group[0]
    if size == 1 and is_leaf(v, state):
        above: int = state.links[v * Link.COUNT + Link.PARENT]
        if above != NO_VERTEX:
            state.links[above * Link.COUNT + Link.CHILDREN] -= 1
    else:
        state.part_rows[p * Part.COUNT + Part.HAS_TREE] = 0


@pk.function
def graft(size: int, q: int, graph: Graph, state: ConnectedParts):
    """Add the group to the tree of part q; the tree is lost if `group[0]` is not adjacent to q."""
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
def move_group(size: int, weight: pk.int64, p: int, q: int, graph: Graph, state: ConnectedParts):
    """Move the group, whose weight is `weight`, from part p to part q."""
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
def list_part_vertices(i: int, n: int, k: int, state: ConnectedParts):
    """List the vertices of each part in ascending order, including the extra part k."""
    for p in range(k + 1):
        state.part_rows[p * Part.COUNT + Part.FIRST] = NO_VERTEX
    v: int = n - 1
    while v >= 0:
        link(v, state.parts[v], state)
        v -= 1
