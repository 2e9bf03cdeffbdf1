"""Flows on a level in pieces: each process improves some pairs of parts, in its band.

The processes exchange bands once a sweep, and the moves of each turn.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from jetpy.device.device_graph import carry, carry_graph
from jetpy.device.processes import Processes, shares
from jetpy.distributed.band import Bands, marks_of
from jetpy.distributed.communicator import Communicator
from jetpy.distributed.lists import picked, put
from jetpy.distributed.piece import Piece
from jetpy.engines.base import Array, Backend
from jetpy.problem.problem import Problem
from jetpy.refinement.cut_edges import CutEdges, CutPairs
from jetpy.refinement.flows import MAX_DEGREE, Flows, builder_of
from jetpy.refinement.measures import Measures
from jetpy.refinement.pair_flows import PairFlows
from jetpy.workloads.common.groups import NO_VERTEX
from jetpy.workloads.common.loads import Loads


class PieceFlows(Flows):
    """Flow refinement of a level in pieces. `several` has the weights of owned vertices."""

    def __init__(
        self,
        backend: Backend,
        piece: Piece,
        problem: Problem,
        pinned: Array | None = None,
        several: Loads | None = None,
    ) -> None:
        super().__init__(backend, piece, problem, pinned, piece.blocks.comm, several)
        self.backend, self._method = backend, BandFlows

    def improve(
        self, parts: Array, measures: Measures, *, finest: bool = True
    ) -> tuple[Array, Measures]:
        """Return a partition (int32, with ghosts) with smaller cuts, and its measures. Collective.

        `parts` may be changed in place.
        """
        parts, measures = super().improve(parts, measures, finest=finest)
        self._device.halo.exchange_ghosts(parts)
        return parts, measures


class BandFlows(PairFlows):
    """Improves pairs of parts of a level in pieces, each in the band of one process. Collective."""

    graph: Piece

    def begin_sweep(self, parts: Array) -> CutPairs:
        """Return the adjacent pairs of a partition; `improve` changes its `parts` in place."""
        self.graph.halo.exchange_ghosts(parts)
        own = CutEdges.find(self.backend, self.graph, parts, self._k).pairs(self.backend, self._k)
        every = self.graph.halo.gather_objects(own)
        self._parts, self._cut = parts, CutPairs.joined(every, self._k)
        return self._cut

    def begin_turns(self, turns: list[npt.NDArray[np.int64]]) -> None:
        """Exchange the bands of the pairs of all turns."""
        backend, piece, comm, k = self.backend, self.graph, self.graph.blocks.comm, self._k
        keys, owners = self._cut.keys(k), np.full(len(self._cut.parts), -1)
        for pairs in turns:
            bounds = shares(self._cut.edges[pairs], comm.size)
            owners[pairs] = np.repeat(np.arange(comm.size), np.diff(bounds))
        reach = self._max_hops, MAX_DEGREE
        marks = marks_of(backend, piece, self._parts, k, (keys, owners), reach)
        weights = self._several.weights.reshape(piece.n_owned, self._several.kinds)
        band = Bands.find(backend, piece, *marks).exchange(self._parts, self._places, weights)
        where = Whereabouts(comm, backend, piece, self._parts, backend.to_host(band.ids))
        target, method = builder_of(backend, band.graph)
        places, parts = (carry(values, backend, target) for values in (band.places, band.parts))
        self._band = method(
            target,
            carry_graph(band.graph, backend, target),
            k,
            self._max_hops,
            places,
            where,
            replace(self._several, weights=band.weights),
        )
        self._numbers = np.searchsorted(self._band.begin_sweep(parts).keys(k), keys)

    def improve(
        self, rows: npt.NDArray[np.int64], chosen: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.int64]:
        """Improve pairs that have no part in common; see `PairFlows.improve`."""
        loads = self._several.loads
        before = loads.copy()
        rows = self._band.improve(rows, self._numbers[chosen])
        if len(loads):
            loads -= before
            self.graph.blocks.comm.allreduce(self.backend.host, loads)
            loads += before
        return rows


class Whereabouts(Processes):
    """The processes of a level in pieces, each with a band; they exchange parts by global ids.

    Parameters
    ----------
    comm : Communicator
    backend, piece, parts
        The piece of this process, and the parts (int32) of its vertices.
    ids : int32, shape (n,), on the host
        Global ids of the vertices of the band, ascending.
    """

    have_whole = False

    def __init__(
        self,
        comm: Communicator,
        backend: Backend,
        piece: Piece,
        parts: Array,
        ids: npt.NDArray[np.int32],
    ) -> None:
        self.rank, self.size = comm.rank, comm.size
        self._comm, self._backend, self._piece = comm, backend, piece
        self._parts, self._ids = parts, ids

    def gather(self, backend: Backend, array: Array) -> Array:
        """Return the concatenated arrays of all processes, in rank order. Lengths may differ."""
        return self._comm.gather(backend, array)

    def publish(self, backend: Backend, values: Array, places: Array) -> None:
        """Copy the parts at the `places` of each band to the pieces and to all other bands."""
        host, piece = backend.host, self._piece
        moved = backend.to_host(picked(backend, values, places))
        ids = self._comm.gather(host, self._ids[backend.to_host(places)])
        parts = self._comm.gather(host, moved)
        at: Any = np.searchsorted(self._ids, ids)
        is_here = np.append(self._ids, NO_VERTEX)[at] == ids
        is_owned = (ids >= piece.first_global_id) & (ids < piece.blocks.end)
        _put(backend, values, at[is_here], parts[is_here])
        own = ids[is_owned] - piece.first_global_id
        _put(self._backend, self._parts, own, parts[is_owned])


def _put(backend: Backend, values: Array, places: Any, given: npt.NDArray[np.int32]) -> None:
    """Assign `given` to ``values[places]``; both are on the host."""
    put(backend, values, backend.from_host(places.astype(np.int32)), backend.from_host(given))
