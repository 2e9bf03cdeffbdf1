"""What a partition is worth: cut, balance, communication, connectedness.

All functions take the part of each vertex as integers of shape (n,), and work on one block of
the graph at a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from jetpy.build import as_graph
from jetpy.checks import integer
from jetpy.convert.device import on_host
from jetpy.errors import GraphError, OptionError
from jetpy.graph import Graph, IntArray
from jetpy.lazy import cached_property
from jetpy.problem import Metric

if TYPE_CHECKING:
    from jetpy.mapping.machine import Levels, Machine


@runtime_checkable
class Parted(Protocol):
    """A partition as `jetpy.partition` returns it."""

    @property
    def parts(self) -> IntArray:
        """Part of each vertex."""

    @property
    def k(self) -> int:
        """Number of parts."""


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation:
    """All metrics of one partition.

    Attributes
    ----------
    k : int
        Number of parts.
    cut : int
        As `edge_cut`.
    part_weights : int64, shape (k,)
        As `part_weights`.
    imbalance : float
        As `imbalance`.
    part_volumes : int64, shape (k,)
        What each part sends: the sum over its vertices of how many other parts they have
        neighbours in.
    part_boundary_vertices : int64, shape (k,)
        How many vertices of each part have a neighbour in another one.
    part_isolated_vertices : int64, shape (k,)
        How many vertices of each part have no neighbour in it.
    cut_matrix : scipy.sparse.csr_array of int64, shape (k, k)
        Total weight of the undirected edges between each two parts; symmetric, without a diagonal.
    components : int64, shape (k,)
        As `components_per_part`.
    empty_parts : int
        Number of parts without a vertex.
    disconnected_parts : int
        Number of parts whose induced subgraph has more than one component.
    machine : Machine or None
        That of which parts are the PEs, if one was given.
    cost : int or None
        Given a machine: the sum over ordered pairs of tasks of communication times distance.
    cost_by_level : int64, shape (levels,), or None
        Given a machine: the share of each level of its hierarchy in the cost, lowest first.
    """

    k: int
    cut: int
    part_weights: npt.NDArray[np.int64]
    imbalance: float
    part_volumes: npt.NDArray[np.int64]
    part_boundary_vertices: npt.NDArray[np.int64]
    part_isolated_vertices: npt.NDArray[np.int64]
    cut_matrix: sp.csr_array
    components: npt.NDArray[np.int64]
    empty_parts: int
    disconnected_parts: int
    machine: Machine | None = None
    cost: int | None = None
    cost_by_level: npt.NDArray[np.int64] | None = None

    @property
    def communication_volume(self) -> int:
        """As `communication_volume`: what all parts send together."""
        return int(self.part_volumes.sum())

    @property
    def largest_volume(self) -> int:
        """What the part sends that sends most."""
        return int(self.part_volumes.max())

    @property
    def boundary_vertices(self) -> int:
        """Number of vertices that have a neighbour in another part."""
        return int(self.part_boundary_vertices.sum())

    @property
    def isolated_vertices(self) -> int:
        """As `isolated_vertices`."""
        return int(self.part_isolated_vertices.sum())

    @cached_property
    def part_neighbours(self) -> npt.NDArray[np.int64]:
        """How many other parts each part has edges to, int64, shape (k,)."""
        counts: npt.NDArray[np.int64] = np.diff(self.cut_matrix.indptr).astype(np.int64)
        return counts

    def __repr__(self) -> str:
        cost = "" if self.cost is None else f"cost={self.cost}, "
        return (
            f"Evaluation(k={self.k}, {cost}cut={self.cut}, imbalance={self.imbalance:.4f}, "
            f"communication_volume={self.communication_volume}, "
            f"disconnected_parts={self.disconnected_parts})"
        )

    def _repr_html_(self) -> str:
        from jetpy.notebook import evaluation_html

        return evaluation_html(self)


def checked_parts(graph: Graph, parts: npt.ArrayLike, k: int | None = None) -> IntArray:
    """Return `parts` as an int32 array, after checking that they partition the graph.

    Raises
    ------
    GraphError
        When `parts` are not n integers in 0..k - 1 (in 0..2**31 - 2 when k is None).
    OptionError
        When k is below 1.
    """
    if k is not None and integer("k", k) < 1:
        raise OptionError(f"k must be at least 1, not {k}")
    array = on_host(parts)
    if array.shape != (graph.n,):
        raise GraphError(f"{graph.n} part ids are needed, not an array of shape {array.shape}")
    if array.dtype.kind not in "iu" and array.size:
        raise GraphError(f"part ids must be integers, not {array.dtype}")
    last = 2**31 - 2 if k is None else k - 1
    wrong = (array < 0) | (array > last)
    if wrong.any():
        v = int(wrong.argmax())
        raise GraphError(f"vertex {v} is in part {array[v]}; parts are numbered 0..{last}")
    return np.ascontiguousarray(array, dtype=np.int32)


def edge_cut(graph: Graph, parts: npt.ArrayLike) -> int:
    """Total weight of the undirected edges whose ends are in different parts.

    >>> from jetpy.generators import grid
    >>> edge_cut(grid(2, 2), [0, 0, 1, 1])
    2
    """
    directed = sum(
        int(graph.edge_weights[entries].sum(dtype=np.int64))
        for _, entries in cut_entries(graph, checked_parts(graph, parts))
    )
    return directed // 2


def mapped_cut(graph: Graph, parts: npt.ArrayLike, metric: Metric, k: int) -> int:
    """Total weight of the undirected cut edges, each times the distance of its parts.

    >>> from jetpy.generators import grid
    >>> from jetpy.problem import EDGE_CUT
    >>> mapped_cut(grid(2, 2), [0, 0, 1, 1], EDGE_CUT, 2)
    2
    """
    ids, directed = checked_parts(graph, parts, k), 0
    for u, entries in cut_entries(graph, ids):
        distances = metric.between(ids[u], ids[graph.indices[entries]], k)
        directed += int(np.dot(graph.edge_weights[entries].astype(np.int64), distances))
    return directed // 2


def part_weights(graph: Graph, parts: npt.ArrayLike, k: int) -> npt.NDArray[np.int64]:
    """Total vertex weight of each part, int64, shape (k,)."""
    ids = checked_parts(graph, parts, k)
    # as float64, which is exact: the total is below 2**53
    weights: npt.NDArray[np.int64] = np.bincount(ids, graph.vertex_weights, k).astype(np.int64)
    return weights


def imbalance(graph: Graph, parts: npt.ArrayLike, k: int) -> float:
    """Return max(part weights) / ceil(W / k) - 1, with W the total vertex weight; 0 if W is 0."""
    heaviest = int(part_weights(graph, parts, k).max())
    share = -(-graph.total_vertex_weight // k)
    return heaviest / share - 1 if share else 0.0


def communication_volume(graph: Graph, parts: npt.ArrayLike) -> int:
    """Sum over the vertices of how many other parts they have neighbours in."""
    ids = checked_parts(graph, parts)
    volume = 0
    for u, entries in cut_entries(graph, ids):
        pairs = u.astype(np.int64) << 32 | ids[graph.indices[entries]]
        pairs.sort()
        volume += _distinct_sorted(pairs)
    return volume


def components_per_part(graph: Graph, parts: npt.ArrayLike, k: int) -> npt.NDArray[np.int64]:
    """Count the connected components of the subgraph of each part, int64, shape (k,).

    >>> from jetpy.generators import grid
    >>> components_per_part(grid(2, 2), [0, 1, 1, 0], 3)
    array([2, 2, 0])
    """
    ids = checked_parts(graph, parts, k)
    first = np.unique(label_pieces(graph, ids), return_index=True)[1]
    return np.bincount(ids[first], minlength=k)


def label_pieces(graph: Graph, parts: IntArray) -> IntArray:
    """Number the pieces of all parts: the connected components of the graph without cut edges.

    Parameters
    ----------
    graph : Graph
    parts : int32, shape (n,)

    Returns
    -------
    int32, shape (n,)
        The piece of each vertex, from 0 on.
    """
    from scipy.sparse import csgraph  # which imports scipy.linalg

    neighbours, counts = [], [np.zeros(1, np.int32)]
    for start, stop in graph.row_blocks():
        u = graph.sources(start, stop)
        v = graph.indices[graph.indptr[start] : graph.indptr[stop]]
        inside = (u < v) & (parts[u] == parts[v])
        neighbours.append(v[inside])
        counts.append(np.bincount(u[inside] - start, minlength=stop - start).astype(np.int32))
    indices = np.concatenate([np.zeros(0, np.int32), *neighbours])
    indptr = np.cumsum(np.concatenate(counts), dtype=np.int32)
    uncut = sp.csr_array((np.ones(len(indices), np.int8), indices, indptr), shape=(graph.n,) * 2)
    labels: IntArray = csgraph.connected_components(uncut, directed=False)[1]
    return labels


def isolated_vertices(graph: Graph, parts: npt.ArrayLike) -> int:
    """Count the vertices without a neighbour in their own part.

    >>> from jetpy.generators import grid
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


