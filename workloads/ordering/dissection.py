"""Nested dissection: the components that the separators of a depth leave.

A node is a connected part of the graph without the separators found so far. The nodes of a depth
are one graph, in which the vertices of a node have consecutive numbers.

Source: George, "Nested dissection of a regular finite element mesh", SIAM Journal on Numerical
Analysis 10 (1973); Lipton, Rose, Tarjan, "Generalized nested dissection", SIAM Journal on Numerical
Analysis 16 (1979).
"""

from dataclasses import dataclass

import pykokkos as pk

from jetpy.workloads.common.groups import Graph, edges
from jetpy.workloads.ordering.separators import SEPARATOR

NO_COMPONENT = -1
FOUND = -1
"""Side of a vertex that a search has found."""


@dataclass(frozen=True, eq=False)
class Components:
    """The components of the sides of nodes. Those of a node are consecutive; its separator is last.

    The first place of a component, or of a separator, has its size, weight and node.
    """

    open_sides: pk.View1D[pk.int32]  # side of a vertex until a search finds it, then FOUND
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
        components.open_sides[v] = sides[v]
        components.sizes[v] = 0
    for root in range(begin, end):
        own: int = components.open_sides[root]
        if own != FOUND and own != SEPARATOR:
            first: int = last
            weight: int = 0
            components.open_sides[root] = FOUND
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
                    if components.open_sides[u] == own:
                        components.open_sides[u] = FOUND
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


@pk.workunit
def list_components(
    i: int,
    acc: pk.Acc[pk.int64],
    last_pass: bool,
    components: Components,
    places: pk.View1D[pk.int32],
):
    """List the first places of all components and separators."""
    if components.sizes[i] > 0:
        if last_pass:
            places[acc] = i
        acc += 1


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
