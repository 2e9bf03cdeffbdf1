"""Elimination trees and column counts of Cholesky factors; one index does all of it.

A column is the position of a vertex in the order of elimination. Its parent is the row of the first
entry below the diagonal of its column of the factor. The entries of row j are the columns of a
subtree with root j: the row subtree, whose leaves are columns with an entry of the matrix.

A vertex of weight w stands for w rows with the same pattern, which are eliminated one after the
other. The count of its column is the count of the first of them; each has one entry less than the
row before.

Sources: Liu, "The role of elimination trees in sparse factorization", SIAM Journal on Matrix
Analysis and Applications 11 (1990), algorithm 4.2, for the tree; Gilbert, Ng, Peyton, "An efficient
algorithm to compute row and column counts for sparse Cholesky factorization", SIAM Journal on
Matrix Analysis and Applications 15 (1994), for the counts.
"""

from dataclasses import dataclass

import pykokkos as pk

from jetpy.workloads.common.groups import Graph, edges

NONE = -1
"""Stands for a missing column."""
DIVISOR = 6
"""The sum of the squares of 0..w - 1 is w (w - 1) (2 w - 1) / DIVISOR."""


@dataclass(frozen=True, eq=False)
class Elimination:
    """The elimination tree of an ordered matrix, by column, and arrays to compute it."""

    order: pk.View1D[pk.int32]  # vertex of each column
    column_of: pk.View1D[pk.int32]  # column of each vertex
    parents: pk.View1D[pk.int32]  # NONE for roots
    counts: pk.View1D[pk.int32]  # weight of the rows of each column of the factor
    postorder: pk.View1D[pk.int32]  # the columns, children before parents
    ancestors: pk.View1D[pk.int32]  # an ancestor of each column, to shorten paths
    firsts: pk.View1D[pk.int32]  # place in the postorder of the first descendant of each column
    last_firsts: pk.View1D[pk.int32]  # largest of `firsts` among the leaves of each row subtree
    last_leaves: pk.View1D[pk.int32]  # the last leaf of each row subtree
    heights: pk.View1D[pk.int32]  # weight of the longest path from a column down to a leaf
    paths: pk.View1D[pk.double]  # operations on the most expensive such path


@pk.function
def find_parents(n: int, graph: Graph, tree: Elimination):
    """Compute the parents of n columns: each path from an entry of row j up to its root joins j."""
    for j in range(n):
        tree.parents[j] = NONE
        tree.ancestors[j] = NONE
        for e in edges(tree.order[j], graph):
            c: int = tree.column_of[graph.indices[e]]
            while c != NONE and c < j:
                above: int = tree.ancestors[c]
                tree.ancestors[c] = j
                if above == NONE:
                    tree.parents[c] = j
                c = above


@pk.function
def find_postorder(n: int, tree: Elimination):
    """Traverse the tree in depth-first order, children in ascending order.

    Meanwhile, `firsts` has the first child of each column that is not visited yet, `ancestors` its
    next sibling, and `last_leaves` the path from the root.
    """
    for j in range(n):
        tree.firsts[j] = NONE
    for i in range(n):
        j: int = n - 1 - i
        p: int = tree.parents[j]
        if p != NONE:
            tree.ancestors[j] = tree.firsts[p]
            tree.firsts[p] = j
    count: int = 0
    for root in range(n):
        if tree.parents[root] != NONE:
            continue
        depth: int = 0
        tree.last_leaves[0] = root
        while depth >= 0:
            c: int = tree.last_leaves[depth]
            child: int = tree.firsts[c]
            if child == NONE:
                tree.postorder[count] = c
                count += 1
                depth -= 1
            else:
                tree.firsts[c] = tree.ancestors[child]
                depth += 1
                tree.last_leaves[depth] = child


@pk.function
def root_of(c: int, tree: Elimination) -> int:
    """Return the root of the visited subtree of a column, and shorten the path to it."""
    root: int = c
    while tree.ancestors[root] != root:
        root = tree.ancestors[root]
    while c != root:
        above: int = tree.ancestors[c]
        tree.ancestors[c] = root
        c = above
    return root


@pk.function
def count_leaf(c: int, row: int, weight: int, tree: Elimination):
    """Add column c to the row subtree of a row, if it is a leaf; columns come in postorder.

    A leaf adds the row's weight to the columns on its path up to the row. The part of the path that
    it shares with the last leaf counts only once.
    """
    if tree.firsts[c] <= tree.last_firsts[row]:
        return
    last: int = tree.last_leaves[row]
    tree.last_firsts[row] = tree.firsts[c]
    tree.last_leaves[row] = c
    tree.counts[c] += weight
    if last != NONE:
        tree.counts[root_of(last, tree)] -= weight


@pk.function
def count_entries_of_columns(n: int, graph: Graph, tree: Elimination):
    """Compute the counts as sums over subtrees: of leaves, minus paths that two leaves share."""
    for j in range(n):
        tree.firsts[j] = NONE
        tree.ancestors[j] = j
        tree.last_firsts[j] = NONE
        tree.last_leaves[j] = NONE
        tree.counts[j] = 0
    for place in range(n):
        c: int = tree.postorder[place]
        if tree.firsts[c] == NONE:
            tree.counts[c] = graph.vertex_weights[tree.order[c]]
        while c != NONE and tree.firsts[c] == NONE:
            tree.firsts[c] = place
            c = tree.parents[c]
    for place in range(n):
        c: int = tree.postorder[place]
        p: int = tree.parents[c]
        if p != NONE:
            tree.counts[p] -= graph.vertex_weights[tree.order[c]]
        for e in edges(tree.order[c], graph):
            u: int = graph.indices[e]
            if tree.column_of[u] > c:
                count_leaf(c, tree.column_of[u], graph.vertex_weights[u], tree)
        if p != NONE:
            tree.ancestors[c] = p
    for j in range(n):
        if tree.parents[j] != NONE:
            tree.counts[tree.parents[j]] += tree.counts[j]


@pk.function
def operations_of(count: int, weight: int) -> pk.double:
    """Return the operations of `weight` columns, with `count` entries, `count` - 1, and so on."""
    c: pk.double = count
    w: pk.double = weight
    square: pk.double = w * c * c
    less: pk.double = w * (w - 1.0) * c
    squares: pk.double = w * (w - 1.0) * (2.0 * w - 1.0)
    return square - less + squares / DIVISOR


@pk.function
def find_heights(n: int, graph: Graph, tree: Elimination):
    """Compute the longest and the most expensive path below each column."""
    for j in range(n):
        tree.heights[j] = 0
        tree.paths[j] = 0.0
    for j in range(n):
        weight: int = graph.vertex_weights[tree.order[j]]
        tree.heights[j] += weight
        tree.paths[j] += operations_of(tree.counts[j], weight)
        p: int = tree.parents[j]
        if p != NONE:
            if tree.heights[j] > tree.heights[p]:
                tree.heights[p] = tree.heights[j]
            if tree.paths[j] > tree.paths[p]:
                tree.paths[p] = tree.paths[j]


@pk.workunit
def analyse(i: int, n: int, graph: Graph, tree: Elimination):
    """Compute the elimination tree of n columns, the counts, and the heights."""
    for j in range(n):
        tree.column_of[tree.order[j]] = j
    find_parents(n, graph, tree)
    find_postorder(n, tree)
    count_entries_of_columns(n, graph, tree)
    find_heights(n, graph, tree)
