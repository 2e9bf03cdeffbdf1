"""Conversion of any supported object: networks, matrices, arrays and edge lists."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from jetpy.errors import GraphError
from jetpy.graph.convert.matrices import from_dense, from_scipy
from jetpy.graph.convert.networks import from_igraph, from_networkit, from_networkx, is_from
from jetpy.graph.csr import Graph
from jetpy.graph.dlpack import is_array, on_host, sparse_on_host
from jetpy.graph.raw import Raw

ONE_EDGE = ((0, 1), (1, 0))
"""An array of shape (2, 2) that means the same graph as an edge list and as a matrix."""


def from_array(data: Any, n: int | None) -> Raw:
    """Convert an integer edge list of shape (2, E), or a square dense matrix.

    By default, the number of vertices of an edge list is its largest id plus 1.

    Raises
    ------
    GraphError
        If the array is neither, or could be both.
    """
    array = on_host(data)
    is_list = array.ndim == 2 and array.shape[0] == 2 and array.dtype.kind in "iu"
    if is_list and n is None and array.shape[1] == 2 and not np.array_equal(array, ONE_EDGE):
        raise GraphError(
            "an array of shape (2, 2) is ambiguous: for two edges, also give n=, the number of "
            "vertices; for a matrix, give a SciPy matrix"
        )
    if is_list:
        largest = int(array.max()) if array.size else -1
        return Raw(array[1], sources=array[0], n=largest + 1 if n is None else n)
    if array.ndim == 2 and array.shape[0] == array.shape[1]:
        return from_dense(array)
    remedy = "; give the transpose, array.T" if array.ndim == 2 and array.shape[1] == 2 else ""
    raise GraphError(
        f"the array has shape {array.shape} and type {array.dtype}; it must be an edge list, "
        f"integers of shape (2, E), or a square matrix{remedy}"
    )


def raw_of(
    data: Any,
    weight: str | None = "weight",
    node_weight: str | None = "weight",
    n: int | None = None,
) -> Raw:
    """Return the unchecked arrays of any graph object that `as_graph` accepts.

    Raises
    ------
    GraphError
        If the object is of an unsupported kind.
    """
    if isinstance(data, Graph):
        return Raw(
            data.indices,
            indptr=data.indptr,
            edge_weights=data.edge_weights,
            vertex_weights=(
                data.vertex_weights if data.constraint_weights is None else data.constraint_weights
            ),
            names=data.names,
            locate=data.locate,
            vertex_sizes=data.vertex_sizes,
        )
    if sp.issparse(data):
        return from_scipy(data)
    if isinstance(data, tuple) and 2 <= len(data) <= 4:
        indptr, indices, *weights = data
        return Raw(indices, indptr, None, None, *weights)
    if is_from("networkx", "Graph", data):
        return from_networkx(data, weight, node_weight)
    if is_from("igraph", "Graph", data):
        return from_igraph(data, weight, node_weight)
    if is_from("networkit", "Graph", data):
        return from_networkit(data, weight)
    if hasattr(data, "columns"):
        raise GraphError(
            "jetpy.from_edges(table, source, target) makes a graph from a table of edges"
        )
    matrix = sparse_on_host(data)
    if matrix is not None:
        return from_scipy(matrix)
    if is_array(data):
        return from_array(data, n)
    hint = "for a table, use jetpy.from_edges; for a mesh, jetpy.dual_graph"
    if isinstance(data, list):
        hint = (
            "for the neighbours of each vertex, give (indptr, indices) or use jetpy.pymetis; for "
            "a list of edges, give numpy.array(edges).T"
        )
    raise GraphError(
        f"cannot make a graph from {type(data).__name__!r}; give a jetpy.Graph, the path of a "
        "file, a SciPy sparse matrix, a tuple (indptr, indices[, edge_weights[, "
        "vertex_weights]]), an edge list of shape (2, E), a square matrix, a graph of networkx, "
        f"igraph or NetworKit, or an object with edge_index and num_nodes; {hint}"
    )
