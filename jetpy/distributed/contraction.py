"""Contraction of pairs over pieces.

Coarse vertices are numbered as on one device, by their lower vertices. Each process gets a block of
them, with about as many edges as others; rows whose coarse vertex is elsewhere go there.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from jetpy.coarsening.contraction import Pairs, merge
from jetpy.device.device_graph import Adjacency, DeviceGraph
from jetpy.distributed.communicator import Counts, starts_of
from jetpy.distributed.lists import add_to_all, joined, ordered, picked, put
from jetpy.distributed.piece import Blocks, Piece, global_to_local_below, localize, make_piece
from jetpy.engines.base import Array, Backend
from jetpy.graph.csr import INT32_MAX
from jetpy.workloads.coarsening.contraction import offset_rows
from jetpy.workloads.common.groups import NO_VERTEX
from jetpy.workloads.distributed import piece_contraction as kernels
from jetpy.workloads.distributed import row_migration as row_kernels
from jetpy.workloads.distributed.global_to_local import list_outside

WALKERS = 32
"""Indices that copy a row on a GPU."""
MAX_UNEVEN = 1.1
"""How many times the average number of entries a block may have before blocks are cut anew."""


@dataclass(frozen=True, eq=False)
class Numbering:
    """How coarse vertices are numbered; see `jetpy.workloads.distributed.piece_contraction`."""

    partners: Array
    places: Array
    coarse: Array


@dataclass(frozen=True, eq=False)
class Meeting:
    """Rows that become those of coarse vertices, likewise."""

    lower: Array
    upper: Array
    match: Array


@dataclass(frozen=True, eq=False)
class MigratedRows:
    """Rows that become those of coarse vertices: of own vertices, then handed over by others.

    Attributes
    ----------
    n_owned, entries : int
        Number of owned rows, and of their entries together.
    indptr, indices, edge_weights : as of an `Adjacency`
        Neighbours are vertices of the piece, and after them places in `names`.
    weights : of the back end's `sum_type`
    coarse_of : int32
        The coarse vertex of each row, by its place in the block; own ones are still to come.
    names : int32
        Coarse vertices of the handed rows' neighbours, by their numbers in the whole graph.
    """

    n_owned: int
    entries: int
    indptr: Array
    indices: Array
    edge_weights: Array
    weights: Array
    coarse_of: Array
    names: Array

    @property
    def adjacency(self) -> Adjacency:
        """The rows alone."""
        return Adjacency(self.indptr, self.indices, self.edge_weights)


def contract_pieces(backend: Backend, piece: Piece, partners: Array) -> tuple[Piece, Array]:
    """Return the piece of the coarse graph, and the coarse vertex of each own one (int32).

    `partners` (int32, shape (own,)) are numbers in the whole graph, -1 for none.
    """
    coarse_ids, blocks = _number(backend, piece, partners)
    coarse, ghosts, coarse_of = _merge_rows(backend, piece, blocks, coarse_ids)
    made = make_piece(
        backend,
        blocks,
        ghosts,
        coarse.indptr,
        coarse.indices,
        coarse.edge_weights,
        coarse.vertex_weights,
        coarse.edge_weight,
    )
    return made, coarse_of


def _number(backend: Backend, piece: Piece, partners: Array) -> tuple[Array, Blocks]:
    """Return the coarse vertices of own vertices and ghosts (int32), and blocks of them."""
    comm, own = piece.blocks.comm, piece.n_owned
    numbering = Numbering(partners, backend.empty(own), backend.empty(piece.n_with_ghosts))
    arguments = {"graph": piece, "numbering": numbering}
    count = backend.scan(own, kernels.place_lower, **arguments)
    load = backend.reduce(own, kernels.add_work, **arguments)
    counts, loads = zip(*comm.allgather_objects((count, load)), strict=True)
    starts = starts_of(counts)
    before = int(starts[comm.rank])
    backend.parallel_for(own, kernels.number_pairs_here, before=before, **arguments)
    _ask(backend, piece, numbering)
    piece.halo.exchange_ghosts(numbering.coarse)
    if max(loads) * comm.size > MAX_UNEVEN * sum(loads):
        work = backend.full(count, 0, np.int64)
        backend.parallel_for(own, kernels.tally_work, before=before, work=work, **arguments)
        starts = _cut_anew(backend, Blocks(comm, starts), loads, work)
    return numbering.coarse, Blocks(comm, starts)


def _ask(backend: Backend, piece: Piece, numbering: Numbering) -> None:
    """Ask other processes for the coarse vertices of own ones that are numbered there."""
    xp, comm, own = backend.xp, piece.blocks.comm, piece.n_owned
    asking = backend.empty(own)
    count = backend.scan(
        own, kernels.list_numbered_elsewhere, graph=piece, numbering=numbering, listed=asking
    )
    partners = picked(backend, numbering.partners, asking[:count])
    order = xp.argsort(partners, kind="stable")
    asking, asked = (ordered(backend, values, order) for values in (asking, partners))
    sent = piece.blocks.counts(backend, asked)
    wanted, counts = comm.send(backend, asked, sent)
    answers = picked(backend, numbering.coarse, wanted, piece.first_global_id)
    put(backend, numbering.coarse, asking, comm.exchange(backend, answers, counts, sent))


def _cut_anew(backend: Backend, blocks: Blocks, loads: tuple[int, ...], work: Array) -> Counts:
    """Return the starts of blocks with about as much work each.

    `loads` are what blocks have now, `work` (int64) is that of each coarse vertex of this one.
    """
    xp, comm = backend.xp, blocks.comm
    wanted = [sum(loads) * rank // comm.size - sum(loads[: comm.rank]) for rank in range(comm.size)]
    found = xp.searchsorted(xp.cumsum(work), backend.from_host(np.array(wanted)), side="right")
    cuts = [
        blocks.first + int(at) if 0 < place <= loads[comm.rank] else -1
        for place, at in zip(wanted, backend.to_host(found), strict=True)
    ]
    told = np.max(comm.allgather_objects(cuts), axis=0)
    starts = blocks.starts.copy()
    starts[:-1] = np.maximum.accumulate(np.maximum(told, 0))
    return starts


def _merge_rows(
    backend: Backend, piece: Piece, blocks: Blocks, coarse_ids: Array
) -> tuple[DeviceGraph, Array, Array]:
    """Return the rows of the own coarse vertices, their ghosts, and what fine ones become."""
    kind, own, n = backend.sum_type, piece.n_owned, blocks.end - blocks.first
    gathered = _gather_rows(backend, piece, blocks, coarse_ids)
    coarse_of, ghosts = localize(backend, blocks, joined(backend, coarse_ids, gathered.names))
    gathered.coarse_of[:own] = coarse_of[:own]
    count = len(gathered.coarse_of)
    meeting = Meeting(
        backend.full(n, INT32_MAX), backend.full(n, NO_VERTEX), backend.full(count, NO_VERTEX)
    )
    backend.parallel_for(
        count, kernels.meet, count=n, coarse_of=gathered.coarse_of, meeting=meeting
    )
    room, weights = backend.empty(n, kind), backend.empty(n, kind)
    backend.parallel_for(
        n,
        kernels.join_rows,
        meeting=meeting,
        indptr=gathered.indptr,
        weights=gathered.weights,
        room=room,
        coarse_weights=weights,
    )
    offsets = backend.full(n + 1, 0, kind)
    backend.scan(n, offset_rows, counts=room, indptr=offsets)
    pairs = Pairs(meeting.match, coarse_of, meeting.lower)
    coarse = merge(backend, gathered.adjacency, pairs, offsets, weights)
    return coarse, ghosts, coarse_of[:own].copy()


def _gather_rows(backend: Backend, piece: Piece, blocks: Blocks, coarse_ids: Array) -> MigratedRows:
    """Send the rows of vertices whose coarse one is elsewhere; join own rows and those received."""
    comm, kind, own, entries = blocks.comm, backend.sum_type, piece.n_owned, piece.nnz
    leaving, sent = _leaving(backend, piece, blocks, coarse_ids)
    told = backend.empty(row_kernels.TOLD * len(leaving), np.int64)
    backend.parallel_for(
        len(leaving),
        row_kernels.describe_rows,
        rows=leaving,
        coarse=coarse_ids,
        graph=piece,
        told=told,
    )
    heads, edge_weights, sent_entries = _entries_of(backend, piece, leaving, told, sent)
    named, sent_names = _name(backend, piece.n_with_ghosts, heads, sent_entries)
    received, _ = comm.send(backend, told, row_kernels.TOLD * sent)
    more = len(received) // row_kernels.TOLD
    names, names_of = comm.send(backend, picked(backend, coarse_ids, named), sent_names)
    entries_of = comm.alltoall(sent_entries)
    incoming = int(entries_of.sum())
    gathered = MigratedRows(
        own,
        entries,
        joined(backend, piece.indptr[: own + 1], backend.empty(more, kind)),
        joined(backend, piece.indices[:entries], backend.empty(incoming)),
        joined(backend, piece.edge_weights[:entries], backend.empty(incoming, kind)),
        joined(backend, piece.vertex_weights[:own], backend.empty(more, kind)),
        backend.empty(own + more),
        names,
    )
    backend.scan(more, row_kernels.place_rows, told=received, first=blocks.first, gathered=gathered)
    for sent_values, values in (heads, gathered.indices), (edge_weights, gathered.edge_weights):
        comm.alltoallv(backend, sent_values, values[entries:], sent_entries, entries_of)
    ends = entries + starts_of(entries_of)
    for start, first, end in zip(starts_of(names_of), ends, ends[1:], strict=False):
        add_to_all(backend, gathered.indices[first:end], piece.n_with_ghosts + int(start))
    return gathered


def _leaving(
    backend: Backend, piece: Piece, blocks: Blocks, coarse_ids: Array
) -> tuple[Array, Counts]:
    """Return the own vertices whose coarse one is elsewhere, and how many go to each process.

    They are in the order of their coarse vertices.
    """
    rows = backend.empty(piece.n_owned)
    count = backend.scan(
        piece.n_owned,
        list_outside,
        ids=coarse_ids,
        first=blocks.first,
        end=blocks.end,
        listed=rows,
    )
    coarse = picked(backend, coarse_ids, rows[:count])
    order = backend.xp.argsort(coarse, kind="stable")
    sent = blocks.counts(backend, ordered(backend, coarse, order))
    return ordered(backend, rows, order), sent


def _entries_of(
    backend: Backend, piece: Piece, rows: Array, told: Array, sent: Counts
) -> tuple[Array, Array, Counts]:
    """Return the neighbours and edge weights of rows, and how many go to each process."""
    offsets = backend.full(len(rows) + 1, 0, np.int64)
    count = backend.scan(len(rows), row_kernels.place_entries, told=told, offsets=offsets)
    heads, edge_weights = backend.empty(count), backend.empty(count, backend.sum_type)
    threads_per_row = 1 if backend.prefers_lists else min(WALKERS, INT32_MAX // max(1, len(rows)))
    backend.parallel_for(
        len(rows) * threads_per_row,
        row_kernels.copy_entries,
        rows=rows,
        graph=piece,
        threads_per_row=threads_per_row,
        offsets=offsets,
        heads=heads,
        edge_weights=edge_weights,
    )
    counts = backend.empty(len(sent), np.int64)
    backend.parallel_for(
        len(sent),
        row_kernels.count_entries,
        bounds=backend.from_host(starts_of(sent)),
        offsets=offsets,
        counts=counts,
    )
    return heads, edge_weights, backend.to_host(counts)


def _name(backend: Backend, n_with_ghosts: int, heads: Array, sent: Counts) -> tuple[Array, Counts]:
    """Return the vertices among the heads for each process, and how many these are for each.

    `heads` become places in that process's list of them.
    """
    lists = [backend.empty(0)]
    for first, end in pairwise(starts_of(sent)):
        local, named = lists[0], lists[0]
        if first < end:
            local, named = global_to_local_below(backend, n_with_ghosts, heads[first:end])
        heads[first:end] = local
        lists.append(named)
    return joined(backend, *lists), np.array([len(named) for named in lists[1:]], np.int64)
