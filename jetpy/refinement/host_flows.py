"""Flows between the pairs of a turn on the host, where one task processes a whole pair."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from jetpy.device.device_graph import DeviceGraph
from jetpy.engines.base import Array, Backend
from jetpy.refinement.cut_edges import CutEdges, CutPairs
from jetpy.refinement.pair_flows import PairFlows
from jetpy.workloads.flows import turns as kernels
from jetpy.workloads.flows.flow_networks import TERMINALS
from jetpy.workloads.flows.regions import Pair, Pairs


@dataclass(frozen=True, eq=False)
class Trees:
    """Storage for the flow networks of all regions and their search trees, passed to kernels."""

    rows: Array
    ends: Array
    sides: Array
    marks: Array
    parents: Array
    labels: Array
    current: Array
    orphans: Array
    waiting: Array
    buckets: Array
    frontiers: Array
    node_weights: Array
    heads: Array
    twins: Array
    capacities: Array

    @classmethod
    def with_room(cls, backend: Backend, nodes: int, arcs: int) -> Trees:
        """Allocate storage for `nodes` nodes and `arcs` arcs in total."""
        kind = backend.sum_type
        arrays = [backend.empty(nodes) for _ in range(8)]
        arrays += [backend.empty(2 * nodes) for _ in range(3)]
        arrays.append(backend.empty(nodes, kind))
        arrays += [backend.empty(arcs, t) for t in (np.int32, np.int32, kind)]
        return cls(*arrays)

    def holding(self, backend: Backend, nodes: int, arcs: int = 0) -> Trees:
        """Return this storage if it holds these nodes and arcs, otherwise larger storage."""
        room = len(self.sides), len(self.heads)
        if nodes <= room[0] and arcs <= room[1]:
            return self
        return Trees.with_room(backend, max(nodes, room[0]), max(arcs, room[1]))


class HostFlows(PairFlows):
    """Improves pairs with the graph and the flows on the host, one task per pair."""

    def __init__(self, backend: Backend, graph: DeviceGraph, *others: Any) -> None:
        super().__init__(backend, graph, *others)
        self._order, self._hops, self._new_parts = (backend.empty(graph.n) for _ in range(3))
        self._trees = Trees.with_room(backend, 0, 0)

    def begin_sweep(self, parts: Array) -> CutPairs:
        """Return the adjacent pairs of a partition; `improve` changes its `parts` in place."""
        backend, k = self.backend, self._k
        edges = CutEdges.find(backend, self.graph, parts, k)
        keys, tails, heads = map(backend.to_host, (edges.keys, edges.tails, edges.heads))
        is_short = k * k <= 1 << 16  # NumPy sorts 16 bits by digits, a tenth of the time
        order = np.argsort(keys.astype(np.uint16) if is_short else keys, kind="stable")
        self._tails, self._heads = (backend.from_host(a[order]) for a in (tails, heads))
        found = edges.pairs(backend, k)
        self._starts = np.append(0, np.cumsum(found.edges))
        self._parts = parts
        self._sizes = self._count_vertices()
        return found

    def improve(
        self, rows: npt.NDArray[np.int64], chosen: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.int64]:
        """Improve pairs that have no part in common; see `PairFlows.improve`."""
        both = self._sizes[rows[:, Pair.PARTS : Pair.PARTS + 2]].sum(axis=1)
        rows[:, Pair.EDGES] = self._starts[chosen]
        rows[:, Pair.EDGES_END] = self._starts[chosen + 1]
        rows[:, Pair.FIRST] = np.cumsum(both) - both
        backend = self.backend
        pairs = Pairs(
            backend.from_host(rows.ravel()),
            self._order,
            self._hops,
            self._tails,
            self._heads,
            self._places,
        )
        rows = self.improve_pairs(pairs, self._parts)
        rows = self._with_others(rows, pairs, self._new_parts)
        if not self._processes.have_whole:  # a band has only some of the vertices that have moved
            self._sizes = self._count_vertices()
            return rows
        first, second = rows[:, Pair.PARTS], rows[:, Pair.PARTS + 1]
        self._sizes[first] -= rows[:, Pair.VERTICES]
        self._sizes[second] += rows[:, Pair.VERTICES]
        return rows

    def _count_vertices(self) -> npt.NDArray[np.int64]:
        """Return the number of vertices of each part."""
        return np.bincount(self.backend.to_host(self._parts), minlength=self._k).astype(np.int64)

    def improve_pairs(self, pairs: Pairs, parts: Array) -> npt.NDArray[np.int64]:
        """Improve pairs without a common part, given their regions' storage; return their rows."""
        backend, graph = self.backend, self.graph
        count = len(pairs.rows) // Pair.COUNT
        pairs, trees = self.find_regions(pairs, parts)
        backend.run_tasks(
            count,
            kernels.improve_pair,
            graph=graph,
            pairs=pairs,
            parts=parts,
            new_parts=self._new_parts,
            trees=trees,
            several=self._several,
        )
        return backend.to_host(pairs.rows).reshape(count, Pair.COUNT)

    def find_regions(self, pairs: Pairs, parts: Array) -> tuple[Pairs, Trees]:
        """Return pairs with the regions between their parts, and storage for their networks."""
        backend, graph = self.backend, self.graph
        count = len(pairs.rows) // Pair.COUNT
        backend.run_tasks(
            count,
            kernels.find_region,
            graph=graph,
            pairs=pairs,
            parts=parts,
            max_hops=self._max_hops,
        )
        rows = backend.to_host(pairs.rows).reshape(count, Pair.COUNT)
        nodes, arcs = rows[:, Pair.SIZE] + TERMINALS, rows[:, Pair.NEXT_ARC]
        self._trees = trees = self._trees.holding(backend, int(nodes.sum()), int(arcs.sum()))
        rows[:, Pair.NODE] = np.cumsum(nodes) - nodes
        rows[:, Pair.NEXT_ARC] = np.cumsum(arcs) - arcs
        return replace(pairs, rows=backend.from_host(rows.ravel())), trees
