"""Flow networks of the regions between pairs of parts: an index builds a whole network.

The nodes of a network are the vertices of its region, and a source and a sink, which stand for the
rest of the two parts. An edge is two arcs; the capacity of each is the weight of the edge.
"""

from enum import IntEnum

import pykokkos as pk

from jetpy.workloads.common.groups import (
    Graph,
    Weight,
    edges,
)
from jetpy.workloads.flows.regions import OUTSIDE, Pair, Pairs, is_in_pair

TERMINALS = 2
"""The first nodes of a network: its source and its sink."""
NODES_BESIDE = TERMINALS + 1
"""Nodes that a network has room for beside the vertices: after the last one is where rows end."""


class Side(IntEnum):
    """Which tree a node is in (`max_flow`)."""

    NEITHER = 0
    SOURCE = 1
    SINK = 2


class Arcs:
    """The arcs of all networks, those of a node in a row; an arc is its place."""

    rows: pk.View1D[pk.int32]  # first arc of each node, and the end of the last one's
    heads: pk.View1D[pk.int32]  # the node that an arc leads to
    twins: pk.View1D[pk.int32]  # the arc back
    capacities: pk.View1D[Weight]  # what an arc still takes
    used: pk.View1D[pk.int64]  # how many arcs are taken, a single number


@pk.function
def inner_begin(row: int, pairs: Pairs) -> int:
    """Return the first node of a network that is a vertex."""
    return pairs.rows[row + Pair.NODE] + TERMINALS


@pk.function
def end_of(row: int, pairs: Pairs) -> int:
    """Return the node after the last one of a network."""
    return pairs.rows[row + Pair.NODE] + TERMINALS + pairs.rows[row + Pair.SIZE]


@pk.function
def node_of(u: int, row: int, pairs: Pairs, parts: pk.View1D[pk.int32]) -> int:
    """Return the node that a vertex of one of the two parts belongs to."""
    node: int = pairs.rows[row + Pair.NODE]
    if pairs.places[u] >= 0:
        return node + TERMINALS + pairs.places[u]
    if parts[u] != pairs.rows[row + Pair.PARTS]:
        return node + 1
    return node


@pk.function
def connect(a: int, b: int, weight: int, next_arcs: pk.View1D[pk.int32], arcs: Arcs):
    """Add the two arcs of an edge at the places that come next."""
    arc: int = next_arcs[a]
    twin: int = next_arcs[b]
    next_arcs[a] += 1
    next_arcs[b] += 1
    arcs.heads[arc] = b
    arcs.heads[twin] = a
    arcs.twins[arc] = twin
    arcs.twins[twin] = arc
    arcs.capacities[arc] = weight
    arcs.capacities[twin] = weight


@pk.function
def take_edge(
    is_adding: bool, a: int, b: int, weight: int, next_arcs: pk.View1D[pk.int32], arcs: Arcs
):
    """Add the arcs of an edge, or count them for both nodes."""
    if is_adding:
        connect(a, b, weight, next_arcs, arcs)
    else:
        next_arcs[a] += 1
        next_arcs[b] += 1


@pk.function
def take_edges(
    is_adding: bool,
    row: int,
    graph: Graph,
    pairs: Pairs,
    parts: pk.View1D[pk.int32],
    next_arcs: pk.View1D[pk.int32],
    arcs: Arcs,
):
    """Take all edges of a region; those of a vertex to the same terminal are one."""
    source: int = pairs.rows[row + Pair.NODE]
    sink: int = source + 1
    first: int = pairs.rows[row + Pair.FIRST]
    last: int = first + pairs.rows[row + Pair.SIZE]
    for place in range(first, last):
        v: int = pairs.order[place]
        a: int = node_of(v, row, pairs, parts)
        to_source: int = 0
        to_sink: int = 0
        for e in edges(v, graph):
            u: int = graph.indices[e]
            if is_in_pair(parts[u], row, pairs):
                b: int = node_of(u, row, pairs, parts)
                if b == source:
                    to_source += graph.edge_weights[e]
                elif b == sink:
                    to_sink += graph.edge_weights[e]
                elif b < a:
                    take_edge(is_adding, a, b, graph.edge_weights[e], next_arcs, arcs)
        if to_source > 0:
            take_edge(is_adding, a, source, to_source, next_arcs, arcs)
        if to_sink > 0:
            take_edge(is_adding, a, sink, to_sink, next_arcs, arcs)


@pk.workunit
def build_network(
    i: int,
    graph: Graph,
    pairs: Pairs,
    parts: pk.View1D[pk.int32],
    next_arcs: pk.View1D[pk.int32],
    arcs: Arcs,
):
    """Build the network of a region, and forget the places of its vertices."""
    row: int = i * Pair.COUNT
    begin: int = pairs.rows[row + Pair.NODE]
    end: int = end_of(row, pairs)
    for node in range(begin, end):
        next_arcs[node] = 0
    take_edges(False, row, graph, pairs, parts, next_arcs, arcs)
    size: pk.int64 = pairs.rows[row + Pair.ARCS]
    arc: int = pk.atomic_fetch_add(arcs.used, [0], size)
    for node in range(begin, end):
        arcs.rows[node] = arc
        arc += next_arcs[node]
        next_arcs[node] = arcs.rows[node]
    arcs.rows[end] = arc
    take_edges(True, row, graph, pairs, parts, next_arcs, arcs)
    first: int = pairs.rows[row + Pair.FIRST]
    last: int = first + pairs.rows[row + Pair.SIZE]
    for place in range(first, last):
        pairs.places[pairs.order[place]] = OUTSIDE
