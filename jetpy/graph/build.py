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
    """Check plain arrays, and make a `Graph` of them.

    Raises
    ------
    GraphError
        Under the conditions of `as_graph`.
    """
    naming = raw.naming or Naming()
    rows = _pairs_by_row if raw.indptr is None else _rows
    starts, neighbours, weights = rows(raw, rules, naming)
    n = len(starts) - 1
    masses, columns = _vertex_weights(raw.vertex_weights, n, rules, naming)
    made = partial(
        Graph,
        vertex_weights=masses,
        name=name,
        names=None if raw.names is None else tuple(raw.names),
        constraint_weights=columns,
        locate=raw.locate,
    )
    return with_sizes(
        _checked(starts, neighbours, weights, made, rules, naming), raw.vertex_sizes, naming
    )


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


Rows = tuple[IntArray, IntArray, npt.NDArray[Any]]
"""Row starts, neighbours and edge weights of an adjacency."""


def _rows(raw: Raw, rules: Rules, naming: Naming) -> Rows:
    """Return an adjacency with valid ids and weights from compressed sparse rows."""
    assert raw.indptr is not None
    neighbours = integer_array(raw.targets, "indices")
    starts = checked_indptr(raw.indptr, len(neighbours))
    n = len(starts) - 1
    neighbours = checked_ids(
        neighbours, n, "indices", lambda i: f"neighbour of {naming.vertex(row_of(starts, i))}"
    )
    weights = _edge_weights(
        raw.edge_weights,
        rules,
        lambda: np.repeat(np.arange(n, dtype=np.int32), np.diff(starts)) == neighbours,
        len(neighbours),
        naming.edge_weights,
        lambda i: naming.edge(row_of(starts, i), int(neighbours[i])),
    )
    return starts, neighbours, weights


def _pairs_by_row(raw: Raw, rules: Rules, naming: Naming) -> Rows:
    """Return an adjacency with valid ids and weights from a list of directed edges."""
    assert raw.n is not None
    assert raw.sources is not None
    check_order(raw.n)
    u = checked_ids(raw.sources, raw.n, "sources", lambda i: f"source of edge {i}")
    v = checked_ids(raw.targets, raw.n, "targets", lambda i: f"target of edge {i}")
    weights = _edge_weights(
        raw.edge_weights,
        rules,
        lambda: u == v,
        len(u),
        naming.edge_weights,
        lambda i: naming.edge(int(u[i]), int(v[i])),
    )
    matrix = sorted_pairs(raw.n, u, v, weights)
    return checked_indptr(matrix.indptr, len(u)), matrix.indices, matrix.data


def _checked(
    starts: IntArray,
    neighbours: IntArray,
    weights: npt.NDArray[Any],
    made: Callable[..., Graph],
    rules: Rules,
    naming: Naming,
) -> Graph:
    """Return the graph of an adjacency, symmetric and without loops and duplicates.

    `made` takes the row starts, neighbours and edge weights of the graph.
    """
    n = len(starts) - 1
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
