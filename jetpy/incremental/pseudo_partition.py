"""The pseudo-partition (iG-kway, V-C): the vertices to place, as a separate problem."""

from __future__ import annotations

from dataclasses import dataclass

from jetpy.engines.base import Array, Backend
from jetpy.graph.csr import IntArray
from jetpy.incremental.buckets import BucketList, lanes_of
from jetpy.incremental.column import BlankColumn, row_offsets, upload_together
from jetpy.workloads.incremental import pseudo_partition as kernels

SEEN_ONCE = 16
"""Factor by which a placement round is cheaper than refinement of a graph of the same size."""


@dataclass(frozen=True, eq=False)
class PseudoPartition:
    """Vertices to place and their edges, on a back end chosen by their number.

    Attributes
    ----------
    backend : Backend
    indptr, ends, edge_weights : int32
        Rows, with ends encoded as in `jetpy.workloads.incremental.pseudo_partition`.
    vertex_weights : int32, shape (n,)
    previous : int32, shape (n,)
        Previous part of each vertex; k for new vertices.
    waits : int32, shape (n,)
        Number of neighbours of smaller id that must be placed first; 0 before it is counted.
    lanes : int
        Number of launch indices per row.
    """

    backend: Backend
    indptr: Array
    ends: Array
    edge_weights: Array
    vertex_weights: Array
    previous: Array
    waits: Array
    lanes: int

    @property
    def n(self) -> int:
        """Number of vertices."""
        return len(self.vertex_weights)


@dataclass(frozen=True, eq=False)
class _Rows:
    """Rows to gather, as input of the kernels."""

    indptr: Array
    ends: Array
    edge_weights: Array


def gather(graph: BucketList, vertices: IntArray, numbers: BlankColumn) -> PseudoPartition:
    """Gather the rows of vertices that enter the pseudo-partition.

    Parameters
    ----------
    graph : BucketList
    vertices : int32, ascending
    numbers : BlankColumn
        `NO_NUMBER` for all vertices.
    """
    backend, n = graph.backend, len(vertices)
    indptr = row_offsets(graph.degrees.host[vertices])
    nnz = int(indptr[-1])
    listed, offsets = upload_together(backend, vertices, indptr)
    entries = backend.empty(2 * nnz)
    numbered = numbers.for_size(graph.ids)
    backend.parallel_for(n, kernels.number_vertices, vertices=listed, numbers=numbered)
    backend.parallel_for(
        n * graph.lanes,
        kernels.gather_rows,
        vertices=listed,
        numbers=numbered,
        graph=graph.device,
        pseudo=_Rows(offsets, entries[:nnz], entries[nnz:]),
    )
    numbers.blank(listed)
    worker = backend.for_size((n + nnz) // SEEN_ONCE)
    if worker is not backend:
        entries = backend.to_host(entries)
    weights, parts = graph.vertex_weights.host[vertices], graph.parts.host[vertices]
    offsets, weights, previous = upload_together(worker, indptr, weights, parts)
    return PseudoPartition(
        backend=worker,
        indptr=offsets,
        ends=entries[:nnz],
        edge_weights=entries[nnz:],
        vertex_weights=weights,
        previous=previous,
        waits=worker.full(n, 0),
        lanes=lanes_of(worker),
    )
