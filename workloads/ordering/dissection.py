"""Nested dissection: each launch processes all nodes of one depth of the separator tree.

A node is a connected part of the graph without the separators found so far. The nodes of a depth
are one graph, in which the vertices of a node have consecutive numbers. Each node gets `tries`
separators, and the best one divides it. One index works on one try, in its own ranges of all
arrays. The tries of a node are consecutive.

Source: George, "Nested dissection of a regular finite element mesh", SIAM Journal on Numerical
Analysis 10 (1973); Lipton, Rose, Tarjan, "Generalized nested dissection", SIAM Journal on Numerical
Analysis 16 (1979).
"""

from dataclasses import dataclass
from enum import IntEnum

import pykokkos as pk

from jetpy.workloads.common.groups import NO_PART, Graph, edges
from jetpy.workloads.common.hashing import mix
from jetpy.workloads.common.heaps import MAX_LEVELS, Field, Heaps
from jetpy.workloads.initial.inner_levels import coarsen, project
from jetpy.workloads.initial.two_way import grow, measure, overload_of, refine
from jetpy.workloads.ordering.separator_flows import Band, Bands, improve_by_flow
from jetpy.workloads.ordering.separators import (
    SEPARATOR,
    Separations,
    excess_of,
    grow_separator,
    has_empty_side,
    refine_separator,
    score_of,
    separate_sides,
    weigh_sides,
)

VERTEX_ROOM = 4
"""Capacity of a try for the vertices of all its levels, per vertex of the node."""
COARSEST = 100
"""Number of vertices at which inner coarsening ends."""
WORST, OF_BEST = 11, 10
"""Flows may improve a try whose score is at most 11/10 of the best one of its node."""
THOUSAND = 1000
"""Unit of the shares of weight that the host passes."""
NO_COMPONENT = -1
HEAVIEST, OF_AVERAGE = 3, 2
"""A vertex of an inner level may weigh at most 3/2 of the average on a coarsest level."""


class Node(IntEnum):
    """Fields of a node."""

    BEGIN = 0
    """Its first vertex."""
    END = 1
    PLACE = 2
    """Number of vertices of the nodes before it in the launch."""
    ENTRY = 3
    """Number of directed edges of these vertices."""
    SEED = 4
    COUNT = 5


@pk.function
def first_vertex(i: int, tries: int, nodes: pk.View1D[pk.int64]) -> int:
    """Return the first vertex of the finest level of a try."""
    row: int = i // tries * Node.COUNT
    size: int = nodes[row + Node.END] - nodes[row + Node.BEGIN]
    place: int = nodes[row + Node.PLACE]
    return VERTEX_ROOM * (tries * place + i % tries * size)


@pk.function
def limit_sides(share: int, here: int, levels: Separations):
    """Limit the weight of each side to a share of the total, in thousandths."""
    for side in range(2):
        most: pk.int64 = levels.numbers[here + Field.TOTAL]
        levels.numbers[here + Field.MOST + side] = most * share // THOUSAND


@pk.workunit
def extract(
    i: int,
    tries: int,
    room: int,
    skew: int,
    shares: pk.View1D[pk.int32],
    graph: Graph,
    nodes: pk.View1D[pk.int64],
    levels: Separations,
):
    """Build the finest level of a try: the graph of its node.

    A try has capacity for `room` times the directed edges of its node. A side may grow to as many
    thousandths of the weight as `shares` has for the try. `skew` is the penalty of a lopsided
    separator that is large.
    """
    row: int = i // tries * Node.COUNT
    begin: int = nodes[row + Node.BEGIN]
    end: int = nodes[row + Node.END]
    size: int = graph.indptr[end] - graph.indptr[begin]
    first: int = first_vertex(i, tries, nodes)
    entry: int = room * (tries * nodes[row + Node.ENTRY] + i % tries * size)
    last_entry: int = entry + room * size
    total: pk.int64 = 0
    here: int = i * Field.COUNT
    for v in range(begin, end):
        levels.pinned[first + v - begin] = NO_PART
        levels.rows[first + v - begin] = entry
        levels.weights[first + v - begin] = graph.vertex_weights[v]
        total += graph.vertex_weights[v]
        for e in edges(v, graph):
            levels.ends[entry] = first + graph.indices[e] - begin
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
    levels.numbers[here + Field.PINNED] = 0
    levels.numbers[here + Field.TARGET] = total // 2
    levels.numbers[here + Field.TOTAL] = total
    levels.numbers[here + Field.SKEW] = skew
    levels.numbers[here + Field.OUTSIDE] = 0
    levels.numbers[here + Field.OUTSIDE + 1] = 0
    levels.numbers[here + Field.ORIGIN] = first
    limit_sides(shares[i % tries], here, levels)
    levels.numbers[here + Field.SEED] = mix(nodes[row + Node.SEED] + i % tries)


