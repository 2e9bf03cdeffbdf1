"""Separators of nodes by several tries. Workers process them, one try after another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from jetpy.engines.base import Array, Backend
from jetpy.graph.csr import INT32_MAX
from jetpy.lazy import cached_property
from jetpy.ordering.depth import Nodes, Numbers
from jetpy.ordering.effort import Effort
from jetpy.ordering.levels import Levels
from jetpy.workloads.initial.inner_levels import ENTRY_ROOM, VERTEX_ROOM
from jetpy.workloads.ordering import tries as kernels
from jetpy.workloads.ordering.tries import (
    THOUSAND,
    Node,
    Search,
    Weight,
    Work,
)

MAX_BAND = 40_000
"""Number of vertices at which the band of a flow ends."""


@dataclass(frozen=True, eq=False)
class Tries:
    """Several tries for each of some nodes, on a back end on CPUs.

    Attributes
    ----------
    host : Backend
    nodes : Nodes
        Their graph is on the host.
    effort : Effort
    count : int
        Number of tries for each node.
    chosen : int64, shape (number of nodes,)
        The nodes.
    """

    host: Backend
    nodes: Nodes
    effort: Effort
    count: int
    chosen: Numbers

    def separate(self, sides: Array) -> None:
        """Write the sides of the nodes' vertices by the best try of each."""
        if not len(self.chosen):
            return
        host, tries = self.host, len(self.chosen) * self.count
        candidates = host.empty(self.count * self.nodes.graph.n)
        weights = host.empty(tries * Weight.COUNT, np.int64)
        self._find(candidates, weights, keeps_bisections=False)
        host.run_tasks(
            self._workers,
            kernels.improve_separators,
            bands=self._levels.bands,
            sides=sides,
            **self._common(candidates, weights),
        )

    def propose(self, sides: Array) -> None:
        """Write the sides of the nodes' vertices by each try: int32, shape (tries * n,).

        Every other try, from the first on, is a bisection.
        """
        if len(self.chosen):
            self._find(sides, self.host.empty(0, np.int64), keeps_bisections=True)

    def _find(self, candidates: Array, weights: Array, *, keeps_bisections: bool) -> None:
        """Write the sides by each try, and their weights."""
        self.host.run_tasks(
            self._workers,
            kernels.find_separators,
            keeps_bisections=int(keeps_bisections),
            best=self.host.empty(len(self._levels.rows)),
            **self._common(candidates, weights),
        )

    def _common(self, candidates: Array, weights: Array) -> dict[str, Any]:
        """Return the arguments that both kernels have."""
        host, levels, graph = self.host, self._levels, self.nodes.graph
        count, turns = len(self.chosen), host.full(1, 0)
        work = Work(
            self._rows, count, self.count, graph.n, *self._rooms, turns, candidates, weights
        )
        search = search_of(host, self.effort, self.count)
        return {
            "graph": graph,
            "work": work,
            "search": search,
            "levels": levels,
            "other": levels.other,
        }

    @cached_property
    def _rooms(self) -> tuple[int, int]:
        """Capacity of a worker for vertices and entries."""
        starts, chosen = self.nodes.starts, self.chosen
        rows = self.host.to_host(self.nodes.graph.indptr)[starts].astype(np.int64)
        vertices, entries = (int(np.diff(ends)[chosen].max()) for ends in (starts, rows))
        return VERTEX_ROOM * vertices, min(ENTRY_ROOM * entries, INT32_MAX)

    @cached_property
    def _workers(self) -> int:
        """Number of workers: one for each thread if 32-bit indices can address their levels."""
        most: int = INT32_MAX // max(self._rooms)
        return min(self.host.threads, len(self.chosen) * self.count, most)

    @cached_property
    def _levels(self) -> Levels:
        """The levels of all workers."""
        vertices, entries = (self._workers * room for room in self._rooms)
        return Levels.with_room(self.host, vertices, entries, self._workers * self.count)

    @cached_property
    def _rows(self) -> Array:
        """The nodes for kernels."""
        starts, chosen = self.nodes.starts, self.chosen
        rows = np.empty((len(chosen), Node.COUNT), np.int64)
        rows[:, Node.BEGIN], rows[:, Node.END] = starts[chosen], starts[chosen + 1]
        rows[:, Node.SEED] = self.nodes.seeds[chosen]
        return self.host.from_host(rows.ravel())


def most_tries(n: int, nnz: int) -> int:
    """Return the number of tries of a graph whose finest levels 32-bit indices can address."""
    most: int = INT32_MAX // max(nnz, VERTEX_ROOM * n, 1)
    return most


def search_of(host: Backend, effort: Effort, tries: int) -> Search:
    """Return what a search for separators by some tries may do."""
    return Search(
        shares=host.from_host(effort.shares(tries)),
        share=round(THOUSAND * effort.largest_side),
        skew=effort.skew,
        growings=effort.growings,
        passes=effort.passes,
        step=effort.step,
        flows=effort.flows,
        hops=effort.hops,
        most_in_band=MAX_BAND,
    )
