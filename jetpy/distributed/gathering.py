"""Gathering of small graphs on every process; all processes then compute the same parts."""

from __future__ import annotations

from jetpy.device.device_graph import DeviceGraph
from jetpy.device.long_rows import find_long_rows
from jetpy.distributed.piece import Piece
from jetpy.engines.base import Array, Backend
from jetpy.workloads.coarsening.contraction import offset_rows
from jetpy.workloads.common.ghosts import find_degrees


def gather_graph(backend: Backend, piece: Piece) -> DeviceGraph:
    """Return the whole graph on every process. Collective."""
    comm, kind = piece.blocks.comm, backend.sum_type
    entries, n_owned = piece.nnz, piece.n_owned
    lengths = backend.empty(n_owned, kind)
    backend.parallel_for(n_owned, find_degrees, graph=piece, degrees=lengths)
    lengths = comm.gather(backend, lengths)
    indptr = backend.full(len(lengths) + 1, 0, kind)
    backend.scan(len(lengths), offset_rows, counts=lengths, indptr=indptr)
    heads = piece.halo.ids_of(piece.indices[:entries])
    return DeviceGraph(
        indptr,
        comm.gather(backend, heads),
        comm.gather(backend, piece.edge_weights[:entries]),
        comm.gather(backend, piece.vertex_weights[:n_owned]),
        piece.edge_weight,
        find_long_rows(backend, indptr, piece.global_nnz),
    )


def gather_values(backend: Backend, piece: Piece, values: Array) -> Array:
    """Return the values of all vertices of the whole graph. Collective.

    `values` are those of the piece, owned vertices first.
    """
    return piece.blocks.comm.gather(backend, values[: piece.n_owned])


def owned_values(piece: Piece, values: Array) -> Array:
    """Return the values of the owned vertices, given those of the whole graph."""
    return values[piece.first_global_id :][: piece.n_owned]
