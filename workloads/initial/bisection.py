"""Recursive bisection: each launch processes all nodes of one depth of the tree.

A node is a range in the order of the vertices, to be divided into a number of parts. Each node is
bisected `tries` times, and the best bisection divides it. One index works on one try, in its own
ranges of all arrays. The tries of a node are consecutive. Several partitions share a launch.
"""

from dataclasses import dataclass
from enum import IntEnum

import pykokkos as pk

from jetpy.workloads.common.groups import (
    INT32_MAX,
    NO_PART,
    NO_VERTEX,
    Graph,
    edges,
)
from jetpy.workloads.common.hashing import mix
from jetpy.workloads.common.heaps import Field
from jetpy.workloads.initial.inner_levels import (
    HEAVIEST,
    OF_AVERAGE,
    VERTEX_ROOM,
    Levels,
    coarsen_to,
    project,
)
from jetpy.workloads.initial.two_way import (
    bisect,
    change_side,
    distance_of,
    measure,
    overload_of,
    refine,
)

COARSEST = 30
"""Number of vertices at which inner coarsening ends."""


class Node(IntEnum):
    """Fields of a node."""

    BEGIN = 0
    """First index of its vertices in the order."""
    END = 1
    ENTRY = 2
    """Number of directed edges of the vertices before it in the order."""
    FIRST = 3
    """Its first part."""
    PARTS = 4
    """Number of its parts; 0 if the node does not exist."""
    SIZE = 5
    """Number of directed edges of its vertices."""
    COUNT = 6


@dataclass(frozen=True, eq=False)
class Tree:
    """The nodes of one depth and their vertices; partitions are consecutive."""

    nodes: pk.View1D[pk.int64]
    order: pk.View1D[pk.int32]
    parts: pk.View1D[pk.int32]  # first part of each vertex's node
    places: pk.View1D[pk.int32]  # index of each vertex in its node
    shares: pk.View1D[pk.int64]  # exclusive prefix sums of the parts' target weights, relative
    rooms: pk.View1D[pk.int64]  # exclusive prefix sums of the parts' largest weights
    floors: pk.View1D[pk.int64]  # exclusive prefix sums of the parts' smallest weights
    pinned: pk.View1D[pk.int32]  # the part that a vertex must be in, or -1


@pk.function
def halvings(parts: int) -> int:
    """Return the depth of recursive bisection into `parts` parts."""
    depth: int = 0
    count: int = 1
    while count < parts:
        count *= 2
        depth += 1
    return depth


@pk.function
def limit_level(here: int, levels: Levels):
    """Let a side exceed its room by a mean vertex of the level, on the finest by half of it.

    Vertex weights rarely fill a side exactly. Later refinement removes the excess.
    """
    begin: int = levels.numbers[here + Field.BEGIN]
    end: int = levels.numbers[here + Field.END]
    mean: pk.int64 = levels.numbers[here + Field.TOTAL]
    if end > begin:  # all vertices may be pinned to the parts of another node
        mean //= end - begin
    if begin == levels.numbers[here + Field.LEVEL_BEGINS]:
        mean = mean >> 1
    for side in range(2):
        room: pk.int64 = levels.numbers[here + Field.ROOMS + side]
        levels.numbers[here + Field.MOST + side] = room + mean


@pk.function
def side_of(p: int, middle: int) -> int:
    """Return the side that a vertex pinned to a part must be on, or `NO_PART`."""
    if p < 0:
        return NO_PART
    if p < middle:
        return 0
    return 1


@pk.function
def is_leaf(node: int, tree: Tree) -> bool:
    """Whether a node is not bisected further."""
    return tree.nodes[node * Node.COUNT + Node.PARTS] < 2


@pk.function
def first_vertex(i: int, tries: int, tree: Tree) -> int:
    """Return the first vertex of the finest level of a try."""
    node: int = i // tries
    begin: int = tree.nodes[node * Node.COUNT + Node.BEGIN]
    end: int = tree.nodes[node * Node.COUNT + Node.END]
    return VERTEX_ROOM * (tries * begin + (i - node * tries) * (end - begin))


