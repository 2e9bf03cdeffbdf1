"""Turn what people have into a checked `Graph`: the one way in."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from jetpy.convert.arrays import from_array
from jetpy.convert.data import has_edge_index, unpacked
from jetpy.convert.device import is_array, sparse_on_host
from jetpy.convert.in_place import graph_on_gpu
from jetpy.convert.matrices import from_scipy
from jetpy.convert.networks import from_igraph, from_networkit, from_networkx, is_from
from jetpy.convert.raw import PLAIN, Raw, Rules
from jetpy.convert.scaling import LOGGER, scaled, weights_of
from jetpy.errors import GraphError
from jetpy.graph import Graph, IntArray
from jetpy.validate import (
    EDGE_WEIGHTS,
    VERTEX_WEIGHTS,
    Naming,
    check_n,
    check_order,
    checked_ids,
    checked_indptr,
    checked_n,
    checked_weights,
    find_defect,
    integer_array,
    merged,
    number_array,
    pattern_of,
    row_of,
    symmetric,
    what_is_repaired,
)


def as_graph(
    data: Any,
    *,
    vertex_weights: npt.ArrayLike | None = None,
    edge_weights: npt.ArrayLike | None = None,
    weight: str | None = "weight",
    node_weight: str | None = "weight",
    n: int | None = None,
    repair: bool = False,
    pattern: bool = False,
    scale: bool = False,
    name: str = "graph",
) -> Graph:
    """Make a `Graph` out of `data`, after checking everything about it.

    Parameters
    ----------
    data : Graph, path, SciPy sparse matrix, array, tuple of arrays, or graph of another package
        - A `Graph` is returned as it is, unless it gets other weights.
        - A path, str or `os.PathLike`, is that of a file, which `read_graph` reads; its name is
          that of the graph.
        - The entries of a square SciPy sparse matrix or array are edge weights: integers,
          whole floats, or booleans for unit weights. Entries that are stored twice count as
          duplicate edges, stored zeros as zero weights.
        - An array of integers of shape (2, E) is a list of directed edges, such as the
          ``edge_index`` of PyTorch Geometric; any other square one is a dense matrix, whose zeros
          are no edges (one of shape (2, 2) is refused where that matters, unless `n` says that it
          is a list).
        - An object with `edge_index` and `num_nodes`, such as ``Data`` of PyTorch Geometric: such a
          list of directed edges, and the number of vertices. If it has `edge_weight`, of shape
          (E,), these are the weights of the edges, unless `weight` is None. `edge_attr` is not
          used; give a column of it as `edge_weights`.
        - Arrays and sparse matrices of torch, CuPy and others that DLPack hands over are fetched to
          the host; so are weights.
        - A tuple is ``(indptr, indices[, edge_weights[, vertex_weights]])`` in compressed
          sparse row form; None stands for unit weights. Contiguous int32 arrays are taken
          over without a copy, so do not write to them afterwards.
        - A graph of networkx, igraph or NetworKit; vertices of the first are numbered in the
          order of iteration. Those of networkx, and the attribute "name" of igraph where no two are
          the same, become `names`.
    vertex_weights : positive whole numbers, shape (n,), optional
        Instead of those that `data` has.
    edge_weights : positive whole numbers, a weight for each directed edge, optional
        Instead of those that `data` has, in the order of its entries.
    weight, node_weight : str or None
        Attributes of networkx and igraph that hold weights, 1 where they are missing; None for
        unit weights, in NetworKit and PyTorch Geometric, too. Nothing but "weight" may be missing
        everywhere.
    n : int, optional
        Number of vertices, 0..2**31 - 2. An edge list, as an array or in a file, does not say how
        many of its last vertices have no edge: by default, there are as many vertices as the
        largest id plus 1. Where `data` says how many there are, `n` must be that number.
    repair : bool
        Mend what can be mended: drop self-loops, whatever they weigh, merge duplicate edges
        (adding their weights), add missing reverse edges, and give two opposite edges the larger of
        their weights. A graph that needs no repair keeps the order of its adjacency, a repaired one
        is sorted. The logger ``jetpy.input`` tells what was done.
    pattern : bool
        Take the places of entries alone, whatever they are: off the diagonal, each is an edge of
        weight 1, in both directions. For matrices whose entries are no counts.
    scale : bool
        Turn positive weights that are no integers, or too large, into integers of nearly the same
        proportions, after any repair; the logger ``jetpy.input`` tells how nearly.
    name : str
        Name of the graph in reports.

    Raises
    ------
    GraphError
        When `data` is of another type or breaks a rule that `repair` does not (or may not)
        mend: ids out of range, weights that are not positive integers below 2**31 or sum to more
        than 2**46, more than 2**32 - 2**21 directed edges. The message names the first offending
        vertex or edge. When `n` is not the number of vertices that `data` has; the message names
        both. Of a file, a `FileFormatError`, as `read_graph` does.
    OptionError
        When `n` is not an integer in 0..2**31 - 2.
    JetpyError
        When a file cannot be read at all.

    Examples
    --------
    >>> as_graph(([0, 1, 3, 4], [1, 0, 2, 1]), name="path")
    Graph('path', n=3, m=2)
    >>> as_graph(np.array([[0, 1], [1, 0]]), n=4)  # vertices 2 and 3 have no edge
    Graph('graph', n=4, m=1)
    """
    n = checked_n(n)
    if isinstance(data, str | os.PathLike):
        from jetpy.io import read_graph  # which makes graphs by this module

        data = read_graph(data, n=n, repair=repair, pattern=pattern, scale=scale)
        pattern = False  # every edge weighs 1 by now
    elif has_edge_index(data):
        data, own_weights, count = unpacked(data, weight)
        edge_weights = own_weights if edge_weights is None else edge_weights
        if n is not None and count is not None:
            check_n(n, count)
        n = count if n is None else n
    if isinstance(data, Graph):
        name = data.name
    graph: Graph | None = None
    if isinstance(data, Graph) and vertex_weights is edge_weights is None and not pattern:
        graph = data
    elif not pattern:
        graph = graph_on_gpu(data, edge_weights, vertex_weights, n, name)
    if graph is None:
        raw = raw_of(data, weight, node_weight, n)
        if vertex_weights is not None:
            raw = replace(raw, vertex_weights=vertex_weights)
        if edge_weights is not None:
            raw = replace(raw, edge_weights=edge_weights)
        graph = graph_of(raw, Rules(repair, pattern, scale), name)
    if n is not None:
        check_n(n, graph.n)
    return graph


def raw_of(
    data: Any,
    weight: str | None = "weight",
    node_weight: str | None = "weight",
    n: int | None = None,
) -> Raw:
    """Return the arrays of a graph of any kind that `as_graph` takes, not checked yet.

    Raises
    ------
    GraphError
        If it is of another kind.
    """
    if isinstance(data, Graph):
        return Raw(
            data.indices,
            indptr=data.indptr,
            edge_weights=data.edge_weights,
            vertex_weights=data.vertex_weights,
            names=data.names,
            locate=data.locate,
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
            "jetpy.from_edges(table, source, target) makes a graph of a table of edges"
        )
    matrix = sparse_on_host(data)
    if matrix is not None:
        return from_scipy(matrix)
    if is_array(data):
        return from_array(data, n)
    raise GraphError(
        f"cannot make a graph from {type(data).__name__!r}; give a jetpy.Graph, the path of a "
        "file, a SciPy sparse matrix, a tuple (indptr, indices[, edge_weights[, vertex_weights]]), "
        "an array of shape (2, E), a square one, a graph of networkx, igraph or NetworKit, or an "
        "object with edge_index and num_nodes; jetpy.from_edges takes tables"
    )


def graph_of(raw: Raw, rules: Rules = PLAIN, name: str = "graph") -> Graph:
    """Make a `Graph` of plain arrays.

    Raises
    ------
    GraphError
        As `as_graph` does.
    """
    weights = raw.edge_weights, raw.vertex_weights
    if raw.indptr is not None:
        graph = graph_from_csr(
            raw.indptr, raw.targets, *weights, rules=rules, name=name, naming=raw.naming
        )
    else:
        assert raw.n is not None
        assert raw.sources is not None
        graph = graph_from_pairs(
            raw.n, raw.sources, raw.targets, *weights, rules=rules, name=name, naming=raw.naming
        )
    if raw.names is None and raw.locate is None:
        return graph
    names = None if raw.names is None else tuple(raw.names)
    return replace(graph, names=names, locate=raw.locate)


def graph_from_csr(
    indptr: npt.ArrayLike,
    indices: npt.ArrayLike,
    edge_weights: npt.ArrayLike | None = None,
    vertex_weights: npt.ArrayLike | None = None,
    *,
    rules: Rules = PLAIN,
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
    rules : Rules
    name
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
    weights = _edge_weights(
        edge_weights,
        rules,
        lambda: np.repeat(np.arange(n, dtype=np.int32), np.diff(starts)) == neighbours,
        len(neighbours),
        lambda i: naming.edge(row_of(starts, i), int(neighbours[i])),
    )
    own = weights_of(vertex_weights, n, VERTEX_WEIGHTS, naming.vertex, scale=rules.scale)
    masses = scaled(own, VERTEX_WEIGHTS)
    matrix = sp.csr_array((weights, neighbours, starts), shape=(n, n))
    if rules.pattern:
        matrix = pattern_of(matrix)
        integer_array(matrix.indices, "the adjacency in both directions")
        return Graph(matrix.indptr, matrix.indices, matrix.data, masses, name)
    defect = find_defect(matrix, naming)
    if defect is None:
        return Graph(starts, neighbours, scaled(weights, EDGE_WEIGHTS), masses, name)
    if not rules.repair:
        raise GraphError(defect)
    once = merged(matrix)
    both = symmetric(once)
    LOGGER.info("jetpy repairs the graph: %s", what_is_repaired(matrix, once, both))
    integer_array(both.indices, "the repaired adjacency")
    if rules.scale:
        weights = scaled(both.data, EDGE_WEIGHTS)
    else:
        weights = checked_weights(
            both.data,
            both.nnz,
            "repaired edge weights",
            lambda i: naming.edge(row_of(both.indptr, i), int(both.indices[i])),
        )
    return Graph(both.indptr, both.indices, weights, masses, name)


def graph_from_pairs(
    n: int,
    sources: npt.ArrayLike,
    targets: npt.ArrayLike,
    edge_weights: npt.ArrayLike | None = None,
    vertex_weights: npt.ArrayLike | None = None,
    *,
    rules: Rules = PLAIN,
    name: str = "graph",
    naming: Naming | None = None,
) -> Graph:
    """Make a `Graph` of `n` vertices and a list of directed edges in any order.

    Parameters
    ----------
    sources, targets : integers in 0..n - 1, shape (2 m,)
    edge_weights, vertex_weights, rules, name, naming
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
    weights = _edge_weights(
        edge_weights,
        rules,
        lambda: u == v,
        len(u),
        lambda i: naming.edge(int(u[i]), int(v[i])),
    )
    matrix = sorted_pairs(n, u, v, weights)
    return graph_from_csr(
        matrix.indptr,
        matrix.indices,
        matrix.data,
        vertex_weights,
        rules=rules,
        name=name,
        naming=naming,
    )


