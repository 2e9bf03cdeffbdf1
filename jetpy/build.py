"""Turn what people have (arrays, SciPy matrices, networkx graphs) into a checked `Graph`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from jetpy.errors import GraphError
from jetpy.graph import Graph, IntArray
from jetpy.validate import (
    Naming,
    check_order,
    checked_ids,
    checked_indptr,
    checked_weights,
    find_defect,
    integer_array,
    repaired,
    row_of,
)


def as_graph(data: Any, *, repair: bool = False, name: str = "graph") -> Graph:
    """Make a `Graph` out of `data`, after checking everything about it.

    Parameters
    ----------
    data : Graph, SciPy sparse matrix, tuple of arrays, or networkx.Graph
        - A `Graph` is returned as it is.
        - The entries of a square SciPy sparse matrix or array are edge weights: integers,
          whole floats, or booleans for unit weights. Entries that are stored twice count as
          duplicate edges, stored zeros as zero weights.
        - A tuple is ``(indptr, indices[, edge_weights[, vertex_weights]])`` in compressed
          sparse row form; None stands for unit weights. Contiguous int32 arrays are taken
          over without a copy, so do not write to them afterwards.
        - Edges and nodes of a networkx graph may have an integer attribute ``weight`` (1 where
          it is missing); vertices are numbered in the order of iteration.
    repair : bool
        Mend what can be mended: drop self-loops, merge duplicate edges (adding their weights),
        add missing reverse edges, and give two opposite edges the larger of their weights. A
        graph that needs no repair keeps the order of its adjacency, a repaired one is sorted.
    name : str
        Name of the graph in reports.

    Raises
    ------
    GraphError
        When `data` is of another type or breaks a rule that `repair` does not (or may not)
        mend: ids out of range, weights that are not positive integers or sum to 2**31 or more,
        2**31 directed edges or more. The message names the first offending vertex or edge.

    Examples
    --------
    >>> as_graph(([0, 1, 3, 4], [1, 0, 2, 1]), name="path")
    Graph('path', n=3, m=2)
    """
    if isinstance(data, Graph):
        return data
    if sp.issparse(data):
        return _from_scipy(data, repair, name)
    if isinstance(data, tuple) and 2 <= len(data) <= 4:
        return graph_from_csr(*data, repair=repair, name=name)
    networkx = sys.modules.get("networkx")
    if networkx is not None and isinstance(data, networkx.Graph):
        return _from_networkx(data, repair, name)
    raise GraphError(
        f"cannot make a graph from {type(data).__name__!r}; give a jetpy.Graph, a SciPy sparse "
        "matrix, a tuple (indptr, indices[, edge_weights[, vertex_weights]]) or a networkx.Graph"
    )


def graph_from_csr(
    indptr: npt.ArrayLike,
    indices: npt.ArrayLike,
    edge_weights: npt.ArrayLike | None = None,
    vertex_weights: npt.ArrayLike | None = None,
    *,
    repair: bool = False,
    name: str = "graph",
    naming: Naming | None = None,
) -> Graph:
    """Make a `Graph` of an adjacency in compressed sparse row form; see `as_graph`.

    Parameters
    ----------
    indptr : integers, shape (n + 1,)
    indices : integers, shape (2 m,)
    edge_weights : positive whole numbers, shape (2 m,), default 1
    vertex_weights : positive whole numbers, shape (n,), default 1
    repair, name
        As for `as_graph`.
    naming : Naming
        How error messages name vertices and edges.

    Raises
    ------
    GraphError
        As `as_graph` does.
    """
    naming = naming or Naming()
    neighbours = integer_array(indices, "indices")
    starts = checked_indptr(indptr, len(neighbours))
    n = len(starts) - 1
    neighbours = checked_ids(
        neighbours, n, "indices", lambda i: f"neighbour of {naming.vertex(row_of(starts, i))}"
    )
    weights = weights_or_ones(
        edge_weights,
        len(neighbours),
        "edge weights",
        lambda i: naming.edge(row_of(starts, i), int(neighbours[i])),
    )
    masses = weights_or_ones(vertex_weights, n, "vertex weights", naming.vertex)
    matrix = sp.csr_array((weights, neighbours, starts), shape=(n, n))
    defect = find_defect(matrix, naming)
    if defect is None:
        return Graph(starts, neighbours, weights, masses, name)
    if not repair:
        raise GraphError(defect)
    matrix = repaired(matrix)
    integer_array(matrix.indices, "the repaired adjacency")
    weights = checked_weights(matrix.data, matrix.nnz, "repaired edge weights", str)
    return Graph(matrix.indptr, matrix.indices, weights, masses, name)


def graph_from_pairs(
    n: int,
    sources: npt.ArrayLike,
    targets: npt.ArrayLike,
    edge_weights: npt.ArrayLike | None = None,
    vertex_weights: npt.ArrayLike | None = None,
    *,
    repair: bool = False,
    name: str = "graph",
    naming: Naming | None = None,
) -> Graph:
    """Make a `Graph` of `n` vertices and a list of directed edges in any order.

    Parameters
    ----------
    sources, targets : integers in 0..n - 1, shape (2 m,)
    edge_weights, vertex_weights, repair, name, naming
        As for `graph_from_csr`.

    Raises
    ------
    GraphError
        As `as_graph` does.
    """
    naming = naming or Naming()
    check_order(n)
    u = checked_ids(sources, n, "sources", lambda i: f"source of edge number {i}")
    v = checked_ids(targets, n, "targets", lambda i: f"target of edge number {i}")
    weights = weights_or_ones(
        edge_weights, len(u), "edge weights", lambda i: naming.edge(int(u[i]), int(v[i]))
    )
    matrix = sorted_pairs(n, u, v, weights)
    return graph_from_csr(
        matrix.indptr,
        matrix.indices,
        matrix.data,
        vertex_weights,
        repair=repair,
        name=name,
        naming=naming,
    )


def sorted_pairs(n: int, rows: IntArray, columns: IntArray, data: IntArray) -> Any:
    """Sort entries by row and column, keeping duplicates, in O(n + entries).

    Parameters
    ----------
    n : int
        Number of rows and of columns.
    rows, columns, data : int32, all of the same shape (entries,)

    Returns
    -------
    scipy.sparse.csr_array, shape (n, n)
    """
    pairs = sp.coo_array((data, (rows, columns)), shape=(n, n))
    pairs.has_canonical_format = True  # else the conversion would add up duplicates
    return pairs.tocsr().T.tocsr().T.tocsr()  # transposing sorts, and is stable


def weights_or_ones(
    weights: npt.ArrayLike | None, size: int, what: str, source: Callable[[int], str]
) -> IntArray:
    """Return weights as `checked_weights` does, ones where there are none."""
    if weights is None:
        return np.ones(size, np.int32)
    return checked_weights(weights, size, what, source)


def _from_scipy(matrix: Any, repair: bool, name: str) -> Graph:
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise GraphError(f"an adjacency matrix must be square, not of shape {matrix.shape}")
    if matrix.format == "coo":
        n, u, v = matrix.shape[0], matrix.row, matrix.col
        return graph_from_pairs(n, u, v, matrix.data, repair=repair, name=name)
    if matrix.format in ("csc", "bsr"):
        try:
            matrix.check_format(full_check=True)  # the conversion trusts its indices
        except ValueError as error:
            raise GraphError(f"the SciPy matrix is not valid: {error}") from error
    rows = matrix.tocsr()
    if matrix.format == "bsr":
        rows.eliminate_zeros()  # the padding of its blocks
    return graph_from_csr(rows.indptr, rows.indices, rows.data, repair=repair, name=name)


class _NodeNaming(Naming):
    """Names vertices by the nodes of a networkx graph."""

    def __init__(self, nodes: list[Any]) -> None:
        self.nodes = nodes

    def vertex(self, v: int) -> str:
        """Name of node number `v`."""
        return f"node {self.nodes[v]!r}"

    def edge(self, u: int, v: int) -> str:
        """Name of the edge between nodes number `u` and `v`."""
        return f"edge ({self.nodes[u]!r}, {self.nodes[v]!r})"


def _from_networkx(graph: Any, repair: bool, name: str) -> Graph:
    nodes = list(graph)
    naming = _NodeNaming(nodes)
    index = {node: i for i, node in enumerate(nodes)}
    edges = list(graph.edges(data="weight", default=1))
    u = np.fromiter((index[a] for a, _, _ in edges), np.int32, len(edges))
    v = np.fromiter((index[b] for _, b, _ in edges), np.int32, len(edges))
    weights = _numbers([w for _, _, w in edges], lambda i: naming.edge(int(u[i]), int(v[i])))
    masses = _numbers([w for _, w in graph.nodes(data="weight", default=1)], naming.vertex)
    if not graph.is_directed():
        other = u != v  # a self-loop has one direction only
        u, v = np.concatenate((u, v[other])), np.concatenate((v, u[other]))
        weights = np.concatenate((weights, weights[other]))
    return graph_from_pairs(
        len(nodes), u, v, weights, masses, repair=repair, name=name, naming=naming
    )


def _numbers(values: list[Any], source: Callable[[int], str]) -> npt.NDArray[Any]:
    """Return `values` as an array of numbers; what is no number (None, a text) is refused."""
    for i, value in enumerate(values):
        if not isinstance(value, int | float | np.integer | np.floating):
            raise GraphError(f"{source(i)} has weight {value!r}, which is not a whole number")
    return np.asarray(values, dtype=None if values else np.int32)
