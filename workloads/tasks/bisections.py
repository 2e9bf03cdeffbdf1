"""Recursive bisection of a level: by one index, or by an index for each node of a depth.

A node of the tree is a range of the vertices in an order, to be divided into some parts. Its graph
is copied behind the level, and bisected there with levels of its own, several times. Row `inner` of
`numbers` is for these bisections. One index bisects one node after another in the same place; with
an index for each node, the copies of all nodes of a depth are side by side.
"""

from enum import IntEnum

import pykokkos as pk

from jetpy.workloads.common.groups import INT32_MAX, NO_PART, NO_VERTEX
from jetpy.workloads.common.hashing import mix
from jetpy.workloads.common.heaps import Field, vertices_of
from jetpy.workloads.initial.inner_levels import (
    VERTEX_ROOM,
    coarse_weight,
    coarsen_to,
    project,
)
from jetpy.workloads.initial.two_way import (
    bisect,
    distance_from_target,
    keep_if_best,
    measure,
    overload_of,
    refine,
    restore_best,
)
from jetpy.workloads.tasks.kway import Parts

ENTRY_ROOM = 6
"""Capacity for the entries of all levels, per directed edge."""
SPARE = 64
"""Capacity in addition, for unused indices between levels."""
COARSEST = 30
"""Number of vertices at which inner coarsening ends."""
BISECTION_PASSES = 8
"""Maximum number of passes on an inner level."""
PENDING = 32
"""Maximum number of nodes that wait; the depth of the tree is smaller."""
NODE_ROOM = 4
"""Capacity for the levels of a node, per vertex and per entry of its copy."""
NODE_SPARE = 32
"""Capacity in addition, for unused indices between these levels."""


class Node(IntEnum):
    """Fields of a node that waits."""

    BEGIN = 0
    """First index of its vertices in the order."""
    END = 1
    FIRST = 2
    """Its first part."""
    PARTS = 3
    """Number of its parts; less than 2 if there is nothing to divide."""
    NUMBER = 4
    """Its number in the tree, in preorder."""
    VERTEX = 5
    """First vertex of its copy."""
    ENTRY = 6
    """First entry of its copy."""
    COUNT = 7


class Bisections(Parts):
    """The arrays of recursive bisection."""

    nodes: pk.View1D[pk.int32]  # the nodes that wait, by Node
    best: pk.View1D[pk.int32]  # sides of the best growing
    shares: pk.View1D[pk.int64]  # prefix sums of the parts' target weights, relative
    rooms: pk.View1D[pk.int64]  # prefix sums of the parts' largest weights
    floors: pk.View1D[pk.int64]  # prefix sums of the parts' smallest weights


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
def finest_end(here: int, state: Bisections) -> int:
    """Return one past the last vertex of the finest level."""
    if state.numbers[here + Field.LEVELS] == 0:
        return state.numbers[here + Field.END]
    return state.numbers[here + Field.LEVEL_BEGINS + 1] - 1


@pk.function
def end_of_vertices(here: int, state: Bisections) -> int:
    """Return the end of the capacity for the levels of a graph, and for a copy of one of them.

    It depends on the graph alone, although the arrays of the worker may be larger.
    """
    first: int = state.numbers[here + Field.ORIGIN]
    return first + (VERTEX_ROOM + 1) * (finest_end(here, state) - first) + SPARE


@pk.function
def end_of_entries(here: int, state: Bisections) -> int:
    """Return the end of the capacity for the directed edges of these levels."""
    entry: int = state.rows[state.numbers[here + Field.ORIGIN]]
    entries: int = state.rows[finest_end(here, state)] - entry
    return entry + (ENTRY_ROOM + 1) * entries + SPARE


@pk.function
def side_of(p: int, middle: int) -> int:
    """Return the side that a vertex pinned to a part must be on, or `NO_PART`."""
    if p < 0:
        return NO_PART
    if p < middle:
        return 0
    return 1


