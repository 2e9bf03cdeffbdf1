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
from jetpy.workloads.groups import NO_VERTEX

MOST_UNEVEN = 1.1
"""How many times the average number of entries a block may have before blocks are cut anew."""


@dataclass(frozen=True, eq=False)
class Handed:
    """Rows that other processes have handed over, each for a coarse vertex of this one.

    Attributes
    ----------
    coarse, weights, lengths : int64, one for each row
    heads : int32, one for each entry
        Neighbours, by their places in `names`.
    edge_weights : of the back end's `sum_type`, one for each entry
    names : int64
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

    `partners` (int64, shape (own,)) are numbers in the whole graph, -1 for none.
    """
    coarse_ids, *numbered = _number(backend, piece, partners)
    blocks = _share(backend, piece, coarse_ids, *numbered)
    coarse, ghosts, coarse_of = _merge_rows(backend, piece, blocks, coarse_ids)
    made = make_piece(
        backend,
        blocks,
        ghosts,
        coarse.indptr,
        coarse.indices,
        coarse.edge_weights,
        coarse.vertex_weights,
    )
    return made, coarse_of


def _merge_rows(
    backend: Backend, piece: Piece, blocks: Blocks, coarse_ids: Array
) -> tuple[DeviceGraph, Array, Array]:
    """Return the rows of the own coarse vertices, their ghosts, and what fine ones become."""
    xp, kind = backend.xp, backend.sum_type
    handed = _hand_over(backend, piece, blocks, coarse_ids)
    coarse_of, ghosts = localize(backend, blocks, xp.concatenate([coarse_ids, handed.names]))
    lengths = xp.concatenate([xp.diff(piece.indptr[: piece.own + 1]), handed.lengths])
    weights = xp.concatenate([piece.vertex_weights[: piece.own], handed.weights])
    indptr = backend.full(len(lengths) + 1, 0, kind)
    indptr[1:] = xp.cumsum(lengths)
    entries = piece.nnz
    rows = Adjacency(
        indptr,
        xp.concatenate([piece.indices[:entries], handed.heads + np.int32(piece.places)]),
        xp.concatenate([piece.edge_weights[:entries], handed.edge_weights]),
    )
    match, representatives = _paired(backend, piece, blocks, coarse_ids, handed)
    room, coarse_weights = (_added(xp, v, representatives, match) for v in (lengths, weights))
    offsets = backend.full(len(representatives) + 1, 0, kind)
    offsets[1:] = xp.cumsum(room)
    pairs = Pairs(match, coarse_of, representatives)
    coarse = merge(backend, rows, pairs, offsets, coarse_weights.astype(kind))
    return coarse, ghosts, coarse_of[: piece.own].copy()


def _number(backend: Backend, piece: Piece, partners: Array) -> tuple[Array, int, int]:
    """Return the coarse vertices of own vertices and ghosts (int64).

    And the first of those with a lower vertex here, and how many these are.
    """
    xp, comm = backend.xp, piece.blocks.comm
    ids = piece.first + xp.arange(piece.own, dtype=np.int64)
    lower = (partners == NO_VERTEX) | (ids < partners)
    count = int(lower.sum())
    first = sum(comm.gather_objects(count)[: comm.rank])
    coarse = backend.empty(piece.places, np.int64)
    own = coarse[: piece.own]
    own[lower] = first + xp.arange(count, dtype=np.int64)
    upper = xp.flatnonzero(~lower)
    known = piece.blocks.has(partners[upper])
    own[upper[known]] = own[partners[upper[known]] - piece.first]

    upper = upper[~known]
    upper = upper[xp.argsort(partners[upper], kind="stable")]
    asked = partners[upper]
    sent = piece.blocks.counts(backend, asked)
    wanted, counts = comm.send(backend, asked, sent)
    own[upper] = comm.exchange(backend, own[wanted - piece.first], counts, sent)
    piece.halo.follow(coarse)
    return coarse, first, count


