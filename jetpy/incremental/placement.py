"""Placement of the vertices of the pseudo-partition (iG-kway, section V-C)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from jetpy.engines.base import Array
from jetpy.graph.csr import IntArray
from jetpy.incremental.affected import find_entering
from jetpy.incremental.buckets import BucketList
from jetpy.incremental.column import BlankColumn
from jetpy.incremental.pseudo_partition import PseudoPartition, gather
from jetpy.workloads.common.groups import NO_PART, Connectivity
from jetpy.workloads.common.values import add_weights
from jetpy.workloads.incremental import placement as kernels
from jetpy.workloads.incremental import pseudo_partition as pseudo_kernels
from jetpy.workloads.incremental.affected import Mark
from jetpy.workloads.incremental.buckets import NO_NUMBER
from jetpy.workloads.incremental.placement import VertexMoves
from jetpy.workloads.refinement import connectivity as table_kernels
from jetpy.workloads.refinement.connectivity import UNUSED

KEY_BITS, PULL_BITS = 63, 31
"""Bits of the sort keys of moves, and the maximum number of them for an edge weight."""


@dataclass(frozen=True, eq=False)
class Placed:
    """The result of a placement.

    Attributes
    ----------
    vertices : int32
        Vertices that were placed.
    previous : int32
        Part of each of them before; k for new vertices.
    moved : int
        Number of vertices whose part has changed; new vertices do not count.
    growth : int
        Increase of the weight of edges between parts.
    loss : int
        Part of the cut due to full parts: sum over vertices of the edge weight to the preferred
        part minus that to the actual part.
    """

    vertices: IntArray
    previous: IntArray
    moved: int
    growth: int
    loss: int


def changed_parts(before: IntArray, after: IntArray, k: int) -> int:
    """Return the number of vertices whose part differs; k in `before` marks new vertices."""
    return int(((before != after) & (before < k)).sum())


class Placement:
    """Finds the vertices of a bucket list that must be placed, and places them."""

    def __init__(self, graph: BucketList, k: int, seed: int, max_degree: int) -> None:
        self._graph, self._k, self._seed = graph, k, seed
        self._highest_degree = max_degree
        self._marks = BlankColumn(graph.backend, Mark.NONE)
        self._numbers = BlankColumn(graph.backend, NO_NUMBER)

    def update(
        self,
        modified: IntArray,
        part_weights: npt.NDArray[np.int64],
        limits: npt.NDArray[np.int64],
    ) -> Placed:
        """Place new vertices, and vertices that are more strongly connected to another part.

        Parameters
        ----------
        modified : int32, ascending
            Vertices whose edges have changed, and new vertices.
        part_weights : int64, shape (k,)
            Updated in place.
        limits : int64, shape (k,)
            Maximum weight of each part; a vertex that fits into no part goes to the lightest.
        """
        graph, k = self._graph, self._k
        vertices = find_entering(graph, modified, self._marks, k, self._highest_degree)
        if len(vertices) == 0:
            return Placed(vertices, vertices, 0, 0, 0)
        weights, previous = graph.vertex_weights.host[vertices], graph.parts.host[vertices]
        old = previous < k
        np.subtract.at(part_weights, previous[old], weights[old])
        pseudo = gather(graph, vertices, self._numbers)
        parts, growth, loss = place(pseudo, part_weights, limits, self._seed)
        graph.parts.set(vertices, parts)
        return Placed(vertices, previous, changed_parts(previous, parts, k), growth, loss)


@dataclass(frozen=True, eq=False)
class _State(PseudoPartition):
    """State of the placement, for `jetpy.workloads.incremental.placement`."""

    parts: Array
    part_weights: Array
    limits: Array
    lightest: Array
    seed: int
    k: int


def place(
    pseudo: PseudoPartition,
    part_weights: npt.NDArray[np.int64],
    limits: npt.NDArray[np.int64],
    seed: int,
) -> tuple[IntArray, int, int]:
    """Place vertices in rounds; in a round, no two neighbours move.

    Parameters
    ----------
    pseudo : PseudoPartition
    part_weights : int64, shape (k,)
        Weights without the vertices to place; updated in place.
    limits : int64, shape (k,)
        Maximum weight of each part; a vertex that fits into no part goes to the lightest.
    seed : int

    Returns
    -------
    int32, shape (n,)
        Part of each vertex.
    growth, loss : int
        As in `Placed`.
    """
    backend, n, k = pseudo.backend, pseudo.n, len(part_weights)
    state = _State(
        **vars(pseudo),
        parts=backend.full(n, NO_PART),
        part_weights=backend.from_host(part_weights),
        limits=backend.from_host(limits),
        lightest=backend.empty(1),
        seed=seed,
        k=k,
    )
    table, moves = _connect(state), _room_for_moves(state)
    left = n
    while left > 0:
        left -= _place_some(state, table, moves)
    growth = backend.reduce(n * state.lanes, kernels.sum_change_of_cut, state=state)
    loss = backend.reduce(n, add_weights, edge_weights=moves.losses)
    part_weights[:] = backend.to_host(state.part_weights)
    return backend.to_host(state.parts), growth // 2, loss


def _connect(state: _State) -> Connectivity:
    """Return the table of edges into each part, and count the neighbours that vertices wait for."""
    backend, n, k = state.backend, state.n, state.k
    rows, none = backend.empty(n), backend.empty(0)
    empty = Connectivity(rows, none, none, k)
    size = backend.scan(n, table_kernels.place_rows, graph=state, table=empty)
    table = Connectivity(rows, backend.full(size, UNUSED), backend.full(size, 0), k)
    backend.parallel_for(n * state.lanes, pseudo_kernels.connect, pseudo=state, table=table)
    return table


def _room_for_moves(state: _State) -> VertexMoves:
    backend, n, k = state.backend, state.n, state.k
    number_bits = n.bit_length()
    return VertexMoves(
        targets=backend.empty(n),
        pulls=backend.empty(n),
        losses=backend.empty(n),
        keys=backend.empty(n, np.int64),
        pull_bits=min(PULL_BITS, KEY_BITS - number_bits - k.bit_length()),
        number_bits=number_bits,
        weights_before=backend.empty(n, np.int64),
        weights_before_part=backend.empty(k, np.int64),
    )


def _place_some(state: _State, table: Connectivity, moves: VertexMoves) -> int:
    """Run a round, and return the number of vertices placed, at least one."""
    backend, n = state.backend, state.n
    backend.parallel_for(1, kernels.find_lightest, state=state)
    backend.parallel_for(n, kernels.choose, state=state, table=table, moves=moves)
    count = backend.scan(n, kernels.list_moves, moves=moves)
    sequence = replace(moves, keys=backend.sorted(moves.keys[:count]))
    backend.scan(count, kernels.accumulate_weights, state=state, moves=sequence)
    placed = backend.reduce(count, kernels.admit, state=state, moves=sequence)
    backend.parallel_for(
        count * state.lanes, kernels.commit_placements, state=state, table=table, moves=sequence
    )
    return placed
