"""A process's piece of a graph: a block of its vertices, and the ghosts around them."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from jetpy.device.device_graph import DeviceGraph
from jetpy.device.halo import Halo
from jetpy.device.long_rows import LongRows, find_long_rows
from jetpy.distributed.communicator import Communicator, Counts, starts_of
from jetpy.distributed.lists import add_to_all, counts_between, joined, picked, sorted_set
from jetpy.engines.base import Array, Backend
from jetpy.multilevel.index_width import narrow_weights
from jetpy.problem.problem import Problem
from jetpy.workloads.common import ghosts as ghost_kernels
from jetpy.workloads.distributed import global_to_local as number_kernels
from jetpy.workloads.distributed import halo as kernels


@dataclass(frozen=True, eq=False)
class Blocks:
    """Which process has which vertices: rank r those from ``starts[r]`` to ``starts[r + 1] - 1``.

    Attributes
    ----------
    comm : Communicator
    starts : int64, shape (comm.size + 1,), on the host
    """

    comm: Communicator
    starts: Counts

    @classmethod
    def of(cls, comm: Communicator, n: int) -> Blocks:
        """Return the blocks of processes that have `n` vertices each, in order of their ranks."""
        return cls(comm, starts_of(comm.allgather_objects(n)))

    @property
    def first(self) -> int:
        """First vertex of this process."""
        return int(self.starts[self.comm.rank])

    @property
    def end(self) -> int:
        """First vertex after those of this process."""
        return int(self.starts[self.comm.rank + 1])

    @property
    def n(self) -> int:
        """Number of vertices of all processes."""
        return int(self.starts[-1])

    def counts(self, backend: Backend, ids: Array) -> Counts:
        """Return how many of some vertices (int32), in ascending order, each process has."""
        return counts_between(backend, ids, self.starts)


class PieceHalo(Halo):
    """The surroundings of a piece: all goes in order with launches, and can be recorded.

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
        anything = backend.full(1, 0)
        self.ghost_ids = joined(backend, ghosts, anything).astype(backend.sum_type, copy=False)
        self._backend, self._comm = backend, blocks.comm
        self._received = blocks.counts(backend, ghosts)
        self._shown, self._sent = self._comm.send(backend, ghosts, self._received)
        add_to_all(backend, self._shown, -blocks.first)
        self._rooms: dict[tuple[int, Any], tuple[Array, Array]] = {}

    @property
    def lower_ghosts(self) -> int:
        """Number of ghosts whose global ids are below those of owned vertices."""
        return int(self._received[: self._comm.rank].sum())

    def narrowed(self) -> PieceHalo:
        """Return the same for a back end with kernels of 32 bits (`Backend.narrowed`)."""
        made = copy(self)
        made._backend, made._rooms = self._backend.narrowed(), {}
        made.ghost_ids = self.ghost_ids.astype(np.int32)
        return made

    def exchange_ghosts(self, *values: Array) -> None:
        """Let what ghosts have in arrays of all vertices be what their owners have.

        Arrays are all of int32, or all of the back end's `sum_type`.
        """
        count, kind = len(values), values[0].dtype
        show, take = kernels.pack_numbers, kernels.unpack_numbers
        if kind != np.int32:
            show, take = kernels.pack_weights, kernels.unpack_weights
        shown, seen = self._room(count, kind)
        for place, array in enumerate(values):
            self._backend.parallel_for(
                len(self._shown),
                show,
                values=array,
                vertices=self._shown,
                shown=shown,
                count=count,
                place=place,
            )
        self._exchange(shown, seen, count)
        for place, array in enumerate(values):
            self._backend.parallel_for(
                len(self.ghosts),
                take,
                values=array,
                n_owned=self.n_owned,
                seen=seen,
                count=count,
                place=place,
            )

    def exchange_ghost_vertices(self, values: Array) -> None:
        """Do what `follow` does where values are vertices; those that others own become none."""
        shown, seen = self._room(1, np.dtype(np.int32))
        self._backend.parallel_for(
            len(self._shown),
            kernels.pack_vertices,
            values=values,
            vertices=self._shown,
            shown=shown,
            graph=self,
        )
        self._exchange(shown, seen, 1)
        self._backend.parallel_for(
            len(self.ghosts), kernels.unpack_vertices, values=values, seen=seen, graph=self
        )

    def _room(self, count: int, kind: Any) -> tuple[Array, Array]:
        """Return arrays for what is shown and for what is seen, so many values for each vertex."""
        key = count, kind
        if key not in self._rooms:
            lengths = count * len(self._shown), count * len(self.ghosts)
            shown, seen = (self._backend.empty(length, kind) for length in lengths)
            self._rooms[key] = shown, seen
        return self._rooms[key]

    def _exchange(self, shown: Array, seen: Array, count: int) -> None:
        sent, received = self._sent * count, self._received * count
        backend, comm = self._backend, self._comm
        backend.perform(lambda: comm.alltoallv(backend, shown, seen, sent, received))

    def ids_of(self, vertices: Array) -> Array:
        """Return the numbers of vertices of the piece in the whole graph (int32); -1 of none."""
        names = self._backend.empty(len(vertices))
        self._backend.parallel_for(
            len(vertices),
            number_kernels.local_to_global,
            vertices=vertices,
            names=names,
            graph=self,
        )
        return names

    def allreduce(self, *counts: Array, stripes: int = 1) -> None:
        """Add up the counts of all pieces, in place, and those of all stripes in the first."""
        backend, comm = self._backend, self._comm

        def action() -> None:
            comm.allreduce(backend, *(_in_one(array, stripes) for array in counts))

        backend.perform(action)

    def exscan(self, counts: Array, before: Array) -> None:
        """Let `before` be the sums of the counts of pieces before this one, and forget its own."""
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
    def can_be_recorded(self) -> bool:  # type: ignore[override]
        """Whether what it does goes to a GPU as launches do."""
        is_alone = self._comm.transport == "none"
        return self._comm.is_between_gpus or (is_alone and self._backend.copies)

    @property
    def pieces(self) -> int:
        """Number of pieces of the graph."""
        return self._comm.size

    def is_everywhere(self, condition: bool) -> bool:
        """Whether a condition holds in all pieces."""
        return self.total(condition) == self._comm.size

    def total(self, count: int) -> int:
        """Return the sum of a number over all pieces."""
        return self._comm.totals(count)[0]

    def totals(self, *counts: int) -> list[int]:
        """Return the sums of numbers over all pieces."""
        return self._comm.totals(*counts)


