"""A process's piece of a graph: a block of its vertices, and the ghosts around them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from jetpy.backends.base import Array, Backend
from jetpy.backends.halo import Halo
from jetpy.backends.level import DeviceGraph
from jetpy.backends.long_rows import LongRows, find_long_rows
from jetpy.distributed.communicator import Communicator, Counts, starts_of
from jetpy.narrowing import narrow_weights
from jetpy.problem import Problem
from jetpy.workloads import ghosts as kernels


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
        return cls(comm, starts_of(comm.gather_objects(n)))

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

    def has(self, ids: Array) -> Array:
        """Return whether this process has each of some vertices."""
        return (ids >= self.first) & (ids < self.end)

    def counts(self, backend: Backend, ids: Array) -> Counts:
        """Return how many of some vertices, in ascending order, each process has."""
        ends = backend.xp.searchsorted(ids, backend.from_host(self.starts))
        return np.diff(backend.to_host(ends)).astype(np.int64)

    def owners(self, backend: Backend, ids: Array) -> Array:
        """Return the process that has each vertex."""
        starts = backend.from_host(self.starts[1:])
        return backend.xp.searchsorted(starts, ids, side="right")


class PieceHalo(Halo):
    """The surroundings of a piece.

    Parameters
    ----------
    ghosts : int64, on the back end
        Numbers of the ghosts, ascending.
    """

    is_whole = False

    def __init__(self, backend: Backend, blocks: Blocks, ghosts: Array) -> None:
        self.blocks, self.ghosts = blocks, ghosts
        self._backend, self._comm = backend, blocks.comm
        self._own = blocks.end - blocks.first
        self._received = blocks.counts(backend, ghosts)
        wanted, self._sent = self._comm.send(backend, ghosts, self._received)
        self._shown = wanted - blocks.first

    def follow(self, *values: Array) -> None:
        """Let what ghosts have in arrays of all vertices be what their owners have."""
        count = len(values)
        shown = self._backend.xp.stack([v[self._shown] for v in values], axis=1)
        found = self._exchange(shown.ravel(), count).reshape(-1, count)
        for column, array in enumerate(values):
            array[self._own :] = found[:, column]

    def follow_vertices(self, values: Array) -> None:
        """Do what `follow` does where values are vertices; those that others own become none."""
        xp, first = self._backend.xp, self.blocks.first
        found = self._exchange(self.ids_of(values[self._shown]), 1)
        values[self._own :] = xp.where(self.blocks.has(found), found - first, -1)

    def ids_of(self, vertices: Array) -> Array:
        """Return the numbers of vertices of the piece in the whole graph; -1 of none."""
        xp = self._backend.xp
        ids = vertices.astype(np.int64)
        far = ids >= self._own
        ids = xp.where(ids >= 0, ids + self.blocks.first, -1)
        ids[far] = self.ghosts[vertices[far] - self._own]
        return ids

    def _exchange(self, values: Array, count: int) -> Array:
        sent, received = self._sent * count, self._received * count
        return self._comm.exchange(self._backend, values, sent, received)

    def add_up(self, *counts: Array, sections: int = 1) -> None:
        """Add up the counts of all pieces, in place, and those of all sections in the first."""
        for array in counts:
            size = len(array) // sections
            sums = array[:size]
            if sections > 1:
                sums[:] = array.reshape(sections, size).sum(axis=0, dtype=array.dtype)
                array[size:] = 0
            self._comm.add_up(self._backend, sums)

    def before(self, counts: Array) -> None:
        """Replace counts by the sums of the pieces before this one."""
        all_counts = self._comm.gather(self._backend, counts).reshape(self._comm.size, -1)
        counts[:] = all_counts[: self._comm.rank].sum(axis=0)

    def total(self, count: int) -> int:
        """Return the sum of a number over all pieces."""
        return self._comm.totals(count)[0]

    def totals(self, *counts: int) -> list[int]:
        """Return the sums of numbers over all pieces."""
        return self._comm.totals(*counts)


@dataclass(frozen=True, eq=False)
class Piece(DeviceGraph):
    """A process's piece of a graph: rows of its own vertices, then of ghosts.

    Arrays are those of a `DeviceGraph`, with `own` vertices first. Edges between own vertices and
    ghosts stand in the rows of both. `edge_weight` is the sum over the whole graph.

    Attributes
    ----------
    around : PieceHalo
    count, entries : int
        Number of own vertices, and length of their rows together.
    entries_of_all : int
        Directed edges of the whole graph.
    ids, degrees : of the back end's `sum_type`, shape (ghosts,)
        Of ghosts, in the whole graph.
    rows_with_ghosts : LongRows
    """

    around: PieceHalo
    count: int
    entries: int
    entries_of_all: int
    ids: Array
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
    def first(self) -> int:  # type: ignore[override]
        """Number of the first own vertex in the whole graph."""
        return self.blocks.first

    @property
    def n(self) -> int:
        """Number of own vertices."""
        return self.count

    @property
    def own(self) -> int:
        """Number of own vertices, as kernels take it."""
        return self.count

    @property
    def all_n(self) -> int:
        """Number of vertices of the whole graph."""
        return self.blocks.n

    @property
    def nnz(self) -> int:
        """Directed edges of the own vertices."""
        return self.entries

    @property
    def all_nnz(self) -> int:
        """Directed edges of the whole graph."""
        return self.entries_of_all

    @property
    def places(self) -> int:
        """Number of own vertices and ghosts."""
        return len(self.vertex_weights)

    @property
    def ghost_ids(self) -> Array:
        """Numbers of ghosts in the whole graph."""
        return self.ids

    @property
    def ghost_degrees(self) -> Array:
        """Degrees of ghosts there."""
        return self.degrees

    @property
    def all_rows(self) -> LongRows:
        """The long rows, with those of ghosts."""
        return self.rows_with_ghosts

    @cached_property
    def higher_ghosts(self) -> int:
        """The first ghost whose number is above those of own vertices."""
        return self.own + int((self.around.ghosts < self.first).sum())


def narrow_piece(backend: Backend, piece: Piece, problem: Problem) -> Piece:
    """Return a piece for `backend.narrowed()`, its weights rounded if need be (`narrow_graph`)."""
    narrow = backend.narrowed()
    edge_weights, vertex_weights = narrow_weights(backend, piece, problem)
    indptr = piece.indptr.astype(np.int32)
    own = int(edge_weights[: piece.nnz].sum(dtype=np.int64))
    return replace(
        piece,
        indptr=indptr,
        edge_weights=edge_weights,
        vertex_weights=vertex_weights,
        edge_weight=piece.halo.total(own),
        long_rows=find_long_rows(narrow, indptr[: piece.own + 1], piece.nnz),
        ids=piece.ids.astype(np.int32),
        degrees=piece.degrees.astype(np.int32),
        rows_with_ghosts=find_long_rows(narrow, indptr, len(piece.indices)),
    )


def localize(backend: Backend, blocks: Blocks, ids: Array) -> tuple[Array, Array]:
    """Return the vertices of a piece (int32) that ids (int64) are, and its ghosts.

    These are the ids that other processes have (int64, ascending).
    """
    xp, first, end = backend.xp, blocks.first, blocks.end
    far = xp.flatnonzero(~blocks.has(ids))
    local = (ids - first).astype(np.int32)
    if blocks.n > len(ids):
        ghosts = xp.unique(ids[far])
        local[far] = end - first + xp.searchsorted(ghosts, ids[far])
        return local, ghosts
    foreign = ids[far]
    is_ghost = backend.full(blocks.n, 0, np.bool_)
    is_ghost[foreign] = True
    ghosts = xp.flatnonzero(is_ghost)
    place = backend.empty(blocks.n)
    place[ghosts] = end - first + xp.arange(len(ghosts), dtype=np.int32)
    local[far] = place[foreign]
    return local, ghosts


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of own vertices, as kernels take them."""

    indptr: Array
    indices: Array
    edge_weights: Array
    own: int


