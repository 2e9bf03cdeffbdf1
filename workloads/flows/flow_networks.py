"""Flow networks of the regions between pairs of parts. One index builds a whole network.

The nodes are the vertices of the region, a source and a sink. The source and the sink stand for the
rest of the two parts. An edge becomes two arcs, each with the weight of the edge as capacity. Edges
of weight 0 are left out.
"""

from enum import IntEnum

import pykokkos as pk

from jetpy.workloads.common.groups import (
    Graph,
    Weight,
    edges,
)
from jetpy.workloads.flows.regions import OUTSIDE, Pair, PairRows, Pairs

TERMINALS = 2
"""Number of terminals of a network: its first nodes are its source and its sink."""
ARCS_PER_VERTEX = 2 * TERMINALS
"""Capacity for arcs that a vertex needs in addition to its edges: those with both terminals."""


class Side(IntEnum):
    """The tree that a node is in (`max_flow`)."""

    NEITHER = 0
    SOURCE = 1
    SINK = 2


class Arcs:
    """The nodes and arcs of all networks; the arcs of a node are consecutive."""

    rows: pk.View1D[pk.int32]  # first arc of each node
    ends: pk.View1D[pk.int32]  # end of the arcs of each node
    node_weights: pk.View1D[Weight]  # weights of the vertices; 0 for sources and sinks
    heads: pk.View1D[pk.int32]  # head of each arc
    twins: pk.View1D[pk.int32]  # the reverse arc
    capacities: pk.View1D[Weight]  # residual capacity of each arc


@pk.function
def inner_begin(row: int, pairs: PairRows) -> int:
    """Return the first node of a network that is not a terminal."""
    return pairs.rows[row + Pair.NODE] + TERMINALS


@pk.function
def end_of(row: int, pairs: PairRows) -> int:
    """Return the end of the nodes of a network."""
    return pairs.rows[row + Pair.NODE] + TERMINALS + pairs.rows[row + Pair.SIZE]


@pk.function
def reserve_arcs(first_arc: int, row: int, graph: Graph, pairs: Pairs, arcs: Arcs):
    """Reserve as many arcs for each node as it could have, from `first_arc` on."""
    source: int = pairs.rows[row + Pair.NODE]
    first: int = pairs.rows[row + Pair.FIRST]
    size: int = pairs.rows[row + Pair.SIZE]
    arc: int = first_arc
    for node in range(source, source + TERMINALS):
        arcs.rows[node] = arc
        arcs.ends[node] = arc
        arc += size
    for place in range(size):
        node: int = source + TERMINALS + place
        v: int = pairs.order[first + place]
        arcs.rows[node] = arc
        arcs.ends[node] = arc
        arc += graph.indptr[v + 1] - graph.indptr[v] + TERMINALS


@pk.function
def write_arcs(arc: int, twin: int, a: int, b: int, weight: int, arcs: Arcs):
    """Write the arc from node a to node b and its reverse."""
    arcs.heads[arc] = b
    arcs.heads[twin] = a
    arcs.twins[arc] = twin
    arcs.twins[twin] = arc
    arcs.capacities[arc] = weight
    arcs.capacities[twin] = weight


@pk.function
def connect(a: int, b: int, weight: int, arcs: Arcs):
    """Add the two arcs of an edge."""
    write_arcs(arcs.ends[a], arcs.ends[b], a, b, weight, arcs)
    arcs.ends[a] += 1
    arcs.ends[b] += 1


@pk.function
def add_vertex(
    place: int, row: int, graph: Graph, pairs: Pairs, parts: pk.View1D[pk.int32], arcs: Arcs
):
    """Add the arcs of a vertex to terminals and to vertices before it in the region.

    Edges to the same terminal merge. Add the weight of edges between the two parts to the cut.
    """
    source: int = pairs.rows[row + Pair.NODE]
    p: int = pairs.rows[row + Pair.PARTS]
    q: int = pairs.rows[row + Pair.PARTS + 1]
    v: int = pairs.order[pairs.rows[row + Pair.FIRST] + place]
    node: int = source + TERMINALS + place
    is_first: bool = parts[v] == p
    cut: pk.int64 = 0
    count: int = 0
    to_source: int = 0
    to_sink: int = 0
    for e in edges(v, graph):
        u: int = graph.indices[e]
        part: int = parts[u]
        if graph.edge_weights[e] > 0 and (part == p or part == q):
            other: int = pairs.places[u]
            if other < place:
                if (part == p) != is_first:
                    cut += graph.edge_weights[e]
                if other >= 0:
                    connect(node, source + TERMINALS + other, graph.edge_weights[e], arcs)
                    count += 2
                elif part == p:
                    to_source += graph.edge_weights[e]
                else:
                    to_sink += graph.edge_weights[e]
    if to_source > 0:
        connect(node, source, to_source, arcs)
        count += 2
    if to_sink > 0:
        connect(node, source + 1, to_sink, arcs)
        count += 2
    pairs.rows[row + Pair.CUT] += cut
    pairs.rows[row + Pair.ARCS] += count


@pk.function
def connect_region(
    first_arc: int,
    row: int,
    graph: Graph,
    pairs: Pairs,
    parts: pk.View1D[pk.int32],
    arcs: Arcs,
):
    """Build the network of a region, and reset the places of its vertices to `OUTSIDE`.

    A vertex of the second part gets -1 minus its distance from the cut as distance.
    """
    reserve_arcs(first_arc, row, graph, pairs, arcs)
    size: int = pairs.rows[row + Pair.SIZE]
    for place in range(size):
        add_vertex(place, row, graph, pairs, parts, arcs)
    source: int = pairs.rows[row + Pair.NODE]
    arcs.node_weights[source] = 0
    arcs.node_weights[source + 1] = 0
    first: int = pairs.rows[row + Pair.FIRST]
    for place in range(size):
        v: int = pairs.order[first + place]
        pairs.places[v] = OUTSIDE
        arcs.node_weights[source + TERMINALS + place] = graph.vertex_weights[v]
        if parts[v] == pairs.rows[row + Pair.PARTS]:
            pairs.rows[row + Pair.NEARER] += graph.vertex_weights[v]
        else:
            pairs.rows[row + Pair.FARTHER] -= graph.vertex_weights[v]
            pairs.hops[first + place] = -1 - pairs.hops[first + place]


@pk.function
def count_arcs(row: int, graph: Graph, pairs: Pairs) -> pk.int64:
    """Return the number of arcs that the network of a region could have."""
    first: int = pairs.rows[row + Pair.FIRST]
    size: int = pairs.rows[row + Pair.SIZE]
    most: pk.int64 = ARCS_PER_VERTEX * size
    for index in range(first, first + size):
        v: int = pairs.order[index]
        most += graph.indptr[v + 1] - graph.indptr[v]
    return most
