"""Input of each process: the rows of a block of vertices, as in ParMETIS."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from jetpy.device.row_checks import Rows, to_int32
from jetpy.distributed.piece import Blocks, Piece, localize, make_piece
from jetpy.engines.base import Array, Backend
from jetpy.errors import GraphError
from jetpy.graph.csr import INT32_MAX
from jetpy.workloads.common.values import add_weights

IntArray = npt.NDArray[Any]
SLICE = 1 << 22
"""Number of edges that are checked at once."""


@dataclass(frozen=True, eq=False)
class Block:
    """The rows of a block of vertices; neighbours are global ids.

    Attributes
    ----------
    indptr : int64, shape (n_owned + 1,)
    indices : int64, shape (indptr[-1],)
    edge_weights : int32, of the same shape
    vertex_weights : int32, shape (n_owned,)
        If all weights are 1, either array may be a read-only view of a single 1
        (`unit_weights`).
    """

    indptr: npt.NDArray[np.int64]
    indices: npt.NDArray[np.int64]
    edge_weights: npt.NDArray[np.int32]
    vertex_weights: npt.NDArray[np.int32]

    @property
    def n(self) -> int:
        """Number of vertices of the block."""
        return len(self.vertex_weights)


def as_block(given: Any) -> Block:
    """Convert a tuple (indptr, indices[, edge_weights[, vertex_weights]]); None means ones.

    Raises
    ------
    GraphError
        If the arrays are inconsistent, or a weight is not in 1..2**31 - 1.
    """
    if isinstance(given, Block):
        return given
    if not isinstance(given, tuple) or not 2 <= len(given) <= 4:
        raise GraphError(
            f"the block is a {type(given).__name__}; it must be a tuple (indptr, indices[, "
            "edge_weights[, vertex_weights]]) of the owned vertices"
        )
    indptr, indices = _integers(given[0], "indptr"), _integers(given[1], "indices")
    ends = (indptr[:1].tolist(), indptr[-1:].tolist()) == ([0], [len(indices)])
    if not ends or (np.diff(indptr) < 0).any():
        raise GraphError(
            f"indptr must begin with 0, must not decrease, and must end with {len(indices)}, the "
            "number of indices"
        )
    more = [*given[2:], None, None]
    edge_weights = _weights(more[0], len(indices), "edge_weights")
    vertex_weights = _weights(more[1], len(indptr) - 1, "vertex_weights")
    return Block(indptr, indices, edge_weights, vertex_weights)


def _integers(values: Any, what: str) -> npt.NDArray[np.int64]:
    array = np.asarray(values)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise GraphError(f"{what} must be a one-dimensional array of integers")
    return array.astype(np.int64, copy=False)


def unit_weights(count: int) -> npt.NDArray[np.int32]:
    """Return a read-only array of `count` ones, which takes no memory."""
    return np.broadcast_to(np.int32(1), (count,))


def are_units(weights: npt.NDArray[np.int32]) -> bool:
    """Return whether the weights come from `unit_weights`."""
    return weights.strides == (0,)


def total_of(weights: npt.NDArray[np.int32]) -> int:
    """Return the sum of weights."""
    return len(weights) if are_units(weights) else int(weights.sum(dtype=np.int64))


def _weights(values: Any, count: int, what: str) -> npt.NDArray[np.int32]:
    if values is None:
        return unit_weights(count)
    array = _integers(values, what)
    if len(array) != count:
        raise GraphError(f"{what} has {len(array)} entries; it must have {count}")
    if count and not (array.min() >= 0 and array.max() <= INT32_MAX):
        raise GraphError(f"{what} must be in 0..2**31 - 1")
    return array.astype(np.int32)


@dataclass(frozen=True, eq=False)
class UploadedRows(Rows):
    """The rows of a block on a back end.

    Attributes
    ----------
    vertex_weights : of the back end's `sum_type`
    blocks : Blocks
    """

    vertex_weights: Array
    blocks: Blocks

    def as_piece(self) -> Piece:
        """Return the piece of the graph. Collective."""
        heads, ghosts = localize(self.backend, self.blocks, self.indices)
        return make_piece(
            self.backend,
            self.blocks,
            ghosts,
            self.indptr,
            heads,
            self.edge_weights,
            self.vertex_weights,
            self.backend.reduce(
                len(self.edge_weights), add_weights, edge_weights=self.edge_weights
            ),
        )


def upload_rows(backend: Backend, block: Block, blocks: Blocks) -> UploadedRows:
    """Upload the rows of a block to a back end; weights that are all 1 are created there.

    Neighbours that are not vertices become `OUTSIDE`, which `check_rows` finds.
    """
    kind = backend.sum_type

    def weights(values: npt.NDArray[np.int32]) -> Array:
        if are_units(values):
            return backend.full(len(values), 1, kind)
        return backend.from_host(values.astype(kind, copy=False))

    indices, _ = to_int32(backend, backend.from_host(block.indices), 0, blocks.n - 1)
    return UploadedRows(
        backend,
        backend.from_host(block.indptr.astype(kind)),
        indices,
        weights(block.edge_weights),
        blocks.n,
        blocks.first,
        weights(block.vertex_weights),
        blocks,
    )


def check_rows(rows: UploadedRows, block: Block) -> None:
    """Check that rows have no loops, no duplicate edges and no invalid neighbours.

    Raises
    ------
    GraphError
        If they have; the message names the first such edge.
    """
    if not rows.are_suspicious:
        return
    for tails, heads in edges_of(block, rows.first_global_id):
        outside = (heads < 0) | (heads >= rows.n)
        rules = (
            (outside, f"leaves the graph; vertices must be in 0..{rows.n - 1}"),
            (heads == tails, "is a self-loop"),
        )
        for wrong, why in rules:
            if wrong.any():
                e = int(np.argmax(wrong))
                raise GraphError(f"edge ({tails[e]}, {heads[e]}) {why}")
        if not ((np.diff(heads) > 0) | (np.diff(tails) > 0)).all():
            order = np.lexsort((heads, tails))
            twice = (np.diff(heads[order]) == 0) & (np.diff(tails[order]) == 0)
            if twice.any():
                e = order[int(np.argmax(twice))]
                raise GraphError(f"edge ({tails[e]}, {heads[e]}) is listed more than once")


def edges_of(block: Block, first: int) -> Iterator[tuple[IntArray, IntArray]]:
    """Yield tails and heads of the edges of several rows at a time.

    `first` is the global id of the first owned vertex.
    """
    ends = np.arange(SLICE, len(block.indices), SLICE)
    rows = np.unique([0, *np.searchsorted(block.indptr, ends), block.n])
    for start, end in pairwise(rows.tolist()):
        tails = np.arange(first + start, first + end, dtype=np.int64)
        entries = slice(block.indptr[start], block.indptr[end])
        lengths = np.diff(block.indptr[start : end + 1])
        yield np.repeat(tails, lengths), block.indices[entries]
