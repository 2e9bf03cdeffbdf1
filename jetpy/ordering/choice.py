"""The best of dissection, minimum degree and multisection for each subtree of a dissection."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import IntEnum

import numpy as np
import numpy.typing as npt

from jetpy.graph.csr import IntArray
from jetpy.graph.ranges import Integers, ranges
from jetpy.ordering.block_elimination import Costs
from jetpy.ordering.elimination import elimination_tree, totals_of
from jetpy.ordering.multisector import Multisector, eliminate_leaves
from jetpy.ordering.quotient_graphs import (
    BlockOrders,
    Matrix,
    eliminated_blocks,
    sizes_of,
)
from jetpy.ordering.subtrees import Subtrees
from jetpy.result.separator_tree import SeparatorTree

MAX_PATH = 1.5
"""Maximum critical path of a subtree, as a multiple of its critical path by dissection."""
MAX_OPERATIONS = 1.25
"""A method has failed if it takes more than this multiple of the operations of the best order."""
MAX_FAILURES = 2
"""A method that has failed for this number of successive largest children is not tried above."""


class Kind(IntEnum):
    """How the vertices of a subtree are ordered."""

    DISSECTION = 0
    DEGREE = 1
    MULTISECTION = 2


def choose(
    matrix: Matrix,
    order: IntArray,
    tree: SeparatorTree,
    kept: int = 0,
) -> tuple[IntArray, SeparatorTree]:
    """Replace the orders of subtrees of a dissection where another order takes fewer operations.

    For each subtree, from the leaves up, it compares dissection with the orders chosen below,
    minimum degree of all vertices, and multisection: the leaves as they are, then all separators by
    minimum degree (Ashcraft, Liu, SIAM Journal on Matrix Analysis and Applications 19, 1998). The
    operations are exact. The critical path grows by at most half, or a little more where the
    subtree of a separator is not connected.

    Parameters
    ----------
    matrix : Matrix
        The matrix without dense rows. A vertex of weight w stands for w rows with the same pattern.
    order : int32, shape (n,)
        The vertices in order of elimination.
    tree : SeparatorTree
        The columns of its nodes in this order.
    kept : int
        Number of nodes at the end of the tree whose subtrees are not replaced.

    Returns
    -------
    int32, shape (n,)
        The vertices in order of elimination.
    SeparatorTree
        A subtree ordered by minimum degree is one leaf. In a subtree ordered by multisection, the
        leaves remain, and the separators are one node.
    """
    if matrix.graph.n == 0:
        return order, tree
    search = Search.begin(matrix, order, tree)
    chosen = order.copy()
    records = {kind: Record.begin(len(tree), rests=kind is Kind.DEGREE) for kind in METHODS}
    best, kinds = search.operations.copy(), np.zeros(len(tree), np.int64)
    subtrees = search.subtrees
    leaves, *inner = subtrees.by_height()
    subtrees.add_to_parents(leaves, best, best)
    for nodes in inner:
        free = nodes[nodes < len(tree) - kept]
        for kind, record in records.items():
            tried = record.chances(subtrees, free)
            if not len(tried):
                continue
            found = METHODS[kind](search, tried)
            record.add(tried, found.operations, best[tried])
            is_short = found.paths <= MAX_PATH * subtrees.paths[tried]
            is_better = is_short & (found.operations < best[tried])
            better = tried[is_better]
            best[better], kinds[better] = found.operations[is_better], kind
            columns = ranges(subtrees.begins[better], subtrees.sizes[better])
            chosen[columns] = found.order[np.repeat(is_better, subtrees.sizes[tried])]
        subtrees.add_to_parents(nodes, best, best)
    return chosen, chosen_tree(tree, subtrees, kinds)


@dataclass(frozen=True, eq=False)
class Record:
    """How a method did on the subtrees that it was tried for.

    Attributes
    ----------
    rests : bool
        Whether it is not tried again on the next height after it has not been the best.
    failures : int64, shape (nodes,)
        Number of its last tries in a row that failed, up to each node by largest children.
    has_lost : bool, shape (nodes,)
        Whether it was tried for this subtree, and was not the best.
    """

    rests: bool
    failures: Integers
    has_lost: npt.NDArray[np.bool_]

    @classmethod
    def begin(cls, nodes: int, *, rests: bool) -> Record:
        """Return the record of a method that has not been tried for any of the nodes."""
        return cls(rests, np.zeros(nodes, np.int64), np.zeros(nodes, bool))

    def chances(self, subtrees: Subtrees, nodes: Integers) -> Integers:
        """Return which nodes of a height it is to be tried for, given the heights below."""
        below = subtrees.largest_children[nodes]
        self.failures[nodes] = self.failures[below]
        is_tired = self.rests & self.has_lost[below] & (subtrees.parents[nodes] >= 0)
        return nodes[(self.failures[nodes] < MAX_FAILURES) & ~is_tired]

    def add(self, nodes: Integers, operations: Costs, best: Costs) -> None:
        """Add the operations that it takes for some nodes; `best` are those of the best order."""
        has_failed = operations > MAX_OPERATIONS * best
        self.failures[nodes] = np.where(has_failed, self.failures[nodes] + 1, 0)
        self.has_lost[nodes] = operations > best


@dataclass(frozen=True, eq=False)
class Search:
    """A dissection, and the other orders of its subtrees.

    Attributes
    ----------
    quotient : Matrix
        The graph of the multisector.
    node_of : int32, shape (n,)
        Node of each vertex in the separator tree.
    in_leaves : int32, shape (vertices in leaves,)
        The vertices of the leaves in the order of the dissection.
    leaf_columns : int64, shape (n + 1,)
        Number of columns of leaves before each column.
    operations : float64, shape (nodes,)
        Operations of the columns of each node.
    leaf_operations : float64, shape (nodes,)
        Operations of the columns of all leaves in each subtree.
    """

    matrix: Matrix
    quotient: Matrix
    node_of: IntArray
    subtrees: Subtrees
    multisector: Multisector
    in_leaves: IntArray
    leaf_columns: Integers
    operations: Costs
    leaf_operations: Costs

    @classmethod
    def begin(cls, matrix: Matrix, order: IntArray, tree: SeparatorTree) -> Search:
        """Analyse the dissection."""
        host, graph = matrix.host, matrix.graph
        elimination = elimination_tree(host, matrix.on_host, order, tree.independent_ranges())
        totals = totals_of(host, matrix.on_host, elimination, tree)
        node_of_column = np.repeat(np.arange(len(tree), dtype=np.int32), tree.sizes)
        node_of = np.empty_like(node_of_column)
        node_of[order] = node_of_column
        operations = host.to_host(totals.operations)
        subtrees = Subtrees.of(tree, host.to_host(totals.paths))
        is_leaf = tree.is_leaf
        leaf_operations = np.where(is_leaf, operations, 0.0)
        for nodes in subtrees.by_height():
            subtrees.add_to_parents(nodes, leaf_operations, leaf_operations)
        is_in_leaf = is_leaf[node_of_column]
        multisector = eliminate_leaves(
            graph,
            order,
            node_of,
            is_in_leaf,
            host.to_host(totals.roots),
            host.to_host(elimination.paths),
        )
        return cls(
            matrix,
            replace(matrix, graph=multisector.graph),
            node_of,
            subtrees,
            multisector,
            order[is_in_leaf],
            np.append(0, np.cumsum(is_in_leaf)),
            operations,
            leaf_operations,
        )

    def by_degree(self, nodes: Integers) -> BlockOrders:
        """Order disjoint subtrees by minimum degree."""
        blocks = self.subtrees.labels(nodes)[self.node_of]
        return eliminated_blocks(self.matrix, blocks, self.subtrees.sizes[nodes], np.empty(0))

    def by_multisection(self, nodes: Integers) -> BlockOrders:
        """Order disjoint subtrees by multisection."""
        subtrees, multisector = self.subtrees, self.multisector
        blocks = subtrees.labels(nodes)[multisector.node_of]
        counts, elements = sizes_of(blocks, len(nodes)), len(multisector.paths)
        separators = eliminated_blocks(self.quotient, blocks, counts, multisector.paths)
        begins, sizes = subtrees.begins[nodes], subtrees.sizes[nodes]
        leaves = self.leaf_columns[begins]
        first = self.leaf_columns[begins + sizes] - leaves
        starts = np.cumsum(sizes) - sizes
        order = np.empty(int(sizes.sum()), np.int32)
        order[ranges(starts, first)] = self.in_leaves[ranges(leaves, first)]
        last = ranges(starts + first, sizes - first)
        order[last] = multisector.vertices[separators.order - elements]
        return BlockOrders(
            order, separators.operations + self.leaf_operations[nodes], separators.paths
        )


METHODS: Mapping[Kind, Callable[[Search, Integers], BlockOrders]] = {
    Kind.DEGREE: Search.by_degree,
    Kind.MULTISECTION: Search.by_multisection,
}


def chosen_tree(tree: SeparatorTree, subtrees: Subtrees, kinds: Integers) -> SeparatorTree:
    """Return the tree with one node for each subtree ordered by minimum degree, and so on."""
    tops = list(range(len(tree)))
    parents, is_dissected = tree.parents.tolist(), (kinds == Kind.DISSECTION).tolist()
    for node in reversed(range(len(tree))):
        top = tops[parents[node]] if parents[node] >= 0 else node
        if not is_dissected[top]:
            tops[node] = top
    top = np.array(tops)
    remains = (kinds[top] == Kind.MULTISECTION) & (subtrees.heights == 0)
    owners = np.where(remains, np.arange(len(tree)), top)
    is_kept = owners == np.arange(len(tree))
    above = np.where(remains, top, tree.parents)[is_kept]
    number = np.cumsum(is_kept) - 1
    sizes = np.bincount(owners, tree.sizes, len(tree))[is_kept]
    return SeparatorTree(
        np.where(above < 0, -1, number[above]).astype(np.int32),
        np.concatenate(([0], np.cumsum(sizes))).astype(np.int32),
    )
