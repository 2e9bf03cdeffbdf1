"""Regions around the cuts between two parts: the vertices that flows may move, an index a pair.

A region has the vertices within a number of steps of an edge between the two parts, up to a share
of the weight of each part. Source: Sanders, Schulz, "Engineering multilevel graph partitioning
algorithms", ESA 2011, section 4.1. No part is in two pairs of one launch.
"""

from dataclasses import dataclass
from enum import IntEnum

import pykokkos as pk

from jetpy.workloads.common.groups import (
    Graph,
    edges,
)

OUTSIDE, KEPT_OUTSIDE = -1, -2
"""The places of a vertex that is in no region, and of one that never will be."""


class Pair(IntEnum):
    """Places in the row of a pair; what belongs to its two parts stands in a row."""

    PARTS = 0
    EDGES = 2
    """First of its edges in the list of all."""
    EDGES_END = 3
    FIRST = 4
    """First place of the region in the order."""
    SIZE = 5
    """Number of vertices of the region."""
    ARCS = 6
    """Room for the arcs of its network."""
    CUT = 7
    """Weight of the edges between the two parts that have an end in the region."""
    ROOMS = 8
    """What the vertices of each part may weigh that are still to come."""
    MAX_EDGES = 10
    """Vertices with more edges are in no region: most of these lead to other parts."""
    NODE = 11
    """First node of the network."""
    FLOW = 12
    FIRST_ACTIVE = 13
    """First of the nodes that wait (`max_flow`)."""
    LAST_ACTIVE = 14
    NEXT_ARC = 15
    """The arc of the first active node from which it goes on growing."""
    ORPHANS = 16
    """The end of the stack of orphans."""
    PATHS = 17
    """Number of paths found."""
    GAIN = 18
    """What the new cut is smaller by."""
    WEIGHT = 19
    """Weight that has moved from the first part to the second."""
    VERTICES = 20
    """Number of vertices that have."""
    WEIGHTS = 21
    """What the parts weigh."""
    LIMITS = 23
    """What they may weigh."""
    COUNT = 25


@dataclass(frozen=True, eq=False)
class Pairs:
    """Pairs of parts, and the regions between them."""

    rows: pk.View1D[pk.int64]  # by Pair
    tails: pk.View1D[pk.int32]  # ends of the edges between parts, pair by pair
    heads: pk.View1D[pk.int32]
    order: pk.View1D[pk.int32]  # the vertices of each region
    hops: pk.View1D[pk.int32]  # how far from the cut each of these is
    places: pk.View1D[pk.int32]  # of all vertices in their region, or OUTSIDE


@pk.workunit
def list_cut_edges(
    v: int,
    acc: pk.Acc[pk.int64],
    last_pass: bool,
    graph: Graph,
    parts: pk.View1D[pk.int32],
    cut_edges: pk.View1D[pk.int32],
):
    """List every edge between two parts once, in the row of its end in the lower part."""
    for e in edges(v, graph):
        if parts[v] < parts[graph.indices[e]]:
            if last_pass:
                cut_edges[acc] = e
            acc += 1


@pk.function
def is_in_pair(p: int, row: int, pairs: Pairs) -> bool:
    """Whether a part is one of a pair."""
    return p == pairs.rows[row + Pair.PARTS] or p == pairs.rows[row + Pair.PARTS + 1]


@pk.function
def admit(v: int, hop: int, row: int, graph: Graph, pairs: Pairs, parts: pk.View1D[pk.int32]):
    """Let a vertex into a region, if it is not there yet and there is room for it."""
    degree: int = graph.indptr[v + 1] - graph.indptr[v]
    if pairs.places[v] != OUTSIDE or degree > pairs.rows[row + Pair.MAX_EDGES]:
        return
    side: int = 0
    if parts[v] != pairs.rows[row + Pair.PARTS]:
        side = 1
    weight: int = graph.vertex_weights[v]
    if weight > pairs.rows[row + Pair.ROOMS + side]:
        return
    pairs.rows[row + Pair.ROOMS + side] -= weight
    place: int = pairs.rows[row + Pair.FIRST] + pairs.rows[row + Pair.SIZE]
    pairs.order[place] = v
    pairs.hops[place] = hop
    pairs.places[v] = pairs.rows[row + Pair.SIZE]
    pairs.rows[row + Pair.SIZE] += 1


@pk.function
def sort_vertices(first: int, count: int, vertices: pk.View1D[pk.int32]):
    """Sort some vertices in a row, by Shell's method."""
    gap: int = count // 2
    while gap > 0:
        for i in range(first + gap, first + count):
            v: int = vertices[i]
            place: int = i
            while place >= first + gap and vertices[place - gap] > v:
                vertices[place] = vertices[place - gap]
                place -= gap
            vertices[place] = v
        gap = gap // 2


@pk.function
def admit_neighbours(
    v: int, hop: int, row: int, graph: Graph, pairs: Pairs, parts: pk.View1D[pk.int32]
):
    """Let the neighbours of a vertex in its own part into a region, in order of their numbers.

    So the order of a row's entries, which coarsening leaves to chance, decides nothing.
    """
    begin: int = pairs.rows[row + Pair.FIRST] + pairs.rows[row + Pair.SIZE]
    count: int = 0
    for e in edges(v, graph):
        u: int = graph.indices[e]
        if parts[u] == parts[v] and pairs.places[u] == OUTSIDE:
            pairs.order[begin + count] = u
            count += 1
    sort_vertices(begin, count, pairs.order)
    for place in range(begin, begin + count):
        admit(pairs.order[place], hop, row, graph, pairs, parts)


@pk.workunit
def grow_region(i: int, graph: Graph, pairs: Pairs, parts: pk.View1D[pk.int32], max_hops: int):
    """Find the vertices of a region, breadth first, and count the arcs of its network."""
    row: int = i * Pair.COUNT
    begin: int = pairs.rows[row + Pair.EDGES]
    end: int = pairs.rows[row + Pair.EDGES_END]
    for j in range(begin, end):
        tail: int = pairs.tails[j]
        head: int = pairs.heads[j]
        if (
            parts[tail] != parts[head]
            and is_in_pair(parts[tail], row, pairs)
            and is_in_pair(parts[head], row, pairs)
        ):
            admit(tail, 0, row, graph, pairs, parts)
            admit(head, 0, row, graph, pairs, parts)
    first: int = pairs.rows[row + Pair.FIRST]
    place: int = first
    while place < first + pairs.rows[row + Pair.SIZE]:
        v: int = pairs.order[place]
        hop: int = pairs.hops[place] + 1
        if hop <= max_hops:
            admit_neighbours(v, hop, row, graph, pairs, parts)
        place += 1
    measure_region(row, graph, pairs, parts)


@pk.function
def measure_region(row: int, graph: Graph, pairs: Pairs, parts: pk.View1D[pk.int32]):
    """Count the arcs of a region's network, two for an edge, and add up its cut."""
    arcs: int = 0
    cut: pk.int64 = 0
    first: int = pairs.rows[row + Pair.FIRST]
    last: int = first + pairs.rows[row + Pair.SIZE]
    for place in range(first, last):
        v: int = pairs.order[place]
        for e in edges(v, graph):
            u: int = graph.indices[e]
            if is_in_pair(parts[u], row, pairs) and pairs.places[u] < pairs.places[v]:
                arcs += 2
                if parts[u] != parts[v]:
                    cut += graph.edge_weights[e]
    pairs.rows[row + Pair.ARCS] = arcs
    pairs.rows[row + Pair.CUT] = cut
