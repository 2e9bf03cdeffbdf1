"""Flows between the pairs of a turn: a GPU builds the networks, its host computes the flows.

Only the networks travel, not the level. One index per vertex builds them; flows take few threads.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from jetpy.device.device_graph import DeviceGraph
from jetpy.engines.base import Array, Backend
from jetpy.refinement.cut_edges import CutEdges, CutPairs
from jetpy.refinement.host_flows import Trees
from jetpy.refinement.pair_flows import PairFlows
from jetpy.workloads.flows import parallel_networks, turns
from jetpy.workloads.flows.flow_networks import ARCS_PER_VERTEX, TERMINALS
from jetpy.workloads.flows.parallel_networks import NO_PAIR, Turn
from jetpy.workloads.flows.regions import Pair, Regions


class DownloadBuffer:
    """Arrays of one type that are copied together from a back end to its host.

    Parameters
    ----------
    backend : Backend
    dtype : data-type
    """

    def __init__(self, backend: Backend, dtype: Any) -> None:
        self._backend, self._dtype = backend, dtype
        self._reserve(0)

    def _reserve(self, size: int) -> None:
        self._there = self._backend.empty(size, self._dtype)
        self._here = self._backend.host.empty(size, self._dtype)

    def divide(self, *lengths: int) -> list[Array]:
        """Return uninitialised arrays of some lengths on the back end."""
        self._ends = np.cumsum(lengths).tolist()
        if self._ends[-1] > len(self._there):
            self._reserve(2 * self._ends[-1])
        return self._slices(self._there)

    def download(self) -> list[npt.NDArray[Any]]:
        """Return the contents of these arrays, valid until the next download."""
        size = self._ends[-1]
        return self._slices(self._backend.to_host(self._there[:size], self._here[:size]))

    def _slices(self, array: Array) -> list[Array]:
        return [array[a:b] for a, b in zip([0, *self._ends], self._ends, strict=False)]


@dataclass(frozen=True, eq=False)
class Arcs:
    """The networks of a turn, passed to kernels as `flow_networks.Arcs`."""

    rows: Array
    ends: Array
    heads: Array
    twins: Array
    node_weights: Array
    capacities: Array


class DeviceFlows(PairFlows):
    """Improves pairs with networks from the back end of the level, and flows on its host."""

    def __init__(self, backend: Backend, graph: DeviceGraph, k: int, *others: Any) -> None:
        super().__init__(backend, graph, k, *others)
        self._rows = backend.dual_view(k // 2 * Pair.COUNT)
        self._integers = DownloadBuffer(backend, np.int32)
        self._weights = DownloadBuffer(backend, backend.sum_type)
        self._trees = Trees.with_room(backend.host, 0, 0)

    def begin_sweep(self, parts: Array) -> CutPairs:
        """Return the adjacent pairs of a partition; `improve` changes its `parts` in place."""
        backend = self.backend
        self._parts, self._edges = parts, CutEdges.find(backend, self.graph, parts, self._k)
        return self._edges.pairs(backend, self._k)

    def improve(
        self, rows: npt.NDArray[np.int64], chosen: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.int64]:
        """Improve pairs that have no part in common; see `PairFlows.improve`."""
        rows, turn = self._find_regions(rows)
        turn, arcs = self._build_networks(rows, turn)
        order, hops, *of_arcs = self._integers.download()
        arcs = Arcs(*of_arcs, *self._weights.download())
        rows = self._download_rows(len(rows))
        backend, host = self.backend, self.backend.host
        new_parts = host.empty(len(order))
        regions = Regions(host.from_host(rows.ravel()), order, hops)
        host.run_tasks(
            len(rows),
            turns.find_cut_of_pair,
            pairs=regions,
            new_parts=new_parts,
            trees=self._trees_for(arcs),
            several=self._several,
        )
        backend.parallel_for(
            len(order),
            parallel_networks.take_parts,
            new_parts=backend.from_host(new_parts),
            parts=self._parts,
            turn=turn,
        )
        rows = host.to_host(regions.rows).reshape(rows.shape)
        return self._with_others(rows, regions, new_parts)

    def _upload_rows(self, rows: npt.NDArray[np.int64]) -> None:
        self._rows.host[: rows.size] = rows.ravel()
        self.backend.sync_device(self._rows)

    def _download_rows(self, count: int) -> npt.NDArray[np.int64]:
        self.backend.sync_host(self._rows)
        self.backend.synchronize()
        return self._rows.host[: count * Pair.COUNT].reshape(count, Pair.COUNT).copy()

    def _find_regions(self, rows: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.int64], Turn]:
        """Mark the vertices of all regions by their hops; return updated rows, and their turn."""
        backend, graph, parts, count = self.backend, self.graph, self._parts, len(rows)
        self._upload_rows(rows)
        pair_of = np.full(self._k, NO_PAIR, np.int32)
        for part in (Pair.PARTS, Pair.PARTS + 1):
            pair_of[rows[:, part]] = np.arange(count)
        nothing = self._integers.divide(0)[0]
        pair_of = backend.from_host(pair_of)
        turn = Turn(self._rows.device, nothing, nothing, pair_of, self._places)
        edges = self._edges
        backend.parallel_for(
            len(edges.keys),
            parallel_networks.mark_borders,
            graph=graph,
            k=self._k,
            cut=edges,
            parts=parts,
            turn=turn,
        )
        backend.parallel_for(count, parallel_networks.settle_hops, turn=turn)
        for hop in range(1, self._max_hops + 1):
            backend.parallel_for(
                graph.n,
                parallel_networks.mark_neighbours,
                hop=hop,
                graph=graph,
                parts=parts,
                turn=turn,
            )
            backend.parallel_for(count, parallel_networks.settle_hops, turn=turn)
        return self._download_rows(count), turn

    def _build_networks(self, rows: npt.NDArray[np.int64], turn: Turn) -> tuple[Turn, Arcs]:
        """Build the networks of all regions; return the turn, with its regions, and networks."""
        backend, graph, parts = self.backend, self.graph, self._parts
        sizes, most = rows[:, Pair.SIZE], rows[:, Pair.NEXT_ARC]
        most += ARCS_PER_VERTEX * sizes
        size, arcs = int(sizes.sum()), int(most.sum())
        nodes = size + TERMINALS * len(rows)
        rows[:, Pair.FIRST] = np.cumsum(sizes) - sizes
        rows[:, Pair.NODE] = rows[:, Pair.FIRST] + TERMINALS * np.arange(len(rows))
        rows[:, Pair.NEXT_ARC] = np.cumsum(most) - most
        self._upload_rows(rows)
        order, hops, *of_arcs = self._integers.divide(size, size, nodes, nodes, arcs, arcs)
        networks = Arcs(*of_arcs, *self._weights.divide(nodes, arcs))
        turn = replace(turn, order=order, hops=hops)
        both = {"parts": parts, "turn": turn, "arcs": networks}
        backend.parallel_for(len(rows), parallel_networks.begin_networks, turn=turn, arcs=networks)
        backend.parallel_for(graph.n, parallel_networks.number_nodes, graph=graph, **both)
        backend.parallel_for(size, parallel_networks.connect_nodes, graph=graph, **both)
        backend.parallel_for(size, parallel_networks.find_twins, **both)
        return turn, networks

    def _trees_for(self, arcs: Arcs) -> Trees:
        """Return storage on the host for the search trees of networks there."""
        self._trees = self._trees.holding(self.backend.host, len(arcs.rows))
        return replace(self._trees, **vars(arcs))