def _in_one(counts: Array, stripes: int) -> Array:
    """Return the counts of the first stripe, to which those of the others have been added."""
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
        Number of owned vertices, and of the entries of their rows.
    entries_of_all : int
        Directed edges of the whole graph.
    degrees : of the back end's `sum_type`, shape (ghosts,)
        Of ghosts, in the whole graph.
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
        """What other pieces are asked for."""
        return self.around

    @property
    def blocks(self) -> Blocks:
        """Which process has which vertices."""
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
        """Directed edges of the whole graph."""
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
        """The long rows, with those of ghosts."""
        return self.rows_with_ghosts

    @property
    def higher_ghosts(self) -> int:
        """The first ghost whose global id is above those of owned vertices."""
        return self.n_owned + self.around.lower_ghosts


def narrow_piece(backend: Backend, piece: Piece, problem: Problem) -> Piece:
    """Return a piece for `backend.narrowed()`, its weights rounded if need be (`narrow_graph`)."""
    narrow = backend.narrowed()
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
        around=piece.around.narrowed(),
        degrees=piece.degrees.astype(np.int32),
        rows_with_ghosts=find_long_rows(narrow, indptr, len(piece.indices)),
    )


def localize(backend: Backend, blocks: Blocks, ids: Array) -> tuple[Array, Array]:
    """Return the vertices of a piece (int32) that ids (int32) are, and its ghosts.

    These are the ids that other processes have (int32, ascending).
    """
    return global_to_local_below(backend, blocks.n, ids, blocks.first, blocks.end)


def global_to_local_below(
    backend: Backend, n: int, ids: Array, first: int = 0, end: int = 0
) -> tuple[Array, Array]:
    """Do what `localize` does for ids below n and a block of these."""
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
    """Do so by an array of n marks."""
    marks, local = backend.full(n, 0), backend.empty(len(ids))
    listed, block = backend.empty(min(n, len(ids))), {"ids": ids, "first": first, "end": end}
    backend.parallel_for(len(ids), number_kernels.mark_outside, marks=marks, **block)
    count = backend.scan(
        n, number_kernels.place_marked, n_owned=end - first, marks=marks, listed=listed
    )
    backend.parallel_for(
        len(ids), number_kernels.global_to_local_marked, places=marks, local=local, **block
    )
    return local, listed[:count].copy()


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of owned vertices, as kernels take them."""

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
    total: int,
) -> Piece:
    """Return the piece of a process, given the rows of its vertices.

    Arrays have the types of a `DeviceGraph`; `indices` are owned vertices and ghosts, numbered after
    these; `total` is the sum of `edge_weights`.
    """
    kind = backend.sum_type
    halo = PieceHalo(backend, blocks, ghosts)
    own, entries, outward = len(vertex_weights), len(indices), len(ghosts)
    long_rows = find_long_rows(backend, indptr, entries)
    lengths, ends = backend.full(outward, 0, kind), backend.empty(outward, kind)
    rows = Rows(indptr, indices, edge_weights, own)
    long_rows.launch(own, ghost_kernels.count_outward, graph=rows, lengths=lengths)
    all_indptr = joined(backend, indptr, lengths)
    more = backend.scan(
        outward,
        ghost_kernels.place_outward,
        n_owned=own,
        entries=entries,
        lengths=lengths,
        indptr=all_indptr,
        places=ends,
    )
    all_indices = joined(backend, indices, backend.empty(more))
    all_weights = joined(backend, edge_weights, backend.empty(more, kind))
    rows = Rows(indptr, all_indices, all_weights, own)
    long_rows.launch(own, ghost_kernels.turn_outward, graph=rows, places=ends)
    weights = joined(backend, vertex_weights, backend.empty(outward, kind))
    degrees = backend.empty(own + outward, kind)
    backend.parallel_for(own, ghost_kernels.find_degrees, graph=rows, degrees=degrees)
    halo.exchange_ghosts(weights, degrees)
    global_nnz, edge_weight = halo.totals(entries, total)
    return Piece(
        all_indptr,
        all_indices,
        all_weights,
        weights,
        edge_weight,
        long_rows,
        halo,
        own,
        entries,
        global_nnz,
        degrees[own:].copy(),
        find_long_rows(backend, all_indptr, entries + more),
    )
