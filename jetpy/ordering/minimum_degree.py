"""Minimum degree orderings, on one CPU thread."""

from __future__ import annotations

import numpy as np

from jetpy.device.device_graph import with_required_width
from jetpy.engines.base import Backend
from jetpy.graph.csr import Graph, IntArray
from jetpy.ordering.dense_rows import without_dense_rows
from jetpy.ordering.elimination import elimination_tree
from jetpy.ordering.quotient_graphs import Matrix, block_orders


def eliminated_by_degree(host: Backend, graph: Graph) -> IntArray:
    """Return the vertices in order of elimination (int32, shape (n,)), dense ones last.

    The others are in a postorder of their elimination tree, which is an order with the same fill.
    """
    rest, members, dense = without_dense_rows(graph)
    order = block_orders(Matrix(host, host, rest), np.zeros(rest.n, np.int32), 1)
    tree = elimination_tree(with_required_width(host, rest), rest, order)
    return np.concatenate((members[order[host.to_host(tree.postorder)]], dense))
