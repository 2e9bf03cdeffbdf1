"""Checks of rows and numbers by kernels, on a back end."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt

from jetpy.device.long_rows import LongRows, find_long_rows
from jetpy.engines.base import Array, Backend
from jetpy.errors import BackendError
from jetpy.graph.csr import IntArray
from jetpy.lazy import cached_property
from jetpy.workloads.common import row_checks as kernels
from jetpy.workloads.common import values as value_kernels

SLICE = 1 << 22
"""Numbers converted at a time."""
HASHES = 1 << 64
"""Number of distinct hashes."""


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of a graph on a back end, with global ids as neighbours.

    Attributes
    ----------
    indptr, edge_weights : of the back end's `sum_type`
    indices : int32
    n : int
        Number of vertices of the whole graph.
    first_global_id : int
        Global id of the first row's vertex.
    """

    backend: Backend
    indptr: Array
    indices: Array
    edge_weights: Array
    n: int
    first_global_id: int

    @property
    def n_owned(self) -> int:
        """Number of rows, one for each owned vertex."""
        return len(self.indptr) - 1

    @cached_property
    def long_rows(self) -> LongRows:
        """The long rows."""
        return find_long_rows(self.backend, self.indptr, len(self.indices))

    @property
    def are_suspicious(self) -> bool:
        """Whether a row may have a duplicate, a loop, or a neighbour that is not a vertex."""
        chunks = self.long_rows.chunks
        return (
            self.backend.reduce(
                self.n_owned + chunks.lanes,
                kernels.count_suspects,
                graph=self,
                n=self.n,
                long_rows=chunks,
            )
            > 0
        )

    @property
    def digest(self) -> int:
        """Hash of the rows; over all rows of a symmetric graph, the sum is 0 modulo `HASHES`.

        For other graphs the sum is 0 with a probability of one in 2**64.
        """
        chunks = self.long_rows.chunks
        return self.backend.reduce(
            self.n_owned + chunks.lanes, kernels.add_hashes, graph=self, long_rows=chunks
        )


def to_int32(backend: Backend, numbers: Array, lowest: int, highest: int) -> tuple[Array, int]:
    """Return numbers as int32, and count those that are fractional or outside a range.

    Parameters
    ----------
    backend : Backend
    numbers : array of integers or floating-point numbers, on the back end
        An int32 array is returned without a copy. In a copy, `OUTSIDE` replaces each counted
        number.
    lowest, highest : int
        The range, within 0..2**31 - 1.
    """
    if numbers.dtype == np.int32:
        same = numbers.astype(np.int32, order="C", copy=False)
        return same, backend.reduce(
            len(same), value_kernels.count_outside, values=same, lowest=lowest, highest=highest
        )
    is_float = numbers.dtype.kind == "f"
    kernel = value_kernels.narrow_floats if is_float else value_kernels.narrow_integers
    name, kind = ("floats", np.float64) if is_float else ("integers", np.int64)
    copy, wrong = backend.empty(len(numbers)), 0
    for start in range(0, len(numbers), SLICE):
        part = numbers[start : start + SLICE].astype(kind, order="C", copy=False)
        into = copy[start : start + SLICE]
        given = {name: part, "narrowed": into}
        wrong += backend.reduce(len(part), kernel, lowest=lowest, highest=highest, **given)
    return copy, wrong


def are_symmetric(indptr: IntArray, indices: IntArray, edge_weights: npt.NDArray[Any]) -> bool:
    """Return whether all rows are ascending and each edge has an equal reverse edge.

    Such rows have no loops and no duplicates. The result is also False if an array is not int32, or
    if the kernel cannot be compiled.

    Parameters
    ----------
    indptr : int32, shape (n + 1,)
    indices : int32 in 0..n - 1, shape (entries,)
    edge_weights : int32, shape (entries,)
    """
    from jetpy.device.backends import CPU, lease

    if any(array.dtype != np.int32 for array in (indptr, indices, edge_weights)):
        return False
    n = len(indptr) - 1
    graph = SimpleNamespace(indptr=indptr, indices=indices, edge_weights=edge_weights)
    cursors, found = np.empty(n, np.int32), np.empty(1, np.int32)
    try:
        with lease(CPU, threads=1) as backend:
            backend.run_tasks(
                1, kernels.check_symmetry, graph=graph, n=n, cursors=cursors, found=found
            )
    except BackendError:
        return False
    return bool(found[0])
