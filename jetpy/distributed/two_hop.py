"""Two-hop matching over pieces: each group of vertices meets at the process that its number names.

Whoever that is pairs them as one device would: by their numbers in the whole graph.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from jetpy.backends.base import Array, Backend
from jetpy.coarsening.constraints import Constraints
from jetpy.coarsening.two_hop import pair_sorted
from jetpy.distributed.piece import Piece
from jetpy.workloads.groups import NO_VERTEX
from jetpy.workloads.packing import LOWER_BITS, LOWER_MASK
from jetpy.workloads.two_hop import NO_KEY


@dataclass(frozen=True, eq=False)
class Met:
    """Vertices that have met, as pairing takes them.

    Attributes
    ----------
    vertex_weights : of the back end's `sum_type`
    """

    vertex_weights: Array


class PairElsewhere:
    """Pairs the vertices of groups, wherever they are (`jetpy.coarsening.two_hop.Pairing`).

    Parameters
    ----------
    partners : int32, shape (own,)
        Of each own vertex that it pairs becomes what it is paired with, by its number in the whole
        graph.
    """

    def __init__(self, partners: Array) -> None:
        self._partners = partners

    def __call__(
        self,
        backend: Backend,
        piece: Piece,
        keys: Array,
        match: Array,
        digests: Array,
        constraints: Constraints,
    ) -> None:
        """Match neighbours within each group of keys; in `match`, such a vertex has itself."""
        xp, comm = backend.xp, piece.blocks.comm
        keys = keys[keys != NO_KEY]
        vertices = (keys & LOWER_MASK).astype(np.int32)
        keys += piece.first
        meeting = ((keys >> LOWER_BITS) % comm.size).astype(np.int32)
        order = xp.argsort(meeting, kind="stable")
        keys, vertices = keys[order], vertices[order]
        ranks = backend.from_host(np.arange(comm.size + 1, dtype=np.int32))
        ends = backend.to_host(xp.searchsorted(meeting[order], ranks))
        sent = np.diff(ends).astype(np.int64)
        weights, hashes = (
            values[vertices].astype(np.int64) for values in (piece.vertex_weights, digests)
        )
        met, counts = comm.send(
            backend, xp.stack([keys, weights, hashes], axis=1).ravel(), 3 * sent
        )
        partners = _pair(backend, met.reshape(-1, 3), constraints)
        found = comm.exchange(backend, partners, counts // 3, sent)
        paired = found != NO_VERTEX
        self._partners[vertices[paired]] = found[paired]
        match[vertices[paired]] = vertices[paired]


def _pair(backend: Backend, met: Array, constraints: Constraints) -> Array:
    """Return the partner of each vertex that has met others (int32), -1 for none.

    Rows of `met` are group and number, as in keys, weight and digest.
    """
    xp = backend.xp
    order = xp.argsort(met[:, 0])
    keys, weights, digests = (xp.ascontiguousarray(column) for column in met[order].T)
    ids = (keys & LOWER_MASK).astype(np.int32)
    match = backend.full(len(ids), NO_VERTEX)
    if len(ids):
        places = xp.arange(len(ids), dtype=np.int64)
        pair_sorted(
            backend,
            Met(weights.astype(backend.sum_type)),
            (keys >> LOWER_BITS << LOWER_BITS) + places,
            match,
            digests.astype(np.int32),
            constraints,
        )
    partners = backend.empty(len(ids))
    partners[order] = xp.where(match == NO_VERTEX, NO_VERTEX, ids[match])
    return partners
