"""Elimination trees and the column counts of factors."""

from __future__ import annotations

import numpy as np

from jetpy.device.device_graph import DeviceGraph, upload
from jetpy.engines.base import Backend
from jetpy.graph.csr import Graph, IntArray
from jetpy.result.separator_tree import Bounds, SeparatorTree
from jetpy.result.symbolic import Symbolic
from jetpy.workloads.ordering import elimination as kernels
from jetpy.workloads.ordering.elimination import Elimination
from jetpy.workloads.ordering.tree_nodes import TreeNodes, add_up_columns


def analysed(
    host: Backend, graph: Graph, order: IntArray, ranges: Bounds | None = None
) -> Symbolic:
    """Return the structure of the factor of a graph eliminated in an order (int32, shape (n,)).

    `ranges` as for `elimination_tree`.
    """
    tree = elimination_tree(host, upload(host, graph), order, ranges)
    counts = host.to_host(tree.counts)
    times = np.bincount(counts)
    values = np.flatnonzero(times)
    squares = (
        value**2 * count
        for value, count in zip(values.tolist(), times[values].tolist(), strict=True)
    )
    return Symbolic(
        parents=host.to_host(tree.parents),
        counts=counts,
        fill=int(counts.sum(dtype=np.int64)),
        operations=sum(squares),
        height=int(host.to_host(tree.heights).max(initial=0)),
        critical_path=float(host.to_host(tree.paths).max(initial=0)),
    )


def elimination_tree(
    host: Backend, graph: DeviceGraph, order: IntArray, ranges: Bounds | None = None
) -> Elimination:
    """Return the elimination tree of a graph eliminated in an order (int32, shape (n,)).

    A vertex of weight w stands for w rows with the same pattern. `ranges` are the begins and ends
    of disjoint ranges of columns in ascending order, without entries in earlier columns outside of
    the range; all threads analyse them. By default, all columns are one range.
    """
    n = graph.n
    begins, ends = (np.zeros(1, np.int32), np.full(1, n, np.int32)) if ranges is None else ranges
    stops = np.arange(n, dtype=np.int32)
    for begin, end in zip(begins.tolist(), ends.tolist(), strict=True):
        stops[begin:end] = end
    tree: Elimination = host.group(
        Elimination,
        n,
        order=host.from_host(order),
        stops=host.from_host(stops),
        paths=host.empty(n, np.float64),
    )
    independent = kernels.Ranges(
        host.from_host(begins), host.from_host(ends), host.empty(n), host.empty(n)
    )
    shared = {"graph": graph, "tree": tree, "ranges": independent}
    host.parallel_for(n, kernels.begin_columns, tree=tree)
    host.run_tasks(len(begins), kernels.find_parents_in_ranges, **shared)
    upper = host.scan(n, kernels.list_upper, tree=tree, ranges=independent)
    host.run_tasks(1, kernels.find_parents_above, n=n, count=upper, **shared)
    host.run_tasks(len(begins), kernels.count_in_ranges, **shared)
    border = host.scan(n, kernels.list_border, **shared)
    host.run_tasks(1, kernels.count_above, n=n, count=border, **shared)
    host.run_tasks(len(begins), kernels.sum_in_ranges, **shared)
    host.run_tasks(1, kernels.sum_above, count=upper, **shared)
    return tree


def totals_of(
    host: Backend, graph: DeviceGraph, elimination: Elimination, tree: SeparatorTree
) -> TreeNodes:
    """Return the totals of the columns of each node of a separator tree."""
    totals = TreeNodes(
        host.from_host(tree.starts),
        operations=host.empty(len(tree), np.float64),
        paths=host.empty(len(tree), np.float64),
        roots=host.empty(graph.n),
    )
    host.run_tasks(len(tree), add_up_columns, graph=graph, tree=elimination, nodes=totals)
    return totals
