"""Elimination trees and column counts of Cholesky factors.

A column is the position of a vertex in the order of elimination. Its parent is the row of the first
entry below the diagonal of its column of the factor. The entries of row j are the columns of a
subtree with root j: the row subtree, whose leaves are columns with an entry of the matrix.

Some ranges of columns are independent: they have no entries in earlier columns outside, as the
subtrees of a dissection. They are analysed at the same time, one index each. Then one index
analyses the columns above: those outside of all ranges.

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
    stops: pk.View1D[pk.int32]  # end of the range of each column; the column itself above
    parents: pk.View1D[pk.int32]  # NONE for roots
    counts: pk.View1D[pk.int32]  # weight of the rows of each column of the factor
    sizes: pk.View1D[pk.int32]  # columns of the subtree below each column, with itself
    places: pk.View1D[pk.int32]  # place of each column in a postorder, where children come first
    postorder: pk.View1D[pk.int32]  # column at each place
    ancestors: pk.View1D[pk.int32]  # an ancestor of each column, to shorten paths
    last_leaves: pk.View1D[pk.int32]  # last leaf of each row subtree, in postorder
    heights: pk.View1D[pk.int32]  # weight of the longest path from a column down to a leaf
    paths: pk.View1D[pk.double]  # operations on the most expensive such path


@dataclass(frozen=True, eq=False)
class Ranges:
    """Independent ranges of columns, in ascending order, and lists of columns."""

    begins: pk.View1D[pk.int32]
    ends: pk.View1D[pk.int32]
    upper: pk.View1D[pk.int32]  # the columns above and the roots of the ranges, ascending
    border: pk.View1D[pk.int32]  # the columns with an entry in a row above, in postorder


@pk.workunit
def begin_columns(j: int, tree: Elimination):
    """Begin with columns that have no parent."""
    tree.column_of[tree.order[j]] = j
    tree.parents[j] = NONE
    tree.ancestors[j] = NONE
    tree.sizes[j] = 1
    tree.counts[j] = 0
    tree.last_leaves[j] = NONE
    tree.heights[j] = 0
    tree.paths[j] = 0.0


@pk.function
def join_paths(j: int, first: int, graph: Graph, tree: Elimination):
    """Make column j the parent of the roots of all paths from entries of row j, from `first` on."""
    for e in edges(tree.order[j], graph):
        c: int = tree.column_of[graph.indices[e]]
        while first <= c and c < j:
            above: int = tree.ancestors[c]
            tree.ancestors[c] = j
            if above == NONE:
                tree.parents[c] = j
            c = above


@pk.function
def add_size(j: int, tree: Elimination):
    """Add the columns below column j to those below its parent."""
    if tree.parents[j] != NONE:
        tree.sizes[tree.parents[j]] += tree.sizes[j]


@pk.workunit
def find_parents_in_ranges(i: int, graph: Graph, tree: Elimination, ranges: Ranges):
    """Compute the parents within a range."""
    for j in range(ranges.begins[i], ranges.ends[i]):
        join_paths(j, ranges.begins[i], graph, tree)
    for j in range(ranges.begins[i], ranges.ends[i]):
        add_size(j, tree)


@pk.workunit
def list_upper(j: int, acc: pk.Acc[pk.int64], last_pass: bool, tree: Elimination, ranges: Ranges):
    """List the columns that have no parent in a range."""
    if tree.parents[j] == NONE:
        if last_pass:
            ranges.upper[acc] = j
        acc += 1


@pk.function
def place_column(j: int, end: int, tree: Elimination) -> int:
    """Place a column, whose siblings take the places from `end` on; columns come in reverse order.

    Return the end of the places of its earlier siblings. `ancestors` has that of each column's
    children.
    """
    tree.places[j] = end - 1
    tree.postorder[end - 1] = j
    tree.ancestors[j] = end - 1
    return end - tree.sizes[j]


@pk.workunit
def find_parents_above(i: int, n: int, count: int, graph: Graph, tree: Elimination, ranges: Ranges):
    """Compute the parents and places of `count` upper columns of n, and begin their counts."""
    for k in range(count):
        j: int = ranges.upper[k]
        if tree.stops[j] == j:
            join_paths(j, 0, graph, tree)
    for k in range(count):
        add_size(ranges.upper[k], tree)
    end: int = n
    for k in range(count):
        j: int = ranges.upper[count - 1 - k]
        p: int = tree.parents[j]
        if p == NONE:
            end = place_column(j, end, tree)
        else:
            tree.ancestors[p] = place_column(j, tree.ancestors[p], tree)
    for k in range(count):
        begin_count(ranges.upper[k], graph, tree)


@pk.function
def begin_count(j: int, graph: Graph, tree: Elimination):
    """Add the row of a column to its count if it is a leaf, and take it from its parent's."""
    weight: int = graph.vertex_weights[tree.order[j]]
    if tree.sizes[j] == 1:
        tree.counts[j] += weight
    if tree.parents[j] != NONE:
        tree.counts[tree.parents[j]] -= weight


