"""Subgraphs that selected vertices induce, of one or several copies of a graph.

A slot stands for a vertex of a copy: slot c n + v for vertex v of copy c of a graph of n vertices.
"""

from dataclasses import dataclass

import pykokkos as pk

from jetpy.workloads.common.groups import Graph, Offset, Weight, edges

NO_PLACE = -1
"""Place of a vertex that is not in the subgraph."""


@dataclass(frozen=True, eq=False)
class Selection:
    """Slots, in an order; those of each copy induce a subgraph."""

    n: int  # number of vertices of the graph
    slots: pk.View1D[pk.int32]
    places: pk.View1D[pk.int32]  # index of each slot in `slots`, or NO_PLACE


@dataclass(frozen=True, eq=False)
class Subgraph:
    """The induced subgraphs as one graph, in CSR form."""

    counts: pk.View1D[Offset]  # number of directed edges of each vertex
    offsets: pk.View1D[Offset]
    ends: pk.View1D[pk.int32]
    end_weights: pk.View1D[Weight]
    own_weights: pk.View1D[Weight]


@pk.workunit
def place_selected(i: int, selection: Selection):
    """Write the place of a selected slot."""
    selection.places[selection.slots[i]] = i


@pk.workunit
def count_row(i: int, graph: Graph, selection: Selection, subgraph: Subgraph):
    """Count the directed edges of a vertex in its subgraph."""
    v: int = selection.slots[i] % selection.n
    copy: int = selection.slots[i] - v
    count: int = 0
    for e in edges(v, graph):
        if selection.places[copy + graph.indices[e]] != NO_PLACE:
            count += 1
    subgraph.counts[i] = count


@pk.workunit
def copy_row(i: int, graph: Graph, selection: Selection, subgraph: Subgraph):
    """Copy the weight of a vertex and its edges into its subgraph."""
    v: int = selection.slots[i] % selection.n
    copy: int = selection.slots[i] - v
    subgraph.own_weights[i] = graph.vertex_weights[v]
    entry: Offset = subgraph.offsets[i]
    for e in edges(v, graph):
        place: int = selection.places[copy + graph.indices[e]]
        if place != NO_PLACE:
            subgraph.ends[entry] = place
            subgraph.end_weights[entry] = graph.edge_weights[e]
            entry += 1
