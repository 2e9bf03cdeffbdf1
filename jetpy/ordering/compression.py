"""Compression of a matrix before it is ordered: rows with the same pattern, and dense rows."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from jetpy.device.device_graph import upload
from jetpy.engines.base import Backend
from jetpy.graph.csr import Graph, IntArray
from jetpy.graph.ranges import ranges
from jetpy.ordering.dense_rows import induced_subgraph, without_dense_rows
from jetpy.result.separator_tree import SeparatorTree
from jetpy.workloads.common.groups import NO_VERTEX
from jetpy.workloads.ordering import compression as kernels

Mask = npt.NDArray[np.bool_]

MIN_PERCENT = 15
"""Rows merge only if at least this percentage of them disappears."""


@dataclass(frozen=True, eq=False)
class Compression:
    """A matrix without its dense rows, in which rows with the same pattern are one vertex.

    Attributes
    ----------
    graph : Graph
        The groups, and an edge between two groups whose rows are adjacent, of weight 1. The weight
        of a vertex is the weight of the rows of its group.
    group_of : int32, shape (n,)
        Group of each row, -1 for a dense row. Groups are in the order of their smallest rows.
    dense : int32, shape (number of dense rows,)
        The dense rows in the order of elimination; those that come last are behind others.
    is_last : bool, shape (graph.n,)
        Whether each group has rows that come last.
    last_dense : int
        Number of dense rows that come last.
    """

    graph: Graph
    group_of: IntArray
    dense: IntArray
    is_last: Mask
    last_dense: int

    def expand(self, order: IntArray) -> IntArray:
        """Return the order of the n rows, int32, given an order of the groups, int32.

        The rows of a group are consecutive and ascending; the dense rows are behind all others, or
        all others that come last.
        """
        rows = expanded(order, self.group_of)
        end = len(rows) - int(self.is_last[self.group_of[rows]].sum())
        split = len(self.dense) - self.last_dense
        return np.concatenate((rows[:end], self.dense[:split], rows[end:], self.dense[split:]))

    def expand_tree(self, tree: SeparatorTree, order: IntArray) -> SeparatorTree:
        """Return the tree of the n rows, given the tree of the groups and their order.

        Its root has the dense rows and those that come last.
        """
        sizes = np.bincount(self.group_of + 1, minlength=self.graph.n + 1)[1:]
        by_row = tree.weighted(sizes[order])
        if not len(self.dense):
            return by_row
        if not self.is_last.any():
            return by_row.below_root(len(self.dense))
        starts = by_row.starts.copy()
        starts[-1] += len(self.dense)
        return SeparatorTree(by_row.parents, starts)


def expanded(order: IntArray, group_of: IntArray) -> IntArray:
    """Return the rows of some groups in an order, int32; those of a group are ascending.

    `group_of` (int32, shape (n,)) is the group of each row, or -1 for a row that is left out.
    """
    sizes = np.bincount(group_of + 1)
    starts = np.cumsum(sizes) - sizes
    rows = np.argsort(group_of, kind="stable").astype(np.int32)
    return rows[ranges(starts[order + 1], sizes[order + 1])]


def contracted(order: IntArray, group_of: IntArray) -> IntArray:
    """Return groups in the order of their first rows, int32, given an order of the rows.

    `group_of` as for `expanded`.
    """
    groups = group_of[order]
    groups = groups[groups >= 0]
    _, firsts = np.unique(groups, return_index=True)
    return groups[np.sort(firsts)]


def without_merging(graph: Graph, is_last: Mask) -> Compression:
    """Remove the dense rows of a matrix; each other row is a group."""
    sparse, members, dense = without_dense_rows(graph)
    group_of = np.full(graph.n, -1, np.int32)
    group_of[members] = np.arange(sparse.n, dtype=np.int32)
    last_dense = int(is_last[dense].sum())
    dense = dense[np.argsort(is_last[dense], kind="stable")]
    return Compression(sparse, group_of, dense, is_last[members], last_dense)


def compress(host: Backend, graph: Graph, is_last: Mask) -> Compression:
    """Remove the dense rows of a matrix, and merge rows with the same pattern.

    Two rows have the same pattern if they are adjacent to each other and to the same other rows.
    Eliminated one after the other, they cause no fill that the first does not cause. Rows that come
    last do not merge with others. If less than 15 % of the rows would disappear, they stay as they
    are.

    Parameters
    ----------
    host : Backend
        A back end on CPUs with the width that the graph requires.
    graph : Graph
        A graph whose edges weigh 1, as `pattern_graph` returns it. If no row is dense and no rows
        merge, it is the graph of the result.
    is_last : bool, shape (n,)
        Whether each row comes last.

    Returns
    -------
    Compression
        It depends on the pattern alone.

    Notes
    -----
    Source: Ashcraft, "Compressed graphs and the minimum degree algorithm", SIAM Journal on
    Scientific Computing 16 (1995).
    """
    plain = without_merging(graph, is_last)
    sparse = plain.graph
    leaders = indistinguishable(host, sparse, plain.is_last)
    is_leader = leaders == np.arange(sparse.n)
    count = int(is_leader.sum())
    if count == sparse.n or 100 * (sparse.n - count) < MIN_PERCENT * sparse.n:
        return plain
    ids = np.cumsum(is_leader, dtype=np.int32) - np.int32(1)
    groups = ids[leaders]
    weights = np.bincount(groups, sparse.vertex_weights, count).astype(np.int32)
    kept = np.flatnonzero(is_leader).astype(np.int32)
    merged = replace(induced_subgraph(sparse, kept), vertex_weights=weights)
    group_of = np.where(plain.group_of < 0, plain.group_of, groups[plain.group_of])
    return replace(plain, graph=merged, group_of=group_of, is_last=plain.is_last[kept])


def indistinguishable(host: Backend, graph: Graph, is_last: Mask) -> IntArray:
    """Return the smallest vertex with the same closed neighbourhood as each: int32, shape (n,).

    Of two such vertices, both or none come last.
    """
    n, uploaded = graph.n, upload(host, graph)
    sums, possible = host.empty(n, np.int64), host.empty(n)
    found = {"graph": uploaded, "sums": sums, "possible": possible}
    host.parallel_for(n, kernels.sum_hashes, graph=uploaded, sums=sums)
    sums += host.from_host(is_last.astype(np.int64) << 32)  # the sums of hashes are smaller
    count = host.scan(n, kernels.list_possible_leaders, **found)
    leaders = host.from_host(np.arange(n, dtype=np.int32))
    if count:
        marks = host.full(n, NO_VERTEX)
        host.run_tasks(1, kernels.find_leaders, count=count, leaders=leaders, marks=marks, **found)
    return host.to_host(leaders)
