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
from jetpy.workloads.flows.regions import OUTSIDE, Pair, Pairs

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
def count_arcs(
    row: int, graph: Graph, pairs: Pairs, parts: pk.View1D[pk.int32], next_arcs: pk.View1D[pk.int32]
) -> int:
    """Count the arcs of each node, and sum the cut of the region; return the number of all arcs."""
    source: int = pairs.rows[row + Pair.NODE]
    p: int = pairs.rows[row + Pair.PARTS]
    q: int = pairs.rows[row + Pair.PARTS + 1]
    first: int = pairs.rows[row + Pair.FIRST]
    cut: pk.int64 = 0
    count: int = 0
    next_arcs[source] = 0
    next_arcs[source + 1] = 0
    size: int = pairs.rows[row + Pair.SIZE]
    for place in range(size):
        v: int = pairs.order[first + place]
        is_first: bool = parts[v] == p
        inner: int = 0
        to_source: int = 0
        to_sink: int = 0
        for e in edges(v, graph):
            u: int = graph.indices[e]
            part: int = parts[u]
            if part == p or part == q:
                other: int = pairs.places[u]
                if other >= 0:
                    inner += 1
                elif part == p:
                    to_source = 1
                else:
                    to_sink = 1
                if other < place and (part == p) != is_first:
                    cut += graph.edge_weights[e]
        next_arcs[source] += to_source
        next_arcs[source + 1] += to_sink
        next_arcs[source + TERMINALS + place] = inner + to_source + to_sink
        count += inner + 2 * (to_source + to_sink)
    pairs.rows[row + Pair.CUT] = cut
    pairs.rows[row + Pair.ARCS] = count
    return count


@pk.function
def add_edges(
    row: int,
    graph: Graph,
    pairs: Pairs,
    parts: pk.View1D[pk.int32],
    next_arcs: pk.View1D[pk.int32],
    arcs: Arcs,
):
    """Add the arcs of all edges of a region; edges of a vertex to the same terminal merge."""
    source: int = pairs.rows[row + Pair.NODE]
    p: int = pairs.rows[row + Pair.PARTS]
    q: int = pairs.rows[row + Pair.PARTS + 1]
    first: int = pairs.rows[row + Pair.FIRST]
    size: int = pairs.rows[row + Pair.SIZE]
    for place in range(size):
        a: int = source + TERMINALS + place
        to_source: int = 0
        to_sink: int = 0
        for e in edges(pairs.order[first + place], graph):
            u: int = graph.indices[e]
            part: int = parts[u]
            if part == p or part == q:
                other: int = pairs.places[u]
                if other < 0:
                    if part == p:
                        to_source += graph.edge_weights[e]
                    else:
                        to_sink += graph.edge_weights[e]
                elif other < place:
                    connect(a, source + TERMINALS + other, graph.edge_weights[e], next_arcs, arcs)
        if to_source > 0:
            connect(a, source, to_source, next_arcs, arcs)
        if to_sink > 0:
            connect(a, source + 1, to_sink, next_arcs, arcs)


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
    size: pk.int64 = count_arcs(row, graph, pairs, parts, next_arcs)
    arc: int = pk.atomic_fetch_add(arcs.used, [0], size)
    for node in range(begin, end):
        arcs.rows[node] = arc
        arc += next_arcs[node]
        next_arcs[node] = arcs.rows[node]
    arcs.rows[end] = arc
    add_edges(row, graph, pairs, parts, next_arcs, arcs)
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
