"""The elimination of blocks of a matrix by minimum degree, on any back end."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from jetpy.device.device_graph import DeviceGraph, carry
from jetpy.engines.base import Array, Backend
from jetpy.graph.csr import IntArray
from jetpy.lazy import cached_property
from jetpy.workloads.ordering import minimum_degree, quotient_graphs
from jetpy.workloads.ordering.minimum_degree import Block, Cost, Quotient
from jetpy.workloads.ordering.quotient_graphs import Blocks

Sizes = npt.NDArray[np.int64]
Costs = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class BlockElimination:
    """The elimination of some blocks, which a GPU may still be working on."""

    backend: Backend
    blocks: Blocks
    chosen: Array
    quotient: Quotient
    numbers: Array

    @cached_property
    def counts(self) -> Sizes:
        """Number of eliminated vertices of each block."""
        numbers = self.backend.to_host(self.numbers).reshape(-1, Block.COUNT)
        counts: Sizes = numbers[:, Block.ORDERED].astype(np.int64)
        return counts

    @property
    def costs(self) -> Costs:
        """Costs of each block, shape (blocks, Cost.COUNT)."""
        return self.backend.to_host(self.quotient.costs).reshape(-1, Cost.COUNT)

    def vertices(self) -> IntArray:
        """Return the vertices in order of elimination, block by block."""
        backend, ends = self.backend, np.cumsum(self.counts)
        eliminated = backend.empty(int(ends[-1]) if len(ends) else 0)
        backend.run_tasks(
            len(ends),
            quotient_graphs.list_eliminated,
            chosen=self.chosen,
            blocks=self.blocks,
            graph=self.quotient,
            numbers=self.numbers,
            begins=backend.from_host(ends - self.counts),
            eliminated=eliminated,
        )
        return backend.to_host(eliminated)


def begin_elimination(
    backend: Backend,
    matrix: DeviceGraph,
    blocks: Blocks,
    chosen: Sizes,
    variables: Sizes,
    rooms: Sizes,
) -> BlockElimination:
    """Begin to eliminate some blocks; a GPU does this while the host continues."""
    ends, stops = np.cumsum(variables), np.cumsum(rooms)
    numbers = np.zeros((len(variables), Block.COUNT), backend.sum_type)
    numbers[:, Block.FIRST], numbers[:, Block.END] = ends - variables, ends
    numbers[:, Block.ENTRIES], numbers[:, Block.ROOM] = stops - rooms, stops
    numbers[:, Block.LEAST] = variables
    held, own = backend.from_host(numbers.ravel()), backend.from_host(chosen.astype(np.int32))
    n = int(variables.sum())
    quotient: Quotient = backend.group(
        Quotient,
        n,
        entries=backend.empty(int(rooms.sum())),
        starts=backend.empty(n, backend.sum_type),
        uncovered=backend.empty(n, np.int64),
        paths=backend.empty(n, np.float64),
        costs=backend.empty(len(variables) * Cost.COUNT, np.float64),
    )
    both = {"graph": quotient, "numbers": held}
    backend.run_tasks(
        len(chosen),
        quotient_graphs.build_blocks,
        chosen=own,
        matrix=matrix,
        blocks=blocks,
        **both,
    )
    backend.run_tasks(len(chosen), minimum_degree.order_blocks, **both)
    return BlockElimination(backend, blocks, own, quotient, held)


def copy_blocks(blocks: Blocks, source: Backend, target: Backend) -> Blocks:
    """Copy from one back end to another what the elimination of blocks reads."""
    nothing, no_offsets = target.empty(0), target.empty(0, target.sum_type)
    return replace(
        blocks,
        block_of=carry(blocks.block_of, source, target),
        vertices=carry(blocks.vertices, source, target),
        positions=carry(blocks.positions, source, target),
        starts=carry(blocks.starts, source, target),
        halo_sizes=nothing,
        entry_counts=no_offsets,
        last_copies=no_offsets,
        copies=carry(blocks.copies, source, target),
        paths=carry(blocks.paths, source, target),
    )
