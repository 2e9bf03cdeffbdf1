"""Quality metrics of a partition: cut, balance, communication, connectedness.

All functions take the part of each vertex as integers of shape (n,). They process the graph in
blocks of rows.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from jetpy.errors import GraphError, OptionError
from jetpy.graph.checks import integer
from jetpy.graph.csr import Graph, IntArray
from jetpy.graph.dlpack import on_host
from jetpy.problem.problem import Metric

MAX_COUNTED = 1 << 20
"""Maximum number of possible pairs of parts that are counted; more are sorted."""


def checked_parts(graph: Graph, parts: npt.ArrayLike, k: int | None = None) -> IntArray:
    """Return `parts` as int32, after checking that they partition the graph.

    Raises
    ------
    GraphError
        If `parts` are not n integers in 0..k - 1 (in 0..2**31 - 2 if k is None).
    OptionError
        If k is below 1.
    """
    if k is not None and integer("k", k) < 1:
        raise OptionError(f"k is {k}; k must be at least 1")
    array = on_host(parts)
    if array.shape != (graph.n,):
        raise GraphError(
            f"the part ids have shape {array.shape}; there must be one for each of {graph.n} "
            "vertices"
        )
    if array.dtype.kind not in "iu" and array.size:
        raise GraphError(f"part ids must be integers, not {array.dtype}")
    last = 2**31 - 2 if k is None else k - 1
    wrong = (array < 0) | (array > last)
    if wrong.any():
        v = int(wrong.argmax())
        raise GraphError(f"vertex {v} is in part {array[v]}; parts must be in 0..{last}")
    return np.ascontiguousarray(array, dtype=np.int32)


def edge_cut(graph: Graph, parts: npt.ArrayLike) -> int:
    """Return the total weight of the undirected edges whose ends are in different parts.

    >>> from jetpy.graph.generators import grid
    >>> edge_cut(grid(2, 2), [0, 0, 1, 1])
    2
    """
    directed = sum(
        int(graph.edge_weights[entries].sum(dtype=np.int64))
        for _, entries in cut_entries(graph, checked_parts(graph, parts))
    )
    return directed // 2


def mapped_cut(graph: Graph, parts: npt.ArrayLike, metric: Metric, k: int) -> int:
    """Return the sum over undirected cut edges of weight times the distance between the parts.

    >>> from jetpy.graph.generators import grid
    >>> from jetpy.problem.problem import EDGE_CUT
    >>> mapped_cut(grid(2, 2), [0, 0, 1, 1], EDGE_CUT, 2)
    2
    """
    ids, directed = checked_parts(graph, parts, k), 0
    for u, entries in cut_entries(graph, ids):
        distances = metric.between(ids[u], ids[graph.indices[entries]], k)
        directed += int(np.dot(graph.edge_weights[entries].astype(np.int64), distances))
    return directed // 2


def part_weights(graph: Graph, parts: npt.ArrayLike, k: int) -> npt.NDArray[np.int64]:
    """Return the total vertex weight of each part, int64, shape (k,)."""
    ids = checked_parts(graph, parts, k)
    # as float64, which is exact: the total is below 2**53
    weights: npt.NDArray[np.int64] = np.bincount(ids, graph.vertex_weights, k).astype(np.int64)
    return weights


def communication_volume(graph: Graph, parts: npt.ArrayLike) -> int:
    """Return the sum over all vertices of the number of other parts among their neighbours.

    Each vertex counts as often as `vertex_sizes` of the graph says, or once.

    >>> from jetpy.io.graphs import as_graph
    >>> path = [0, 1, 3, 4], [1, 0, 2, 1]
    >>> communication_volume(as_graph(path), [0, 1, 2])
    4
    >>> communication_volume(as_graph(path, vertex_sizes=[5, 0, 1]), [0, 1, 2])
    6
    """
    ids, sizes = checked_parts(graph, parts), graph.vertex_sizes
    volume = 0
    for u, entries in cut_entries(graph, ids):
        pairs = u.astype(np.int64) << 32 | ids[graph.indices[entries]]
        pairs.sort()
        if sizes is None:
            volume += _distinct_sorted(pairs)
        else:
            sent = pairs[np.diff(pairs, prepend=-1) != 0] >> 32
            volume += int(sizes[sent].sum(dtype=np.int64))
    return volume


def sum_by_pair(
    keys: npt.NDArray[np.int64], weights: npt.NDArray[np.integer], k: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Add up the weights of entries with equal keys, ``part * k + other part``.

    Returns
    -------
    int64, shape (pairs,)
        The distinct keys, ascending.
    int64, shape (pairs,)
        The number of entries of each.
    int64, shape (pairs,)
        Their weight, below 2**53.
    """
    if k * k > MAX_COUNTED:
        values, places = np.unique(keys, return_inverse=True)
    else:
        values, places = np.arange(k * k), keys
    counts = np.bincount(places, minlength=len(values))
    sums = np.bincount(places, weights, len(values))  # float64, which is exact
    present = np.flatnonzero(counts)
    return values[present], counts[present], sums[present].astype(np.int64)