def _edge_weights(
    values: npt.ArrayLike | None,
    rules: Rules,
    find_loops: Callable[[], npt.NDArray[np.bool_]],
    size: int,
    source: Callable[[int], str],
) -> npt.NDArray[Any]:
    """Return checked weights of edges; those of self-loops that will be dropped may be anything."""
    what = EDGE_WEIGHTS
    if rules.pattern:
        values = None
    if values is not None and rules.repair:
        values, loops = number_array(values, size, what, source), find_loops()
        if loops.any():
            values = np.where(loops, np.ones((), values.dtype), values)
    return weights_of(values, size, what, source, scale=rules.scale)


def sorted_pairs(n: int, rows: IntArray, columns: IntArray, data: npt.NDArray[Any]) -> Any:
    """Sort entries by row and column, keeping duplicates, in O(n + entries).

    Parameters
    ----------
    n : int
        Number of rows and of columns.
    rows, columns : int32, shape (entries,)
    data : numbers, shape (entries,)

    Returns
    -------
    scipy.sparse.csr_array, shape (n, n)
    """
    pairs = sp.coo_array((data, (rows, columns)), shape=(n, n))
    pairs.has_canonical_format = True  # else the conversion would add up duplicates
    return pairs.tocsr().T.tocsr().T.tocsr()  # transposing sorts, and is stable
