"""Regions around the cut between two parts: the vertices that flows may move, one index per pair.

A region contains the vertices within a number of hops of an edge between the two parts. In each
part, it grows hop by hop, until the next hop would exceed a share of the part's weight. Source:
Sanders, Schulz, "Engineering multilevel graph partitioning algorithms", ESA 2011, section 4.1. No
part is in two pairs of one launch.
"""

from dataclasses import dataclass
from enum import IntEnum

import pykokkos as pk

from jetpy.workloads.common.groups import Graph, Weight, edges
from jetpy.workloads.common.lists import row_with_entry

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
    """Weight that a hop may take from each part; -1 once a hop was too heavy."""
    MAX_DEGREE = 10
    """Vertices of a higher degree are in no region."""
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
    HOPS = 33
    """Number of hops that the region has in each part (`parallel_networks`)."""
    HOP_WEIGHTS = 35
    """Weight of the vertices that are proposed for a hop in each part."""
    HOP_SIZES = 37
    """Their number (`parallel_networks`)."""
    HOP_DEGREES = 39
    """The sum of their degrees."""
    NEXT_PLACE = 41
    """Index in the region of the next vertex that becomes a node."""
    NEXT_ARC = 42
    """Number of arcs that vertices may have; then the next arc that is not reserved."""
    ROUNDS = 43
    """Number of times that the cut has been pierced (`flow_cuts`)."""
    COUNT = 44


@dataclass(frozen=True, eq=False)
class PairRows:
    """Pairs of parts."""

    rows: pk.View1D[pk.int64]  # by Pair


@dataclass(frozen=True, eq=False)
class Regions(PairRows):
    """Pairs of parts and the regions between them."""

    order: pk.View1D[pk.int32]  # the vertices of each region
    hops: pk.View1D[pk.int32]  # their distances from the cut, -1 minus it in the second part


@dataclass(frozen=True, eq=False)
class Pairs(Regions):
    """Pairs of parts, and what it takes to find the regions between them, pair by pair."""

    tails: pk.View1D[pk.int32]  # ends of the edges between parts, pair by pair
    heads: pk.View1D[pk.int32]
    places: pk.View1D[pk.int32]  # index of each vertex of the graph in its region; OUTSIDE


class CutEdges:
    """The edges between parts."""

    tails: pk.View1D[pk.int32]
    heads: pk.View1D[pk.int32]
    keys: pk.View1D[pk.int64]  # k times the part of the tail, plus the part of the head
    weights: pk.View1D[Weight]


@pk.function
def is_listed(e: int, v: int, graph: Graph, parts: pk.View1D[pk.int32]) -> bool:
    """Whether an edge of v is in the list of cut edges: the other end is in a higher part."""
    return parts[v] < parts[graph.indices[e]]


@pk.function
def list_edge(
    place: int,
    e: int,
    v: int,
    k: int,
    graph: Graph,
    parts: pk.View1D[pk.int32],
    cut: CutEdges,
):
    """Write an edge of v into a place of the list."""
    u: int = graph.indices[e]
    key: pk.int64 = parts[v]
    cut.tails[place] = v
    cut.heads[place] = u
    cut.keys[place] = key * k + parts[u]
    cut.weights[place] = graph.edge_weights[e]


@pk.workunit
def count_cut_edges(v: int, acc: pk.Acc[pk.int64], graph: Graph, parts: pk.View1D[pk.int32]):
    """Count every edge between two parts once."""
    for e in edges(v, graph):
        acc += is_listed(e, v, graph, parts)


@pk.workunit
def list_cut_edges(
    v: int,
    acc: pk.Acc[pk.int64],
    last_pass: bool,
    k: int,
    graph: Graph,
    parts: pk.View1D[pk.int32],
    cut: CutEdges,
):
    """List every edge between two parts once, with its end in the lower part as its tail."""
    for e in edges(v, graph):
        if is_listed(e, v, graph, parts):
            if last_pass:
                list_edge(acc, e, v, k, graph, parts, cut)
            acc += 1


@pk.workunit
def count_cut_entries(
    e: int, acc: pk.Acc[pk.int64], n: int, graph: Graph, parts: pk.View1D[pk.int32]
):
    """Do the same as `count_cut_edges`, with one index per entry of the n rows."""
    acc += is_listed(e, row_with_entry(e, 0, n, graph.indptr), graph, parts)


@pk.workunit
def list_cut_entries(
    e: int,
    acc: pk.Acc[pk.int64],
    last_pass: bool,
    n: int,
    k: int,
    graph: Graph,
    parts: pk.View1D[pk.int32],
    cut: CutEdges,
):
    """Do the same as `list_cut_edges`, with one index per entry of the n rows."""
    v: int = row_with_entry(e, 0, n, graph.indptr)
    if is_listed(e, v, graph, parts):
        if last_pass:
            list_edge(acc, e, v, k, graph, parts, cut)
        acc += 1


