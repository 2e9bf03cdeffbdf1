"""Separators of nodes by several tries. Workers process them, one try after another."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from jetpy.device.device_graph import DeviceGraph
from jetpy.engines.base import Array, Backend, Workunit
from jetpy.graph.csr import INT32_MAX
from jetpy.initial.workers import count_workers
from jetpy.lazy import cached_property
from jetpy.ordering.depth import Nodes, Numbers
from jetpy.ordering.effort import Effort
from jetpy.ordering.levels import separator_levels
from jetpy.workloads.initial.inner_levels import ENTRY_ROOM, VERTEX_ROOM
from jetpy.workloads.ordering import tries as kernels
from jetpy.workloads.ordering.tries import THOUSAND, Search, Separators, Weight
from jetpy.workloads.tasks.loading import Task

MAX_BAND = 20_000
"""Number of vertices at which the band of a flow ends."""


@dataclass(frozen=True, eq=False)
class Tries:
    """Several tries for each of some nodes, on any back end.

    Attributes
    ----------
    backend : Backend
    graph : DeviceGraph
        The graph of the nodes, on the back end.
    nodes : Nodes
    effort : Effort
    chosen : int64, shape (number of chosen nodes,)
        The nodes.
    counts : int64, shape (number of chosen nodes,)
        Number of tries for each of them.
    """

    backend: Backend
    graph: DeviceGraph
    nodes: Nodes
    effort: Effort
    chosen: Numbers
    counts: Numbers

    def some(self, is_chosen: npt.NDArray[np.bool_]) -> Tries:
        """Return the tries for some of the nodes: bool, shape (number of chosen nodes,)."""
        return replace(self, chosen=self.chosen[is_chosen], counts=self.counts[is_chosen])

    def on(self, backend: Backend, graph: DeviceGraph) -> Tries:
        """Return the same tries on another back end, which has the same graph."""
        return replace(self, backend=backend, graph=graph)

    def separate(self, sides: Array) -> None:
        """Write the sides of the nodes' vertices by the best try of each.

        `sides` is on the back end. A GPU does this while the host continues.
        """
        if not len(self.chosen):
            return
        backend, (vertices, _) = self.backend, self.sizes
        places = np.cumsum(vertices) - vertices
        candidates = backend.empty(self._most * int(vertices.sum()))
        weights = backend.empty(self._turns * Weight.COUNT, np.int64)
        work = self._work(places, candidates, weights)
        self._find(work, keeps_bisections=False)
        bands = self._levels.bands
        again = replace(work, turns=backend.full(1, 0))
        self._run(kernels.improve_separators, again, bands=bands, sides=sides)

    def propose(self, sides: Array) -> None:
        """Write the sides of the nodes' vertices by each try: int32, shape (tries * n,).

        Every other try, from the first on, is a bisection.
        """
        if len(self.chosen):
            nothing = self.backend.empty(0, np.int64)
            self._find(self._work(self._begins, sides, nothing), keeps_bisections=True)

    def _find(self, work: Separators, *, keeps_bisections: bool) -> None:
        """Write the sides by each try, and their weights."""
        best = self.backend.empty(len(self._levels.rows))
        own = {"keeps_bisections": int(keeps_bisections), "best": best}
        self._run(kernels.find_separators, work, **own)

    def _run(self, workunit: Workunit, work: Separators, **own: Any) -> None:
        backend, levels = self.backend, self._levels
        common = {"graph": self.graph, "search": self._search, "other": levels.other}
        backend.run_tasks(self._workers, workunit, work=work, levels=levels, **common, **own)

    def _work(self, places: Numbers, found: Array, weights: Array) -> Separators:
        """Return the work of a launch; sides of node i by try t begin at ``places[i] + t n``."""
        vertices, entries = self._room
        return Separators(
            tasks=self._tasks(places),
            count=len(self.chosen),
            turns=self.backend.full(1, 0),
            found=found,
            vertex_room=vertices,
            entry_room=entries,
            tries=self._most,
            n=len(found) // self._most,
            weights=weights,
        )

    @cached_property
    def _most(self) -> int:
        """Largest number of tries for a node."""
        return int(self.counts.max())

    @property
    def _turns(self) -> int:
        return self._most * len(self.chosen)

    @cached_property
    def sizes(self) -> tuple[Numbers, Numbers]:
        """Vertices and entries of each node."""
        starts, chosen = self.nodes.starts, self.chosen
        rows = np.asarray(self.nodes.graph.indptr)[starts].astype(np.int64)
        return np.diff(starts)[chosen], np.diff(rows)[chosen]

    @property
    def rooms(self) -> tuple[Numbers, Numbers]:
        """Capacity for vertices and for entries that a worker needs for each node."""
        vertices, entries = self.sizes
        return VERTEX_ROOM * vertices, np.minimum(ENTRY_ROOM * entries, INT32_MAX)

    @property
    def _begins(self) -> Numbers:
        return self.nodes.starts[self.chosen]

    @cached_property
    def _room(self) -> tuple[int, int]:
        """Capacity of a worker for vertices and for entries."""
        vertices, entries = self.rooms
        return int(vertices.max()), int(entries.max())

    @cached_property
    def _workers(self) -> int:
        return count_workers(self.backend, self._turns, max(self._room))

    @cached_property
    def _search(self) -> Search:
        return search_of(self.backend, self.effort, self._most)

    @cached_property
    def _levels(self) -> Any:
        """The levels of all workers."""
        vertices, entries = (self._workers * room for room in self._room)
        return separator_levels(self.backend, vertices, entries, self._workers * self._most)

    def _tasks(self, places: Numbers) -> Array:
        """Return the nodes for kernels, given the place of the sides of each by its first try."""
        rows, begins = np.zeros((len(self.chosen), Task.COUNT), np.int64), self._begins
        for place in (Task.VERTEX, Task.ROW, Task.FIRST):
            rows[:, place] = begins
        rows[:, Task.N] = self.nodes.starts[self.chosen + 1] - begins
        rows[:, Task.SEED], rows[:, Task.TRIES] = self.nodes.seeds[self.chosen], self.counts
        rows[:, Task.PLACE] = places
        return self.backend.from_host(rows.ravel())


def most_tries(n: int, nnz: int) -> int:
    """Return the number of tries of a graph whose finest levels 32-bit indices can address."""
    most: int = INT32_MAX // max(nnz, VERTEX_ROOM * n, 1)
    return most


def search_of(backend: Backend, effort: Effort, tries: int) -> Search:
    """Return what a search for separators by some tries may do."""
    return Search(
        shares=backend.from_host(effort.shares(tries)),
        share=round(THOUSAND * effort.largest_side),
        skew=effort.skew,
        growings=effort.growings,
        passes=effort.passes,
        step=effort.step,
        flows=effort.flows,
        hops=effort.hops,
        most_in_band=MAX_BAND,
    )
