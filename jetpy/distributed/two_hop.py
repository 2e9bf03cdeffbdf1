"""Two-hop matching over pieces: each group of vertices meets at the process that its number names.

Whoever that is pairs them as one device would: by their numbers in the whole graph.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from jetpy.coarsening.constraints import Constraints
from jetpy.coarsening.two_hop import pair_sorted
from jetpy.distributed.lists import counts_between, ordered
from jetpy.distributed.piece import Piece
from jetpy.engines.base import Array, Backend
from jetpy.workloads.common.groups import NO_VERTEX
from jetpy.workloads.distributed import two_hop_exchange as kernels


@dataclass(frozen=True, eq=False)
class OutgoingVertices:
    """Those who go to meetings, as `jetpy.workloads.distributed.two_hop_exchange` takes them."""

    keys: Array
    target_ranks: Array
    processes: int


@dataclass(frozen=True, eq=False)
class ReceivedVertices:
    """Those who have come to meetings, likewise; and as pairing takes vertices."""

    told: Array
    order: Array
    keys: Array
    ids: Array
    vertex_weights: Array
    digests: Array


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
        comm, count = piece.blocks.comm, len(keys)
        outgoing = OutgoingVertices(backend.empty(count, np.int64), backend.empty(count), comm.size)
        count = backend.scan(count, kernels.list_outgoing, keys=keys, outgoing=outgoing)
        order = backend.xp.argsort(outgoing.target_ranks[:count], kind="stable")
        hosts = ordered(backend, outgoing.target_ranks, order)
        sent = counts_between(backend, hosts, np.arange(comm.size + 1))
        vertices, told = backend.empty(count), backend.empty(kernels.TOLD * count, np.int64)
        backend.parallel_for(
            count,
            kernels.pack_vertices,
            outgoing=outgoing,
            order=order,
            digests=digests,
            graph=piece,
            vertices=vertices,
            told=told,
        )
        received, counts = comm.send(backend, told, kernels.TOLD * sent)
        partners = _pair(backend, received, constraints)
        found = comm.exchange(backend, partners, counts // kernels.TOLD, sent)
        backend.parallel_for(
            count,
            kernels.unpack_reply,
            vertices=vertices,
            found=found,
            partners=self._partners,
            match=match,
        )


def _pair(backend: Backend, told: Array, constraints: Constraints) -> Array:
    """Return the partner of each received vertex (int32), -1 for none."""
    count = len(told) // kernels.TOLD
    keys = backend.empty(count, np.int64)
    backend.parallel_for(count, kernels.copy_keys, told=told, keys=keys)
    received = ReceivedVertices(
        told,
        backend.xp.argsort(keys),
        keys,
        backend.empty(count),
        backend.empty(count, backend.sum_type),
        backend.empty(count),
    )
    backend.parallel_for(count, kernels.unpack_vertices, received=received)
    match, partners = backend.full(count, NO_VERTEX), backend.empty(count)
    pair_sorted(backend, received, keys, match, received.digests, constraints)
    backend.parallel_for(
        count, kernels.pack_reply, received=received, match=match, partners=partners
    )
    return partners
