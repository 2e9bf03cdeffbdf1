"""Minimum degree orderings, on one CPU thread."""

from __future__ import annotations

import numpy as np

from jetpy.engines.base import Backend
from jetpy.graph.csr import Graph, IntArray
from jetpy.ordering.compression import Mask, without_merging
from jetpy.ordering.elimination import elimination_tree
from jetpy.ordering.multisector import with_last
from jetpy.ordering.quotient_graphs import Matrix, block_orders
from jetpy.result.separator_tree import SeparatorTree


def eliminated_by_degree(
    host: Backend, graph: Graph, is_last: Mask
) -> tuple[IntArray, SeparatorTree]:
    """Return the vertices in order of elimination (int32, shape (n,)), and a tree of one node.

    Dense vertices come after others, and those that `is_last` (bool, shape (n,)) selects after all.
    The rest is in a postorder of its elimination tree, which is an order with the same fill.
    """
    plain = without_merging(graph, is_last)
    rest, count = plain.graph, plain.graph.n - int(plain.is_last.sum())
    matrix = Matrix(host, host, rest)
    order = block_orders(matrix, np.where(plain.is_last, -1, 0).astype(np.int32), 1).order
    order = with_last(matrix, order, plain.is_last)
    tree = elimination_tree(matrix.host, matrix.on_host, order)
    places = host.to_host(tree.postorder)
    order = order[np.concatenate((places[places < count], np.arange(count, rest.n)))]
    nodes = SeparatorTree(np.full(1, -1, np.int32), np.array([0, graph.n], np.int32))
    return plain.expand(order), nodes
