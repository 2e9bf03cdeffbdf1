"""Contraction of pairs over pieces: the lower vertex's process has the coarse one.

So coarse vertices are numbered as on one device, by their lower vertices, and each process has a
block of them. Rows of upper vertices whose partner is elsewhere go there.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from jetpy.backends.base import Array, Backend
from jetpy.backends.level import Adjacency
from jetpy.coarsening.contraction import Pairs, merge
from jetpy.distributed.piece import Blocks, Piece, local_of, localize, make_piece
from jetpy.workloads.groups import NO_VERTEX


@dataclass(frozen=True, eq=False)
class Handed:
    """Rows that other processes have handed over, each for a coarse vertex of this one.

    Attributes
    ----------
    coarse, weights, lengths : int64, one for each row
    heads, edge_weights : int64, one for each entry
        Coarse neighbours, by their numbers in the whole graph.
    """

    coarse: Array
    weights: Array
    lengths: Array
    heads: Array
    edge_weights: Array


def contract_pieces(backend: Backend, piece: Piece, partners: Array) -> tuple[Piece, Array]:
    """Return the piece of the coarse graph, and the coarse vertex of each own one (int32).

    `partners` (int64, shape (own,)) are numbers in the whole graph, -1 for none.
    """
    xp, kind = backend.xp, backend.sum_type
    ids = piece.first + xp.arange(piece.own, dtype=np.int64)
    lower = (partners == NO_VERTEX) | (ids < partners)
    representatives = xp.flatnonzero(lower).astype(np.int32)
    blocks = Blocks.of(piece.blocks.comm, len(representatives))
    coarse_ids = _number(backend, piece, blocks, partners, lower)
    handed = _hand_over(backend, piece, blocks, coarse_ids, ~lower)

    fine, ghosts = localize(backend, blocks, coarse_ids, handed.heads)
    far = local_of(backend, blocks, ghosts, handed.heads)
    themselves = xp.arange(len(representatives) + len(ghosts), dtype=np.int32)
    lengths = xp.concatenate([xp.diff(piece.indptr[: piece.own + 1]), handed.lengths])
    weights = xp.concatenate([piece.vertex_weights[: piece.own], handed.weights])
    indptr = backend.full(len(lengths) + 1, 0, kind)
    indptr[1:] = xp.cumsum(lengths)
    entries = piece.nnz
    rows = Adjacency(
        indptr,
        xp.concatenate([piece.indices[:entries], far + np.int32(piece.places)]),
        xp.concatenate([piece.edge_weights[:entries], handed.edge_weights.astype(kind)]),
    )
    match = _matched_rows(backend, piece, blocks, partners, representatives, handed)
    room, coarse_weights = (_added(xp, v, representatives, match) for v in (lengths, weights))
    offsets = backend.full(len(representatives) + 1, 0, kind)
    offsets[1:] = xp.cumsum(room)
    pairs = Pairs(match, xp.concatenate([fine, themselves]), representatives)
    coarse = merge(backend, rows, pairs, offsets, coarse_weights.astype(kind))
    made = make_piece(
        backend,
        blocks,
        ghosts,
        coarse.indptr,
        coarse.indices,
        coarse.edge_weights,
        coarse.vertex_weights,
    )
    return made, fine[: piece.own].copy()


def _number(backend: Backend, piece: Piece, blocks: Blocks, partners: Array, lower: Array) -> Array:
    """Return the numbers of the coarse vertices of own vertices and ghosts (int64)."""
    xp, comm = backend.xp, blocks.comm
    coarse = backend.empty(piece.places, np.int64)
    own = coarse[: piece.own]
    own[lower] = blocks.first + xp.arange(int(lower.sum()), dtype=np.int64)
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
    return coarse


def _hand_over(
    backend: Backend, piece: Piece, blocks: Blocks, coarse_ids: Array, upper: Array
) -> Handed:
    """Send the rows of upper vertices whose coarse one is elsewhere, and return those received."""
    xp, comm = backend.xp, blocks.comm
    own = coarse_ids[: piece.own]
    rows = xp.flatnonzero(upper & ~blocks.has(own))
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
    edges = xp.stack(
        [coarse_ids[piece.indices[entries]], piece.edge_weights[entries].astype(np.int64)], axis=1
    )
    of_rows = np.concatenate([[0], backend.to_host(ends)])
    sent_entries = np.diff(of_rows[np.concatenate([[0], np.cumsum(sent)])])
    edges_found, _ = comm.send(backend, edges.ravel(), 2 * sent_entries)
    heads, edge_weights = (xp.ascontiguousarray(column) for column in edges_found.reshape(-1, 2).T)
    return Handed(coarse, weights, handed_lengths, heads, edge_weights)


def _matched_rows(
    backend: Backend,
    piece: Piece,
    blocks: Blocks,
    partners: Array,
    representatives: Array,
    handed: Handed,
) -> Array:
    """Return the row of each own vertex's partner (int32): own rows, then those handed over."""
    xp = backend.xp
    near = piece.blocks.has(partners)
    match = xp.where(near, partners - piece.first, NO_VERTEX).astype(np.int32)
    far = representatives[handed.coarse - blocks.first]
    match[far] = piece.own + xp.arange(len(far), dtype=np.int32)
    return match


def _added(xp: Array, values: Array, representatives: Array, match: Array) -> Array:
    """Return the sum of the values of both rows of each coarse vertex."""
    partner = match[representatives]
    return values[representatives] + xp.where(partner == NO_VERTEX, 0, values[partner])