def make_piece(
    backend: Backend,
    blocks: Blocks,
    ghosts: Array,
    indptr: Array,
    indices: Array,
    edge_weights: Array,
    vertex_weights: Array,
) -> Piece:
    """Return the piece of a process, given the rows of its vertices.

    Arrays have the types of a `DeviceGraph`; `indices` are own vertices and ghosts, numbered after
    these.
    """
    xp, kind = backend.xp, backend.sum_type
    halo = PieceHalo(backend, blocks, ghosts)
    own, entries = len(vertex_weights), len(indices)
    lengths = backend.full(len(ghosts), 0, kind)
    rows = Rows(indptr, indices, edge_weights, own)
    backend.parallel_for(own, kernels.count_outward, graph=rows, lengths=lengths)
    all_indptr = backend.empty(len(indptr) + len(ghosts), kind)
    all_indptr[: len(indptr)] = indptr
    all_indptr[len(indptr) :] = entries + xp.cumsum(lengths)
    outward = int(lengths.sum())
    all_indices, all_weights = (
        backend.empty(entries + outward),
        backend.empty(entries + outward, kind),
    )
    all_indices[:entries], all_weights[:entries] = indices, edge_weights
    rows = Rows(indptr, all_indices, all_weights, own)
    begins = all_indptr[own:-1].copy()
    backend.parallel_for(own, kernels.turn_outward, graph=rows, places=begins)
    places = own + len(ghosts)
    weights, degrees = backend.empty(places, kind), backend.empty(places, kind)
    weights[:own], degrees[:own] = vertex_weights, xp.diff(indptr)
    halo.follow(weights, degrees)
    total = int(edge_weights.sum(dtype=np.int64))
    all_nnz, edge_weight = halo.totals(entries, total)
    return Piece(
        all_indptr,
        all_indices,
        all_weights,
        weights,
        edge_weight,
        find_long_rows(backend, indptr, entries),
        halo,
        own,
        entries,
        all_nnz,
        xp.concatenate([ghosts, indices[:1]]).astype(kind),
        degrees[own:].copy(),
        find_long_rows(backend, all_indptr, entries + outward),
    )
