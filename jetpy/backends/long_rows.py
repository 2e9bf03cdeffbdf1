"""Rows of high-degree vertices, which a launch shares out (`jetpy.workloads.long_rows`)."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any

from jetpy.backends.base import Array, Backend, Count, Workunit
from jetpy.graph import INT32_MAX
from jetpy.workloads import long_rows as kernels
from jetpy.workloads.long_rows import CHUNK, LANES


@dataclass(frozen=True, eq=False)
class Whole:
    """Long rows that are one chunk each, as kernels take them."""

    vertices: Array
    longest: int


@dataclass(frozen=True, eq=False)
class LongRows:
    """The rows of a graph that are longer than a limit, and the chunks that they are cut into.

    Attributes
    ----------
    longest : int
        The limit: no row is longer where there are no long rows.
    whole : Whole
        Their vertices: int32, at least of shape (count,), on the back end.
    count : int
    vertices, starts : int32, at least of shape (chunk_count,), on the back end
        Vertex and first entry of each chunk.
    chunk_count : int
    """

    backend: Backend
    longest: int
    whole: Whole
    count: int
    vertices: Array
    starts: Array
    chunk_count: int

    def launch(self, n: int | Count, workunit: Workunit, **arguments: Any) -> None:
        """Run a *for* workunit over n indices, and with lanes over long rows.

        Where there are long rows, n is no number that is read when the launch is due.
        """
        indices = n if self.chunk_count == 0 else operator.index(n) + LANES * self.chunk_count
        self.backend.parallel_for(indices, workunit, long_rows=self, count=n, **arguments)

    def launch_whole(self, n: int, workunit: Workunit, **arguments: Any) -> None:
        """Run a *for* workunit over n indices, and with lanes over long rows of one chunk each."""
        indices = n + LANES * self.count
        self.backend.parallel_for(indices, workunit, long_rows=self.whole, count=n, **arguments)

    def launch_lanes(self, workunit: Workunit, **arguments: Any) -> None:
        """Run a *for* workunit with lanes over long rows alone, if there are any."""
        if self.count > 0:
            indices = LANES * self.chunk_count
            self.backend.parallel_for(indices, workunit, long_rows=self, **arguments)

    def launch_each(self, workunit: Workunit, share: int = 1, **arguments: Any) -> None:
        """Run a *for* workunit over long rows alone, if there are any, `share` indices for each."""
        if self.count > 0:
            indices = share * self.count
            self.backend.parallel_for(indices, workunit, long_rows=self.whole, **arguments)


@dataclass(frozen=True, eq=False)
class _Rows:
    """Offsets of rows, as kernels take a graph's."""

    indptr: Array


@dataclass(frozen=True, eq=False)
class _Chunks:
    """Arrays that are to hold chunks, as kernels take them."""

    vertices: Array
    starts: Array


def find_long_rows(backend: Backend, indptr: Array, entries: int) -> LongRows:
    """List the long rows of a graph, given the offsets of its rows (int32, shape (n + 1,)).

    `entries` is the sum of their lengths. Where launches run over lists of vertices no row counts
    as long: lanes run over every long row.
    """
    none = backend.empty(0)
    if backend.prefers_lists or backend.longest_row == INT32_MAX:
        return LongRows(backend, INT32_MAX, Whole(none, INT32_MAX), 0, none, none, 0)
    longest, rows = backend.longest_row, _Rows(indptr)
    listed = backend.empty(len(indptr) - 1)
    count = backend.scan(
        len(listed), kernels.list_long_rows, graph=rows, longest=longest, listed=listed
    )
    whole = Whole(listed, longest)
    if count == 0:
        return LongRows(backend, longest, whole, 0, none, none, 0)
    most = count + entries // CHUNK
    chunks = _Chunks(backend.empty(most), backend.empty(most))
    chunk_count = backend.scan(
        count, kernels.list_chunks, graph=rows, listed=listed, long_rows=chunks
    )
    return LongRows(backend, longest, whole, count, chunks.vertices, chunks.starts, chunk_count)