@pk.workunit
def coarsen_nodes(i: int, levels: Separations):
    """Build the inner levels of a try."""
    here: int = i * Field.COUNT
    total: pk.int64 = levels.numbers[here + Field.TOTAL]
    total = total * HEAVIEST // (OF_AVERAGE * COARSEST)
    heaviest: int = total
    if heaviest < 2:
        heaviest = 2
    while (
        levels.numbers[here + Field.END] - levels.numbers[here + Field.BEGIN] > COARSEST
        and levels.numbers[here + Field.LEVELS] < MAX_LEVELS
    ):
        if not coarsen(heaviest, here, levels):
            break


@pk.function
def is_bisection(i: int, tries: int) -> bool:
    """Whether a try is a bisection with a small cut until it reaches the finest level.

    Every other try is. On coarse levels of dense graphs, all separators are large.
    """
    return i % tries % 2 == 0


@pk.workunit
def grow_bisections(
    i: int,
    tries: int,
    growings: int,
    passes: int,
    levels: Separations,
    best: pk.View1D[pk.int32],
):
    """Bisect the coarsest level of a try `growings` times, and keep the smallest cut."""
    if not is_bisection(i, tries):
        return
    here: int = i * Field.COUNT
    begin: int = levels.numbers[here + Field.BEGIN]
    end: int = levels.numbers[here + Field.END]
    overload: pk.int64 = 0
    cut: pk.int64 = 0
    for growing in range(growings):
        grow(growing, here, levels)
        refine(passes, here, levels)
        now: pk.int64 = overload_of(here, levels)
        new_cut: pk.int64 = levels.numbers[here + Field.CUT]
        if growing == 0 or now < overload or (now == overload and new_cut < cut):
            overload = now
            cut = new_cut
            for v in range(begin, end):
                best[v] = levels.sides[v]
    for v in range(begin, end):
        levels.sides[v] = best[v]


@pk.workunit
def refine_bisections(i: int, tries: int, passes: int, levels: Separations):
    """Project the bisection of a try to its finest level, and refine it on each."""
    if not is_bisection(i, tries):
        return
    here: int = i * Field.COUNT
    while levels.numbers[here + Field.LEVELS] > 0:
        project(here, levels)
        measure(here, levels)
        refine(passes, here, levels)
    measure(here, levels)


@pk.workunit
def separate_bisections(i: int, tries: int, levels: Separations):
    """Make a separator of the bisection of a try."""
    if is_bisection(i, tries):
        separate_sides(i * Field.COUNT, levels)


@pk.workunit
def grow_separators(
    i: int,
    tries: int,
    growings: int,
    passes: int,
    levels: Separations,
    other: Heaps,
    best: pk.View1D[pk.int32],
):
    """Find `growings` separators of the coarsest level of a try, and keep the best one."""
    if is_bisection(i, tries):
        return
    here: int = i * Field.COUNT
    begin: int = levels.numbers[here + Field.BEGIN]
    end: int = levels.numbers[here + Field.END]
    overload: pk.int64 = 0
    score: pk.int64 = 0
    for growing in range(growings):
        grow_separator(growing, here, levels, other)
        refine_separator(passes, here, levels, other)
        now: pk.int64 = excess_of(here, levels)
        new_score: pk.int64 = score_of(here, levels)
        if growing == 0 or now < overload or (now == overload and new_score < score):
            overload = now
            score = new_score
            for v in range(begin, end):
                best[v] = levels.sides[v]
    for v in range(begin, end):
        levels.sides[v] = best[v]


