"""What each process gives: the rows of a block of vertices, as users of ParMETIS have them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from jetpy.backends.base import Backend
from jetpy.distributed.piece import Blocks, Piece, localize, make_piece
from jetpy.errors import GraphError
from jetpy.graph import INT32_MAX

IntArray = npt.NDArray[Any]
SLICE = 1 << 22
"""Edges that are looked at together."""
MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, eq=False)
class Block:
    """The rows of a block of vertices, whose neighbours go by their numbers in the whole graph.

    Attributes
    ----------
    indptr : int64, shape (own + 1,)
    indices : int64, shape (indptr[-1],)
    edge_weights : int32, of the same shape
    vertex_weights : int32, shape (own,)
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
    """Return a tuple (indptr, indices[, edge_weights[, vertex_weights]]) as a block; None is 1s.

    Raises
    ------
    GraphError
        If its arrays do not fit together, or a weight is not in 1..2**31 - 1.
    """
    if isinstance(given, Block):
        return given
    if not isinstance(given, tuple) or not 2 <= len(given) <= 4:
        raise GraphError(
            "a block is a tuple (indptr, indices[, edge_weights[, vertex_weights]]) of the own "
            f"vertices, not {type(given).__name__}"
        )
    indptr, indices = _integers(given[0], "indptr"), _integers(given[1], "indices")
    ends = (indptr[:1].tolist(), indptr[-1:].tolist()) == ([0], [len(indices)])
    if not ends or (np.diff(indptr) < 0).any():
        raise GraphError(
            f"indptr must begin with 0, not decrease, and end with the {len(indices)} entries of "
            "indices"
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


def _weights(values: Any, count: int, what: str) -> npt.NDArray[np.int32]:
    if values is None:
        return np.ones(count, np.int32)
    array = _integers(values, what)
    if len(array) != count:
        raise GraphError(f"{what} has {len(array)} entries instead of {count}")
    if count and not (array.min() >= 1 and array.max() <= INT32_MAX):
        raise GraphError(f"{what} must lie in 1..2**31 - 1")
    return array.astype(np.int32)


def check_block(block: Block, blocks: Blocks) -> None:
    """Refuse a block with loops, edges that are there twice or lead out of the graph.

    Raises
    ------
    GraphError
        Naming the first such edge.
    """
    if blocks.n >= INT32_MAX:
        raise GraphError(f"{blocks.n} vertices are too many; there must be fewer than 2**31 - 1")
    for tails, heads, _ in edges_of(block, blocks.first):
        outside = (heads < 0) | (heads >= blocks.n)
        rules = (outside, f"there are {blocks.n} vertices"), (heads == tails, "a self-loop")
        for wrong, why in rules:
            if wrong.any():
                e = int(np.argmax(wrong))
                raise GraphError(f"edge ({tails[e]}, {heads[e]}): {why}")
        if not ((np.diff(heads) > 0) | (np.diff(tails) > 0)).all():
            order = np.lexsort((heads, tails))
            twice = (np.diff(heads[order]) == 0) & (np.diff(tails[order]) == 0)
            if twice.any():
                e = order[int(np.argmax(twice))]
                raise GraphError(f"edge ({tails[e]}, {heads[e]}) is there twice")


def edges_of(block: Block, first: int) -> Iterator[tuple[IntArray, IntArray, IntArray]]:
    """Yield tails, heads and weights of the edges, those of some rows at a time.

    `first` is the number of the first own vertex in the whole graph.
    """
    ends = np.arange(SLICE, len(block.indices), SLICE)
    rows = np.unique([0, *np.searchsorted(block.indptr, ends), block.n])
    for start, end in pairwise(rows.tolist()):
        tails = np.arange(first + start, first + end, dtype=np.int64)
        entries = slice(block.indptr[start], block.indptr[end])
        lengths = np.diff(block.indptr[start : end + 1])
        yield np.repeat(tails, lengths), block.indices[entries], block.edge_weights[entries]


def digest_of(block: Block, blocks: Blocks) -> int:
    """Return a number, modulo 2**64; those of all blocks add up to 0 if the graph is symmetric.

    Otherwise they do not, but for a chance of one in 2**64: both directions of an edge have the
    same hash, of ends and weight, one with a minus sign.
    """
    digest = 0
    for tails, heads, weights in edges_of(block, blocks.first):
        low, high = np.minimum(tails, heads), np.maximum(tails, heads)
        h = low.astype(np.uint64) * MULTIPLIER ^ high.astype(np.uint64)
        for value in (np.uint64(0), weights.astype(np.uint64)):
            h = (h ^ h >> np.uint64(31) ^ value) * MULTIPLIER
        h ^= h >> np.uint64(29)
        upward = tails < heads
        digest += int(h[upward].sum(dtype=np.uint64)) - int(h[~upward].sum(dtype=np.uint64))
    return digest % 2**64


def upload_block(backend: Backend, block: Block, blocks: Blocks) -> Piece:
    """Hand a block over to a back end, as a piece of the graph."""
    kind = backend.sum_type
    ids = backend.from_host(block.indices).astype(np.int32)
    indices, ghosts = localize(backend, blocks, ids)
    return make_piece(
        backend,
        blocks,
        ghosts,
        backend.from_host(block.indptr.astype(kind, copy=False)),
        indices,
        backend.from_host(block.edge_weights.astype(kind, copy=False)),
        backend.from_host(block.vertex_weights.astype(kind, copy=False)),
    )
