"""Compression of a matrix before it is ordered: rows with the same pattern, and dense rows."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from jetpy.device.device_graph import upload
from jetpy.engines.base import Backend
from jetpy.graph.csr import Graph, IntArray
from jetpy.graph.ranges import ranges
from jetpy.ordering.dense_rows import induced_subgraph, without_dense_rows
from jetpy.workloads.common.groups import NO_VERTEX
from jetpy.workloads.ordering import compression as kernels

MIN_PERCENT = 15
"""Rows merge only if at least this percentage of them disappears."""


@dataclass(frozen=True, eq=False)
class Compression:
    """A matrix without its dense rows, in which rows with the same pattern are one vertex.

    Attributes
    ----------
    graph : Graph
        The groups, and an edge between two groups whose rows are adjacent, of weight 1. The weight
        of a vertex is the number of rows of its group.
    group_of : int32, shape (n,)
        Group of each row, -1 for a dense row. Groups are in the order of their smallest rows.
    dense : int32, shape (number of dense rows,)
        The dense rows in the order of elimination, after all others.
    """

    graph: Graph
    group_of: IntArray
    dense: IntArray

    @property
    def is_trivial(self) -> bool:
        """Whether each group is one row, with the same number, and no row is dense."""
        return self.graph.n == len(self.group_of)

    def expand(self, order: IntArray) -> IntArray:
        """Return the order of the n rows, int32, given an order of the groups, int32.

        The rows of a group are consecutive and ascending; the dense rows come last.
        """
        if self.is_trivial:
            return order
        members = np.argsort(self.group_of, kind="stable").astype(np.int32)[len(self.dense) :]
        sizes = self.graph.vertex_weights.astype(np.int64)
        starts = np.cumsum(sizes) - sizes
        return np.concatenate((members[ranges(starts[order], sizes[order])], self.dense))


def compress(host: Backend, graph: Graph) -> Compression:
    """Remove the dense rows of a matrix, and merge rows with the same pattern.

    Two rows have the same pattern if they are adjacent to each other and to the same other rows.
    Eliminated one after the other, they cause no fill that the first does not cause. If less than
    15 % of the rows would disappear, they stay as they are.

    Parameters
    ----------
    host : Backend
        A back end on CPUs with the width that the graph requires.
    graph : Graph
        A graph whose weights are 1, as `pattern_graph` returns it. If no row is dense and no rows
        merge, it is the graph of the result.

    Returns
    -------
    Compression
        It depends on the pattern alone.

    Notes
    -----
    Source: Ashcraft, "Compressed graphs and the minimum degree algorithm", SIAM Journal on
    Scientific Computing 16 (1995).
    """
    sparse, members, dense = without_dense_rows(graph)
    leaders = indistinguishable(host, sparse)
    is_leader = leaders == np.arange(sparse.n)
    count = int(is_leader.sum())
    if count == sparse.n or 100 * (sparse.n - count) < MIN_PERCENT * sparse.n:
        groups, merged = np.arange(sparse.n, dtype=np.int32), sparse
    else:
        ids = np.cumsum(is_leader, dtype=np.int32) - np.int32(1)
        groups = ids[leaders]
        sizes = np.bincount(groups, minlength=count).astype(np.int32)
        kept = np.flatnonzero(is_leader).astype(np.int32)
        merged = replace(induced_subgraph(sparse, kept), vertex_weights=sizes)
    group_of = np.full(graph.n, -1, np.int32)
    group_of[members] = groups
    return Compression(merged, group_of, dense)


def indistinguishable(host: Backend, graph: Graph) -> IntArray:
    """Return the smallest vertex with the same closed neighbourhood as each: int32, shape (n,)."""
    n, uploaded = graph.n, upload(host, graph)
    sums, possible = host.empty(n, np.int64), host.empty(n)
    found = {"graph": uploaded, "sums": sums, "possible": possible}
    host.parallel_for(n, kernels.sum_hashes, graph=uploaded, sums=sums)
    count = host.scan(n, kernels.list_possible_leaders, **found)
    leaders = host.from_host(np.arange(n, dtype=np.int32))
    if count:
        marks = host.full(n, NO_VERTEX)
        host.run_tasks(1, kernels.find_leaders, count=count, leaders=leaders, marks=marks, **found)
    return host.to_host(leaders)