@pk.function
def is_in_pair(p: int, row: int, pairs: Pairs) -> bool:
    """Whether a part is one of the two parts of a pair."""
    return p == pairs.rows[row + Pair.PARTS] or p == pairs.rows[row + Pair.PARTS + 1]


@pk.function
def side_in_pair(v: int, row: int, pairs: PairRows, parts: pk.View1D[pk.int32]) -> int:
    """Return 0 for a vertex of the first part of a pair, 1 for one of the second."""
    if parts[v] == pairs.rows[row + Pair.PARTS]:
        return 0
    return 1


@pk.function
def may_enter(v: int, row: int, graph: Graph, pairs: PairRows, parts: pk.View1D[pk.int32]) -> bool:
    """Whether a vertex has few enough edges for a region and is not too heavy for a hop alone."""
    room: pk.int64 = pairs.rows[row + Pair.ROOMS + side_in_pair(v, row, pairs, parts)]
    degree: int = graph.indptr[v + 1] - graph.indptr[v]
    return graph.vertex_weights[v] <= room and degree <= pairs.rows[row + Pair.MAX_DEGREE]


@pk.function
def propose(v: int, hop: int, row: int, graph: Graph, pairs: Pairs, parts: pk.View1D[pk.int32]):
    """Propose a vertex for a hop of a region."""
    if pairs.places[v] != OUTSIDE or not may_enter(v, row, graph, pairs, parts):
        return
    side: int = side_in_pair(v, row, pairs, parts)
    index: int = pairs.rows[row + Pair.FIRST] + pairs.rows[row + Pair.SIZE]
    pairs.order[index] = v
    pairs.hops[index] = hop
    pairs.places[v] = pairs.rows[row + Pair.SIZE]
    pairs.rows[row + Pair.SIZE] += 1
    pairs.rows[row + Pair.HOP_WEIGHTS + side] += graph.vertex_weights[v]


@pk.function
def settle_room(row: int, side: int, pairs: PairRows) -> bool:
    """Return whether the proposed vertices of a part fit, and update the room for the next hop."""
    weight: pk.int64 = pairs.rows[row + Pair.HOP_WEIGHTS + side]
    pairs.rows[row + Pair.HOP_WEIGHTS + side] = 0
    fits: bool = weight <= pairs.rows[row + Pair.ROOMS + side]
    pairs.rows[row + Pair.ROOMS + side] -= weight
    if not fits:
        pairs.rows[row + Pair.ROOMS + side] = -1
    return fits


@pk.function
def settle_hop(begin: int, row: int, pairs: Pairs, parts: pk.View1D[pk.int32]):
    """Remove the proposed vertices, from index `begin` on, of parts for which they are too heavy.

    A part for which a hop was too heavy proposes no more vertices.
    """
    first: int = pairs.rows[row + Pair.FIRST]
    end: int = first + pairs.rows[row + Pair.SIZE]
    first_fits: bool = settle_room(row, 0, pairs)
    second_fits: bool = settle_room(row, 1, pairs)
    if first_fits and second_fits:
        return
    kept: int = begin
    for index in range(begin, end):
        v: int = pairs.order[index]
        fits: bool = second_fits
        if side_in_pair(v, row, pairs, parts) == 0:
            fits = first_fits
        if fits:
            pairs.order[kept] = v
            pairs.hops[kept] = pairs.hops[index]
            pairs.places[v] = kept - first
            kept += 1
        else:
            pairs.places[v] = OUTSIDE
    pairs.rows[row + Pair.SIZE] = kept - first


@pk.function
def grow_hops(row: int, graph: Graph, pairs: Pairs, parts: pk.View1D[pk.int32], max_hops: int):
    """Add the vertices within some hops of those that are proposed, as long as a hop fits."""
    begin: int = pairs.rows[row + Pair.FIRST]
    settle_hop(begin, row, pairs, parts)
    for hop in range(max_hops):
        end: int = pairs.rows[row + Pair.FIRST] + pairs.rows[row + Pair.SIZE]
        for index in range(begin, end):
            v: int = pairs.order[index]
            for e in edges(v, graph):
                u: int = graph.indices[e]
                if parts[u] == parts[v]:
                    propose(u, hop + 1, row, graph, pairs, parts)
        settle_hop(end, row, pairs, parts)
        begin = end


@pk.function
def grow_region(row: int, graph: Graph, pairs: Pairs, parts: pk.View1D[pk.int32], max_hops: int):
    """Find the vertices of a region by breadth-first search."""
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
            propose(tail, 0, row, graph, pairs, parts)
            propose(head, 0, row, graph, pairs, parts)
    grow_hops(row, graph, pairs, parts, max_hops)
