"""The band of a process: what it needs of a level in pieces to improve its pairs of parts by flows.

It has the vertices within the hops of a region from the cuts of these pairs, with their rows, and
the neighbours of these vertices. It is a small graph, with the same regions as the whole level.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from jetpy.device.device_graph import DeviceGraph
from jetpy.device.long_rows import find_long_rows
from jetpy.distributed.communicator import Counts, starts_of
from jetpy.distributed.gathering import check_memory
from jetpy.distributed.lists import joined, picked
from jetpy.distributed.piece import Piece
from jetpy.engines.base import Array, Backend
from jetpy.graph.csr import INT32_MAX
from jetpy.workloads.coarsening.contraction import offset_rows
from jetpy.workloads.distributed import bands as kernels

BITS = 31
"""Number of bits of a mark. With more processes, some share a bit, and get the bands of both."""


@dataclass(frozen=True, eq=False)
class Band:
    """The band of a process. Its vertices are in the order of their global ids.

    Attributes
    ----------
    graph : DeviceGraph
        Its rows are empty for vertices that are in no region.
    ids, parts, places : int32, shape (n,)
        Global ids, parts, and places as of a `PairFlows`.
    weights : int32, shape (n * c,), on the host
        Several weights of each vertex.
    """

    graph: DeviceGraph
    ids: Array
    parts: Array
    places: Array
    weights: npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Bands:
    """The bands of all processes, as far as this process owns their vertices.

    Attributes
    ----------
    rows : int32, shape (count,)
        Vertices for each process, in rank order.
    counts : int64, shape (processes, processes)
        Number of vertices that each process sends to each process.
    weights, lengths : of the back end's `sum_type`, shape (count,)
        Their weights, and the lengths of their rows in the band.
    """

    backend: Backend
    piece: Piece
    rows: Array
    counts: Counts
    weights: Array
    lengths: Array

    @classmethod
    def find(cls, backend: Backend, piece: Piece, near: Array, around: Array) -> Bands:
        """Return the bands, given the marks of vertices with rows, and of all vertices. Collective.

        `marks_of` returns both.
        """
        n, comm = piece.n_owned, piece.blocks.comm
        bits, lists = [1 << rank % BITS for rank in range(comm.size)], []
        for bit in bits:
            rows = backend.empty(n)
            count = backend.scan(n, kernels.list_marked, bit=bit, marks=around, listed=rows)
            lists.append(rows[:count].copy())
        counts = np.array(comm.allgather_objects([*map(len, lists)]), np.int64)
        rows = joined(backend, *lists)
        weights, lengths = (backend.empty(len(rows), backend.sum_type) for _ in range(2))
        of_rows = np.repeat(np.array(bits, np.int32), counts[comm.rank])
        backend.parallel_for(
            len(rows),
            kernels.describe_vertices,
            rows=rows,
            bits=backend.from_host(of_rows),
            marks=near,
            graph=piece,
            weights=weights,
            lengths=lengths,
        )
        return cls(backend, piece, rows, counts, weights, lengths)

    def exchange(self, parts: Array, places: Array, several: npt.NDArray[np.int32]) -> Band:
        """Send all bands, and return that of this process. Collective.

        `parts` and `places` (int32) are those of owned vertices, `several` (int32, shape
        (n_owned, c), on the host) their weights.
        """
        backend, piece, comm, rows = self.backend, self.piece, self.piece.blocks.comm, self.rows
        sent, received = self.counts[comm.rank], self.counts[:, comm.rank].copy()

        def exchanged(values: Array) -> Array:
            return comm.exchange(backend, values, sent, received)

        adjacency = self._exchange_rows(exchanged(self.lengths))
        graph = DeviceGraph(
            *adjacency,
            exchanged(self.weights),
            piece.edge_weight,
            find_long_rows(backend, adjacency[0], len(adjacency[1])),
        )
        weights, kinds = several[backend.to_host(rows)].ravel(), several.shape[1]
        return Band(
            graph,
            exchanged(piece.halo.ids_of(rows)),
            exchanged(picked(backend, parts, rows)),
            exchanged(picked(backend, places, rows)),
            comm.exchange(backend.host, weights, kinds * sent, kinds * received),
        )

    def _exchange_rows(self, lengths: Array) -> tuple[Array, Array, Array]:
        """Return the rows of this process's band, given their lengths."""
        backend, comm, kind = self.backend, self.piece.blocks.comm, self.backend.sum_type
        offsets, indptr = (
            backend.full(len(counts) + 1, 0, kind) for counts in (self.lengths, lengths)
        )
        size = backend.scan(len(self.rows), offset_rows, counts=self.lengths, indptr=offsets)
        entries = backend.scan(len(lengths), offset_rows, counts=lengths, indptr=indptr)
        if not backend.copies:
            check_memory(comm, len(lengths), entries // 2, what="its band for flows,")
        heads, edge_weights = backend.empty(size), backend.empty(size, kind)
        starts = starts_of(self.counts[comm.rank])
        for rank in range(comm.size):
            first, end = starts[rank : rank + 2]
            rows = self.rows[first:end]
            backend.parallel_for(
                len(rows),
                kernels.copy_row,
                rows=rows,
                offsets=offsets[first : end + 1],
                numbers=self._numbers(rank, rows),
                graph=self.piece,
                heads=heads,
                edge_weights=edge_weights,
            )
        sent = np.diff(starts_of(backend.to_host(self.lengths))[starts])
        heads, received = comm.send(backend, heads, sent)
        return indptr, heads, comm.exchange(backend, edge_weights, sent, received)

    def _numbers(self, rank: int, rows: Array) -> Array:
        """Return the numbers (int32) of all vertices in the band of a process, given its rows."""
        backend, piece = self.backend, self.piece
        numbers = backend.empty(piece.n_with_ghosts)
        first = int(self.counts[: piece.blocks.comm.rank, rank].sum())
        backend.parallel_for(
            len(rows), kernels.number_rows, rows=rows, first=first, numbers=numbers
        )
        piece.halo.exchange_ghosts(numbers)
        return numbers


def marks_of(
    backend: Backend,
    piece: Piece,
    parts: Array,
    k: int,
    pairs: tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]],
    reach: tuple[int, int],
) -> tuple[Array, Array]:
    """Return the marks (int32) of vertices with rows in bands, and of all vertices of bands.

    Collective.

    Parameters
    ----------
    parts : int32, shape (n_with_ghosts,)
    pairs : tuple of int64, shape (pairs,)
        Keys of all adjacent pairs, ascending, and the ranks that improve them, -1 for none.
    reach : tuple of int
        Hops of a region, and the maximum degree of its vertices.
    """
    keys, owners = pairs
    hops, max_degree = reach
    bits = np.where(owners < 0, 0, 1 << np.maximum(owners, 0) % BITS).astype(np.int32)
    found = backend.full(piece.n_with_ghosts, 0)
    given: dict[str, Any] = {"keys": backend.from_host(keys), "bits": backend.from_host(bits)}
    backend.parallel_for(
        piece.n_owned,
        kernels.mark_ends,
        graph=piece,
        parts=parts,
        k=k,
        count=len(keys),
        marks=found,
        **given,
    )
    near = found
    for degree in [max_degree] * hops + [INT32_MAX]:
        near, found = found, backend.empty(piece.n_with_ghosts)
        piece.halo.exchange_ghosts(near)
        backend.parallel_for(
            piece.n_owned,
            kernels.spread_marks,
            max_degree=degree,
            graph=piece,
            marks=near,
            spread=found,
        )
    return near, found
