"""The vertices of all separators of a dissection, after the elimination of its leaves."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from jetpy.graph.csr import Graph, IntArray
from jetpy.graph.ranges import ranges
from jetpy.ordering.block_elimination import Costs
from jetpy.ordering.elimination import elimination_tree, totals_of
from jetpy.ordering.quotient_graphs import Matrix, eliminated_blocks, sizes_of
from jetpy.result.separator_tree import SeparatorTree


@dataclass(frozen=True, eq=False)
class Multisector:
    """The quotient graph of a matrix after the elimination of all leaves of a separator tree.

    Attributes
    ----------
    graph : Graph
        An element of weight 0 for each connected set of vertices of a leaf, adjacent to all that
        the set was adjacent to. Then the vertices of the separators.
    node_of : int32, shape (graph.n,)
        Node of the tree of each of them.
    paths : float64, shape (elements,)
        Operations on the most expensive path in the elimination tree up to each element.
    vertices : int32, shape (graph.n - elements,)
        The vertices of the separators in ascending order.
    """

    graph: Graph
    node_of: IntArray
    paths: Costs
    vertices: IntArray


def eliminate_leaves(
    graph: Graph,
    order: IntArray,
    node_of: IntArray,
    is_leaf: npt.NDArray[np.bool_],
    roots: IntArray,
    paths: Costs,
) -> Multisector:
    """Return the multisector of a dissection.

    Parameters
    ----------
    graph : Graph
    order : int32, shape (n,)
        Vertex of each column.
    node_of : int32, shape (n,)
        Node of the separator tree of each vertex.
    is_leaf : bool, shape (n,)
        Whether the node of each column is a leaf.
    roots : int32, shape (n,)
        Highest ancestor of each column in the same node.
    paths : float64, shape (n,)
        Operations on the most expensive path in the elimination tree up to each column.
    """
    is_root = is_leaf & (roots == np.arange(graph.n, dtype=np.int32))
    element_of_root = np.cumsum(is_root) - 1
    elements = int(is_root.sum())
    vertices = np.sort(order[~is_leaf])
    ids = np.empty(graph.n, np.int64)
    ids[order] = element_of_root[roots]
    ids[vertices] = elements + np.arange(len(vertices))
    return Multisector(
        _quotient(graph, vertices, ids, elements),
        np.concatenate((node_of[order[is_root]], node_of[vertices])),
        paths[is_root],
        vertices,
    )


def _quotient(graph: Graph, vertices: IntArray, ids: npt.NDArray[np.int64], elements: int) -> Graph:
    """Return the graph of the elements and `vertices`; `ids` has the id there of each vertex."""
    firsts = graph.indptr[vertices].astype(np.int64)
    degrees = graph.indptr[vertices + 1] - firsts
    indptr = np.concatenate(([0], np.cumsum(degrees)))
    indices = ids[graph.indices[ranges(firsts, degrees)]]
    size = elements + len(vertices)
    rows = csr_array((np.ones(len(indices), bool), indices, indptr), shape=(len(vertices), size))
    rows.sum_duplicates()
    columns = rows[:, :elements].tocsc()
    entries = columns.nnz + rows.nnz
    weights = np.zeros(size, np.int32)
    weights[elements:] = graph.vertex_weights[vertices]
    return Graph(
        np.concatenate((columns.indptr, columns.nnz + rows.indptr[1:])).astype(graph.indptr.dtype),
        np.concatenate((columns.indices + elements, rows.indices)).astype(np.int32),
        np.ones(entries, np.int32),
        weights,
    )


def with_last(matrix: Matrix, order: IntArray, is_last: npt.NDArray[np.bool_]) -> IntArray:
    """Append the last vertices of a graph to the order of the others (int32), by minimum degree.

    `is_last` (bool, shape (n,)) selects them. Their degrees are those after the elimination of all
    others.
    """
    if not is_last.any():
        return order
    host, graph, count = matrix.host, matrix.graph, len(order)
    order = np.concatenate((order, np.flatnonzero(is_last).astype(np.int32)))
    starts = np.array([0, count, graph.n], np.int32)
    tree = SeparatorTree(np.array([1, -1], np.int32), starts)
    elimination = elimination_tree(host, matrix.on_host, order)
    totals = totals_of(host, matrix.on_host, elimination, tree)
    multisector = eliminate_leaves(
        graph,
        order,
        is_last.astype(np.int32),
        np.arange(graph.n) < count,
        host.to_host(totals.roots),
        host.to_host(elimination.paths),
    )
    quotient = replace(matrix, graph=multisector.graph)
    blocks, elements = np.zeros(multisector.graph.n, np.int32), multisector.paths
    found = eliminated_blocks(quotient, blocks, sizes_of(blocks, 1), elements)
    return np.concatenate((order[:count], multisector.vertices[found.order - len(elements)]))