@pk.function
def common_ancestor(c: int, place: int, tree: Elimination) -> int:
    """Return the first ancestor of column c at this place or later, and shorten the path to it.

    That is the first common ancestor of c and the column there, which comes after c in postorder;
    NONE if they have no common one, because a range is not independent.
    """
    root: int = c
    while root != NONE and tree.places[root] < place:
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
    place: int = tree.places[c]
    last: int = tree.last_leaves[row]
    if last != NONE and tree.places[last] > place - tree.sizes[c]:
        return
    tree.last_leaves[row] = c
    tree.counts[c] += weight
    if last != NONE:
        shared: int = common_ancestor(last, place, tree)
        if shared != NONE:
            tree.counts[shared] -= weight


@pk.function
def count_rows(c: int, first: int, end: int, graph: Graph, tree: Elimination):
    """Add column c to the row subtrees of rows first..end - 1."""
    for e in edges(tree.order[c], graph):
        u: int = graph.indices[e]
        row: int = tree.column_of[u]
        if first <= row and row < end:
            count_leaf(c, row, graph.vertex_weights[u], tree)


@pk.workunit
def count_in_ranges(i: int, graph: Graph, tree: Elimination, ranges: Ranges):
    """Compute the places of a range's columns, and count the entries of its rows.

    The counts are differences: sums over subtrees give the counts of the factor.
    """
    begin: int = ranges.begins[i]
    end: int = ranges.ends[i]
    for k in range(end - begin):
        j: int = end - 1 - k
        p: int = tree.parents[j]
        if p != NONE and p < end:
            tree.ancestors[p] = place_column(j, tree.ancestors[p], tree)
            begin_count(j, graph, tree)
    for j in range(begin, end):
        tree.ancestors[j] = tree.parents[j]
    for j in range(begin, end):
        if tree.parents[j] == NONE or tree.parents[j] >= end:
            last: int = tree.places[j]
            for place in range(last + 1 - tree.sizes[j], last + 1):
                c: int = tree.postorder[place]
                count_rows(c, c + 1, end, graph, tree)


@pk.function
def first_row_above(c: int, tree: Elimination) -> int:
    """Return the first row that comes after column c and its range."""
    first: int = tree.stops[c]
    if first == c:
        first += 1
    return first


@pk.workunit
def list_border(
    place: int,
    acc: pk.Acc[pk.int64],
    last_pass: bool,
    graph: Graph,
    tree: Elimination,
    ranges: Ranges,
):
    """List the columns with an entry in a row above, and forget shorter paths."""
    c: int = tree.postorder[place]
    tree.ancestors[c] = tree.parents[c]
    first: int = first_row_above(c, tree)
    is_border: bool = False
    for e in edges(tree.order[c], graph):
        if tree.column_of[graph.indices[e]] >= first:
            is_border = True
    if is_border:
        if last_pass:
            ranges.border[acc] = c
        acc += 1


@pk.workunit
def count_above(i: int, n: int, count: int, graph: Graph, tree: Elimination, ranges: Ranges):
    """Count the entries of the rows above in `count` columns of the border; one index does it."""
    for k in range(count):
        c: int = ranges.border[k]
        count_rows(c, first_row_above(c, tree), n, graph, tree)


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
def finish(j: int, graph: Graph, tree: Elimination):
    """Complete the paths of a column, whose children come first."""
    weight: int = graph.vertex_weights[tree.order[j]]
    tree.heights[j] += weight
    tree.paths[j] += operations_of(tree.counts[j], weight)


@pk.function
def add_to_parent(j: int, tree: Elimination):
    """Add the count of a column to its parent's, and prolong the longest paths."""
    p: int = tree.parents[j]
    if p != NONE:
        tree.counts[p] += tree.counts[j]
        if tree.heights[j] > tree.heights[p]:
            tree.heights[p] = tree.heights[j]
        if tree.paths[j] > tree.paths[p]:
            tree.paths[p] = tree.paths[j]


@pk.workunit
def sum_in_ranges(i: int, graph: Graph, tree: Elimination, ranges: Ranges):
    """Sum the counts of a range over subtrees, and find the paths below its columns."""
    end: int = ranges.ends[i]
    for j in range(ranges.begins[i], end):
        finish(j, graph, tree)
        if tree.parents[j] < end:
            add_to_parent(j, tree)


@pk.workunit
def sum_above(i: int, count: int, graph: Graph, tree: Elimination, ranges: Ranges):
    """Sum the counts of `count` upper columns, and find the paths below; one index does it."""
    for k in range(count):
        j: int = ranges.upper[k]
        if tree.stops[j] == j:
            finish(j, graph, tree)
        add_to_parent(j, tree)
