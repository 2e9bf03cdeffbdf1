"""Nested dissection: each launch processes all nodes of one depth of the separator tree.

A node is a range in the order of the vertices: a connected part of the graph without the separators
found so far. Each node gets `tries` separators, and the best one divides it. One index works on one
try, in its own ranges of all arrays. The tries of a node are consecutive.

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
    """First index of its vertices in the order."""
    END = 1
    ENTRY = 2
    """Number of directed edges of the vertices before it in the order."""
    SIZE = 3
    """Number of directed edges of its vertices."""
    SEED = 4
    COUNT = 5


@dataclass(frozen=True, eq=False)
class Nodes:
    """The nodes of one depth and their vertices."""

    rows: pk.View1D[pk.int64]  # by Node
    order: pk.View1D[pk.int32]
    node_of: pk.View1D[pk.int32]  # node of each vertex of the graph, or NO_PART
    places: pk.View1D[pk.int32]  # index of each vertex in its node


@pk.function
def first_vertex(i: int, tries: int, nodes: Nodes) -> int:
    """Return the first vertex of the finest level of a try."""
    row: int = i // tries * Node.COUNT
    begin: int = nodes.rows[row + Node.BEGIN]
    end: int = nodes.rows[row + Node.END]
    return VERTEX_ROOM * (tries * begin + i % tries * (end - begin))


@pk.function
def limit_sides(share: int, here: int, levels: Separations):
    """Limit the weight of each side to a share of the total, in thousandths."""
    for side in range(2):
        most: pk.int64 = levels.numbers[here + Field.TOTAL]
        levels.numbers[here + Field.MOST + side] = most * share // THOUSAND


@pk.workunit
def place_vertices(i: int, nodes: Nodes):
    """Write the node of each vertex of node i, and the place of the vertex in it."""
    row: int = i * Node.COUNT
    begin: int = nodes.rows[row + Node.BEGIN]
    end: int = nodes.rows[row + Node.END]
    for j in range(begin, end):
        nodes.node_of[nodes.order[j]] = i
        nodes.places[nodes.order[j]] = j - begin


@pk.workunit
def extract(
    i: int,
    tries: int,
    room: int,
    skew: int,
    shares: pk.View1D[pk.int32],
    graph: Graph,
    nodes: Nodes,
    levels: Separations,
):
    """Build the finest level of a try: the subgraph induced by the vertices of its node.

    A try has capacity for `room` times the directed edges of its node. A side may grow to as many
    thousandths of the weight as `shares` has for the try. `skew` is the penalty of a lopsided
    separator that is large.
    """
    node: int = i // tries
    row: int = node * Node.COUNT
    begin: int = nodes.rows[row + Node.BEGIN]
    end: int = nodes.rows[row + Node.END]
    size: int = nodes.rows[row + Node.SIZE]
    first: int = first_vertex(i, tries, nodes)
    entry: int = room * (tries * nodes.rows[row + Node.ENTRY] + i % tries * size)
    last_entry: int = entry + room * size
    total: pk.int64 = 0
    here: int = i * Field.COUNT
    for j in range(begin, end):
        v: int = nodes.order[j]
        levels.pinned[first + j - begin] = NO_PART
        levels.rows[first + j - begin] = entry
        levels.weights[first + j - begin] = graph.vertex_weights[v]
        total += graph.vertex_weights[v]
        for e in edges(v, graph):
            u: int = graph.indices[e]
            if nodes.node_of[u] == node:
                levels.ends[entry] = first + nodes.places[u]
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
    limit_sides(shares[i % tries], here, levels)
    levels.numbers[here + Field.SEED] = mix(nodes.rows[row + Node.SEED] + i % tries)


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
    """Project the bisection of a try to its finest level, refine it on each, and separate."""
    if not is_bisection(i, tries):
        return
    here: int = i * Field.COUNT
    while levels.numbers[here + Field.LEVELS] > 0:
        project(here, levels)
        measure(here, levels)
        refine(passes, here, levels)
    measure(here, levels)
    separate_sides(here, levels)


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


@pk.workunit
def choose_separators(
    node: int, tries: int, nodes: Nodes, levels: Separations, sides: pk.View1D[pk.int32]
):
    """Write the sides of a node's vertices in the order, by its best try.

    If a side is empty, all vertices are in the separator.
    """
    best: int = best_try(node, tries, levels)
    first: int = first_vertex(best, tries, nodes)
    here: int = best * Field.COUNT
    begin: int = nodes.rows[node * Node.COUNT + Node.BEGIN]
    end: int = nodes.rows[node * Node.COUNT + Node.END]
    for j in range(begin, end):
        sides[j] = levels.sides[first + j - begin]
        if levels.numbers[here + Field.WEIGHTS] == 0:
            sides[j] = SEPARATOR
        if levels.numbers[here + Field.WEIGHTS + 1] == 0:
            sides[j] = SEPARATOR


@pk.workunit
def find_components(
    node: int,
    graph: Graph,
    nodes: Nodes,
    sides: pk.View1D[pk.int32],
    next_order: pk.View1D[pk.int32],
    components: pk.View1D[pk.int32],
):
    """Order a node's vertices by components of its sides; the separator comes last.

    `components` has, for each place in the new order, the first place of its component. The
    vertices of a component are in the order of a breadth-first search. Vertices that have been
    found have a negative place. Those of the separator leave the node.
    """
    begin: int = nodes.rows[node * Node.COUNT + Node.BEGIN]
    end: int = nodes.rows[node * Node.COUNT + Node.END]
    last: int = begin
    for j in range(begin, end):
        root: int = nodes.order[j]
        place: int = nodes.places[root]
        if place >= 0 and sides[begin + place] != SEPARATOR:
            own: int = sides[begin + place]
            first: int = last
            nodes.places[root] = -1 - place
            next_order[last] = root
            components[last] = first
            last += 1
            head: int = first
            while head < last:
                v: int = next_order[head]
                head += 1
                for e in edges(v, graph):
                    u: int = graph.indices[e]
                    if nodes.node_of[u] == node and nodes.places[u] >= 0:
                        if sides[begin + nodes.places[u]] == own:
                            nodes.places[u] = -1 - nodes.places[u]
                            next_order[last] = u
                            components[last] = first
                            last += 1
    for j in range(begin, end):
        v: int = nodes.order[j]
        if nodes.places[v] >= 0:
            nodes.node_of[v] = NO_PART
            next_order[last] = v
            components[last] = NO_COMPONENT
            last += 1
