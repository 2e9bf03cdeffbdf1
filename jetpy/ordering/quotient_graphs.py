"""Minimum degree orders of the blocks of a matrix, each with its halo."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from jetpy.device.device_graph import DeviceGraph, upload
from jetpy.engines.base import Array, Backend
from jetpy.graph.csr import INT32_MAX, Graph
from jetpy.kernel_language import Width
from jetpy.ordering.processes import ALONE, Processes
from jetpy.ordering.symbolic import Permutation
from jetpy.workloads.ordering import minimum_degree, quotient_graphs
from jetpy.workloads.ordering.minimum_degree import Block, Cost, Quotient
from jetpy.workloads.ordering.quotient_graphs import NONE, Blocks

Sizes = npt.NDArray[np.int64]
Costs = npt.NDArray[np.float64]

ROOM = 2
"""Entries of a quotient graph, per entry at first: the lists, and a new element in addition."""
MAX_ROOM = 5
"""Bound of the room for all blocks, per directed edge: an edge that leaves a block is in two lists
and may have its own copy of a vertex."""
MAX_CHUNKS = 8
"""Maximum number of chunks of blocks whose halos are found at the same time. Each takes an array of
the size of the matrix; together, these have at most as many entries as the matrix."""
BYTES_OF_VARIABLE, BYTES_OF_ENTRY = 84, 4
"""Memory of a quotient graph."""
BATCH_BYTES, BATCH_BYTES_OF_EDGE = 2**28, 32
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

    order: Permutation
    operations: Costs
    paths: Costs


NO_ORDERS = BlockOrders(np.empty(0, np.int32), np.empty(0), np.empty(0))
"""The orders of no blocks."""


def block_orders(
    host: Backend,
    graph: Graph,
    block_of: Permutation,
    count: int,
    processes: Processes = ALONE,
) -> Permutation:
    """Order the vertices of blocks by approximate minimum degree, each block separately.

    The degrees count the neighbours outside of the block, too, which are its halo.

    Parameters
    ----------
    host : Backend
        A back end on CPUs. The result does not depend on its number of threads.
    graph : Graph
    block_of : int32, shape (n,)
        Block of each vertex, in 0..count - 1; -1 for a vertex that is not ordered.
    count : int
    processes : Processes
        Each process orders some blocks.

    Returns
    -------
    int32, shape (number of vertices in blocks,)
        The vertices of block 0 in order of elimination, then block 1, and so on.
    """
    own = processes.share(np.bincount(block_of + 1, minlength=count + 1)[1:])
    is_own = (own.start <= block_of) & (block_of < own.stop)
    own_block_of = np.where(is_own, block_of - own.start, -1).astype(np.int32)
    found = eliminated_blocks(host, graph, own_block_of, own.stop - own.start, np.empty(0))
    return gathered(processes, host, found).order


def gathered(processes: Processes, host: Backend, found: BlockOrders) -> BlockOrders:
    """Return the orders that all processes have found, in rank order."""
    arrays = (found.order, found.operations, found.paths)
    return BlockOrders(*(processes.gather(host, array) for array in arrays))


def eliminated_blocks(
    host: Backend, graph: Graph, block_of: Permutation, count: int, paths: Costs
) -> BlockOrders:
    """Order blocks as `block_orders` does, and compute what that costs.

    The first ``len(paths)`` vertices of the graph, which weigh 0, are elements of quotient graphs:
    each stands for vertices of its block that were eliminated before, and its neighbours are what
    these were adjacent to. They are not ordered. `paths` (float64) has the operations on the most
    expensive path in the elimination tree up to each.
    """
    nnz = len(graph.indices)
    if MAX_ROOM * nnz + graph.n > INT32_MAX:
        host = host.with_width(Width.WIDE)
    matrix = upload(host, graph)
    blocks = _find_blocks(host, matrix, block_of, count, paths)
    starts = host.to_host(blocks.starts)
    variables = np.diff(starts).astype(np.int64) + host.to_host(blocks.halo_sizes)
    rooms = ROOM * host.to_host(blocks.entry_counts).astype(np.int64) + variables
    limit = max(BATCH_BYTES, BATCH_BYTES_OF_EDGE * nnz)
    order, costs = [np.empty(0, np.int32)], [np.empty((0, Cost.COUNT))]
    for batch in _batches(BYTES_OF_VARIABLE * variables + BYTES_OF_ENTRY * rooms, limit):
        eliminated, cost = _order_batch(host, matrix, blocks, batch, variables[batch], rooms[batch])
        order.append(eliminated)
        costs.append(cost)
    operations, longest = np.concatenate(costs).T
    return BlockOrders(np.concatenate(order), operations, longest)


def _find_blocks(
    host: Backend, matrix: DeviceGraph, block_of: Permutation, count: int, paths: Costs
) -> Blocks:
    """List the vertices of the blocks, and measure their quotient graphs."""
    sizes = np.bincount(block_of + 1, minlength=count + 1)[1:]
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
    host: Backend,
    matrix: DeviceGraph,
    blocks: Blocks,
    batch: slice,
    variables: Sizes,
    rooms: Sizes,
) -> tuple[Permutation, Costs]:
    """Order consecutive blocks; return their vertices, and the costs of the blocks.

    The costs have shape (blocks, Cost.COUNT).
    """
    ends, stops = np.cumsum(variables), np.cumsum(rooms)
    numbers = np.zeros((len(variables), Block.COUNT), host.sum_type)
    numbers[:, Block.FIRST], numbers[:, Block.END] = ends - variables, ends
    numbers[:, Block.ENTRIES], numbers[:, Block.ROOM] = stops - rooms, stops
    numbers[:, Block.LEAST] = variables
    held = host.from_host(numbers.ravel())
    quotient = _empty_quotient(host, len(variables), int(ends[-1]), int(stops[-1]))
    both = {"graph": quotient, "numbers": held}
    there = {"first_block": batch.start, "blocks": blocks}
    host.run_tasks(len(variables), quotient_graphs.build_blocks, matrix=matrix, **there, **both)
    host.run_tasks(len(variables), minimum_degree.order_blocks, **both)
    ordered = host.to_host(held).reshape(-1, Block.COUNT)[:, Block.ORDERED]
    begins = np.append(0, np.cumsum(ordered, dtype=np.int64))
    eliminated = host.empty(int(begins[-1]))
    host.run_tasks(
        len(variables),
        quotient_graphs.list_eliminated,
        begins=host.from_host(begins),
        eliminated=eliminated,
        **there,
        **both,
    )
    costs = host.to_host(quotient.costs).reshape(-1, Cost.COUNT)
    return host.to_host(eliminated), costs


def _empty_quotient(host: Backend, blocks: int, variables: int, room: int) -> Quotient:
    """Return arrays for quotient graphs with `room` entries."""

    def empty() -> Array:
        return host.empty(variables)

    return Quotient(
        entries=host.empty(room),
        starts=host.empty(variables, host.sum_type),
        lengths=empty(),
        element_counts=empty(),
        kinds=empty(),
        weights=empty(),
        degrees=empty(),
        uncovered=host.empty(variables, np.int64),
        heads=empty(),
        nexts=empty(),
        befores=empty(),
        buckets=empty(),
        hashes=empty(),
        next_members=empty(),
        last_members=empty(),
        order=empty(),
        paths=host.empty(variables, np.float64),
        costs=host.empty(blocks * Cost.COUNT, np.float64),
    )


def _batches(costs: Sizes, limit: int) -> Iterator[slice]:
    """Yield runs of tasks that cost at most `limit` together, or that are one task."""
    ends = np.cumsum(costs)
    start = 0
    while start < len(costs):
        before = int(ends[start] - costs[start])
        stop = max(start + 1, int(np.searchsorted(ends, before + limit, side="right")))
        yield slice(start, stop)
        start = stop