@pk.workunit
def refine_separators(i: int, passes: int, share: int, levels: Separations, other: Heaps):
    """Project the separator of a try to its finest level, and refine it on each level.

    A side may have `share` thousandths of the weight.
    """
    here: int = i * Field.COUNT
    limit_sides(share, here, levels)
    weigh_sides(here, levels)
    refine_separator(passes, here, levels, other)
    while levels.numbers[here + Field.LEVELS] > 0:
        project(here, levels)
        weigh_sides(here, levels)
        refine_separator(passes, here, levels, other)


@pk.function
def best_try(node: int, tries: int, levels: Separations) -> int:
    """Return a node's try with the smallest overload, then the smallest score, then index."""
    best: int = node * tries
    overload: pk.int64 = excess_of(best * Field.COUNT, levels)
    score: pk.int64 = score_of(best * Field.COUNT, levels)
    for i in range(node * tries + 1, node * tries + tries):
        now: pk.int64 = excess_of(i * Field.COUNT, levels)
        new_score: pk.int64 = score_of(i * Field.COUNT, levels)
        if now < overload or (now == overload and new_score < score):
            best = i
            overload = now
            score = new_score
    return best


@pk.workunit
def select_tries(node: int, tries: int, levels: Separations, bands: pk.View1D[pk.int64]):
    """Select the tries of a node that flows may improve: those almost as good as its best one."""
    best: int = best_try(node, tries, levels)
    overload: pk.int64 = excess_of(best * Field.COUNT, levels)
    score: pk.int64 = score_of(best * Field.COUNT, levels)
    for i in range(node * tries, node * tries + tries):
        other: pk.int64 = score_of(i * Field.COUNT, levels)
        if excess_of(i * Field.COUNT, levels) > overload or OF_BEST * other > WORST * score:
            bands[i * Band.COUNT + Band.FAILED] = 1


@pk.workunit
def improve_by_flows(i: int, hops: int, limit: int, levels: Separations, bands: Bands):
    """Improve the separator of a try by a flow, unless it is not selected or the last one failed.

    The band of the flow has the vertices within `hops` hops, and ends at `limit` vertices.
    """
    row: int = i * Band.COUNT
    if bands.bands[row + Band.FAILED] == 0:
        if not improve_by_flow(hops, limit, i * Field.COUNT, row, levels, bands):
            bands.bands[row + Band.FAILED] = 1


@pk.workunit
def refine_after_flows(
    i: int, passes: int, levels: Separations, other: Heaps, bands: pk.View1D[pk.int64]
):
    """Refine the separator of a try if the last flow has improved it."""
    if bands[i * Band.COUNT + Band.FAILED] == 0:
        refine_separator(passes, i * Field.COUNT, levels, other)


@pk.function
def take_sides(
    i: int,
    tries: int,
    place: int,
    nodes: pk.View1D[pk.int64],
    levels: Separations,
    sides: pk.View1D[pk.int32],
):
    """Write the sides of a node's vertices by one of its tries, from ``sides[place]`` on."""
    row: int = i // tries * Node.COUNT
    size: int = nodes[row + Node.END] - nodes[row + Node.BEGIN]
    first: int = first_vertex(i, tries, nodes)
    for j in range(size):
        sides[place + j] = levels.sides[first + j]


@pk.workunit
def take_tries(
    node: int,
    tries: int,
    n: int,
    first: int,
    nodes: pk.View1D[pk.int64],
    levels: Separations,
    sides: pk.View1D[pk.int32],
):
    """Write the sides of a node's vertices by every other of its tries, from `first` on.

    All nodes together have n vertices; `sides` has the sides by one try after those by another.
    """
    for i in range(first, tries, 2):
        place: int = i * n + nodes[node * Node.COUNT + Node.BEGIN]
        take_sides(node * tries + i, tries, place, nodes, levels, sides)


