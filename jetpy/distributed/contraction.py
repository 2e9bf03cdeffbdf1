"""Contraction of matched pairs over pieces.

Coarse vertices get the same ids as on one device, in the order of their lower vertices. Each
process gets a block of coarse vertices, with about the same number of edges. Rows migrate to the
process that owns their coarse vertex.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from jetpy.coarsening.contraction import begin_merge, longest_list
from jetpy.device.device_graph import Adjacency, DeviceGraph
from jetpy.distributed.communicator import Counts, starts_of
from jetpy.distributed.lists import add_to_all, joined, ordered, picked, put
from jetpy.distributed.piece import Blocks, Piece, global_to_local_below, localize, make_piece
from jetpy.engines.base import Array, Backend
from jetpy.graph.csr import INT32_MAX
from jetpy.workloads.coarsening.contraction import Pairs, offset_rows
from jetpy.workloads.common.groups import NO_VERTEX
from jetpy.workloads.distributed import piece_contraction as kernels
from jetpy.workloads.distributed import row_migration as row_kernels
from jetpy.workloads.distributed.global_to_local import list_outside
from jetpy.workloads.distributed.piece_contraction import Meeting, Numbering

MAX_THREADS_PER_ROW = 32
"""Maximum number of threads that copy a row on a GPU."""
MAX_UNEVEN = 1.1
"""Maximum ratio of a block's work to the average before new block boundaries are chosen."""


