"""Regions around the cut between two parts: the vertices that flows may move, one index per pair.

A region contains the vertices within a number of hops of an edge between the two parts, up to a
share of the weight of each part. Source: Sanders, Schulz, "Engineering multilevel graph
partitioning algorithms", ESA 2011, section 4.1. No part is in two pairs of one launch.
"""

from dataclasses import dataclass
from enum import IntEnum

import pykokkos as pk

from jetpy.workloads.common.groups import (
    Graph,
    edges,
)

OUTSIDE, KEPT_OUTSIDE = -1, -2
"""Place of a vertex that is in no region, and of a vertex that may not enter any."""


class Pair(IntEnum):
    """Fields of a pair; a field of its two parts takes two entries."""

    PARTS = 0
    EDGES = 2
    """First edge of the pair in the list of all cut edges."""
    EDGES_END = 3
    FIRST = 4
    """First index of the region in the order."""
    SIZE = 5
    """Number of vertices of the region."""
    ARCS = 6
    """Number of arcs of its network."""
    CUT = 7
    """Weight of the edges between the two parts that have an end in the region."""
    ROOMS = 8
    """Weight that the region may still take from each part."""
    MAX_EDGES = 10
    """Vertices of a higher degree are in no region: most of their edges lead to other parts."""
    NODE = 11
    """First node of the network."""
    FLOW = 12
    LEVELS = 13
    """Last level of each of the two trees (`max_flow`)."""
    GROWING = 15
    """The tree whose last level grows."""
    ORPHANS = 16
    """Lowest label of an orphan."""
    ORPHANS_END = 17
    """One more than the highest label of an orphan."""
    GAIN = 18
    """Decrease of the cut."""
    WEIGHT = 19
    """Net weight that has moved from the first part to the second."""
    VERTICES = 20
    """Net number of vertices that have moved from the first part to the second."""
    WEIGHTS = 21
    """Weights of the two parts."""
    LIMITS = 23
    """Limits of the two parts."""
    NEARER = 25
    """Net weight that the minimum cut nearest to the source moves from the first part."""
    FARTHER = 26
    """The same of the cut nearest to the sink."""
    FRONTIERS = 27
    """Sizes of the two frontiers (`flow_cuts`)."""
    ACTIVE = 29
    """First node in the list of active nodes of each tree."""
    NEXT_ACTIVE = 31
    """First node in the list of nodes that will be active on the next level."""
    COUNT = 33


@dataclass(frozen=True, eq=False)
class Pairs:
    """Pairs of parts and the regions between them."""

    rows: pk.View1D[pk.int64]  # by Pair
    tails: pk.View1D[pk.int32]  # ends of the edges between parts, pair by pair
    heads: pk.View1D[pk.int32]
    order: pk.View1D[pk.int32]  # the vertices of each region
    hops: pk.View1D[pk.int32]  # distance of each of them from the cut (`build_network`)
    places: pk.View1D[pk.int32]  # index of each vertex of the graph in its region; OUTSIDE


@pk.workunit
def list_cut_edges(
    v: int,
    acc: pk.Acc[pk.int64],
    last_pass: bool,
    graph: Graph,
    parts: pk.View1D[pk.int32],
    cut_edges: pk.View1D[pk.int32],
    tails: pk.View1D[pk.int32],
):
    """List every edge between two parts once, with its end in the lower part."""
    for e in edges(v, graph):
        if parts[v] < parts[graph.indices[e]]:
            if last_pass:
                cut_edges[acc] = e
                tails[acc] = v
            acc += 1


@pk.function
def is_in_pair(p: int, row: int, pairs: Pairs) -> bool:
    """Whether a part is one of the two parts of a pair."""
    return p == pairs.rows[row + Pair.PARTS] or p == pairs.rows[row + Pair.PARTS + 1]


@pk.function
def admit(v: int, hop: int, row: int, graph: Graph, pairs: Pairs, parts: pk.View1D[pk.int32]):
    """Add a vertex to a region if it is in none yet and the weight limit allows it."""
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
    index: int = pairs.rows[row + Pair.FIRST] + pairs.rows[row + Pair.SIZE]
    pairs.order[index] = v
    pairs.hops[index] = hop
    pairs.places[v] = pairs.rows[row + Pair.SIZE]
    pairs.rows[row + Pair.SIZE] += 1


@pk.function
def sort_vertices(first: int, count: int, vertices: pk.View1D[pk.int32]):
    """Sort `count` consecutive vertices by Shellsort."""
    gap: int = count // 2
    while gap > 0:
        for i in range(first + gap, first + count):
            v: int = vertices[i]
            index: int = i
            while index >= first + gap and vertices[index - gap] > v:
                vertices[index] = vertices[index - gap]
                index -= gap
            vertices[index] = v
        gap = gap // 2


@pk.function
def admit_neighbours(
    v: int, hop: int, row: int, graph: Graph, pairs: Pairs, parts: pk.View1D[pk.int32]
):
    """Add the neighbours of v in its part to a region, in ascending order.

    The order of the entries in a row varies between runs, so it must not decide.
    """
    begin: int = pairs.rows[row + Pair.FIRST] + pairs.rows[row + Pair.SIZE]
    count: int = 0
    for e in edges(v, graph):
        u: int = graph.indices[e]
        if parts[u] == parts[v] and pairs.places[u] == OUTSIDE:
            pairs.order[begin + count] = u
            count += 1
    sort_vertices(begin, count, pairs.order)
    for index in range(begin, begin + count):
        admit(pairs.order[index], hop, row, graph, pairs, parts)


@pk.function
def grow_hops(row: int, graph: Graph, pairs: Pairs, parts: pk.View1D[pk.int32], max_hops: int):
    """Add the vertices within some hops of those that are already in a region."""
    first: int = pairs.rows[row + Pair.FIRST]
    index: int = first
    while index < first + pairs.rows[row + Pair.SIZE]:
        v: int = pairs.order[index]
        hop: int = pairs.hops[index] + 1
        if hop <= max_hops:
            admit_neighbours(v, hop, row, graph, pairs, parts)
        index += 1


@pk.workunit
def grow_region(i: int, graph: Graph, pairs: Pairs, parts: pk.View1D[pk.int32], max_hops: int):
    """Find the vertices of a region by breadth-first search."""
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
    grow_hops(row, graph, pairs, parts, max_hops)
