"""The refinement state of one level: the partition, its connectivity table, and their update."""

from __future__ import annotations

from dataclasses import dataclass

from jetpy.device.device_graph import DeviceGraph
from jetpy.engines.base import Array, Backend, Count, DualView
from jetpy.graph.csr import INT32_MAX
from jetpy.problem.problem import Problem
from jetpy.refinement.launches import (
    Launches,
    ListedLaunches,
    SweepingLaunches,
    change_stripes,
    make_move_lists,
)
from jetpy.refinement.measures import Measures, measure, upload_metric
from jetpy.workloads.common.control_block import Control, Counter, Task
from jetpy.workloads.common.groups import NO_VERTEX, Connectivity, Iteration, Partition, Vertices
from jetpy.workloads.common.striped_counters import APART
from jetpy.workloads.refinement import active as active_kernels
from jetpy.workloads.refinement import connectivity as table_kernels
from jetpy.workloads.refinement import moves as kernels
from jetpy.workloads.refinement.active import TIE_SCALE

MAX_MOVED = 8
"""Rows are rebuilt instead of updated if more than one vertex in MAX_MOVED moved."""
LOOSE = 0.75
"""A vertex without adjacent parts is active if its edge weight per vertex weight is at most this
share of the graph's."""


@dataclass(frozen=True, eq=False)
class DualViews:
    """Arrays of the groups `Partition` and `Iteration` that the host uses, too."""

    part_weights: DualView
    limits: DualView
    counters: DualView
    control: DualView