def _share(backend: Backend, piece: Piece, coarse_ids: Array, first: int, count: int) -> Blocks:
    """Return the blocks of coarse vertices: `count` have a lower vertex here, from `first` on.

    Where some would have many more entries than others, they are cut differently.
    """
    xp, comm = backend.xp, piece.blocks.comm
    own = coarse_ids[: piece.own]
    mine = xp.flatnonzero(own >= first)
    lengths = xp.diff(piece.indptr[: piece.own + 1])[mine].astype(np.int64)
    work = backend.full(count, 0, np.int64)
    xp.add.at(work, own[mine] - first, lengths + 1)
    load = int(work.sum())
    counts, loads = zip(*comm.gather_objects((count, load)), strict=True)
    starts = starts_of(counts)
    if max(loads) * comm.size <= MOST_UNEVEN * sum(loads):
        return Blocks(comm, starts)
    wanted = [sum(loads) * rank // comm.size - sum(loads[: comm.rank]) for rank in range(comm.size)]
    found = xp.searchsorted(xp.cumsum(work), backend.from_host(np.array(wanted)), side="right")
    cuts = [
        int(starts[comm.rank] + at) if 0 < place <= load else -1
        for place, at in zip(wanted, backend.to_host(found), strict=True)
    ]
    told = np.max(comm.gather_objects(cuts), axis=0)
    starts[:-1] = np.maximum.accumulate(np.maximum(told, 0))
    return Blocks(comm, starts)


def _hand_over(backend: Backend, piece: Piece, blocks: Blocks, coarse_ids: Array) -> Handed:
    """Send the rows of vertices whose coarse one is elsewhere, and return those received."""
    xp, comm = backend.xp, blocks.comm
    own = coarse_ids[: piece.own]
    rows = xp.flatnonzero(~blocks.has(own))
    rows = rows[xp.argsort(own[rows], kind="stable")]
    starts = piece.indptr[rows].astype(np.int64)
    lengths = piece.indptr[rows + 1].astype(np.int64) - starts
    described = xp.stack([own[rows], piece.vertex_weights[rows].astype(np.int64), lengths], axis=1)
    sent = blocks.counts(backend, own[rows])
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
        wanted = heads[first:end]
        is_named = backend.full(places, 0, np.bool_)
        is_named[wanted] = True
        lists.append(xp.flatnonzero(is_named))
        place = backend.empty(places)
        place[lists[-1]] = xp.arange(len(lists[-1]), dtype=np.int32)
        heads[first:end] = place[wanted]
    return xp.concatenate(lists), np.array([len(named) for named in lists])


def _paired(
    backend: Backend, piece: Piece, blocks: Blocks, coarse_ids: Array, handed: Handed
) -> tuple[Array, Array]:
    """Return the row that is paired with each, and one row of each coarse vertex (int32).

    Rows are those of own vertices, then those handed over.
    """
    xp = backend.xp
    own = coarse_ids[: piece.own]
    kept = xp.flatnonzero(blocks.has(own))
    count = piece.own + len(handed.coarse)
    rows = xp.concatenate([kept, xp.arange(piece.own, count)]).astype(np.int32)
    coarse = xp.concatenate([own[kept], handed.coarse])
    order = xp.argsort(coarse, kind="stable")
    rows, coarse = rows[order], coarse[order]
    is_second = backend.full(len(rows), 0, np.bool_)
    is_second[1:] = coarse[1:] == coarse[:-1]
    second = xp.flatnonzero(is_second)
    match = backend.full(count, NO_VERTEX)
    match[rows[second - 1]] = rows[second]
    return match, rows[~is_second]


def _added(xp: Array, values: Array, representatives: Array, match: Array) -> Array:
    """Return the sum of the values of both rows of each coarse vertex."""
    partner = match[representatives]
    return values[representatives] + xp.where(partner == NO_VERTEX, 0, values[partner])
