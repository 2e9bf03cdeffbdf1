"""Graphs whose arrays are on a back end, for the stages of the multilevel method."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from jetpy.device.divisor import common_divisor_on, divided_by
from jetpy.device.halo import WHOLE
from jetpy.device.long_rows import LongRows, find_long_rows
from jetpy.engines.base import Array, Backend
from jetpy.graph.csr import Graph
from jetpy.graph.on_gpu import GraphOnGpu
from jetpy.kernel_language import Width
from jetpy.workloads.common.values import fill, number


@dataclass(frozen=True, eq=False)
class Adjacency:
    """CSR arrays of a graph under construction: shapes (n + 1,), (2 m,), (2 m,).

    Neighbours are int32; offsets and weights have the back end's `sum_type`.
    """

    indptr: Array
    indices: Array
    edge_weights: Array


@dataclass(frozen=True, eq=False)
class DeviceGraph:
    """CSR arrays of one level, shapes (n + 1,), (2 m,), (2 m,), (n,), and its long rows.

    Neighbours are int32; offsets and weights have the back end's `sum_type`. `edge_weight` is the
    sum of `edge_weights`, each undirected edge counted twice.
    """

    indptr: Array
    indices: Array
    edge_weights: Array
    vertex_weights: Array
    edge_weight: int
    long_rows: LongRows
    halo = WHOLE
    first_global_id = 0

    @property
    def n(self) -> int:
        """Number of vertices."""
        return len(self.vertex_weights)

    @property
    def global_n(self) -> int:
        """Number of vertices of the whole graph; this graph may be a piece of it."""
        return self.n

    @property
    def global_nnz(self) -> int:
        """Number of directed edges of the whole graph."""
        return self.nnz

    @property
    def global_size(self) -> int:
        """Number of vertices plus directed edges of the whole graph."""
        return self.global_n + self.global_nnz

    @property
    def n_with_ghosts(self) -> int:
        """Number of vertices and ghosts: the length of arrays with one entry for each."""
        return self.n

    @property
    def n_owned(self) -> int:
        """Number of vertices that are not ghosts."""
        return self.n

    @property
    def higher_ghosts(self) -> int:
        """Index of the first ghost whose global id is above those of owned vertices."""
        return self.n

    @property
    def ghost_ids(self) -> Array:
        """Global ids of ghosts, of the back end's `sum_type`; unused if the graph is whole."""
        return self.indptr

    @property
    def ghost_degrees(self) -> Array:
        """Degrees of ghosts in the whole graph; unused if the graph is whole."""
        return self.indptr

    @property
    def all_rows(self) -> LongRows:
        """The long rows, those of ghosts included."""
        return self.long_rows

    @property
    def is_weighted(self) -> bool:
        """Whether the edges of the whole graph have another average weight than 1."""
        return self.edge_weight != self.global_nnz

    @property
    def nnz(self) -> int:
        """Number of directed edges."""
        return len(self.indices)

    @property
    def size(self) -> int:
        """Number of vertices plus directed edges."""
        return self.n + self.nnz

    def without_edges(self, backend: Backend) -> DeviceGraph:
        """Return the graph without its arrays of edges, which frees them."""
        nothing, no_weights = backend.empty(0), backend.empty(0, backend.sum_type)
        return Vertices(
            no_weights,
            nothing,
            no_weights,
            self.vertex_weights,
            self.edge_weight,
            self.long_rows,
            number_of_edges=self.nnz,
        )


@dataclass(frozen=True, eq=False)
class Vertices(DeviceGraph):
    """A level whose edges are not needed any more, only the numbers of vertices and edges."""

    number_of_edges: int

    @property
    def nnz(self) -> int:
        """Number of directed edges."""
        return self.number_of_edges


def with_required_width(backend: Backend, graph: Graph) -> Backend:
    """Return the back end for a graph: `backend`, or its variant with wide kernels.

    Raises
    ------
    BackendError
        If the graph needs wide kernels and the back end has none.
    """
    return backend.with_width(Width.WIDE) if graph.is_large else backend