class RefinementState:
    """The current partition of a level and the data derived from it, updated in place.

    An iteration visits only the active vertices: vertices that have had an adjacent part since the
    start, and vertices with little internal weight. It is a sequence of launches whose results the
    host does not read (`CapturedLaunches`); `launches` has their index ranges.

    Kernels take it as the group `Refinement` of `jetpy.workloads.common.groups`, or one of the
    groups in it.

    Attributes
    ----------
    room : int
        Maximum number of vertices of a level, without ghosts.
    partition, iteration, vertices, moves : Partition, Iteration, Vertices, MoveLists
        Arrays that all levels use.
    dual : DualViews
    launches : Launches
    pinned : int32, shape (n,), or None
        Parts of vertices that never move; `NO_PART` for others. Partitions agree with it.
    metric, table : Metric, Connectivity
        Metric and connectivity table of the level.
    measures : Measures
        Measures of the partition at the start.
    """

    def __init__(
        self,
        backend: Backend,
        graph: DeviceGraph,
        problem: Problem,
        pinned: Array | None = None,
        room: int = 0,
    ) -> None:
        self.backend, self.room = backend, max(room, graph.n)
        self._place(graph, problem, pinned)  # the largest arrays first, before memory is divided
        n, k = max(room, graph.n_with_ghosts), problem.k
        self._stripes, gap = change_stripes(backend, k), k + APART
        sizes = k, 2 * k, Counter.CHANGES + self._stripes * gap, len(Control)
        dual = DualViews(*map(backend.dual_view, sizes))
        dual.control.host[[Control.CHANGE_STRIPES, Control.CHANGE_GAP]] = self._stripes, gap
        self.dual, self.iteration = dual, Iteration(dual.control.device, dual.counters.device)
        parts = (backend.empty(n) for _ in range(4))
        self.partition = Partition(*parts, dual.part_weights.device, dual.limits.device, k)
        self.vertices = Vertices(
            active=backend.full(max(n, 1), NO_VERTEX),
            targets=backend.empty(n),
            gains=backend.empty(n),
            internal=backend.empty(n, backend.sum_type),
            priorities=backend.empty(n),
            locks=backend.full(n, 0),
        )
        self.moves = make_move_lists(backend, n)
        self.launches: Launches = ListedLaunches(dual.control, backend, k, self.room)
        if backend.is_asynchronous:
            self.launches = SweepingLaunches(dual.control, self.vertices.active)
        self._set_limits()

    def move(self, graph: DeviceGraph, problem: Problem, pinned: Array | None) -> None:
        """Move to a level of at most `room` vertices."""
        self._place(graph, problem, pinned)
        self.launches.move()
        self._set_limits()

    def _place(self, graph: DeviceGraph, problem: Problem, pinned: Array | None) -> None:
        self.graph, self.problem, self.pinned = graph, problem, pinned
        self.table, self._has_new_table = make_table(self.backend, graph, problem.k), True
        self.metric = upload_metric(self.backend, graph, problem.metric, problem.k)

    def _set_limits(self) -> None:
        limits, k = self.dual.limits, self.problem.k
        limits.host[:k], limits.host[k:] = self.problem.limits, self.problem.lower_limits
        self.backend.sync_device(limits)

    def start(self, parts: Array, known: Measures | None = None) -> None:
        """Start with a copy of `parts` (int32, shape (n,)).

        `known` are its measures, if the caller has them.
        """
        backend, rows, own = self.backend, self.graph.long_rows.fine, self.partition
        n, n_with_ghosts = self.graph.n, self.graph.n_with_ghosts
        backend.parallel_for(n, kernels.begin_part, given=parts, state=own)
        self.graph.halo.exchange_ghosts(own.parts)
        if n < n_with_ghosts:
            ghosts = slice(n, n_with_ghosts)
            own.previous[ghosts] = own.best_parts[ghosts] = own.parts[ghosts]
        self.measures = known or measure(backend, self.graph, own.parts, self.metric)
        rows.launch_lanes(table_kernels.clear_long_rows, graph=self.graph, table=self.table)
        rows.launch(
            self.graph.n,
            table_kernels.build_rows,
            is_new=self._has_new_table,
            graph=self.graph,
            table=self.table,
            state=self,
        )
        self._has_new_table = False
        if self.pinned is not None:
            backend.parallel_for(self.graph.n, active_kernels.pin, pinned=self.pinned, state=self)
        weight = max(1, int(self.measures.part_weights.sum()))
        tie_limit = LOOSE * TIE_SCALE * self.graph.edge_weight / weight
        control = self.dual.control.host
        control[Control.TIE_LIMIT] = int(min(tie_limit, INT32_MAX))
        control[Control.VERTICES] = self.graph.n
        self.dual.part_weights.host[:] = self.measures.part_weights
        self.dual.counters.host[Counter.ACTIVE] = active = self._list_active()
        self.launches.choose_room(max(1, active))
        backend.sync_device(self.dual.part_weights)
        backend.sync_device(self.dual.counters)

    def make_room(self) -> None:
        """Let launches cover all active vertices, until there are too many again.

        Recently activated vertices are listed out of order. Launches that read the number of active
        vertices cover them nevertheless.
        """
        active = int(self.dual.counters.host[Counter.ACTIVE])
        if active > self.dual.control.host[Control.ROOM]:
            self._list_active()
            self.launches.choose_room(active)

    def resume(self) -> None:
        """Set the task of the last iteration again, in the host's copy of the control block."""
        control, active = self.dual.control.host, self.dual.counters.host[Counter.ACTIVE]
        control[Control.TASK] = task = control[Control.LAST_TASK]
        control[Control.PROPAGATING] = active if task == Task.PROPAGATE else 0
        control[Control.REBALANCING] = 0 if task == Task.PROPAGATE else active

    @property
    def propagating(self) -> int | Count:
        """Index count of a launch over the active vertices in an iteration that propagates."""
        return self.launches.over(Control.PROPAGATING)

    @property
    def rebalancing(self) -> int | Count:
        """Index count of a launch over the active vertices in an iteration that rebalances."""
        return self.launches.over(Control.REBALANCING)

    def _list_active(self) -> int:
        """List the active vertices, ascending, which makes kernels faster; return their number."""
        return self.backend.scan(
            self.graph.n,
            active_kernels.list_active,
            graph=self.graph,
            state=self,
            tie_limit=self.dual.control.host[Control.TIE_LIMIT],
        )

    def launch_update(self) -> None:
        """Update the table, the cut and the targets after moves.

        Moved vertices must be active. `previous` must equal `parts` for high-degree vertices that
        have not moved.
        """
        backend, rows, launches = self.backend, self.graph.long_rows, self.launches
        arguments = {"graph": self.graph, "table": self.table, "state": self}
        may_rebuild = launches.may_rebuild
        if self._stripes > 1:
            backend.parallel_for(self.problem.k, kernels.change_part_weights, state=self)
        self.share_moves(may_rebuild=may_rebuild)
        if may_rebuild:
            backend.parallel_for(1, kernels.choose_update, state=self)
        moves, all_rows = launches.over(Control.MOVES), self.graph.all_rows
        all_rows.launch(moves, kernels.subtract_moves, count=moves, **arguments)
        all_rows.launch(moves, kernels.add_moves, count=moves, **arguments)
        if may_rebuild:
            rows.fine.launch(launches.over(Control.ROWS), kernels.rebuild_rows, **arguments)
            rows.fine.launch_lanes(kernels.rebuild_long_rows, **arguments)
        self.sum_up()

    def share_moves(self, *, may_rebuild: bool) -> None:
        """Exchange moves between pieces before an update; on a whole graph, do nothing."""

    def sum_up(self) -> None:
        """Sum the counters of an update over all pieces; on a whole graph, do nothing."""


def make_table(backend: Backend, graph: DeviceGraph, k: int) -> Connectivity:
    """Allocate a connectivity table."""
    kind = backend.sum_type
    rows = backend.empty(graph.n, kind)
    empty = Connectivity(rows, backend.empty(0), backend.empty(0, kind), k)
    size = backend.scan(graph.n, table_kernels.place_rows, graph=graph, table=empty)
    return Connectivity(rows, backend.empty(size), backend.empty(size, kind), k)
