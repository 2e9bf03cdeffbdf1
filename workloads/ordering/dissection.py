"""Nested dissection: the components of a depth become leaves, or nodes of the next depth.

A node is a connected part of the graph without the separators found so far. The nodes of a depth
are one graph, in which the vertices of a node have consecutive numbers.

Source: George, "Nested dissection of a regular finite element mesh", SIAM Journal on Numerical
Analysis 10 (1973); Lipton, Rose, Tarjan, "Generalized nested dissection", SIAM Journal on Numerical
Analysis 16 (1979).
"""

from dataclasses import dataclass

import pykokkos as pk

from jetpy.workloads.ordering.component_search import Components

NO_COMPONENT = -1


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