@pk.function
def limit_level(here: int, state: Bisections):
    """Let a side exceed its room by a mean vertex of the level, on the finest by half of it.

    Vertex weights rarely fill a side exactly. Later refinement removes the excess.
    """
    begin: int = state.numbers[here + Field.BEGIN]
    end: int = state.numbers[here + Field.END]
    mean: pk.int64 = state.numbers[here + Field.TOTAL]
    mean //= end - begin
    if begin == state.numbers[here + Field.LEVEL_BEGINS]:
        mean = mean >> 1
    for side in range(2):
        room: pk.int64 = state.numbers[here + Field.ROOMS + side]
        state.numbers[here + Field.MOST + side] = room + mean


@pk.function
def limit_node(first: int, parts: int, sums: int, inner: int, state: Bisections):
    """Set the target and the rooms of the sides of a node.

    Each side gets its share of the weight, and a share of the slack between this and its limit that
    falls with the number of bisections to come. The prefix sums of the task begin at `sums`.
    """
    begin: int = sums + first
    end: int = begin + parts
    middle: int = begin + (parts + 1) // 2
    total: pk.int64 = state.numbers[inner + Field.TOTAL]
    share: pk.int64 = total * (state.shares[middle] - state.shares[begin])
    share //= state.shares[end] - state.shares[begin]
    state.numbers[inner + Field.TARGET] = share
    depth: int = halvings(parts)
    for side in range(2):
        slack: pk.int64 = state.rooms[middle] - state.rooms[begin] - share
        floor: pk.int64 = state.floors[end] - state.floors[middle]
        if side == 1:
            slack = state.rooms[end] - state.rooms[middle] - share
            floor = state.floors[middle] - state.floors[begin]
        if floor > 0 and total - share - floor < slack:
            slack = total - share - floor
        if slack < 0:
            slack = 0
        slack //= depth
        state.numbers[inner + Field.ROOMS + side] = share + slack
        share = total - share


@pk.function
def copy_node(
    low: int, high: int, middle: int, first: int, entry: int, inner: int, state: Bisections
):
    """Copy the graph of the vertices at low..high - 1 of the order to `first` and `entry`.

    `positions` has the place of each vertex in the copy, `NO_VERTEX` for vertices of no copy.
    """
    last: int = entry
    total: pk.int64 = 0
    pinned: int = 0
    size: int = high - low
    for j in range(low, high):
        state.positions[state.heap[j]] = first + j - low
    for j in range(low, high):
        v: int = state.heap[j]
        u: int = first + j - low
        state.rows[u] = last
        state.weights[u] = state.weights[v]
        state.pinned[u] = side_of(state.pinned[v], middle)
        total += state.weights[v]
        if state.pinned[u] != NO_PART:
            pinned += 1
        for e in range(state.rows[v], state.rows[v + 1]):
            place: int = state.positions[state.ends[e]]
            if place >= first and place < first + size:
                state.ends[last] = place
                state.edge_weights[last] = state.edge_weights[e]
                last += 1
    state.rows[first + size] = last
    for j in range(low, high):
        state.positions[state.heap[j]] = NO_VERTEX
    state.numbers[inner + Field.LEVEL_BEGINS] = first
    state.numbers[inner + Field.ORIGIN] = first
    state.numbers[inner + Field.TOTAL] = total
    state.numbers[inner + Field.PINNED] = pinned


@pk.function
def limit_levels(here: int, inner: int, size: int, state: Bisections):
    """Limit the levels of a copy with `size` vertices, as if it were alone behind the level."""
    first: int = state.numbers[inner + Field.LEVEL_BEGINS]
    entry: int = state.rows[first]
    vertices: int = NODE_ROOM * size + NODE_SPARE
    entries: int = NODE_ROOM * (state.rows[first + size] - entry)
    end: int = state.numbers[here + Field.END]
    behind: int = end_of_vertices(here, state) - end - 1
    if behind < vertices:
        vertices = behind
    behind = end_of_entries(here, state) - state.rows[end]
    if behind < entries:
        entries = behind
    state.numbers[inner + Field.LAST_VERTEX] = first + vertices
    state.numbers[inner + Field.LAST_ENTRY] = entry + entries