def components_per_part(graph: Graph, parts: npt.ArrayLike, k: int) -> npt.NDArray[np.int64]:
    """Count the connected components of the subgraph of each part, int64, shape (k,).

    >>> from jetpy.graph.generators import grid
    >>> components_per_part(grid(2, 2), [0, 1, 1, 0], 3)
    array([2, 2, 0])
    """
    ids = checked_parts(graph, parts, k)
    labels = label_components(graph, ids)
    part_of = np.empty(int(labels.max(initial=-1)) + 1, np.int32)
    part_of[labels] = ids
    return np.bincount(part_of, minlength=k)


def label_components(graph: Graph, parts: IntArray) -> IntArray:
    """Label the connected components of all parts, that is, of the graph without cut edges.

    Parameters
    ----------
    graph : Graph
    parts : int32, shape (n,)

    Returns
    -------
    int32, shape (n,)
        Component of each vertex, from 0 on.
    """
    from scipy.sparse import csgraph  # which imports scipy.linalg

    neighbours, counts = [], [np.zeros(1, np.int32)]
    for start, stop in graph.row_blocks():
        u = graph.sources(start, stop)
        v = graph.indices[graph.indptr[start] : graph.indptr[stop]]
        inside = np.flatnonzero((u < v) & (parts[u] == parts[v]))
        neighbours.append(v[inside])
        counts.append(np.bincount(u[inside] - start, minlength=stop - start).astype(np.int32))
    indices = np.concatenate([np.zeros(0, np.int32), *neighbours])
    indptr = np.cumsum(np.concatenate(counts), dtype=np.int32)
    uncut = sp.csr_array((np.ones(len(indices), np.int8), indices, indptr), shape=(graph.n,) * 2)
    labels: IntArray = csgraph.connected_components(uncut, directed=False)[1]
    return labels


def isolated_vertices(graph: Graph, parts: npt.ArrayLike) -> int:
    """Count the vertices without a neighbour in the same part.

    >>> from jetpy.graph.generators import grid
    >>> isolated_vertices(grid(2, 2), [0, 0, 0, 1])
    1
    """
    ids = checked_parts(graph, parts)
    count = graph.n
    for start, stop in graph.row_blocks():
        u = graph.sources(start, stop)
        v = graph.indices[graph.indptr[start] : graph.indptr[stop]]
        inside = u[ids[u] == ids[v]]
        count -= _distinct_sorted(inside) if len(inside) else 0
    return count


def cut_entries(graph: Graph, parts: IntArray) -> Iterator[tuple[IntArray, npt.NDArray[np.intp]]]:
    """Yield blocks of cut directed edges: source vertices, ascending, and indices in `indices`."""
    for start, stop in graph.row_blocks():
        first, last = graph.indptr[start], graph.indptr[stop]
        u = graph.sources(start, stop)
        cut = np.flatnonzero(parts[u] != parts[graph.indices[first:last]])
        if len(cut):
            yield u[cut], cut + first


def _distinct_sorted(values: npt.NDArray[np.integer]) -> int:
    """Count the distinct values of a sorted array that is not empty."""
    return int(np.count_nonzero(values[1:] != values[:-1])) + 1
