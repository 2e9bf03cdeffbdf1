"""Flow networks of the regions between pairs of parts. One index builds a whole network.

The nodes are the vertices of the region, a source and a sink. The source and the sink stand for the
rest of the two parts. An edge becomes two arcs, each with the weight of the edge as capacity.
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
"""Number of terminals of a network: its first nodes are its source and its sink."""
EXTRA_NODES = TERMINALS + 1
"""Capacity that a network needs in addition to its vertices: the terminals and the end of rows."""


class Side(IntEnum):
    """The tree that a node is in (`max_flow`)."""

    NEITHER = 0
    SOURCE = 1
    SINK = 2


class Arcs:
    """The nodes and arcs of all networks; the arcs of a node are consecutive."""

    rows: pk.View1D[pk.int32]  # first arc of each node, and the end of the last node's arcs
    node_weights: pk.View1D[Weight]  # weights of the vertices; 0 for sources and sinks
    heads: pk.View1D[pk.int32]  # head of each arc
    twins: pk.View1D[pk.int32]  # the reverse arc
    capacities: pk.View1D[Weight]  # residual capacity of each arc
    used: pk.View1D[pk.int64]  # shape (1,): number of arcs in use


@pk.function
def inner_begin(row: int, pairs: Pairs) -> int:
    """Return the first node of a network that is not a terminal."""
    return pairs.rows[row + Pair.NODE] + TERMINALS


@pk.function
def end_of(row: int, pairs: Pairs) -> int:
    """Return the end of the nodes of a network."""
    return pairs.rows[row + Pair.NODE] + TERMINALS + pairs.rows[row + Pair.SIZE]


@pk.function
def node_of(u: int, row: int, pairs: Pairs, parts: pk.View1D[pk.int32]) -> int:
    """Return the node that stands for a vertex of one of the two parts."""
    node: int = pairs.rows[row + Pair.NODE]
    if pairs.places[u] >= 0:
        return node + TERMINALS + pairs.places[u]
    if parts[u] != pairs.rows[row + Pair.PARTS]:
        return node + 1
    return node


@pk.function
def connect(a: int, b: int, weight: int, next_arcs: pk.View1D[pk.int32], arcs: Arcs):
    """Add the two arcs of an edge at the next free positions of their tails."""
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
    """Add the arcs of an edge, or only count them at both nodes."""
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
    """Add or count all edges of a region; edges of a vertex to the same terminal merge."""
    source: int = pairs.rows[row + Pair.NODE]
    sink: int = source + 1
    first: int = pairs.rows[row + Pair.FIRST]
    last: int = first + pairs.rows[row + Pair.SIZE]
    for index in range(first, last):
        v: int = pairs.order[index]
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
    """Build the network of a region, and reset the places of its vertices to `OUTSIDE`.

    A vertex of the second part gets -1 minus its distance from the cut as distance.
    """
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
    arcs.node_weights[begin] = 0
    arcs.node_weights[begin + 1] = 0
    first: int = pairs.rows[row + Pair.FIRST]
    for node in range(begin + TERMINALS, end):
        index: int = first + node - begin - TERMINALS
        v: int = pairs.order[index]
        pairs.places[v] = OUTSIDE
        arcs.node_weights[node] = graph.vertex_weights[v]
        if parts[v] == pairs.rows[row + Pair.PARTS]:
            pairs.rows[row + Pair.NEARER] += graph.vertex_weights[v]
        else:
            pairs.rows[row + Pair.FARTHER] -= graph.vertex_weights[v]
            pairs.hops[index] = -1 - pairs.hops[index]
