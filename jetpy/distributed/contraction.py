"""Contraction of pairs over pieces.

Coarse vertices are numbered as on one device, by their lower vertices. Each process gets a block of
them, with about as many edges as others; rows whose coarse vertex is elsewhere go there.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from jetpy.backends.base import Array, Backend
from jetpy.backends.level import Adjacency, DeviceGraph
from jetpy.coarsening.contraction import Pairs, merge
from jetpy.distributed.communicator import Counts, starts_of
from jetpy.distributed.piece import Blocks, Piece, localize, make_piece
from jetpy.graph import INT32_MAX
from jetpy.workloads import piece_contraction as kernels
from jetpy.workloads.contraction import offset_rows
from jetpy.workloads.groups import NO_VERTEX
from jetpy.workloads.local_numbers import list_outside

MOST_UNEVEN = 1.1
"""How many times the average number of entries a block may have before blocks are cut anew."""


@dataclass(frozen=True, eq=False)
class Numbering:
    """How coarse vertices are numbered, as `jetpy.workloads.piece_contraction` takes it."""

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
class Handed:
    """Rows that other processes have handed over, each for a coarse vertex of this one.

    Attributes
    ----------
    coarse, weights, lengths : int64, one for each row
    heads : int32, one for each entry
        Neighbours, by their places in `names`.
    edge_weights : of the back end's `sum_type`, one for each entry
    names : int32
        Coarse vertices of neighbours, by their numbers in the whole graph.
    """

    coarse: Array
    weights: Array
    lengths: Array
    heads: Array
    edge_weights: Array
    names: Array


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
    comm, own = piece.blocks.comm, piece.own
    numbering = Numbering(partners, backend.empty(own), backend.empty(piece.places))
    arguments = {"graph": piece, "numbering": numbering}
    count = backend.scan(own, kernels.place_lower, **arguments)
    load = backend.reduce(own, kernels.add_work, **arguments)
    counts, loads = zip(*comm.gather_objects((count, load)), strict=True)
    starts = starts_of(counts)
    before = int(starts[comm.rank])
    backend.parallel_for(own, kernels.number_pairs_here, before=before, **arguments)
    _ask(backend, piece, numbering)
    piece.halo.follow(numbering.coarse)
    if max(loads) * comm.size > MOST_UNEVEN * sum(loads):
        work = backend.full(count, 0, np.int64)
        backend.parallel_for(own, kernels.tally_work, before=before, work=work, **arguments)
        starts = _cut_anew(backend, Blocks(comm, starts), loads, work)
    return numbering.coarse, Blocks(comm, starts)


def _ask(backend: Backend, piece: Piece, numbering: Numbering) -> None:
    """Ask other processes for the coarse vertices of own ones that are numbered there."""
    xp, comm, own = backend.xp, piece.blocks.comm, piece.own
    asking = backend.empty(own)
    count = backend.scan(
        own, kernels.list_numbered_elsewhere, graph=piece, numbering=numbering, listed=asking
    )
    asking = asking[:count]
    asking = asking[xp.argsort(numbering.partners[asking], kind="stable")]
    asked = numbering.partners[asking]
    sent = piece.blocks.counts(backend, asked)
    wanted, counts = comm.send(backend, asked, sent)
    answers = numbering.coarse[wanted - np.int32(piece.first)]
    numbering.coarse[asking] = comm.exchange(backend, answers, counts, sent)


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
    told = np.max(comm.gather_objects(cuts), axis=0)
    starts = blocks.starts.copy()
    starts[:-1] = np.maximum.accumulate(np.maximum(told, 0))
    return starts


def _merge_rows(
    backend: Backend, piece: Piece, blocks: Blocks, coarse_ids: Array
) -> tuple[DeviceGraph, Array, Array]:
    """Return the rows of the own coarse vertices, their ghosts, and what fine ones become."""
    xp, kind, own, entries = backend.xp, backend.sum_type, piece.own, piece.nnz
    handed = _hand_over(backend, piece, blocks, coarse_ids)
    coarse_of, ghosts = localize(backend, blocks, xp.concatenate([coarse_ids, handed.names]))
    ends = entries + xp.cumsum(handed.lengths)
    rows = Adjacency(
        xp.concatenate([piece.indptr[: own + 1], ends.astype(kind)]),
        xp.concatenate([piece.indices[:entries], handed.heads + np.int32(piece.places)]),
        xp.concatenate([piece.edge_weights[:entries], handed.edge_weights]),
    )
    weights = xp.concatenate([piece.vertex_weights[:own], handed.weights.astype(kind)])
    of_rows = xp.concatenate([coarse_of[:own], (handed.coarse - blocks.first).astype(np.int32)])
    n = blocks.end - blocks.first
    meeting = Meeting(
        backend.full(n, INT32_MAX),
        backend.full(n, NO_VERTEX),
        backend.full(len(of_rows), NO_VERTEX),
    )
    backend.parallel_for(len(of_rows), kernels.meet, count=n, coarse_of=of_rows, meeting=meeting)
    room, coarse_weights = backend.empty(n, kind), backend.empty(n, kind)
    backend.parallel_for(
        n,
        kernels.join_rows,
        meeting=meeting,
        indptr=rows.indptr,
        weights=weights,
        room=room,
        coarse_weights=coarse_weights,
    )
    offsets = backend.full(n + 1, 0, kind)
    backend.scan(n, offset_rows, counts=room, indptr=offsets)
    pairs = Pairs(meeting.match, coarse_of, meeting.lower)
    coarse = merge(backend, rows, pairs, offsets, coarse_weights)
    return coarse, ghosts, coarse_of[:own].copy()


def _hand_over(backend: Backend, piece: Piece, blocks: Blocks, coarse_ids: Array) -> Handed:
    """Send the rows of vertices whose coarse one is elsewhere, and return those received."""
    xp, comm = backend.xp, blocks.comm
    rows = backend.empty(piece.own)
    count = backend.scan(
        piece.own,
        list_outside,
        ids=coarse_ids,
        first=blocks.first,
        end=blocks.end,
        listed=rows,
    )
    rows = rows[:count]
    rows = rows[xp.argsort(coarse_ids[rows], kind="stable")]
    becoming = coarse_ids[rows].astype(np.int64)
    starts = piece.indptr[rows].astype(np.int64)
    lengths = piece.indptr[rows + 1].astype(np.int64) - starts
    described = xp.stack([becoming, piece.vertex_weights[rows].astype(np.int64), lengths], axis=1)
    sent = blocks.counts(backend, becoming)
    found, _ = comm.send(backend, described.ravel(), 3 * sent)
    coarse, weights, handed_lengths = (
        xp.ascontiguousarray(column) for column in found.reshape(-1, 3).T
    )

    ends = xp.cumsum(lengths)
    entries = xp.repeat(starts - (ends - lengths), lengths)
    entries += xp.arange(len(entries), dtype=np.int64)
    heads, edge_weights = piece.indices[entries], piece.edge_weights[entries]
    of_rows = np.concatenate([[0], backend.to_host(ends)])
    sent_entries = np.diff(of_rows[starts_of(sent)])
    named, sent_names = _name(backend, piece.places, heads, sent_entries)
    names, names_of = comm.send(backend, coarse_ids[named], sent_names)
    heads, entries_of = comm.send(backend, heads, sent_entries)
    ends_of = starts_of(entries_of)
    for start, first, end in zip(starts_of(names_of), ends_of, ends_of[1:], strict=False):
        heads[first:end] += np.int32(start)
    edge_weights = comm.exchange(backend, edge_weights, sent_entries, entries_of)
    return Handed(coarse, weights, handed_lengths, heads, edge_weights, names)


def _name(backend: Backend, places: int, heads: Array, sent: Counts) -> tuple[Array, Counts]:
    """Return the vertices among the heads for each process, and how many these are for each.

    `heads` become places in that process's list of them.
    """
    xp = backend.xp
    lists = []
    for first, end in pairwise(starts_of(sent)):
        if first == end:
            lists.append(backend.empty(0))
            continue
        wanted = heads[first:end]
        is_named = backend.full(places, 0, np.bool_)
        is_named[wanted] = True
        lists.append(xp.flatnonzero(is_named))
        place = backend.empty(places)
        place[lists[-1]] = xp.arange(len(lists[-1]), dtype=np.int32)
        heads[first:end] = place[wanted]
    return xp.concatenate(lists), np.array([len(named) for named in lists])