@pk.function
def bisect_node(size: int, growings: int, seed: pk.uint32, inner: int, state: Bisections):
    """Bisect a copied graph of `size` vertices by levels of its own."""
    first: int = state.numbers[inner + Field.LEVEL_BEGINS]
    state.numbers[inner + Field.BEGIN] = first
    state.numbers[inner + Field.END] = first + size
    state.numbers[inner + Field.LEVELS] = 0
    state.numbers[inner + Field.SEED] = seed
    for v in range(first, first + size):
        state.sides[v] = state.pinned[v]
    heaviest: int = coarse_weight(state.numbers[inner + Field.TOTAL], COARSEST)
    coarsen_to(COARSEST, heaviest, False, inner, state)
    limit_level(inner, state)
    bisect(growings, 1, inner, state, state.best)
    measure(inner, state)
    refine(BISECTION_PASSES, inner, state)
    while state.numbers[inner + Field.LEVELS] > 0:
        project(inner, state)
        limit_level(inner, state)
        measure(inner, state)
        refine(BISECTION_PASSES, inner, state)


@pk.function
def bisect_best(
    size: int, tries: int, growings: int, seed: pk.uint32, inner: int, state: Bisections
):
    """Bisect a copied graph several times, and keep the best sides.

    They have the smallest overload, then the smallest cut, then the weight of side 0 nearest to its
    target.
    """
    for number in range(tries):
        bisect_node(size, growings, mix(seed + number), inner, state)
        excess: pk.int64 = overload_of(inner, state)
        cut: pk.int64 = state.numbers[inner + Field.CUT]
        distance: pk.int64 = distance_from_target(inner, state)
        keep_if_best(number, excess, cut, distance, Field.BEST_TRY, inner, state, state.origins)
    restore_best(inner, state, state.origins)


@pk.function
def fill_side(side: int, least: int, inner: int, state: Bisections):
    """Move vertices to a side, lightest first, until it has at least `least` of them."""
    lacking: int = least
    for v in vertices_of(inner, state):
        if state.sides[v] == side:
            lacking -= 1
    while lacking > 0:
        lacking -= 1
        found: int = NO_VERTEX
        lightest: int = INT32_MAX
        for v in vertices_of(inner, state):
            is_free: bool = state.sides[v] != side and state.pinned[v] == NO_PART
            if is_free and state.weights[v] < lightest:
                found = v
                lightest = state.weights[v]
        if found == NO_VERTEX:
            break
        state.sides[found] = side


@pk.function
def divide_order(low: int, high: int, first: int, state: Bisections) -> int:
    """Sort a range of the order by the sides of its copy, from `first` on; return the boundary."""
    middle: int = low
    for j in range(low, high):
        if state.sides[first + j - low] == 0:
            state.moved[middle] = state.heap[j]
            middle += 1
    last: int = middle
    for j in range(low, high):
        if state.sides[first + j - low] == 1:
            state.moved[last] = state.heap[j]
            last += 1
    for j in range(low, high):
        state.heap[j] = state.moved[j]
    return middle


@pk.function
def set_node(
    place: int,
    low: int,
    high: int,
    first: int,
    parts: int,
    number: int,
    vertex: int,
    entry: int,
    state: Bisections,
):
    """Store a node, or put its vertices into its part if it has only one."""
    state.nodes[place + Node.BEGIN] = low
    state.nodes[place + Node.END] = high
    state.nodes[place + Node.FIRST] = first
    state.nodes[place + Node.PARTS] = parts
    state.nodes[place + Node.NUMBER] = number
    state.nodes[place + Node.VERTEX] = vertex
    state.nodes[place + Node.ENTRY] = entry
    if parts == 1 or low == high:
        state.nodes[place + Node.PARTS] = 1
        for j in range(low, high):
            state.sides[state.heap[j]] = first