def upload(backend: Backend, graph: Graph) -> DeviceGraph:
    """Copy a graph to a back end; arrays of weights 1 are filled there instead of copied.

    Arrays that are already on the back end's GPU are used in place.
    """
    on_gpu = graph.on_gpu if isinstance(graph, GraphOnGpu) else None
    if on_gpu is not None and on_gpu.number == backend.gpu and not backend.is_wide:
        rows = on_gpu.indptr, on_gpu.indices, on_gpu.edge_weights, on_gpu.vertex_weights
        long_rows = find_long_rows(backend, on_gpu.indptr, len(on_gpu.indices))
        return DeviceGraph(*rows, on_gpu.edge_weight, long_rows)

    kind = backend.sum_type

    def weights(values: npt.NDArray[np.int32], are_units: Callable[[], bool]) -> Array:
        if backend.copies and are_units():
            return ones(backend, len(values), kind)
        return backend.from_host(values.astype(kind, copy=False))

    indptr = backend.from_host(graph.indptr.astype(kind, copy=False))
    return DeviceGraph(
        indptr,
        backend.from_host(graph.indices),
        weights(graph.edge_weights, lambda: graph.has_unit_edges),
        weights(graph.vertex_weights, lambda: graph.has_unit_vertices),
        2 * graph.total_edge_weight,
        find_long_rows(backend, indptr, len(graph.indices)),
    )


def ones(backend: Backend, count: int, dtype: Any = np.int32) -> Array:
    """Return weights that are all 1, shape (count,).

    A GPU runs jetpy's own kernel, because CuPy would compile one for seconds on a new machine.
    """
    if not backend.is_asynchronous or dtype != np.int32:
        return backend.full(count, 1, dtype)
    weights = backend.empty(count)
    backend.parallel_for(count, fill, values=weights, value=1)
    return weights


def divide_weights(backend: Backend, graph: DeviceGraph) -> tuple[DeviceGraph, int]:
    """Divide the vertex weights by their greatest common divisor; return the graph and divisor.

    If all weights are 0, they become 1 instead, and the divisor is 0 (`in_units`).
    """
    unit = common_divisor_on(backend, graph.vertex_weights) if graph.n else 1
    return replace(graph, vertex_weights=divided_by(backend, graph.vertex_weights, unit)), unit


def download(backend: Backend, graph: DeviceGraph) -> Graph:
    """Copy a graph from a back end to the host."""
    return Graph(
        backend.to_host(graph.indptr),
        backend.to_host(graph.indices),
        backend.to_host(graph.edge_weights),
        backend.to_host(graph.vertex_weights),
    )


def all_vertices(backend: Backend, n: int) -> Array:
    """Return the n vertices of a graph (int32, shape (n,)), in ascending order."""
    vertices = backend.empty(n)
    backend.parallel_for(n, number, values=vertices)
    return vertices


def carry(array: Array, source: Backend, target: Backend) -> Array:
    """Copy an array from one back end to another; return it unchanged if they are the same."""
    if source is target:
        return array
    out = None if target.copies else target.empty(len(array), array.dtype)
    return target.from_host(source.to_host(array, out))


def carry_graph(graph: DeviceGraph, source: Backend, target: Backend) -> DeviceGraph:
    """Copy a graph from one back end to another; return it unchanged if they are the same.

    Edge weights of 1 are filled there instead of copied.
    """
    if source is target:
        return graph
    indptr, indices, vertex_weights = (
        carry(array, source, target)
        for array in (graph.indptr, graph.indices, graph.vertex_weights)
    )
    if graph.is_weighted or not graph.edge_weights.all():
        edge_weights = carry(graph.edge_weights, source, target)
    else:
        edge_weights = ones(target, graph.nnz, target.sum_type)
    long_rows = find_long_rows(target, indptr, graph.nnz)
    return DeviceGraph(indptr, indices, edge_weights, vertex_weights, graph.edge_weight, long_rows)
