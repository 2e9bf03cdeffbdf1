"""A process's piece of a graph: a block of its vertices, and their ghosts."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from jetpy.device.device_graph import DeviceGraph
from jetpy.device.halo import ALIGNED_BITS, Halo
from jetpy.device.long_rows import LongRows, find_long_rows
from jetpy.device.processes import shares
from jetpy.distributed.communicator import Communicator, Counts, starts_of
from jetpy.distributed.lists import add_to_all, counts_between, joined, picked, sorted_set
from jetpy.engines.base import Array, Backend
from jetpy.kernel_language import Width
from jetpy.multilevel.index_width import narrow_weights
from jetpy.problem.problem import Problem
from jetpy.workloads.common import ghosts as ghost_kernels
from jetpy.workloads.distributed import global_to_local as number_kernels
from jetpy.workloads.distributed import halo as kernels

MIN_ALIGNED = 16
"""Minimum average size of blocks that are aligned, in units of ``2**ALIGNED_BITS`` vertices."""


@dataclass(frozen=True, eq=False)
class Blocks:
    """The vertex range of each process: rank r owns ``starts[r]`` to ``starts[r + 1] - 1``.

    Attributes
    ----------
    comm : Communicator
    starts : int64, shape (comm.size + 1,), on the host
    """

    comm: Communicator
    starts: Counts

    @classmethod
    def of(cls, comm: Communicator, n: int) -> Blocks:
        """Return the blocks of all processes; this one owns `n` vertices. Collective."""
        return cls(comm, starts_of(comm.allgather_objects(n)))

    @property
    def first(self) -> int:
        """First vertex of this process."""
        return int(self.starts[self.comm.rank])

    @property
    def end(self) -> int:
        """Global id after the last vertex of this process."""
        return int(self.starts[self.comm.rank + 1])

    @property
    def n(self) -> int:
        """Number of vertices of the whole graph."""
        return int(self.starts[-1])

    @property
    def are_aligned(self) -> bool:
        """Whether all blocks begin at multiples of ``2**ALIGNED_BITS``."""
        return not (self.starts[:-1] % (1 << ALIGNED_BITS)).any()

    def aligned(self) -> Blocks:
        """Return the blocks with starts rounded down to multiples of ``2**ALIGNED_BITS``.

        Small blocks are returned unchanged, because rounding would make them uneven.
        """
        if self.n < (MIN_ALIGNED * self.comm.size) << ALIGNED_BITS:
            return self
        starts = self.starts >> ALIGNED_BITS << ALIGNED_BITS
        starts[-1] = self.n
        return replace(self, starts=starts)

    def counts(self, backend: Backend, ids: Array) -> Counts:
        """Return the number of vertices that each process owns among `ids` (int32, ascending)."""
        return counts_between(backend, ids, self.starts)


class PieceHalo(Halo):
    """Communication between pieces, in launch order.

    Parameters
    ----------
    ghosts : int32, on the back end
        Global ids of the ghosts, ascending.

    Attributes
    ----------
    n_owned, first_global_id : int
    ghost_ids : of the back end's `sum_type`
        Fields of `jetpy.workloads.common.groups.Graph` that kernels need to compute global ids.
    """

    is_whole = False

    def __init__(self, backend: Backend, blocks: Blocks, ghosts: Array) -> None:
        self.blocks, self.ghosts = blocks, ghosts
        self.n_owned, self.first_global_id = blocks.end - blocks.first, blocks.first
        self.is_aligned = blocks.are_aligned
        anything = backend.full(1, 0)
        self.ghost_ids = joined(backend, ghosts, anything).astype(backend.sum_type, copy=False)
        self._backend, self._comm = backend, blocks.comm
        self._received = blocks.counts(backend, ghosts)
        self._border, self._sent = self._comm.send(backend, ghosts, self._received)
        add_to_all(backend, self._border, -blocks.first)
        self._made_buffers: dict[tuple[int, Any], tuple[Array, Array]] = {}

    @property
    def lower_ghosts(self) -> int:
        """Number of ghosts with smaller global ids than the owned vertices."""
        return int(self._received[: self._comm.rank].sum())

    def with_narrow_kernels(self) -> PieceHalo:
        """Return a copy for the back end with 32-bit kernels."""
        made = copy(self)
        made._backend, made._made_buffers = self._backend.with_width(Width.NARROW), {}
        made.ghost_ids = self.ghost_ids.astype(np.int32)
        return made

    def exchange_ghosts(self, *values: Array) -> None:
        """Copy the owners' values to the ghosts in arrays of shape (n_with_ghosts,), in place.

        All arrays are int32, or all are of the back end's `sum_type`. Collective; runs in launch
        order.
        """
        count, kind = len(values), values[0].dtype
        pack, unpack = kernels.pack_values, kernels.unpack_values
        if kind != np.int32:
            pack, unpack = kernels.pack_weights, kernels.unpack_weights
        send_buffer, recv_buffer = self._buffers(count, kind)
        for index, array in enumerate(values):
            self._backend.parallel_for(
                len(self._border),
                pack,
                values=array,
                vertices=self._border,
                send_buffer=send_buffer,
                count=count,
                index=index,
            )
        self._exchange(send_buffer, recv_buffer, count)
        for index, array in enumerate(values):
            self._backend.parallel_for(
                len(self.ghosts),
                unpack,
                values=array,
                n_owned=self.n_owned,
                recv_buffer=recv_buffer,
                count=count,
                index=index,
            )

    def return_ghosts(self, values: Array) -> None:
        """Copy the values of ghosts that are not negative to their owners, in place.

        `values` (int32, shape (n_with_ghosts,)); pieces that have a value for the same vertex agree
        on it. Collective; runs in launch order.
        """
        from_ghosts = values[self.n_owned :].copy()
        returned = self._backend.empty(len(self._border))
        self._exchange(from_ghosts, returned, 1, returning=True)
        self._backend.parallel_for(
            len(self._border),
            kernels.take_back,
            values=values,
            vertices=self._border,
            recv_buffer=returned,
        )

    def exchange_ghost_vertices(self, values: Array) -> None:
        """Copy the owners' values, which are local ids, to the ghosts, as local ids of this piece.

        `values` (int32, shape (n_with_ghosts,)) changes in place. The value of a ghost becomes
        `NO_VERTEX` if this process does not own the vertex. Collective; runs in launch order.
        """
        send_buffer, recv_buffer = self._buffers(1, np.dtype(np.int32))
        self._backend.parallel_for(
            len(self._border),
            kernels.pack_vertices,
            values=values,
            vertices=self._border,
            send_buffer=send_buffer,
            graph=self,
        )
        self._exchange(send_buffer, recv_buffer, 1)
        self._backend.parallel_for(
            len(self.ghosts),
            kernels.unpack_vertices,
            values=values,
            recv_buffer=recv_buffer,
            graph=self,
        )

    def _buffers(self, count: int, kind: Any) -> tuple[Array, Array]:
        """Return buffers to send and to receive `count` values per vertex."""
        key = count, kind
        if key not in self._made_buffers:
            lengths = count * len(self._border), count * len(self.ghosts)
            send_buffer, recv_buffer = (self._backend.empty(length, kind) for length in lengths)
            self._made_buffers[key] = send_buffer, recv_buffer
        return self._made_buffers[key]

    def _exchange(
        self, send_buffer: Array, recv_buffer: Array, count: int, *, returning: bool = False
    ) -> None:
        """Send values of border vertices to ghosts, or, if `returning`, those of ghosts back."""
        sent, received = self._sent * count, self._received * count
        if returning:
            sent, received = received, sent
        backend, comm = self._backend, self._comm
        backend.perform(lambda: comm.alltoallv(backend, send_buffer, recv_buffer, sent, received))

    def ids_of(self, vertices: Array) -> Array:
        """Return the global ids (int32) of local ids; -1 stays -1."""
        global_ids = self._backend.empty(len(vertices))
        self._backend.parallel_for(
            len(vertices),
            number_kernels.local_to_global,
            vertices=vertices,
            global_ids=global_ids,
            graph=self,
        )
        return global_ids

    def allreduce(self, *counts: Array, stripes: Sequence[int] = ()) -> None:
        """Sum the counts of all stripes of all pieces into the first stripe, in place.

        `stripes` has the number of stripes of each array; the default is 1.
        """
        backend, comm = self._backend, self._comm
        numbers = stripes or (1,) * len(counts)

        def action() -> None:
            comm.allreduce(backend, *map(_in_one, counts, numbers))

        backend.perform(action)

    def exscan(self, counts: Array, before: Array) -> None:
        """Write the sums of the counts of lower ranks to `before`, and set `counts` to 0."""
        size, backend, comm = len(counts), self._backend, self._comm
        everything = backend.empty(comm.size * size, counts.dtype)
        backend.perform(lambda: comm.allgather(backend, counts, everything))
        backend.parallel_for(
            size,
            kernels.exscan,
            counts=counts,
            all_counts=everything,
            size=size,
            rank=comm.rank,
            before=before,
        )

    @property
    def can_be_captured(self) -> bool:  # type: ignore[override]
        """Whether the communication can be captured among the launches."""
        is_alone = self._comm.transport == "none"
        return self._comm.is_between_gpus or (is_alone and self._backend.copies)

    @property
    def pieces(self) -> int:
        """Number of pieces of the graph."""
        return self._comm.size

    def is_everywhere(self, condition: bool) -> bool:
        """Return whether a condition holds in all pieces. Collective."""
        return self.total(condition) == self._comm.size

    def total(self, count: int) -> int:
        """Return the sum of `count` over all pieces. Collective."""
        return self._comm.totals(count)[0]

    def gather_objects(self, value: Any) -> list[Any]:
        """Return the values of all pieces, in rank order. Collective."""
        return self._comm.allgather_objects(value)

    def totals(self, *counts: int) -> list[int]:
        """Return the sum of each count over all pieces. Collective."""
        return self._comm.totals(*counts)


def _in_one(counts: Array, stripes: int) -> Array:
    """Add the counts of all stripes to the first stripe, set the others to 0; return the first."""
    if stripes == 1:
        return counts
    size = len(counts) // stripes
    sums = counts[:size]
    sums[:] = counts.reshape(stripes, size).sum(axis=0, dtype=counts.dtype)
    counts[size:] = 0
    return sums


@dataclass(frozen=True, eq=False)
class Piece(DeviceGraph):
    """A process's piece of a graph: rows of owned vertices, then of ghosts.

    Arrays are those of a `DeviceGraph`, with the owned vertices first. An edge between an owned
    vertex and a ghost is in the rows of both. `edge_weight` is the sum over the whole graph.

    Attributes
    ----------
    around : PieceHalo
    count, entries : int
        Number of owned vertices, and number of entries in their rows.
    entries_of_all : int
        Number of directed edges of the whole graph.
    degrees : of the back end's `sum_type`, shape (ghosts,)
        Degrees of ghosts in the whole graph.
    rows_with_ghosts : LongRows
    """

    around: PieceHalo
    count: int
    entries: int
    entries_of_all: int
    degrees: Array
    rows_with_ghosts: LongRows

    @property
    def halo(self) -> PieceHalo:  # type: ignore[override]
        """Communication with the other pieces."""
        return self.around

    @property
    def blocks(self) -> Blocks:
        """The vertex range of each process."""
        return self.around.blocks

    @property
    def first_global_id(self) -> int:  # type: ignore[override]
        """Global id of the first owned vertex."""
        return self.blocks.first

    @property
    def n(self) -> int:
        """Number of owned vertices."""
        return self.count

    @property
    def n_owned(self) -> int:
        """Number of owned vertices."""
        return self.count

    @property
    def global_n(self) -> int:
        """Number of vertices of the whole graph."""
        return self.blocks.n

    @property
    def nnz(self) -> int:
        """Number of directed edges of owned vertices."""
        return self.entries

    @property
    def global_nnz(self) -> int:
        """Number of directed edges of the whole graph."""
        return self.entries_of_all

    @property
    def n_with_ghosts(self) -> int:
        """Number of owned vertices and ghosts together."""
        return len(self.vertex_weights)

    @property
    def ghost_ids(self) -> Array:
        """Global ids of ghosts."""
        return self.around.ghost_ids

    @property
    def ghost_degrees(self) -> Array:
        """Degrees of ghosts in the whole graph."""
        return self.degrees

    @property
    def all_rows(self) -> LongRows:
        """The long rows, including those of ghosts."""
        return self.rows_with_ghosts

    @property
    def higher_ghosts(self) -> int:
        """Local id of the first ghost with a larger global id than the owned vertices."""
        return self.n_owned + self.around.lower_ghosts


def narrow_piece(backend: Backend, piece: Piece, problem: Problem) -> Piece:
    """Return a piece for `backend.with_width(Width.NARROW)`, with rounded weights if necessary.

    Rounding is that of `narrow_graph`.
    """
    narrow = backend.with_width(Width.NARROW)
    edge_weights, vertex_weights = narrow_weights(backend, piece, problem)
    indptr = piece.indptr.astype(np.int32)
    weight = int(edge_weights[: piece.nnz].sum(dtype=np.int64))
    return replace(
        piece,
        indptr=indptr,
        edge_weights=edge_weights,
        vertex_weights=vertex_weights,
        edge_weight=piece.halo.total(weight),
        long_rows=find_long_rows(narrow, indptr[: piece.n_owned + 1], piece.nnz),
        around=piece.around.with_narrow_kernels(),
        degrees=piece.degrees.astype(np.int32),
        rows_with_ghosts=find_long_rows(narrow, indptr, len(piece.indices)),
    )


def localize(backend: Backend, blocks: Blocks, ids: Array) -> tuple[Array, Array]:
    """Return the local ids (int32) of global `ids` (int32), and the ghosts of the piece.

    The ghosts are the distinct ids that other processes own (int32, ascending).
    """
    return global_to_local_below(backend, blocks.n, ids, blocks.first, blocks.end)


def global_to_local_below(
    backend: Backend, n: int, ids: Array, first: int = 0, end: int = 0
) -> tuple[Array, Array]:
    """Localize ids in 0..n - 1 as `localize` does, if ``first..end - 1`` are owned."""
    count = len(ids)
    if n <= count:
        return _localize_by_marks(backend, n, ids, first, end)
    local, far = backend.empty(count), backend.empty(count)
    block = {"ids": ids, "first": first, "end": end}
    far = far[: backend.scan(count, number_kernels.list_outside, listed=far, **block)]
    ghosts = sorted_set(backend, picked(backend, ids, far))
    backend.parallel_for(
        count,
        number_kernels.global_to_local_listed,
        ghosts=ghosts,
        count=len(ghosts),
        local=local,
        **block,
    )
    return local, ghosts


def _localize_by_marks(
    backend: Backend, n: int, ids: Array, first: int, end: int
) -> tuple[Array, Array]:
    """Localize ids like `global_to_local_below`, with an array of n marks instead of sorting."""
    marks, local = backend.full(n, 0), backend.empty(len(ids))
    listed, block = backend.empty(min(n, len(ids))), {"ids": ids, "first": first, "end": end}
    backend.parallel_for(len(ids), number_kernels.mark_outside, marks=marks, **block)
    count = backend.scan(
        n, number_kernels.place_marked, n_owned=end - first, marks=marks, listed=listed
    )
    backend.parallel_for(
        len(ids), number_kernels.global_to_local_marked, local_ids=marks, local=local, **block
    )
    return local, listed[:count].copy()


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of owned vertices, as input of the kernels."""

    indptr: Array
    indices: Array
    edge_weights: Array
    n_owned: int