@pk.function
def begin_tree(place: int, here: int, state: Bisections):
    """Store the root, which has all vertices of the current level in order, at a place."""
    begin: int = state.numbers[here + Field.BEGIN]
    end: int = state.numbers[here + Field.END]
    parts: int = state.numbers[here + Field.PARTS]
    for v in range(begin, end):
        state.heap[v] = v
        state.positions[v] = NO_VERTEX
    set_node(place, begin, end, 0, parts, 1, end + 1, state.rows[end], state)


@pk.function
def divide_node(
    place: int,
    lower: int,
    upper: int,
    tries: int,
    growings: int,
    seed: pk.uint32,
    sums: int,
    here: int,
    inner: int,
    state: Bisections,
):
    """Bisect a node, and store its halves at the places `lower` and `upper`.

    The halves are to be copied to the place of its copy. Bisections of the last depth are tried
    `tries` times, and those of each earlier depth one time less, because a small cut predicts less
    if more bisections follow.
    """
    low: int = state.nodes[place + Node.BEGIN]
    high: int = state.nodes[place + Node.END]
    first: int = state.nodes[place + Node.FIRST]
    parts: int = state.nodes[place + Node.PARTS]
    number: int = state.nodes[place + Node.NUMBER]
    vertex: int = state.nodes[place + Node.VERTEX]
    entry: int = state.nodes[place + Node.ENTRY]
    left: int = (parts + 1) // 2
    right: int = parts - left
    copy_node(low, high, first + left, vertex, entry, inner, state)
    limit_node(first, parts, sums, inner, state)
    limit_levels(here, inner, high - low, state)
    own_tries: int = tries + 1 - halvings(parts)
    if own_tries < 1:
        own_tries = 1
    bisect_best(high - low, own_tries, growings, mix(seed + number), inner, state)
    fill_side(0, left, inner, state)
    fill_side(1, right, inner, state)
    middle: int = divide_order(low, high, vertex, state)
    set_node(upper, middle, high, first + left, right, number + left, vertex, entry, state)
    set_node(lower, low, middle, first, left, number + 1, vertex, entry, state)


@pk.function
def bisect_recursively(
    tries: int,
    growings: int,
    seed: pk.uint32,
    waiting: int,
    sums: int,
    here: int,
    inner: int,
    state: Bisections,
):
    """Partition the current level by recursive bisection, one node after another.

    The nodes that wait are from place `waiting` on. Each is copied to the same place.
    """
    begin_tree(waiting * Node.COUNT, here, state)
    count: int = 1
    while count > 0:
        count -= 1
        place: int = (waiting + count) * Node.COUNT
        if state.nodes[place + Node.PARTS] > 1:
            lower: int = place + Node.COUNT
            divide_node(place, lower, place, tries, growings, seed, sums, here, inner, state)
            count += 2


@pk.function
def divide_in_tree(
    place: int,
    lower: int,
    tries: int,
    growings: int,
    seed: pk.uint32,
    sums: int,
    here: int,
    inner: int,
    state: Bisections,
):
    """Bisect a node while others of its depth are bisected; store its halves from `lower` on.

    The room of the node is divided between its halves.
    """
    upper: int = lower + Node.COUNT
    state.nodes[lower + Node.PARTS] = 0
    state.nodes[upper + Node.PARTS] = 0
    parts: int = state.nodes[place + Node.PARTS]
    if parts < 2:
        return
    divide_node(place, lower, upper, tries, growings, seed, sums, here, inner, state)
    low: int = state.nodes[lower + Node.BEGIN]
    high: int = state.nodes[lower + Node.END]
    entries: int = 0
    for j in range(low, high):
        v: int = state.heap[j]
        entries += state.rows[v + 1] - state.rows[v]
    state.nodes[upper + Node.VERTEX] += NODE_ROOM * (high - low) + NODE_SPARE * ((parts + 1) // 2)
    state.nodes[upper + Node.ENTRY] += NODE_ROOM * entries
