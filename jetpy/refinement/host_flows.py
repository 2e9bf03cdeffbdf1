"""Flows between the pairs of a turn on the host, where one task processes a whole pair."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from jetpy.device.device_graph import DeviceGraph
from jetpy.device.processes import ALONE, Processes
from jetpy.engines.base import Array, Backend
from jetpy.refinement.cut_edges import CutEdges, CutPairs, pair_up
from jetpy.workloads.common.groups import NO_PART
from jetpy.workloads.flows import turns as kernels
from jetpy.workloads.flows.flow_networks import TERMINALS
from jetpy.workloads.flows.regions import Pair, Pairs, Regions


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


class HostFlows:
    """Improves pairs of parts of a level by flows, one task per pair.

    Parameters
    ----------
    backend, graph
        A level on its back end.
    k : int
    max_hops : int
        Maximum distance of a region from the cut.
    places : int32, shape (n,)
        `OUTSIDE`, or `KEPT_OUTSIDE` for vertices that are in no region.
    processes : Processes
        Those that share the pairs of a turn; all have the level as a whole.
    """

    def __init__(
        self,
        backend: Backend,
        graph: DeviceGraph,
        k: int,
        max_hops: int,
        places: Array,
        processes: Processes = ALONE,
    ) -> None:
        self.backend, self.graph, self._processes = backend, graph, processes
        self._k, self._max_hops, self._places = k, max_hops, places
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
        found = pair_up(keys, backend.to_host(edges.weights).astype(np.int64), k)
        self._starts = np.append(0, np.cumsum(found.edges))
        self._parts, self._sizes = parts, np.bincount(backend.to_host(parts), minlength=k)
        return found

    def improve(
        self, rows: npt.NDArray[np.int64], chosen: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.int64]:
        """Improve pairs that have no part in common, all in parallel. Collective.

        Parameters
        ----------
        rows : int64, shape (count, Pair.COUNT)
            Their limits, those of the pairs of this process only.
        chosen : int64, shape (count,)
            Their indices among the pairs of the sweep.

        Returns
        -------
        int64, shape (pairs, Pair.COUNT)
            The updated rows, those of all processes.
        """
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
        rows = with_others(self._processes, backend, rows, pairs, self._new_parts, self._parts)
        first, second = rows[:, Pair.PARTS], rows[:, Pair.PARTS + 1]
        self._sizes[first] -= rows[:, Pair.VERTICES]
        self._sizes[second] += rows[:, Pair.VERTICES]
        return rows

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


def moved_vertices(rows: npt.NDArray[np.int64], regions: Regions, new_parts: Array) -> Array:
    """Return the vertices of the regions of some pairs that have new parts."""
    first, size = rows[:, Pair.FIRST], rows[:, Pair.SIZE]
    places = np.repeat(first - np.cumsum(size) + size, size) + np.arange(size.sum())
    return regions.order[places[new_parts[places] != NO_PART]]


def with_others(
    processes: Processes,
    backend: Backend,
    rows: npt.NDArray[np.int64],
    regions: Regions,
    new_parts: Array,
    parts: Array,
) -> npt.NDArray[np.int64]:
    """Return the rows of the pairs of all processes, and exchange the parts of moved vertices.

    `rows`, `regions` and `new_parts` are those of the pairs of this process, on the host.
    """
    if processes.size == 1:
        return rows
    host, moved = backend.host, moved_vertices(rows, regions, new_parts)
    everywhere = host.to_host(processes.gather(host, rows.ravel()))
    processes.publish(backend, parts, backend.from_host(moved))
    return everywhere.reshape(-1, Pair.COUNT)
