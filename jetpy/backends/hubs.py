"""Hubs: vertices of high degree, whose rows a launch shares out (`jetpy.workloads.lanes`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from jetpy.backends.base import Array, Backend, Workunit
from jetpy.graph import INT32_MAX
from jetpy.workloads import lanes as kernels

LANES = 128
"""Indices of a launch for each piece, as in `jetpy.workloads.lanes`."""
PIECE = 1024
"""Entries of a piece, as there."""


@dataclass(frozen=True, eq=False)
class Hubs:
    """The rows of a graph that are longer than a limit, and the pieces that they are cut into.

    Attributes
    ----------
    degree : int
        The limit: no row is longer where there are no hubs.
    rows : int32, at least of shape (count,)
        On the back end, as the others.
    count : int
    pieces, starts : int32, at least of shape (piece_count,)
        Row and first entry of each piece.
    piece_count : int
    """

    backend: Backend
    degree: int
    rows: Array
    count: int
    pieces: Array
    starts: Array
    piece_count: int

    def launch(self, n: int, workunit: Workunit, **arguments: Any) -> None:
        """Run a *for* workunit over n vertices, and with lanes over hubs."""
        self.backend.parallel_for(
            n + LANES * self.piece_count,
            workunit,
            hubs=self.pieces,
            starts=self.starts,
            hub_degree=self.degree,
            count=n,
            **arguments,
        )

    def launch_uncut(self, n: int, workunit: Workunit, **arguments: Any) -> None:
        """Run a *for* workunit over n vertices, and with lanes over hubs of one piece each."""
        self.backend.parallel_for(
            n + LANES * self.count,
            workunit,
            hubs=self.rows,
            hub_degree=self.degree,
            count=n,
            **arguments,
        )

    def launch_lanes(self, workunit: Workunit, **arguments: Any) -> None:
        """Run a *for* workunit with lanes over hubs alone, if there are any."""
        if self.count > 0:
            self.backend.parallel_for(
                LANES * self.piece_count,
                workunit,
                hubs=self.pieces,
                starts=self.starts,
                **arguments,
            )

    def launch_each(self, workunit: Workunit, share: int = 1, **arguments: Any) -> None:
        """Run a *for* workunit over hubs alone, if there are any, with `share` indices for each."""
        if self.count > 0:
            self.backend.parallel_for(share * self.count, workunit, hubs=self.rows, **arguments)


def find_hubs(backend: Backend, indptr: Array, entries: int) -> Hubs:
    """List the hubs of a graph, given the offsets of its rows (int32, shape (n + 1,)).

    `entries` is the sum of their lengths. Where launches run over lists of vertices there are no
    hubs: lanes run over every hub.
    """
    none = backend.empty(0)
    if backend.prefers_lists or backend.hub_degree == INT32_MAX:
        return Hubs(backend, INT32_MAX, none, 0, none, none, 0)
    rows = backend.empty(len(indptr) - 1)
    count = backend.scan(
        len(rows), kernels.list_hubs, indptr=indptr, hubs=rows, hub_degree=backend.hub_degree
    )
    if count == 0:
        return Hubs(backend, backend.hub_degree, none, 0, none, none, 0)
    most = count + entries // PIECE
    pieces, starts = backend.empty(most), backend.empty(most)
    piece_count = backend.scan(
        count, kernels.list_pieces, indptr=indptr, hubs=rows, pieces=pieces, starts=starts
    )
    return Hubs(backend, backend.hub_degree, rows, count, pieces, starts, piece_count)
