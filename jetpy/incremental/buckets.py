"""The bucket list on a back end: a graph with insertion and deletion (iG-kway, V-A, V-B).

`jetpy.workloads.incremental.buckets` describes how rows and modifiers deviate from the paper.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from jetpy.device.device_graph import Adjacency, DeviceGraph
from jetpy.device.long_rows import find_long_rows
from jetpy.engines.base import Array, Backend
from jetpy.errors import GraphError
from jetpy.graph.csr import INT32_MAX, Graph, IntArray
from jetpy.incremental.column import Column, HostColumn, row_offsets, upload_together
from jetpy.incremental.edits import Edits
from jetpy.workloads.common.groups import NO_PART
from jetpy.workloads.incremental import buckets as kernels
from jetpy.workloads.incremental.buckets import (
    BUCKET_SLOTS,
    NO_NUMBER,
    NO_PLACE,
    WARP,
    EdgeModifiers,
    SoughtEdges,
)
from jetpy.workloads.incremental.buckets import BucketList as DeviceBuckets

SPARE_SHARE = 8
"""Number of buckets in use per spare bucket in a new layout."""
ROW_GROWTH = 1.25
"""Growth factor of a row that no longer fits its buckets."""


class BucketList:
    """A graph in buckets.

    Attributes
    ----------
    vertex_weights, parts : Column
        Weight and part of each vertex; 0 and `NO_PART` if it was deleted.
    degrees : Column
        Number of neighbours of each vertex.
    lanes : int
        Number of launch indices per row.
    n, m : int
        Numbers of vertices and of undirected edges.
    vertex_weight, edge_weight : int
        Total weights of vertices and of undirected edges.
    """

    def __init__(self, backend: Backend, graph: Graph, parts: IntArray, extra: int) -> None:
        self.backend, self._extra = backend, extra
        self.lanes = lanes_of(backend)
        self.vertex_weights = Column(backend, graph.vertex_weights)
        self.parts = Column(backend, parts)
        self.degrees = Column(backend, graph.degrees)
        self.n, self.m = int(self.is_present.sum()), graph.m
        self.vertex_weight, self.edge_weight = graph.total_vertex_weight, graph.total_edge_weight
        self._buckets = HostColumn(self._needed(graph.degrees, self.is_present))
        bucket_ptr, self._used = self._in_a_row()
        self._bucket_ptr = Column(backend, bucket_ptr)
        self._slots, self._edge_weights = self._allocate()
        rows = graph.indptr, graph.indices, graph.edge_weights
        csr = Adjacency(*map(backend.from_host, rows))
        backend.parallel_for(graph.n * self.lanes, kernels.lay_rows, graph=csr, laid=self.device)

    @property
    def ids(self) -> int:
        """Number of ids, including those of deleted vertices."""
        return len(self.degrees)

    @property
    def is_present(self) -> npt.NDArray[np.bool_]:
        """Whether each vertex exists, bool, shape (ids,); deleted vertices do not."""
        return np.asarray(self.parts.host != NO_PART)

    @property
    def device(self) -> DeviceBuckets:
        """The graph on the back end; valid until the next change."""
        return DeviceBuckets(
            self._bucket_ptr.device,
            self.degrees.device,
            self._slots,
            self._edge_weights,
            self.vertex_weights.device,
            self.parts.device,
            self.lanes,
        )

    def edges_of(self, vertices: IntArray) -> npt.NDArray[np.int64]:
        """Return the edges of vertices, packed, int64; an edge may occur twice."""
        backend = self.backend
        degrees = self.degrees.host[vertices]
        indptr = row_offsets(degrees)
        nnz = int(indptr[-1])
        if nnz == 0:
            return np.empty(0, np.int64)
        listed, offsets = upload_together(backend, vertices, indptr)
        neighbours = backend.empty(nnz)
        backend.parallel_for(
            len(vertices) * self.lanes,
            kernels.copy_neighbours,
            vertices=listed,
            indptr=offsets,
            neighbours=neighbours,
            graph=self.device,
        )
        u = np.repeat(vertices, degrees).astype(np.int64)
        v = backend.to_host(neighbours).astype(np.int64)
        edges: npt.NDArray[np.int64] = (np.minimum(u, v) << 32) + np.maximum(u, v)
        return edges

    def find(self, sources: IntArray, targets: IntArray) -> tuple[IntArray, IntArray]:
        """Return the index of each edge in the row of its source, or `NO_PLACE`; and its weight."""
        backend, count = self.backend, len(sources)
        if count == 0:
            return np.empty(0, np.int32), np.empty(0, np.int32)
        u, v = upload_together(backend, sources, targets)
        slots = backend.full(2 * count, NO_PLACE)
        edges = SoughtEdges(u, v, slots[:count], slots[count:])
        backend.parallel_for(count * self.lanes, kernels.find_edges, edges=edges, graph=self.device)
        result = backend.to_host(slots)
        return result[:count], result[count:]

    def apply(self, edits: Edits, part: int) -> int:
        """Change the graph and return the change in the weight of edges between parts.

        New vertices get the temporary part `part`.
        """
        given = edits.modifiers
        weights, dead, *uploaded = upload_together(
            self.backend,
            edits.new_weights,
            edits.dead,
            given.vertices,
            given.starts,
            given.places,
            given.targets,
            given.weights,
        )
        count = len(weights)
        self.vertex_weights.extend_with(edits.new_weights, weights)
        self.parts.extend_by(count, part)
        self.degrees.extend_by(count, 0)
        self._bucket_ptr.extend_by(count, 0)
        self._buckets.extend(np.zeros(count, np.int32))
        change = self._change_rows(given.vertices, edits.growth, EdgeModifiers(*uploaded))
        self._delete(edits.dead, dead)
        self.n += count - len(dead)
        self.vertex_weight += edits.vertex_weight
        self.m += edits.edges
        self.edge_weight += edits.edge_weight
        return change

    def lay_out(self) -> None:
        """Give each row the buckets that it needs now, without gaps between the rows."""
        self._buckets = HostColumn(self._needed(self.degrees.host, self.is_present))
        self._move_all()

    def extract(self) -> tuple[DeviceGraph, Array]:
        """Return the graph on the back end without deleted vertices, and its vertex ids."""
        backend, buckets = self.backend, self.device
        vertices, numbers = backend.empty(self.ids), backend.full(self.ids, NO_NUMBER)
        n = backend.scan(
            self.ids, kernels.number_present, graph=buckets, vertices=vertices, numbers=numbers
        )
        vertices = vertices[:n]
        indptr = backend.full(n + 1, 0)
        nnz = backend.scan(
            n, kernels.size_rows_listed, vertices=vertices, graph=buckets, indptr=indptr
        )
        graph = DeviceGraph(
            indptr,
            backend.empty(nnz),
            backend.empty(nnz),
            buckets.vertex_weights[vertices],
            2 * self.edge_weight,
            find_long_rows(backend, indptr, nnz),
        )
        backend.parallel_for(
            n * self.lanes,
            kernels.copy_rows,
            vertices=vertices,
            numbers=numbers,
            graph=buckets,
            copy=graph,
        )
        return graph, vertices

    def _change_rows(self, vertices: IntArray, growth: IntArray, modifiers: EdgeModifiers) -> int:
        """Delete and insert edges; return the change in the weight of edges between parts."""
        if len(vertices) == 0:
            return 0
        degrees = self.degrees.host[vertices] + growth
        self._make_room(vertices, degrees)
        change = self.backend.reduce(
            len(vertices), kernels.modify_rows, modifiers=modifiers, graph=self.device
        )
        self.degrees.set_on_host(vertices, degrees)
        return change // 2

    def _delete(self, vertices: IntArray, uploaded: Array) -> None:
        """Delete isolated vertices; their buckets stay unused until all rows move."""
        self.backend.parallel_for(
            len(vertices), kernels.delete_vertices, vertices=uploaded, graph=self.device
        )
        self.vertex_weights.set_on_host(vertices, 0)
        self.parts.set_on_host(vertices, NO_PART)
        self._buckets.host[vertices] = 0

    def _needed(self, degrees: IntArray, is_present: npt.NDArray[np.bool_]) -> IntArray:
        """Return the number of buckets for rows of these degrees; 0 for deleted vertices."""
        buckets: IntArray = (-(-degrees // BUCKET_SLOTS) + self._extra).astype(np.int32)
        buckets[~is_present] = 0
        return buckets

    def _make_room(self, vertices: IntArray, degrees: IntArray) -> None:
        """Give rows enough buckets for these future degrees, in place.

        Rows that need more buckets move to the end. If the spare buckets do not suffice, all rows
        move.
        """
        is_short = degrees > BUCKET_SLOTS * self._buckets.host[vertices]
        if not is_short.any():
            return
        vertices = vertices[is_short]
        longer = (ROW_GROWTH * degrees[is_short]).astype(np.int32)
        needed = self._needed(longer, self.is_present[vertices])
        self._buckets.host[vertices] = needed
        bucket_ptr = self._used + np.cumsum(needed, dtype=np.int64) - needed
        self._used = int(bucket_ptr[-1] + needed[-1])
        if BUCKET_SLOTS * self._used <= len(self._slots):
            self._move(vertices, bucket_ptr.astype(np.int32), self._slots, self._edge_weights)
        else:
            self._move_all()

    def _move_all(self) -> None:
        """Move all rows to new arrays, one after the other."""
        bucket_ptr, self._used = self._in_a_row()
        self._move(np.arange(self.ids, dtype=np.int32), bucket_ptr, *self._allocate())

    def _in_a_row(self) -> tuple[IntArray, int]:
        """Return the first bucket of each row in a layout without gaps, and the end."""
        buckets = self._buckets.host
        ends = np.cumsum(buckets, dtype=np.int64)
        return (ends - buckets).astype(np.int32), int(ends[-1]) if len(ends) else 0

    def _allocate(self) -> tuple[Array, Array]:
        """Return arrays of slots and their weights for the buckets in use and spare ones."""
        buckets = self._used + self._used // SPARE_SHARE + 1
        slots = BUCKET_SLOTS * buckets
        if slots > INT32_MAX:
            raise GraphError(f"the edges need {slots} slots; there must be fewer than 2**31")
        return self.backend.empty(slots), self.backend.empty(slots)

    def _move(
        self, vertices: IntArray, bucket_ptr: IntArray, slots: Array, edge_weights: Array
    ) -> None:
        """Copy rows to other buckets, in these arrays, which then replace the current ones."""
        listed, uploaded = upload_together(self.backend, vertices, bucket_ptr)
        here = self.device
        moved = replace(here, bucket_ptr=uploaded, slots=slots, edge_weights=edge_weights)
        self.backend.parallel_for(
            len(vertices) * self.lanes,
            kernels.move_rows,
            vertices=listed,
            graph=here,
            moved=moved,
        )
        self._slots, self._edge_weights = slots, edge_weights
        self._bucket_ptr.set(vertices, bucket_ptr)


def lanes_of(backend: Backend) -> int:
    """Return the number of launch indices per row on a back end."""
    return 1 if backend.warp_size == 1 else WARP
