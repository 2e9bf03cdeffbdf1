"""Nodes of a separator tree: totals of their columns in an elimination tree."""

from dataclasses import dataclass

import pykokkos as pk

from jetpy.workloads.common.groups import Graph
from jetpy.workloads.ordering.elimination import Elimination, operations_of


@dataclass(frozen=True, eq=False)
class TreeNodes:
    """The nodes of a separator tree. Node i has the columns ``starts[i]..starts[i + 1] - 1``."""

    starts: pk.View1D[pk.int32]
    operations: pk.View1D[pk.double]  # of the columns of each node
    paths: pk.View1D[pk.double]  # operations on the most expensive path up to one of them
    roots: pk.View1D[pk.int32]  # highest ancestor of each column in the same node


@pk.workunit
def add_up_columns(i: int, graph: Graph, tree: Elimination, nodes: TreeNodes):
    """Add up the operations of a node, and find its longest path and the roots of its columns."""
    begin: int = nodes.starts[i]
    end: int = nodes.starts[i + 1]
    operations: pk.double = 0.0
    longest: pk.double = 0.0
    for k in range(end - begin):
        j: int = end - 1 - k
        operations += operations_of(tree.counts[j], graph.vertex_weights[tree.order[j]])
        if tree.paths[j] > longest:
            longest = tree.paths[j]
        above: int = tree.parents[j]
        nodes.roots[j] = j
        if j < above and above < end:
            nodes.roots[j] = nodes.roots[above]
    nodes.operations[i] = operations
    nodes.paths[i] = longest