@pk.workunit
def extract(
    i: int,
    tries: int,
    count: int,
    n: int,
    room: int,
    graph: Graph,
    tree: Tree,
    levels: Levels,
):
    """Build the finest level of a try: the subgraph induced by the vertices of its node.

    Each partition has `count` nodes and `n` vertices. A try has capacity for `room` times the
    directed edges of its node.
    """
    node: int = i // tries
    if is_leaf(node, tree):
        return
    begin: int = tree.nodes[node * Node.COUNT + Node.BEGIN]
    end: int = tree.nodes[node * Node.COUNT + Node.END]
    parts: int = tree.nodes[node * Node.COUNT + Node.PARTS]
    size: int = tree.nodes[node * Node.COUNT + Node.SIZE]
    start: int = node // count * n
    first: int = first_vertex(i, tries, tree)
    entry: int = tries * tree.nodes[node * Node.COUNT + Node.ENTRY] + (i - node * tries) * size
    entry *= room
    last_entry: int = entry + room * size
    total: pk.int64 = 0
    pinned: int = 0
    own: int = tree.nodes[node * Node.COUNT + Node.FIRST]
    middle: int = own + (parts + 1) // 2
    here: int = i * Field.COUNT
    for j in range(begin, end):
        v: int = tree.order[j]
        levels.pinned[first + j - begin] = side_of(tree.pinned[v], middle)
        if tree.pinned[v] >= 0:
            pinned += 1
        levels.rows[first + j - begin] = entry
        levels.weights[first + j - begin] = graph.vertex_weights[v]
        total += graph.vertex_weights[v]
        for e in edges(v, graph):
            u: int = graph.indices[e]
            if tree.parts[start + u] == own:
                levels.ends[entry] = first + tree.places[start + u]
                levels.edge_weights[entry] = graph.edge_weights[e]
                entry += 1
    levels.rows[first + end - begin] = entry
    levels.numbers[here + Field.BEGIN] = first
    levels.numbers[here + Field.END] = first + end - begin
    levels.numbers[here + Field.LEVELS] = 0
    levels.numbers[here + Field.LEVEL_BEGINS] = first
    levels.numbers[here + Field.ENTRIES] = entry
    levels.numbers[here + Field.LAST_VERTEX] = first + VERTEX_ROOM * (end - begin)
    levels.numbers[here + Field.LAST_ENTRY] = last_entry
    levels.numbers[here + Field.TOTAL] = total
    levels.numbers[here + Field.PINNED] = pinned
    levels.numbers[here + Field.ORIGIN] = 0
    share: pk.int64 = total * (tree.shares[middle] - tree.shares[own])
    share //= tree.shares[own + parts] - tree.shares[own]
    levels.numbers[here + Field.TARGET] = share
    depth: int = halvings(parts)
    for side in range(2):
        slack: pk.int64 = tree.rooms[middle] - tree.rooms[own] - share
        floor: pk.int64 = tree.floors[own + parts] - tree.floors[middle]
        if side == 1:
            slack = tree.rooms[own + parts] - tree.rooms[middle] - share
            floor = tree.floors[middle] - tree.floors[own]
        if floor > 0 and total - share - floor < slack:
            slack = total - share - floor
        if slack < 0:
            slack = 0
        slack //= depth
        levels.numbers[here + Field.ROOMS + side] = share + slack
        share = total - share


