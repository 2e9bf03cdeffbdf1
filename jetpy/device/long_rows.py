"""Rows of high-degree vertices, shared by several indices (`jetpy.workloads.common.long_rows`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from jetpy.engines.base import Array, Backend, Count, Workunit
from jetpy.graph.csr import INT32_MAX
from jetpy.lazy import cached_property
from jetpy.workloads.common import long_rows as kernels
from jetpy.workloads.common.groups import LongRows as Lanes
from jetpy.workloads.common.long_rows import CHUNK, LANE_BITS


@dataclass(frozen=True, eq=False)
class LongRows:
    """The rows of a graph that are longer than a limit.

    Attributes
    ----------
    count : int
    whole : Lanes
        One chunk per row, without `starts`.
    chunks : Lanes
    """

    backend: Backend
    count: int
    whole: Lanes
    chunks: Lanes

    @cached_property
    def fine(self) -> LongRows:
        """The long rows for kernels that need 128 lanes a chunk, or whose lanes share few counters.

        On CPUs this is empty: one index per row is faster than several that contend.
        """
        return none_of(self.backend) if self.backend.warp_size == 1 else self

    def launch(self, n: int | Count, workunit: Workunit, **arguments: Any) -> None:
        """Run a *for* workunit over n indices, preceded by lanes over long rows."""
        self.backend.parallel_for(
            n + self.chunks.lanes, workunit, long_rows=self.chunks, **arguments
        )

    def launch_whole(self, n: int, workunit: Workunit, **arguments: Any) -> None:
        """Run a *for* workunit over n indices and lanes over long rows, each row as one chunk."""
        self.backend.parallel_for(n + self.whole.lanes, workunit, long_rows=self.whole, **arguments)

    def launch_lanes(self, workunit: Workunit, **arguments: Any) -> None:
        """Run a *for* workunit with lanes over long rows only, if there are any."""
        if self.count > 0:
            self.backend.parallel_for(
                self.chunks.lanes, workunit, long_rows=self.chunks, **arguments
            )

    def launch_each(self, workunit: Workunit, share: int = 1, **arguments: Any) -> None:
        """Run a *for* workunit over long rows only, if there are any, `share` indices per row."""
        if self.count > 0:
            indices = share * self.count
            self.backend.parallel_for(indices, workunit, long_rows=self.whole, **arguments)


@dataclass(frozen=True, eq=False)
class _Rows:
    """Offsets of rows, as kernels take a graph's."""

    indptr: Array


def none_of(backend: Backend) -> LongRows:
    """Return the long rows of a graph that has none."""
    none = Lanes(backend.empty(0), backend.empty(0, backend.sum_type), INT32_MAX, 0, 0)
    return LongRows(backend, 0, none, none)


def find_long_rows(backend: Backend, indptr: Array, entries: int) -> LongRows:
    """List the long rows of a graph, given the offsets of its rows (shape (n + 1,)).

    `entries` is the sum of the row lengths. A chunk has 128 lanes on a GPU, so that 32 consecutive
    lanes read consecutive entries, and one lane on CPUs.
    """
    longest, rows = backend.longest_row, _Rows(indptr)
    if entries <= longest:
        return none_of(backend)
    listed = backend.empty(len(indptr) - 1)
    count = backend.scan(
        len(listed), kernels.list_long_rows, graph=rows, longest=longest, listed=listed
    )
    if count == 0:
        return none_of(backend)
    most = count + entries // CHUNK
    bits = 0 if backend.warp_size == 1 else LANE_BITS
    vertices, starts = backend.empty(most), backend.empty(most, backend.sum_type)
    chunks = Lanes(vertices, starts, longest, 0, bits)
    total = backend.scan(count, kernels.list_chunks, graph=rows, listed=listed, long_rows=chunks)
    whole = Lanes(listed, starts[:0], longest, count << bits, bits)
    return LongRows(backend, count, whole, Lanes(vertices, starts, longest, total << bits, bits))