def evaluate(
    graph: Any,
    parts: npt.ArrayLike | Parted,
    k: int | None = None,
    *,
    hierarchy: Levels | None = None,
    distances: Levels | npt.ArrayLike | None = None,
    vertex_weights: npt.ArrayLike | None = None,
    edge_weights: npt.ArrayLike | None = None,
    weight: str | None = "weight",
    node_weight: str | None = "weight",
    n: int | None = None,
    repair: bool = False,
    pattern: bool = False,
    scale: bool = False,
) -> Evaluation:
    """Compute all metrics of a partition.

    Parameters
    ----------
    graph : Graph, path of a file, SciPy sparse matrix, tuple of arrays, or networkx.Graph
        As for `jetpy.partition`.
    parts : integers in 0..k - 1, shape (n,), or Partition
    k : int, optional
        Number of parts; by default that of a `Partition`, the largest part id plus 1, at least 1,
        or that of the PEs.
    hierarchy, distances : optional
        A machine, as for `jetpy.map_processes`, of which parts are the PEs.
    vertex_weights, edge_weights, weight, node_weight, n, repair, pattern, scale
        As for `as_graph`.

    Raises
    ------
    GraphError, OptionError
        As `as_graph` and `checked_parts` do; OptionError also where the machine has another
        number of PEs than `k`, or is none.

    Examples
    --------
    >>> from jetpy.generators import grid
    >>> found = evaluate(grid(2, 2), [0, 0, 1, 2])
    >>> found.cut, found.part_volumes, found.part_neighbours
    (3, array([2, 2, 2]), array([2, 2, 2]))
    >>> found.cut_matrix.toarray()
    array([[0, 1, 1],
           [1, 0, 1],
           [1, 1, 0]])
    >>> found = evaluate(grid(2, 2), [0, 1, 2, 3], hierarchy="2:2", distances="1:10")
    >>> found.cut, found.cost, found.cost_by_level
    (4, 44, array([ 4, 40]))
    """
    from jetpy.communication import communication
    from jetpy.mapping.cost import communication_cost, cost_by_level
    from jetpy.mapping.machine import described

    if isinstance(parts, Parted):
        k = parts.k if k is None else k
        parts = parts.parts
    target = described(hierarchy, distances, k)
    k = k if target is None else target.k
    graph = as_graph(
        graph,
        vertex_weights=vertex_weights,
        edge_weights=edge_weights,
        weight=weight,
        node_weight=node_weight,
        n=n,
        repair=repair,
        pattern=pattern,
        scale=scale,
    )
    ids = checked_parts(graph, parts, k)
    if k is None:
        k = int(ids.max(initial=0)) + 1
    components = components_per_part(graph, ids, k)
    measured = communication(graph, ids, k)
    return Evaluation(
        k=k,
        cut=int(measured.cut_matrix.sum()) // 2,
        part_weights=part_weights(graph, ids, k),
        imbalance=imbalance(graph, ids, k),
        part_volumes=measured.volumes,
        part_boundary_vertices=measured.boundary,
        part_isolated_vertices=measured.isolated,
        cut_matrix=measured.cut_matrix,
        components=components,
        empty_parts=int((components == 0).sum()),
        disconnected_parts=int((components > 1).sum()),
        machine=target,
        cost=None if target is None else communication_cost(graph, ids, target),
        cost_by_level=None if target is None else cost_by_level(graph, ids, target),
    )


def cut_entries(graph: Graph, parts: IntArray) -> Iterator[tuple[IntArray, npt.NDArray[np.intp]]]:
    """Blocks of cut directed edges: source vertices, ascending, and positions in `indices`."""
    for start, stop in graph.row_blocks():
        first, last = graph.indptr[start], graph.indptr[stop]
        u = graph.sources(start, stop)
        cut = np.flatnonzero(parts[u] != parts[graph.indices[first:last]])
        if len(cut):
            yield u[cut], cut + first


def _distinct_sorted(values: npt.NDArray[np.integer]) -> int:
    """Count the different values of a sorted array that is not empty."""
    return int(np.count_nonzero(values[1:] != values[:-1])) + 1