@pk.workunit
def coarsen_nodes(i: int, tries: int, tree: Tree, levels: Levels, seed: int):
    """Build the inner levels of a try."""
    if is_leaf(i // tries, tree):
        return
    here: int = i * Field.COUNT
    levels.numbers[here + Field.SEED] = mix(mix(seed) + i)
    total: pk.int64 = levels.numbers[here + Field.TOTAL]
    total = total * HEAVIEST
    total //= OF_AVERAGE * COARSEST
    heaviest: int = total
    coarsen_to(COARSEST, heaviest, here, levels)


@pk.workunit
def grow_nodes(
    i: int, tries: int, tree: Tree, levels: Levels, best: pk.View1D[pk.int32], growings: int
):
    """Bisect the coarsest level of a try `growings` times, and keep the best bisection."""
    if is_leaf(i // tries, tree):
        return
    here: int = i * Field.COUNT
    limit_level(here, levels)
    bisect(growings, 1, here, levels, best)


@pk.workunit
def refine_nodes(i: int, tries: int, tree: Tree, levels: Levels, passes: int):
    """Project the bisection of a try to its finest level, and refine it on each level."""
    if is_leaf(i // tries, tree):
        return
    here: int = i * Field.COUNT
    measure(here, levels)
    refine(passes, here, levels)
    while levels.numbers[here + Field.LEVELS] > 0:
        project(here, levels)
        limit_level(here, levels)
        measure(here, levels)
        refine(passes, here, levels)


@pk.workunit
def choose_tries(node: int, tries: int, tree: Tree, levels: Levels, chosen: pk.View1D[pk.int32]):
    """Choose the try that divides a node.

    The best try has the smallest overload, then the smallest cut, then the sides nearest to their
    targets, then the lowest index.
    """
    best: int = node * tries
    if not is_leaf(node, tree):
        here: int = best * Field.COUNT
        overload: pk.int64 = overload_of(here, levels)
        cut: pk.int64 = levels.numbers[here + Field.CUT]
        distance: pk.int64 = distance_of(here, levels)
        for i in range(node * tries + 1, node * tries + tries):
            here = i * Field.COUNT
            now: pk.int64 = overload_of(here, levels)
            new_cut: pk.int64 = levels.numbers[here + Field.CUT]
            new_distance: pk.int64 = distance_of(here, levels)
            if now < overload or (
                now == overload and (new_cut < cut or (new_cut == cut and new_distance < distance))
            ):
                best = i
                overload = now
                cut = new_cut
                distance = new_distance
    chosen[node] = best


@pk.function
def lightest_on(side: int, begin: int, end: int, levels: Levels) -> int:
    """Return the first of the lightest vertices that may leave a side, or `NO_VERTEX`."""
    best: int = NO_VERTEX
    weight: int = INT32_MAX
    for v in range(begin, end):
        if levels.sides[v] == side and levels.pinned[v] == NO_PART and levels.weights[v] < weight:
            best = v
            weight = levels.weights[v]
    return best


@pk.workunit
def fill_sides(node: int, tree: Tree, levels: Levels, chosen: pk.View1D[pk.int32]):
    """Move vertices, lightest first, until each side has at least one vertex per part."""
    if is_leaf(node, tree):
        return
    parts: int = tree.nodes[node * Node.COUNT + Node.PARTS]
    here: int = chosen[node] * Field.COUNT
    begin: int = levels.numbers[here + Field.BEGIN]
    end: int = levels.numbers[here + Field.END]
    for side in range(2):
        lacking: int = (parts + 1 - side) // 2
        for v in range(begin, end):
            if levels.sides[v] == side:
                lacking -= 1
        while lacking > 0:
            lacking -= 1
            lightest: int = lightest_on(1 - side, begin, end, levels)
            if lightest != NO_VERTEX:
                change_side(lightest, 0, here, levels)


@pk.workunit
def divide(
    node: int,
    tries: int,
    count: int,
    n: int,
    graph: Graph,
    tree: Tree,
    levels: Levels,
    chosen: pk.View1D[pk.int32],
    children: pk.View1D[pk.int64],
    next_order: pk.View1D[pk.int32],
):
    """Divide a node into the two nodes of its sides."""
    begin: int = tree.nodes[node * Node.COUNT + Node.BEGIN]
    end: int = tree.nodes[node * Node.COUNT + Node.END]
    parts: int = tree.nodes[node * Node.COUNT + Node.PARTS]
    entry: pk.int64 = tree.nodes[node * Node.COUNT + Node.ENTRY]
    part: int = tree.nodes[node * Node.COUNT + Node.FIRST]
    start: int = node // count * n
    first: int = first_vertex(chosen[node], tries, tree)
    to: int = begin
    for side in range(2):
        own: int = (parts + 1 - side) // 2
        child: int = (2 * node + side) * Node.COUNT
        children[child + Node.BEGIN] = to
        children[child + Node.ENTRY] = entry
        children[child + Node.FIRST] = part
        children[child + Node.PARTS] = own
        for j in range(begin, end):
            is_here: bool = side == 0
            if parts > 1:
                is_here = levels.sides[first + j - begin] == side
            if is_here:
                v: int = tree.order[j]
                next_order[to] = v
                tree.parts[start + v] = part
                tree.places[start + v] = to - children[child + Node.BEGIN]
                entry += graph.indptr[v + 1] - graph.indptr[v]
                to += 1
        children[child + Node.END] = to
        children[child + Node.SIZE] = entry - children[child + Node.ENTRY]
        part += own
