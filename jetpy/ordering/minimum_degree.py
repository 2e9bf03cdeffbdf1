"""Minimum degree orderings, on one CPU thread."""

from __future__ import annotations

from time import perf_counter
from typing import Any

import numpy as np

from jetpy.device.backends import CPU, lease
from jetpy.device.device_graph import with_required_width
from jetpy.engines.base import Backend
from jetpy.graph.csr import Graph
from jetpy.ordering.dense_rows import without_dense_rows
from jetpy.ordering.ordering import Ordering
from jetpy.ordering.quotient_graphs import Matrix, block_orders
from jetpy.ordering.symbolic import Permutation, analysed, elimination_tree, pattern_graph


def minimum_degree(matrix: Any, *, n: int | None = None, symmetrize: bool = False) -> Ordering:
    """Order a sparse symmetric matrix by approximate minimum degree.

    Each step eliminates a row that is then adjacent to few others (Amestoy, Davis, Duff, SIAM
    Journal on Matrix Analysis and Applications 17, 1996). Dense rows, which have more than 10
    sqrt(n) entries, come last. All others are in a postorder of the elimination tree, so that
    columns with similar patterns are neighbours. The order depends on the matrix alone.

    Parameters
    ----------
    matrix, n, symmetrize
        As for `symbolic`.

    Returns
    -------
    Ordering

    Raises
    ------
    GraphError
        As `symbolic` does.

    Examples
    --------
    >>> import jetpy
    >>> order = jetpy.minimum_degree(jetpy.generators.grid(30, 30))
    >>> order.fill < jetpy.symbolic(jetpy.generators.grid(30, 30)).fill / 2
    True
    """
    graph = pattern_graph(matrix, n, symmetrize=symmetrize)
    with lease(CPU, 1) as host, host.using():
        start = perf_counter()
        order = eliminated_by_degree(host, graph)
        seconds = perf_counter() - start
        structure = analysed(with_required_width(host, graph), graph, order)
    return Ordering(order, structure, "minimum_degree", seconds)


def eliminated_by_degree(host: Backend, graph: Graph) -> Permutation:
    """Return the vertices in order of elimination (int32, shape (n,)), dense ones last.

    The others are in a postorder of their elimination tree, which is an order with the same fill.
    """
    rest, members, dense = without_dense_rows(graph)
    order = block_orders(Matrix(host, host, rest), np.zeros(rest.n, np.int32), 1)
    tree = elimination_tree(with_required_width(host, rest), rest, order)
    return np.concatenate((members[order[host.to_host(tree.postorder)]], dense))
