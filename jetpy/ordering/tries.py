"""Separators of nodes by several tries. Each try is a task for one thread."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from jetpy.engines.base import Array, Backend, Workunit
from jetpy.graph.csr import INT32_MAX
from jetpy.lazy import cached_property
from jetpy.ordering.depth import Nodes, Numbers
from jetpy.ordering.effort import Effort
from jetpy.ordering.levels import Levels
from jetpy.workloads.ordering import dissection as kernels
from jetpy.workloads.ordering.dissection import THOUSAND, VERTEX_ROOM, Node

ENTRY_ROOM = 3
"""Capacity of a try for the entries of its levels, per entry of the node."""
MAX_FLOWS = 3
"""Flows for each separator; passes follow each one, and one that fails is the last."""
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

    @property
    def tasks(self) -> int:
        """Number of tries of all nodes."""
        return len(self.chosen) * self.count

    def separate(self, sides: Array) -> None:
        """Write the sides of the nodes' vertices by the best try of each."""
        host, levels = self.host, self._bisected()
        host.run_tasks(self.tasks, kernels.separate_bisections, tries=self.count, levels=levels)
        self._grow_separators(levels)
        improve_by_flows(host, levels, len(self.chosen), self.count, self.effort)
        self._take(kernels.choose_separators, levels, sides)

    def propose(self, sides: Array) -> None:
        """Write the sides of the nodes' vertices by each try: int32, shape (tries * n,).

        Every other try, from the first on, is a bisection.
        """
        n, levels = self.nodes.graph.n, self._bisected()
        self._take(kernels.take_tries, levels, sides, n=n, first=0)
        self._grow_separators(levels)
        self._take(kernels.take_tries, levels, sides, n=n, first=1)

    def _bisected(self) -> Levels:
        """Coarsen each try, bisect every other one, and refine the bisections."""
        host, effort, graph = self.host, self.effort, self.nodes.graph
        n, nnz = (int(sizes.sum()) * self.count for sizes in self._sizes)
        room = max(1, min(ENTRY_ROOM, INT32_MAX // max(nnz, 1)))
        levels = Levels.with_room(host, VERTEX_ROOM * n, room * nnz, self.tasks)
        launch = partial(host.run_tasks, self.tasks, levels=levels)
        launch(
            kernels.extract,
            tries=self.count,
            room=room,
            skew=effort.skew,
            shares=host.from_host(effort.shares(self.count)),
            graph=graph,
            nodes=self._rows,
        )
        launch(kernels.coarsen_nodes)
        launch(kernels.grow_bisections, **self._start(levels))
        launch(kernels.refine_bisections, tries=self.count, passes=effort.passes)
        return levels

    def _grow_separators(self, levels: Levels) -> None:
        """Find the separators of the tries that are not bisections, and refine all separators."""
        queues = {"levels": levels, "other": levels.other}
        self.host.run_tasks(self.tasks, kernels.grow_separators, **queues, **self._start(levels))
        refine_separators(self.host, levels, self.tasks, self.effort)

    def _start(self, levels: Levels) -> dict[str, Any]:
        """Return arguments of kernels that start on coarsest levels."""
        return {
            "tries": self.count,
            "growings": self.effort.growings,
            "passes": self.effort.passes,
            "best": self.host.empty(len(levels.rows)),
        }

    def _take(self, workunit: Workunit, levels: Levels, sides: Array, **choice: int) -> None:
        """Write the sides of the nodes' vertices by one try of each."""
        self.host.run_tasks(
            len(self.chosen),
            workunit,
            tries=self.count,
            nodes=self._rows,
            levels=levels,
            sides=sides,
            **choice,
        )

    @cached_property
    def _sizes(self) -> tuple[Numbers, Numbers]:
        """Number of vertices, and of directed edges, of each node."""
        starts, chosen = self.nodes.starts, self.chosen
        entries = self.host.to_host(self.nodes.graph.indptr)[starts].astype(np.int64)
        return np.diff(starts)[chosen], np.diff(entries)[chosen]

    @cached_property
    def _rows(self) -> Array:
        """The nodes for kernels."""
        starts, chosen = self.nodes.starts, self.chosen
        rows = np.empty((len(chosen), Node.COUNT), np.int64)
        rows[:, Node.BEGIN], rows[:, Node.END] = starts[chosen], starts[chosen + 1]
        for field, sizes in zip((Node.PLACE, Node.ENTRY), self._sizes, strict=True):
            rows[:, field] = np.cumsum(sizes) - sizes
        rows[:, Node.SEED] = self.nodes.seeds[chosen]
        return self.host.from_host(rows.ravel())


def most_tries(n: int, nnz: int) -> int:
    """Return the number of tries of a graph whose finest levels 32-bit indices can address."""
    most: int = INT32_MAX // max(nnz, VERTEX_ROOM * n, 1)
    return most


def refine_separators(host: Backend, levels: Levels, tasks: int, effort: Effort) -> None:
    """Refine separators by passes on all their levels, from the coarsest on."""
    host.run_tasks(
        tasks,
        kernels.refine_separators,
        passes=effort.passes,
        share=round(THOUSAND * effort.largest_side),
        levels=levels,
        other=levels.other,
    )


def improve_by_flows(
    host: Backend,
    levels: Levels,
    count: int,
    tries: int,
    effort: Effort,
    exchange_weights: Callable[[], None] = lambda: None,
) -> None:
    """Improve the best separators of `count` nodes by flows and passes, by turns.

    `exchange_weights` sets the weights of the sides of tries that other processes refine.
    """
    if not effort.hops:
        return
    bands, tasks = levels.bands, count * tries
    for _ in range(MAX_FLOWS):
        exchange_weights()
        select = {"tries": tries, "levels": levels, "bands": bands.bands}
        host.run_tasks(count, kernels.select_tries, **select)
        host.run_tasks(
            tasks,
            kernels.improve_by_flows,
            hops=effort.hops,
            limit=MAX_BAND,
            levels=levels,
            bands=bands,
        )
        host.run_tasks(
            tasks,
            kernels.refine_after_flows,
            passes=effort.passes,
            levels=levels,
            other=levels.other,
            bands=bands.bands,
        )
