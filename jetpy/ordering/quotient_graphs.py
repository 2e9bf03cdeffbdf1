"""Minimum degree orders of the blocks of a matrix, each with its halo."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from jetpy.device.device_graph import DeviceGraph, upload
from jetpy.engines.base import Backend
from jetpy.graph.csr import INT32_MAX, Graph, IntArray
from jetpy.graph.ranges import ranges
from jetpy.initial.sharing import gpu_tasks
from jetpy.kernel_language import Width
from jetpy.lazy import cached_property
from jetpy.ordering.block_elimination import (
    BlockElimination,
    Costs,
    Sizes,
    begin_elimination,
    copy_blocks,
)
from jetpy.workloads.ordering import quotient_graphs
from jetpy.workloads.ordering.minimum_degree import Cost
from jetpy.workloads.ordering.quotient_graphs import NONE, Blocks

ROOM = 2
"""Entries of a quotient graph, per entry at first: the lists, and a new element in addition."""
SIZE_OF_VARIABLE = 16
"""Variables of a quotient graph and its room for entries, per variable, in a planar mesh."""
MAX_ROOM = 5
"""Bound of the room for all blocks, per directed edge: an edge that leaves a block is in two lists
and may have its own copy of a vertex."""
MAX_CHUNKS = 8
"""Maximum number of chunks of blocks whose halos are found at the same time. Each takes an array of
the size of the matrix; together, these have at most as many entries as the matrix."""
BYTES_OF_VARIABLE, BYTES_OF_ENTRY = 84, 4
"""Memory of a quotient graph."""
BATCH_BYTES, BATCH_BYTES_OF_EDGE = 2**26, 8
"""Quotient graphs exist at the same time if they take at most BATCH_BYTES together, or at most
BATCH_BYTES_OF_EDGE per directed edge of the matrix."""


@dataclass(frozen=True, eq=False)
class BlockOrders:
    """The blocks of a matrix in order of elimination, and what the elimination costs.

    Attributes
    ----------
    order : int32, shape (number of ordered vertices,)
        The vertices of block 0, then block 1, and so on.
    operations : float64, shape (blocks,)
        Sum of the squared column counts of each block. The matrix outside of the block must not be
        eliminated earlier, unless it does not touch the block.
    paths : float64, shape (blocks,)
        Operations on the most expensive path in the elimination tree of each block. It may be a
        little too large.
    """

    order: IntArray
    operations: Costs
    paths: Costs


@dataclass(frozen=True, eq=False)
class Matrix:
    """A matrix whose blocks a GPU and the threads of its host share.

    Attributes
    ----------
    backend, host : Backend
        The same back end on CPUs, or one on a GPU and one on CPUs. The result does not depend on
        them.
    graph : Graph
    """

    backend: Backend
    host: Backend
    graph: Graph

    def __post_init__(self) -> None:
        if MAX_ROOM * len(self.graph.indices) + self.graph.n > INT32_MAX:
            object.__setattr__(self, "host", self.host.with_width(Width.WIDE))
            if self.backend.tasks_at_once:
                object.__setattr__(self, "backend", self.backend.with_width(Width.WIDE))

    @cached_property
    def on_host(self) -> DeviceGraph:
        """The graph on the host."""
        return upload(self.host, self.graph)

    @cached_property
    def on_backend(self) -> DeviceGraph:
        """The graph on the back end."""
        return upload(self.backend, self.graph)


def block_orders(matrix: Matrix, block_of: IntArray, count: int) -> BlockOrders:
    """Order the vertices of blocks by approximate minimum degree, each block separately.

    The degrees count the neighbours outside of the block, too, which are its halo.

    Parameters
    ----------
    matrix : Matrix
    block_of : int32, shape (n,)
        Block of each vertex, in 0..count - 1; -1 for a vertex that is not ordered.
    count : int
    """
    return eliminated_blocks(matrix, block_of, sizes_of(block_of, count), np.empty(0))


def sizes_of(block_of: IntArray, count: int) -> Sizes:
    """Return the number of vertices of each block, int64, shape (count,)."""
    return np.bincount(block_of + 1, minlength=count + 1)[1:]


def eliminated_blocks(
    matrix: Matrix, block_of: IntArray, sizes: Sizes, paths: Costs
) -> BlockOrders:
    """Order blocks of known sizes as `block_orders` does, and compute what that costs.

    The first ``len(paths)`` vertices of the graph, which weigh 0, are elements of quotient graphs:
    each stands for vertices of its block that were eliminated before, and its neighbours are what
    these were adjacent to. They are not ordered. `paths` (float64) has the operations on the most
    expensive path in the elimination tree up to each.
    """
    host, nnz = matrix.host, len(matrix.graph.indices)
    blocks = _find_blocks(host, matrix.on_host, block_of, sizes, paths)
    starts = host.to_host(blocks.starts)
    variables = np.diff(starts).astype(np.int64) + host.to_host(blocks.halo_sizes)
    rooms = ROOM * host.to_host(blocks.entry_counts).astype(np.int64) + variables
    limit = max(BATCH_BYTES, BATCH_BYTES_OF_EDGE * nnz)
    order, costs = [np.empty(0, np.int32)], [np.empty((0, Cost.COUNT))]
    for batch in _batches(BYTES_OF_VARIABLE * variables + BYTES_OF_ENTRY * rooms, limit):
        eliminated, cost = _order_batch(matrix, blocks, batch, variables[batch], rooms[batch])
        order.append(eliminated)
        costs.append(cost)
    operations, longest = np.concatenate(costs).T
    return BlockOrders(np.concatenate(order), operations, longest)


def _find_blocks(
    host: Backend, matrix: DeviceGraph, block_of: IntArray, sizes: Sizes, paths: Costs
) -> Blocks:
    """List the vertices of the blocks, and measure their quotient graphs."""
    count = len(sizes)
    ends = np.cumsum(sizes, dtype=np.int32)
    total = int(ends[-1]) if count else 0
    most = min(matrix.nnz, INT32_MAX) // max(matrix.n, 1)
    chunks = max(1, min(host.threads, MAX_CHUNKS, most))
    bounds = np.searchsorted(ends, np.arange(chunks) * total // chunks)
    blocks = Blocks(
        block_of=host.from_host(block_of),
        vertices=host.empty(total),
        positions=host.empty(matrix.n),
        starts=host.from_host(np.append(ends, np.int32(total))),
        halo_sizes=host.empty(count),
        entry_counts=host.empty(count, host.sum_type),
        last_copies=host.full(chunks * matrix.n, NONE, host.sum_type),
        copies=host.empty(matrix.nnz),
        elements=len(paths),
        paths=host.from_host(paths),
    )
    host.run_tasks(1, quotient_graphs.list_vertices, n=matrix.n, blocks=blocks)
    host.run_tasks(
        chunks,
        quotient_graphs.find_halos,
        n=matrix.n,
        chunks=host.from_host(np.append(bounds, count).astype(np.int32)),
        matrix=matrix,
        blocks=blocks,
    )
    return blocks


def _order_batch(
    matrix: Matrix, blocks: Blocks, batch: slice, variables: Sizes, rooms: Sizes
) -> tuple[IntArray, Costs]:
    """Order consecutive blocks; return their vertices, and the costs of the blocks.

    The costs have shape (blocks, Cost.COUNT).
    """
    host, chosen = matrix.host, np.arange(batch.start, batch.stop)
    on_gpu = _gpu_blocks(matrix, blocks, variables, rooms)
    sent = None
    if on_gpu.any():
        sent = _begin_on_gpu(matrix, blocks, chosen[on_gpu], variables[on_gpu], rooms[on_gpu])
    if sent is None:
        kept = begin_elimination(host, matrix.on_host, blocks, chosen, variables, rooms)
        return kept.vertices(), kept.costs
    given = (chosen[~on_gpu], variables[~on_gpu], rooms[~on_gpu])
    kept = begin_elimination(host, matrix.on_host, blocks, *given)
    shares = ((~on_gpu, kept), (on_gpu, sent))
    counts, costs = np.empty(len(chosen), np.int64), np.empty((len(chosen), Cost.COUNT))
    for own, share in shares:
        counts[own], costs[own] = share.counts, share.costs
    begins = np.cumsum(counts) - counts
    order = np.empty(int(counts.sum()), np.int32)
    for own, share in shares:
        order[ranges(begins[own], counts[own])] = share.vertices()
    return order, costs


def _gpu_blocks(
    matrix: Matrix, blocks: Blocks, variables: Sizes, rooms: Sizes
) -> npt.NDArray[np.bool_]:
    """Return which blocks a GPU takes."""
    sizes = (variables + rooms) // SIZE_OF_VARIABLE
    copied = len(blocks.copies) + 3 * len(blocks.block_of)
    at_once = matrix.backend.tasks_at_once
    return gpu_tasks(matrix.backend, matrix.host, sizes, sizes, at_once, copied)


def _begin_on_gpu(
    matrix: Matrix, blocks: Blocks, chosen: Sizes, variables: Sizes, rooms: Sizes
) -> BlockElimination | None:
    """Begin to eliminate blocks on a GPU; return None if its memory is full."""
    backend = matrix.backend
    try:
        copy = copy_blocks(blocks, matrix.host, backend)
        return begin_elimination(backend, matrix.on_backend, copy, chosen, variables, rooms)
    except MemoryError:
        return None


def _batches(costs: Sizes, limit: int) -> Iterator[slice]:
    """Yield runs of tasks that cost at most `limit` together, or that are one task."""
    ends = np.cumsum(costs)
    start = 0
    while start < len(costs):
        before = int(ends[start] - costs[start])
        stop = max(start + 1, int(np.searchsorted(ends, before + limit, side="right")))
        yield slice(start, stop)
        start = stop