def make_piece(
    backend: Backend,
    blocks: Blocks,
    ghosts: Array,
    indptr: Array,
    indices: Array,
    edge_weights: Array,
    vertex_weights: Array,
    sums: tuple[int, int],
    long_rows: LongRows,
) -> Piece:
    """Return the piece of a process, given the rows of its vertices. Collective.

    Arrays have the types of a `DeviceGraph`; `indices` are local ids: owned vertices, then
    ghosts. `sums` are the number and the weight of the directed edges of the whole graph,
    `long_rows` the long rows of the owned vertices.
    """
    kind = backend.sum_type
    halo = PieceHalo(backend, blocks, ghosts)
    n_owned, entries, outward = len(vertex_weights), len(indices), len(ghosts)
    lengths, ends = backend.full(outward, 0, kind), backend.empty(outward, kind)
    rows = Rows(indptr, indices, edge_weights, n_owned)
    long_rows.launch(n_owned, ghost_kernels.count_outward, graph=rows, lengths=lengths)
    all_indptr = joined(backend, indptr, lengths)
    more = backend.scan(
        outward,
        ghost_kernels.place_outward,
        n_owned=n_owned,
        entries=entries,
        lengths=lengths,
        indptr=all_indptr,
        places=ends,
    )
    all_indices = joined(backend, indices, backend.empty(more))
    all_weights = joined(backend, edge_weights, backend.empty(more, kind))
    rows = Rows(indptr, all_indices, all_weights, n_owned)
    long_rows.launch(n_owned, ghost_kernels.turn_outward, graph=rows, places=ends)
    weights = joined(backend, vertex_weights, backend.empty(outward, kind))
    degrees = backend.empty(n_owned + outward, kind)
    backend.parallel_for(n_owned, ghost_kernels.find_degrees, graph=rows, degrees=degrees)
    halo.exchange_ghosts(weights, degrees)
    global_nnz, edge_weight = sums
    return Piece(
        all_indptr,
        all_indices,
        all_weights,
        weights,
        edge_weight,
        long_rows,
        halo,
        n_owned,
        entries,
        global_nnz,
        degrees[n_owned:].copy(),
        _with_ghosts(backend, long_rows, all_indptr, n_owned, more),
    )