@pk.workunit
def choose_separators(
    node: int,
    tries: int,
    nodes: pk.View1D[pk.int64],
    levels: Separations,
    sides: pk.View1D[pk.int32],
):
    """Write the sides of a node's vertices by its best try.

    If a side is empty, all vertices are in the separator.
    """
    best: int = best_try(node, tries, levels)
    take_sides(best, tries, nodes[node * Node.COUNT + Node.BEGIN], nodes, levels, sides)
    if has_empty_side(best * Field.COUNT, levels):
        begin: int = nodes[node * Node.COUNT + Node.BEGIN]
        end: int = nodes[node * Node.COUNT + Node.END]
        for v in range(begin, end):
            sides[v] = SEPARATOR


@dataclass(frozen=True, eq=False)
class Components:
    """The components of the sides of nodes. Those of a node are consecutive; its separator is last.

    The first place of a component, or of a separator, has its size, weight and node.
    """

    is_found: pk.View1D[pk.int32]  # whether a search has found the vertex
    order: pk.View1D[pk.int32]  # the vertex in each place
    firsts: pk.View1D[pk.int32]  # first place of the component of each place
    sizes: pk.View1D[pk.int32]  # number of vertices; 0 in other places
    weights: pk.View1D[pk.int32]
    nodes: pk.View1D[pk.int32]  # node, or -1 - node for its separator


@pk.workunit
def find_components(
    node: int,
    graph: Graph,
    starts: pk.View1D[pk.int64],
    sides: pk.View1D[pk.int32],
    components: Components,
):
    """Order a node's vertices by components, those of a component by breadth-first search."""
    begin: int = starts[node]
    end: int = starts[node + 1]
    last: int = begin
    for v in range(begin, end):
        components.is_found[v] = 0
        components.sizes[v] = 0
    for root in range(begin, end):
        own: int = sides[root]
        if components.is_found[root] == 0 and own != SEPARATOR:
            first: int = last
            weight: int = 0
            components.is_found[root] = 1
            components.order[last] = root
            last += 1
            head: int = first
            while head < last:
                v: int = components.order[head]
                components.firsts[head] = first
                weight += graph.vertex_weights[v]
                head += 1
                for e in edges(v, graph):
                    u: int = graph.indices[e]
                    if components.is_found[u] == 0 and sides[u] == own:
                        components.is_found[u] = 1
                        components.order[last] = u
                        last += 1
            components.sizes[first] = last - first
            components.weights[first] = weight
            components.nodes[first] = node
    first_separated: int = last
    for v in range(begin, end):
        if sides[v] == SEPARATOR:
            components.order[last] = v
            components.firsts[last] = first_separated
            last += 1
    if last > first_separated:
        components.sizes[first_separated] = last - first_separated
        components.nodes[first_separated] = -1 - node


@dataclass(frozen=True, eq=False)
class Assignment:
    """Nodes of the tree for the components that are not divided."""

    tree_nodes: pk.View1D[pk.int32]  # node of the component with this first place; NO_COMPONENT
    vertices: pk.View1D[pk.int32]  # vertex of the whole graph of each vertex
    tree_node_of: pk.View1D[pk.int32]  # node of each vertex of the whole graph
    kept: pk.View1D[pk.int32]  # the vertices of the other components, in the new order


@pk.workunit
def assign_vertices(
    i: int,
    acc: pk.Acc[pk.int64],
    last_pass: bool,
    components: Components,
    assignment: Assignment,
):
    """Write the node of the tree of a vertex, or list the vertex if it is to be divided further."""
    tree_node: int = assignment.tree_nodes[components.firsts[i]]
    if last_pass:
        if tree_node == NO_COMPONENT:
            assignment.kept[acc] = components.order[i]
        else:
            assignment.tree_node_of[assignment.vertices[components.order[i]]] = tree_node
    if tree_node == NO_COMPONENT:
        acc += 1
