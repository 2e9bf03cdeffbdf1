"""Breadth-first searches for the components of nodes.

A search visits vertices in the order of their places. Each visited vertex claims its neighbours,
and they get the next places. One index searches a node. All threads can visit a wide level instead:
the claim from the lowest place holds, so the places are the same.
"""

from dataclasses import dataclass
from enum import IntEnum

import pykokkos as pk

from jetpy.workloads.common.groups import INT32_MAX, Graph, edges
from jetpy.workloads.ordering.separators import SEPARATOR

FOUND = -1
"""Claim of a root and of a vertex in a separator."""
OPEN = INT32_MAX
"""Claim of a vertex on side 0 that no search has reached; 1 less on side 1."""


class Progress(IntEnum):
    """Fields of the search in a node. All begin with the first vertex of the node."""

    ROOT = 0
    """All vertices before it have a place."""
    FIRST = 1
    """First place of the present component."""
    HEAD = 2
    """The next place to visit."""
    LAST = 3
    """The next free place. The places from the head on are one level if a search has paused."""
    COUNT = 4


@dataclass(frozen=True, eq=False)
class Components:
    """The components of the sides of nodes. Those of a node are consecutive; its separator is last.

    The first place of a component, or of a separator, has its size and node.
    """

    claims: pk.View1D[pk.int32]  # place from which a search has reached a vertex; FOUND, OPEN
    order: pk.View1D[pk.int32]  # the vertex in each place
    firsts: pk.View1D[pk.int32]  # first place of the component of each place
    sizes: pk.View1D[pk.int32]  # number of vertices; 0 in other places
    nodes: pk.View1D[pk.int32]  # node, or -1 - node for its separator
    weights: pk.View1D[pk.int32]  # weight of all vertices before each place, and of all vertices


@pk.workunit
def begin_searches(v: int, sides: pk.View1D[pk.int32], components: Components):
    """Open a vertex if it is not in a separator."""
    components.sizes[v] = 0
    components.claims[v] = FOUND
    if sides[v] != SEPARATOR:
        components.claims[v] = OPEN - sides[v]


@pk.function
def place_vertex(v: int, place: int, first: int, components: Components):
    """Give a vertex a place in the component, or separator, that begins at `first`."""
    components.order[place] = v
    components.firsts[place] = first


@pk.function
def visit(place: int, first: int, last: int, own: int, graph: Graph, components: Components) -> int:
    """Give places from `last` on to the neighbours that a vertex claims; return the next free one.

    `own` is the claim of open vertices on its side.
    """
    free: int = last
    for e in edges(components.order[place], graph):
        u: int = graph.indices[e]
        if components.claims[u] == own or components.claims[u] == place:
            components.claims[u] = place
            place_vertex(u, free, first, components)
            free += 1
    return free


@pk.function
def keep_progress(
    row: int, root: int, first: int, head: int, last: int, progress: pk.View1D[pk.int64]
):
    """Store the progress of a search that pauses or ends."""
    progress[row + Progress.ROOT] = root
    progress[row + Progress.FIRST] = first
    progress[row + Progress.HEAD] = head
    progress[row + Progress.LAST] = last


@pk.workunit
def find_components(
    node: int,
    wide: int,
    graph: Graph,
    starts: pk.View1D[pk.int64],
    sides: pk.View1D[pk.int32],
    progress: pk.View1D[pk.int64],
    components: Components,
):
    """Continue the search in a node until it ends, or until a level has `wide` vertices or more."""
    row: int = node * Progress.COUNT
    end: int = starts[node + 1]
    root: int = progress[row + Progress.ROOT]
    first: int = progress[row + Progress.FIRST]
    head: int = progress[row + Progress.HEAD]
    last: int = progress[row + Progress.LAST]
    while root < end:
        while head < last:
            if last - head >= wide:
                keep_progress(row, root, first, head, last, progress)
                return
            own: int = OPEN - sides[components.order[first]]
            level_end: int = last
            while head < level_end:
                last = visit(head, first, last, own, graph, components)
                head += 1
        if last > first:
            components.sizes[first] = last - first
            components.nodes[first] = node
            first = last
        while root < end and components.claims[root] < OPEN - 1:
            root += 1
        if root < end:
            components.claims[root] = FOUND
            place_vertex(root, last, first, components)
            last += 1
    keep_progress(row, root, first, head, last, progress)
    place_separator(node, first, starts[node], end, sides, components)


@pk.function
def place_separator(
    node: int,
    first: int,
    begin: int,
    end: int,
    sides: pk.View1D[pk.int32],
    components: Components,
):
    """Give the last places of a node to its separator."""
    last: int = first
    for v in range(begin, end):
        if sides[v] == SEPARATOR:
            place_vertex(v, last, first, components)
            last += 1
    if last > first:
        components.sizes[first] = last - first
        components.nodes[first] = -1 - node


@pk.function
def claim_from(place: int, own: int, graph: Graph, components: Components):
    """Claim the neighbours of the vertex in a place, unless a vertex before it has claimed them."""
    for e in edges(components.order[place], graph):
        u: int = graph.indices[e]
        claim: int = components.claims[u]
        if claim > place and (claim == own or claim < OPEN - 1):
            pk.atomic_fetch_min(components.claims, [u], place)


@pk.workunit
def claim_from_level(i: int, head: int, own: int, graph: Graph, components: Components):
    """Claim the neighbours of the first level that all threads visit."""
    claim_from(head + i, own, graph, components)


@pk.workunit
def visit_level(
    i: int,
    acc: pk.Acc[pk.int64],
    last_pass: bool,
    head: int,
    last: int,
    first: int,
    own: int,
    graph: Graph,
    components: Components,
):
    """Give places to the neighbours that a vertex has claimed, and claim their neighbours."""
    for e in edges(components.order[head + i], graph):
        u: int = graph.indices[e]
        if components.claims[u] == head + i:
            if last_pass:
                place: int = last + acc
                place_vertex(u, place, first, components)
                claim_from(place, own, graph, components)
            acc += 1


@pk.workunit
def sum_weights(
    i: int, acc: pk.Acc[pk.int64], last_pass: bool, graph: Graph, components: Components
):
    """Sum the weights of the vertices up to each place."""
    acc += graph.vertex_weights[components.order[i]]
    if last_pass:
        components.weights[i + 1] = acc


@pk.workunit
def list_components(
    i: int,
    acc: pk.Acc[pk.int64],
    last_pass: bool,
    components: Components,
    places: pk.View1D[pk.int32],
):
    """List the first places of all components and separators."""
    if components.sizes[i] > 0:
        if last_pass:
            places[acc] = i
        acc += 1
