"""The bucket list on a back end: a graph whose edges and vertices come and go (iG-kway, V-A, V-B).

Unlike in the paper, rows have no gaps: the last edge takes the place of a deleted one. So a row is
as long as its vertex has neighbours, and an insertion finds its slot at once.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from jetpy.backends.base import Array, Backend
from jetpy.backends.level import DeviceGraph
from jetpy.backends.long_rows import find_hubs
from jetpy.errors import GraphError
from jetpy.graph import INT32_MAX, Graph, IntArray
from jetpy.incremental.column import Column, HostColumn, row_offsets, upload_together
from jetpy.incremental.edits import Edits
from jetpy.workloads import buckets as kernels

SLOTS = 32
"""Slots of a bucket, as in `jetpy.workloads.buckets`."""
SPARE_SHARE = 8
"""One bucket is spare for so many in use, when buckets are laid out."""
ROW_GROWTH = 1.25
"""How much longer than needed a row becomes that no longer fits its buckets."""
LANES = 32
"""Indices that share a row, where many of them run at once."""


class BucketList:
    """A graph in buckets.

    Attributes
    ----------
    vertex_weights, parts : Column
        Of each vertex; 0 and -1 if it was deleted.
    length : Column
        Number of its neighbours.
    n, m : int
        Numbers of vertices and of undirected edges.
    vertex_weight, edge_weight : int
        Their weights.
    """

    def __init__(self, backend: Backend, graph: Graph, parts: IntArray, extra: int) -> None:
        self.backend, self._extra = backend, extra
        self.lanes = 1 if backend.prefers_lists else LANES
        self.vertex_weights = Column(backend, graph.vertex_weights)
        self.parts = Column(backend, parts)
        self.length = Column(backend, graph.degrees)
        self.n, self.m = int((graph.vertex_weights > 0).sum()), graph.m
        self.vertex_weight, self.edge_weight = graph.total_vertex_weight, graph.total_edge_weight
        self._buckets = HostColumn(self._needed(graph.degrees, graph.vertex_weights))
        first, self._used = self._in_a_row()
        self._first = Column(backend, first)
        self._slots, self._weights = self._allocate()
        backend.parallel_for(
            graph.n * self.lanes,
            kernels.lay_rows,
            indptr=backend.from_host(graph.indptr),
            indices=backend.from_host(graph.indices),
            edge_weights=backend.from_host(graph.edge_weights),
            lanes=self.lanes,
            **self.rows,
        )

    @property
    def ids(self) -> int:
        """Number of vertices that ever were."""
        return len(self.length)

    @property
    def rows(self) -> dict[str, Array]:
        """Where the rows are, as workunits name it."""
        return {"first": self._first.device, "slots": self._slots, "weights": self._weights}

    def edges_of(self, vertices: IntArray) -> npt.NDArray[np.int64]:
        """Return the edges at some vertices, one number each, not all only once."""
        backend = self.backend
        degrees = self.length.host[vertices]
        indptr = row_offsets(degrees)
        nnz = int(indptr[-1])
        if nnz == 0:
            return np.empty(0, np.int64)
        listed, offsets = upload_together(backend, vertices, indptr)
        neighbours = backend.empty(nnz)
        backend.parallel_for(
            len(vertices) * self.lanes,
            kernels.list_neighbours,
            vertices=listed,
            first=self._first.device,
            slots=self._slots,
            indptr=offsets,
            neighbours=neighbours,
            lanes=self.lanes,
        )
        u = np.repeat(vertices, degrees).astype(np.int64)
        v = backend.to_host(neighbours).astype(np.int64)
        edges: npt.NDArray[np.int64] = (np.minimum(u, v) << 32) + np.maximum(u, v)
        return edges

    def find(self, sources: IntArray, targets: IntArray) -> tuple[IntArray, IntArray]:
        """Return the places of edges in the rows of their sources, -1 if none, and weights."""
        backend, count = self.backend, len(sources)
        if count == 0:
            return np.empty(0, np.int32), np.empty(0, np.int32)
        u, v = upload_together(backend, sources, targets)
        found = backend.full(2 * count, -1)
        backend.parallel_for(
            count * self.lanes,
            kernels.find_edges,
            sources=u,
            targets=v,
            length=self.length.device,
            places=found[:count],
            found_weights=found[count:],
            lanes=self.lanes,
            **self.rows,
        )
        result = backend.to_host(found)
        return result[:count], result[count:]

    def apply(self, edits: Edits, part: int) -> int:
        """Change the graph; new vertices are in a part of their own for now.

        Returns by how much the weight of edges between parts changes.
        """
        weights, dead, *changes = upload_together(
            self.backend,
            edits.new_weights,
            edits.dead,
            edits.vertices,
            edits.starts,
            edits.places,
            edits.targets,
            edits.weights,
        )
        count = len(weights)
        self.vertex_weights.extend_with(edits.new_weights, weights)
        self.parts.extend_by(count, part)
        self.length.extend_by(count, 0)
        self._first.extend_by(count, 0)
        self._buckets.extend(np.zeros(count, np.int32))
        change = self._change_rows(edits, changes)
        self._forget(edits.dead, dead)
        self.n += count - len(dead)
        self.vertex_weight += edits.vertex_weight
        self.m += edits.edges
        self.edge_weight += edits.edge_weight
        return change

    def lay_out(self) -> None:
        """Give each row the buckets that it needs now, without gaps between the rows."""
        self._buckets = HostColumn(self._needed(self.length.host, self.vertex_weights.host))
        self._move_all()

    def extract(self) -> tuple[DeviceGraph, Array]:
        """Return the graph on the back end, without ids of deleted vertices, and the others."""
        backend = self.backend
        vertices, numbers = backend.empty(self.ids), backend.full(self.ids, -1)
        n = backend.scan(
            self.ids,
            kernels.list_vertices,
            vertex_weights=self.vertex_weights.device,
            vertices=vertices,
            numbers=numbers,
        )
        vertices = vertices[:n]
        indptr = backend.full(n + 1, 0)
        nnz = backend.scan(
            n,
            kernels.offset_listed,
            vertices=vertices,
            length=self.length.device,
            indptr=indptr,
        )
        indices, edge_weights = backend.empty(nnz), backend.empty(nnz)
        backend.parallel_for(
            n * self.lanes,
            kernels.copy_listed,
            vertices=vertices,
            numbers=numbers,
            indptr=indptr,
            indices=indices,
            edge_weights=edge_weights,
            lanes=self.lanes,
            **self.rows,
        )
        hubs = find_hubs(backend, indptr, nnz)
        weights = self.vertex_weights.device[vertices]
        return DeviceGraph(
            indptr, indices, edge_weights, weights, 2 * self.edge_weight, hubs
        ), vertices

    def _change_rows(self, edits: Edits, uploaded: Sequence[Array]) -> int:
        """Delete and insert edges; return the change of the weight of those between parts."""
        if len(edits.vertices) == 0:
            return 0
        lengths = self.length.host[edits.vertices] + edits.growth
        self._make_room(edits.vertices, lengths)
        vertices, starts, places, targets, weights = uploaded
        change = self.backend.reduce(
            len(vertices),
            kernels.modify_rows,
            vertices=vertices,
            starts=starts,
            places=places,
            targets=targets,
            changes=weights,
            length=self.length.device,
            parts=self.parts.device,
            **self.rows,
        )
        self.length.follow(edits.vertices, lengths)
        return change // 2

    def _forget(self, vertices: IntArray, uploaded: Array) -> None:
        """Delete vertices without edges; their buckets stay unused until all rows move."""
        self.backend.parallel_for(
            len(vertices),
            kernels.forget,
            vertices=uploaded,
            vertex_weights=self.vertex_weights.device,
            parts=self.parts.device,
        )
        self.vertex_weights.follow(vertices, 0)
        self.parts.follow(vertices, -1)
        self._buckets.host[vertices] = 0

    def _needed(self, lengths: IntArray, vertex_weights: IntArray) -> IntArray:
        """Return how many buckets rows of these lengths get; those of deleted vertices get none."""
        buckets = (-(-lengths // SLOTS) + self._extra).astype(np.int32)
        buckets[vertex_weights == 0] = 0
        return buckets

    def _make_room(self, vertices: IntArray, lengths: IntArray) -> None:
        """Give the rows of vertices, soon of these lengths, buckets where they lack some.

        They move behind all others. Where no spare buckets are left, all rows move.
        """
        is_short = lengths > SLOTS * self._buckets.host[vertices]
        if not is_short.any():
            return
        vertices = vertices[is_short]
        longer = (ROW_GROWTH * lengths[is_short]).astype(np.int32)
        needed = self._needed(longer, self.vertex_weights.host[vertices])
        self._buckets.host[vertices] = needed
        targets = self._used + np.cumsum(needed, dtype=np.int64) - needed
        self._used = int(targets[-1] + needed[-1])
        if SLOTS * self._used <= len(self._slots):
            self._move(vertices, targets.astype(np.int32), self._slots, self._weights)
        else:
            self._move_all()

    def _move_all(self) -> None:
        """Move all rows to new arrays, so that they follow each other."""
        first, self._used = self._in_a_row()
        self._move(np.arange(self.ids, dtype=np.int32), first, *self._allocate())

    def _in_a_row(self) -> tuple[IntArray, int]:
        """Return the first bucket of each row if they all follow each other, and the end."""
        buckets = self._buckets.host
        ends = np.cumsum(buckets, dtype=np.int64)
        return (ends - buckets).astype(np.int32), int(ends[-1]) if len(ends) else 0

    def _allocate(self) -> tuple[Array, Array]:
        """Return slots, and room for their weights, for the buckets in use and some more."""
        buckets = self._used + self._used // SPARE_SHARE + 1
        if SLOTS * buckets > INT32_MAX:
            raise GraphError(
                f"{SLOTS * buckets} slots are needed for edges; there must be fewer than 2**31"
            )
        return self.backend.empty(SLOTS * buckets), self.backend.empty(SLOTS * buckets)

    def _move(self, vertices: IntArray, targets: IntArray, slots: Array, weights: Array) -> None:
        """Copy rows to other buckets, maybe in other arrays, and use these from now on."""
        listed, uploaded = upload_together(self.backend, vertices, targets)
        self.backend.parallel_for(
            len(vertices) * self.lanes,
            kernels.move_rows,
            vertices=listed,
            targets=uploaded,
            length=self.length.device,
            new_slots=slots,
            new_weights=weights,
            lanes=self.lanes,
            **self.rows,
        )
        self._slots, self._weights = slots, weights
        self._first.set(vertices, targets)