def _with_ghosts(
    backend: Backend, long_rows: LongRows, indptr: Array, n_owned: int, more: int
) -> LongRows:
    """Return the long rows of a piece with the rows of its ghosts, which have `more` entries."""
    if long_rows.count == find_long_rows(backend, indptr[n_owned:], more).count == 0:
        return long_rows
    return find_long_rows(backend, indptr, int(indptr[-1]))


def cut_out(backend: Backend, comm: Communicator, graph: DeviceGraph) -> Piece:
    """Return the piece of this process of a graph that every process has as a whole. Collective.

    All pieces have about equal numbers of entries.
    """
    offsets = backend.to_host(graph.indptr)
    blocks = Blocks(comm, shares(np.diff(offsets).astype(np.int64) + 1, comm.size)).aligned()
    first, end = blocks.first, blocks.end
    entries = slice(int(offsets[first]), int(offsets[end]))
    indices, ghosts = localize(backend, blocks, graph.indices[entries])
    indptr = graph.indptr[first : end + 1] - graph.indptr[first]
    return make_piece(
        backend,
        blocks,
        ghosts,
        indptr,
        indices,
        graph.edge_weights[entries],
        graph.vertex_weights[first:end],
        (graph.nnz, graph.edge_weight),
        find_long_rows(backend, indptr, len(indices)),
    )
