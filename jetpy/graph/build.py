"""Construction of validated graphs from plain arrays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from jetpy.errors import GraphError
from jetpy.graph.csr import Graph, IntArray
from jetpy.graph.dlpack import on_host
from jetpy.graph.raw import PLAIN, Raw, Rules
from jetpy.graph.scaling import LOGGER, scaled, weights_of
from jetpy.graph.validate import (
    REPAIRED_WEIGHTS,
    VERTEX_WEIGHTS,
    Naming,
    check_order,
    checked_columns,
    checked_ids,
    checked_indptr,
    checked_sizes,
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


def graph_of(raw: Raw, rules: Rules = PLAIN, name: str = "graph") -> Graph:
    """Make a `Graph` from plain arrays.

    Raises
    ------
    GraphError
        Under the conditions of `as_graph`.
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
    if raw.names is None and raw.locate is None and raw.vertex_sizes is None:
        return graph
    names = None if raw.names is None else tuple(raw.names)
    return with_sizes(replace(graph, names=names, locate=raw.locate), raw.vertex_sizes, raw.naming)


def with_sizes(graph: Graph, sizes: npt.ArrayLike | None, naming: Naming | None = None) -> Graph:
    """Return the graph with these vertex sizes, checked; with None, return it unchanged.

    Raises
    ------
    GraphError
        Under the conditions of `as_graph`.
    """
    if sizes is None:
        return graph
    return replace(graph, vertex_sizes=checked_sizes(sizes, graph.n, naming or Naming()))


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
    """Make a `Graph` from an adjacency in compressed sparse row form; see `as_graph`.

    Parameters
    ----------
    indptr : integers, shape (n + 1,)
    indices : integers, shape (2 m,)
    edge_weights : whole numbers from 0 on, shape (2 m,), default 1
    vertex_weights : whole numbers from 0 on, shape (n,) or (n, c), default 1
    rules : Rules
    name
        As for `as_graph`.
    naming : Naming
        How error messages name vertices and edges.

    Raises
    ------
    GraphError
        Under the conditions of `as_graph`.
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
        naming.edge_weights,
        lambda i: naming.edge(row_of(starts, i), int(neighbours[i])),
    )
    masses, columns = _vertex_weights(vertex_weights, n, rules, naming)
    made = partial(Graph, vertex_weights=masses, name=name, constraint_weights=columns)
    check = None if rules.pattern else rules.are_symmetric
    if check is not None and check(starts, neighbours, weights):
        return made(starts, neighbours, scaled(weights, naming.edge_weights))
    matrix = sp.csr_array((weights, neighbours, starts), shape=(n, n))
    if rules.pattern:
        matrix = pattern_of(matrix, naming, symmetric_only=rules.pattern == "symmetric")
        integer_array(matrix.indices, "the adjacency in both directions")
        return made(matrix.indptr, matrix.indices, matrix.data)
    defect = find_defect(matrix, naming)
    if defect is None:
        return made(starts, neighbours, scaled(weights, naming.edge_weights))
    if not rules.repair:
        raise GraphError(defect)
    once = merged(matrix)
    both = symmetric(once)
    LOGGER.info("jetpy repairs the graph: %s", what_is_repaired(matrix, once, both))
    integer_array(both.indices, "the repaired adjacency")
    if rules.scale:
        weights = scaled(both.data, naming.edge_weights)
    else:
        weights = checked_weights(
            both.data,
            both.nnz,
            REPAIRED_WEIGHTS,
            lambda i: naming.edge(row_of(both.indptr, i), int(both.indices[i])),
        )
    return made(both.indptr, both.indices, weights)


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
    """Make a `Graph` from `n` vertices and a list of directed edges in any order.

    Parameters
    ----------
    sources, targets : integers in 0..n - 1, shape (2 m,)
    edge_weights, vertex_weights, rules, naming
        As for `graph_from_csr`.
    name
        As for `as_graph`.

    Raises
    ------
    GraphError
        Under the conditions of `as_graph`.
    """
    naming = naming or Naming()
    check_order(n)
    u = checked_ids(sources, n, "sources", lambda i: f"source of edge {i}")
    v = checked_ids(targets, n, "targets", lambda i: f"target of edge {i}")
    weights = _edge_weights(
        edge_weights,
        rules,
        lambda: u == v,
        len(u),
        naming.edge_weights,
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


def _vertex_weights(
    values: npt.ArrayLike | None, n: int, rules: Rules, naming: Naming
) -> tuple[IntArray, IntArray | None]:
    """Return the weights of n vertices, (n,), and all columns of weights, (n, c), or None."""

    def single(weights: npt.ArrayLike | None) -> IntArray:
        own = weights_of(weights, n, VERTEX_WEIGHTS, naming.vertex, scale=rules.scale)
        return scaled(own, VERTEX_WEIGHTS)

    values = on_host(values) if isinstance(values, list | tuple) else values
    if np.ndim(values) < 2:  # type: ignore[arg-type]
        return single(values), None
    table = on_host(values)
    if table.ndim == 2 and table.shape[1] == 1:
        weights = single(table[:, 0])
        return weights, weights[:, None]
    return np.ones(n, np.int32), checked_columns(table, n, naming)


def _edge_weights(
    values: npt.ArrayLike | None,
    rules: Rules,
    find_loops: Callable[[], npt.NDArray[np.bool_]],
    size: int,
    what: str,
    source: Callable[[int], str],
) -> npt.NDArray[Any]:
    """Return checked edge weights; with `rules.repair`, self-loops may have any weight."""
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
