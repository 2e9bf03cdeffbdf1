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
        groups, vertices = keys >> LOWER_BITS, (keys & LOWER_MASK).astype(np.int32)
        order = xp.argsort(groups % comm.size, kind="stable")
        groups, vertices = groups[order], vertices[order]
        there = xp.bincount(groups % comm.size, minlength=comm.size)
        sent = backend.to_host(there).astype(np.int64)
        described = xp.stack(
            [
                groups,
                vertices + np.int64(piece.first),
                piece.vertex_weights[vertices].astype(np.int64),
                digests[vertices].astype(np.int64),
            ],
            axis=1,
        )
        met, counts = comm.send(backend, described.ravel(), 4 * sent)
        partners = _pair(backend, met.reshape(-1, 4), constraints)
        found = comm.exchange(backend, partners, counts // 4, sent)
        paired = found != NO_VERTEX
        self._partners[vertices[paired]] = found[paired].astype(np.int32)
        match[vertices[paired]] = vertices[paired]


def _pair(backend: Backend, met: Array, constraints: Constraints) -> Array:
    """Return the partner of each vertex that has met others (int64), -1 for none.

    Rows of `met` are group, number, weight and digest.
    """
    xp = backend.xp
    order = xp.lexsort(xp.stack([met[:, 1], met[:, 0]]))
    groups, ids, weights, digests = (xp.ascontiguousarray(column) for column in met[order].T)
    places = xp.arange(len(ids), dtype=np.int64)
    match = backend.full(len(ids), NO_VERTEX)
    if len(ids):
        pair_sorted(
            backend,
            Met(weights.astype(backend.sum_type)),
            (groups << LOWER_BITS) + places,
            match,
            digests.astype(np.int32),
            constraints,
        )
    partners = backend.empty(len(ids), np.int64)
    partners[order] = xp.where(match == NO_VERTEX, NO_VERTEX, ids[match])
    return partners
