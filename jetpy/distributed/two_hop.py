"""Two-hop matching over pieces: one process receives all vertices of a group, and pairs them.

The group determines the rank. The process pairs vertices by their global ids, as one device does.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from jetpy.coarsening.two_hop import pair_sorted
from jetpy.distributed.lists import counts_between, ordered
from jetpy.distributed.piece import Piece
from jetpy.engines.base import Array, Backend
from jetpy.workloads.common.groups import NO_VERTEX, Constraints
from jetpy.workloads.distributed import two_hop_exchange as kernels
from jetpy.workloads.distributed.two_hop_exchange import OutgoingVertices, ReceivedVertices


class PairElsewhere:
    """Pairs the vertices of groups that span processes (`jetpy.coarsening.two_hop.Pairing`).

    Parameters
    ----------
    partners : int32, shape (n_owned,)
        Changes in place: the entry of each paired vertex becomes the global id of its partner.
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
        """Pair vertices with equal keys; `match` pairs each of them with itself. Collective."""
        comm, count = piece.blocks.comm, len(keys)
        outgoing = OutgoingVertices(
            backend.empty(count, np.int64), backend.empty(count), comm.size, digests
        )
        count = backend.scan(count, kernels.list_outgoing, keys=keys, outgoing=outgoing)
        order = backend.xp.argsort(outgoing.target_ranks[:count], kind="stable")
        target_ranks = ordered(backend, outgoing.target_ranks, order)
        sent = counts_between(backend, target_ranks, np.arange(comm.size + 1))
        vertices, send_buffer = (
            backend.empty(count),
            backend.empty(kernels.RECORD_WORDS * count, np.int64),
        )
        backend.parallel_for(
            count,
            kernels.pack_vertices,
            outgoing=outgoing,
            order=order,
            constraints=constraints,
            graph=piece,
            vertices=vertices,
            send_buffer=send_buffer,
        )
        recv_buffer, counts = comm.send(backend, send_buffer, kernels.RECORD_WORDS * sent)
        partners = _pair(backend, recv_buffer, constraints)
        replies = comm.exchange(backend, partners, counts // kernels.RECORD_WORDS, sent)
        backend.parallel_for(
            count,
            kernels.unpack_reply,
            vertices=vertices,
            found=replies,
            partners=self._partners,
            match=match,
        )


def _pair(backend: Backend, recv_buffer: Array, constraints: Constraints) -> Array:
    """Return the global id of the partner of each received vertex (int32), -1 for none."""
    count = len(recv_buffer) // kernels.RECORD_WORDS
    keys = backend.empty(count, np.int64)
    backend.parallel_for(count, kernels.copy_keys, recv_buffer=recv_buffer, keys=keys)
    received = ReceivedVertices(
        recv_buffer,
        backend.xp.argsort(keys),
        keys,
        backend.empty(count),
        backend.empty(count, backend.sum_type),
        backend.empty(count),
        backend.empty(count),
    )
    backend.parallel_for(count, kernels.unpack_vertices, received=received)
    match, partners = backend.full(count, NO_VERTEX), backend.empty(count)
    limits = replace(constraints, parts=received.parts)
    pair_sorted(backend, received, keys, match, received.digests, limits)
    backend.parallel_for(
        count, kernels.pack_reply, received=received, match=match, partners=partners
    )
    return partners