@dataclass(frozen=True, eq=False)
class MigratedRows:
    """Rows to merge into rows of coarse vertices: owned rows, then received rows.

    Attributes
    ----------
    n_owned, entries : int
        Number of owned rows, and total number of their entries.
    indptr, indices, edge_weights : as of an `Adjacency`
        Neighbours are local ids; from `n_with_ghosts` on, indices in `names`.
    weights : of the back end's `sum_type`
    coarse_of : int32
        Coarse vertex of each row, as a local id; set later for owned rows.
    names : int32
        Global ids of the coarse vertices of the received rows' neighbours.
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
    """Return the piece of the coarse graph, and the coarse vertex of each owned vertex, int32.

    `partners` (int32, shape (n_owned,)) are global ids, -1 for none. Collective.
    """
    coarse_ids, blocks = _number(backend, piece, partners)
    coarse, ghosts, coarse_of = _merge_rows(backend, piece, blocks, coarse_ids)
    entries, weight = blocks.comm.totals(len(coarse.indices), coarse.edge_weight)
    made = make_piece(
        backend,
        blocks,
        ghosts,
        coarse.indptr,
        coarse.indices,
        coarse.edge_weights,
        coarse.vertex_weights,
        (entries, weight),
        coarse.long_rows,
    )
    return made, coarse_of


def _number(backend: Backend, piece: Piece, partners: Array) -> tuple[Array, Blocks]:
    """Return the coarse vertices (int32) of owned vertices and ghosts, and the coarse blocks."""
    comm, n_owned = piece.blocks.comm, piece.n_owned
    numbering = Numbering(partners, backend.empty(n_owned), backend.empty(piece.n_with_ghosts))
    arguments = {"graph": piece, "numbering": numbering}
    count = backend.scan(n_owned, kernels.place_lower, **arguments)
    load = backend.reduce(n_owned, kernels.add_work, **arguments)
    counts, loads = zip(*comm.allgather_objects((count, load)), strict=True)
    starts = starts_of(counts)
    before = int(starts[comm.rank])
    backend.parallel_for(n_owned, kernels.number_pairs_here, before=before, **arguments)
    _ask(backend, piece, numbering)
    piece.halo.exchange_ghosts(numbering.coarse)
    if max(loads) * comm.size > MAX_UNEVEN * sum(loads):
        work = backend.full(count, 0, np.int64)
        backend.parallel_for(n_owned, kernels.tally_work, before=before, work=work, **arguments)
        starts = _cut_anew(backend, Blocks(comm, starts), loads, work)
    return numbering.coarse, Blocks(comm, starts).aligned()


def _ask(backend: Backend, piece: Piece, numbering: Numbering) -> None:
    """Fetch the coarse vertices of owned vertices that other processes number."""
    xp, comm, n_owned = backend.xp, piece.blocks.comm, piece.n_owned
    asking = backend.empty(n_owned)
    count = backend.scan(
        n_owned, kernels.list_numbered_elsewhere, graph=piece, numbering=numbering, listed=asking
    )
    partners = picked(backend, numbering.partners, asking[:count])
    order = xp.argsort(partners, kind="stable")
    asking, asked = (ordered(backend, values, order) for values in (asking, partners))
    sent = piece.blocks.counts(backend, asked)
    wanted, counts = comm.send(backend, asked, sent)
    answers = picked(backend, numbering.coarse, wanted, piece.first_global_id)
    put(backend, numbering.coarse, asking, comm.exchange(backend, answers, counts, sent))


def _cut_anew(backend: Backend, blocks: Blocks, loads: tuple[int, ...], work: Array) -> Counts:
    """Return the starts of blocks with about equal work.

    `loads` is the current work of each block, `work` (int64) that of each coarse vertex here.
    """
    xp, comm = backend.xp, blocks.comm
    wanted = [sum(loads) * rank // comm.size - sum(loads[: comm.rank]) for rank in range(comm.size)]
    positions = xp.searchsorted(xp.cumsum(work), backend.from_host(np.array(wanted)), side="right")
    cuts = [
        blocks.first + int(at) if 0 < place <= loads[comm.rank] else -1
        for place, at in zip(wanted, backend.to_host(positions), strict=True)
    ]
    agreed = np.max(comm.allgather_objects(cuts), axis=0)
    starts = blocks.starts.copy()
    starts[:-1] = np.maximum.accumulate(np.maximum(agreed, 0))
    return starts


def _merge_rows(
    backend: Backend, piece: Piece, blocks: Blocks, coarse_ids: Array
) -> tuple[DeviceGraph, Array, Array]:
    """Return the rows of owned coarse vertices, their ghosts, and the local coarse vertices."""
    kind, n_owned, n = backend.sum_type, piece.n_owned, blocks.end - blocks.first
    gathered = _gather_rows(backend, piece, blocks, coarse_ids)
    coarse_of, ghosts = localize(backend, blocks, joined(backend, coarse_ids, gathered.names))
    gathered.coarse_of[:n_owned] = coarse_of[:n_owned]
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
        longest=longest_list(backend, len(gathered.indices)),
    )
    offsets = backend.full(n + 1, 0, kind)
    slots = backend.scan(n, offset_rows, counts=room, indptr=offsets)
    pairs = Pairs(meeting.match, coarse_of, meeting.lower)
    finish = begin_merge(backend, gathered.adjacency, pairs, offsets, weights, slots)
    del gathered
    return finish(), ghosts, coarse_of[:n_owned].copy()


def _gather_rows(backend: Backend, piece: Piece, blocks: Blocks, coarse_ids: Array) -> MigratedRows:
    """Migrate rows to the owners of their coarse vertices; return owned and received rows."""
    comm, kind, n_owned, entries = blocks.comm, backend.sum_type, piece.n_owned, piece.nnz
    leaving, sent = _leaving(backend, piece, blocks, coarse_ids)
    send_buffer = backend.empty(row_kernels.RECORD_WORDS * len(leaving), np.int64)
    backend.parallel_for(
        len(leaving),
        row_kernels.describe_rows,
        rows=leaving,
        coarse=coarse_ids,
        graph=piece,
        send_buffer=send_buffer,
    )
    heads, edge_weights, sent_entries = _entries_of(backend, piece, leaving, send_buffer, sent)
    named, sent_names = _name(backend, piece.n_with_ghosts, heads, sent_entries)
    recv_buffer, _ = comm.send(backend, send_buffer, row_kernels.RECORD_WORDS * sent)
    more = len(recv_buffer) // row_kernels.RECORD_WORDS
    names, names_of = comm.send(backend, picked(backend, coarse_ids, named), sent_names)
    entries_of = comm.alltoall(sent_entries)
    incoming = int(entries_of.sum())
    gathered = MigratedRows(
        n_owned,
        entries,
        joined(backend, piece.indptr[: n_owned + 1], backend.empty(more, kind)),
        joined(backend, piece.indices[:entries], backend.empty(incoming)),
        joined(backend, piece.edge_weights[:entries], backend.empty(incoming, kind)),
        joined(backend, piece.vertex_weights[:n_owned], backend.empty(more, kind)),
        backend.empty(n_owned + more),
        names,
    )
    backend.scan(
        more, row_kernels.place_rows, recv_buffer=recv_buffer, first=blocks.first, gathered=gathered
    )
    for sent_values, values in (heads, gathered.indices), (edge_weights, gathered.edge_weights):
        comm.alltoallv(backend, sent_values, values[entries:], sent_entries, entries_of)
    ends = entries + starts_of(entries_of)
    for start, first, end in zip(starts_of(names_of), ends, ends[1:], strict=False):
        add_to_all(backend, gathered.indices[first:end], piece.n_with_ghosts + int(start))
    return gathered


def _leaving(
    backend: Backend, piece: Piece, blocks: Blocks, coarse_ids: Array
) -> tuple[Array, Counts]:
    """Return the owned vertices whose coarse vertex is elsewhere, and their count by process.

    The vertices are in the order of their coarse vertices.
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
    backend: Backend, piece: Piece, rows: Array, send_buffer: Array, sent: Counts
) -> tuple[Array, Array, Counts]:
    """Return the neighbours and edge weights of rows, and the number sent to each process."""
    offsets = backend.full(len(rows) + 1, 0, np.int64)
    count = backend.scan(
        len(rows), row_kernels.place_entries, send_buffer=send_buffer, offsets=offsets
    )
    heads, edge_weights = backend.empty(count), backend.empty(count, backend.sum_type)
    threads_per_row = (
        1 if backend.warp_size == 1 else min(MAX_THREADS_PER_ROW, INT32_MAX // max(1, len(rows)))
    )
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
    """Return the distinct heads sent to each process, and their number by process.

    Each entry of `heads` becomes an index in its process's list of distinct heads, in place.
    """
    lists = [backend.empty(0)]
    for first, end in pairwise(starts_of(sent)):
        local, named = lists[0], lists[0]
        if first < end:
            local, named = global_to_local_below(backend, n_with_ghosts, heads[first:end])
        heads[first:end] = local
        lists.append(named)
    return joined(backend, *lists), np.array([len(named) for named in lists[1:]], np.int64)
