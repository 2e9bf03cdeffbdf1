"""The refinement state of one level: the partition, its connectivity table, and their update."""

from __future__ import annotations

from jetpy.device.device_graph import DeviceGraph
from jetpy.engines.base import Array, Backend, Count
from jetpy.graph.csr import INT32_MAX
from jetpy.problem.problem import Problem
from jetpy.refinement.launches import launches_for
from jetpy.refinement.measures import Measures, measure, upload_metric
from jetpy.workloads.common.control_block import COUNTER_STRIPES, Control, Counter, Task
from jetpy.workloads.common.groups import NO_VERTEX, Connectivity
from jetpy.workloads.refinement import active as active_kernels
from jetpy.workloads.refinement import connectivity as table_kernels
from jetpy.workloads.refinement import moves as kernels
from jetpy.workloads.refinement.active import TIE_SCALE

MAX_MOVED = 8
"""Rows are rebuilt instead of updated if more than one vertex in MAX_MOVED moved."""
LOOSE = 0.75
"""A vertex without adjacent parts is active if its edge weight per vertex weight is at most this
share of the graph's."""


class RefinementState:
    """The current partition of a level and the data derived from it, updated in place.

    An iteration visits only the active vertices: those that have had an adjacent part since the
    start, and those whose edges to their own part are few. An iteration is a sequence of launches
    whose results the host does not read (`CapturedLaunches`); `launches` has their index ranges.

    Kernels use the attributes that the group `Refinement` of `jetpy.workloads.common.groups`
    declares.

    Attributes
    ----------
    room : int
        Maximum number of vertices of a level, without ghosts.
    pinned : int32, shape (n,), or None
        Parts of vertices that never move; `NO_PART` for others. Partitions agree with it.
    measures : Measures
        Measures of `parts` at the start.
    table : Connectivity
    launches : Launches
    tie_limit : int
        Maximum edge weight, in 128ths per vertex weight, of a vertex that is always active.
    weights, counts, control_block : DualView
        Dual views of `part_weights`, `counters` and `control`.
    """

    def __init__(
        self,
        backend: Backend,
        graph: DeviceGraph,
        problem: Problem,
        pinned: Array | None = None,
        room: int = 0,
    ) -> None:
        self.backend, self.k = backend, problem.k
        self.room = max(room, graph.n)
        n, k = max(room, graph.n_with_ghosts), problem.k
        self.parts, self.previous = backend.empty(n), backend.empty(n)
        self.destinations, self.best_parts = backend.empty(n), backend.empty(n)
        self.targets, self.gains = backend.empty(n), backend.empty(n)
        self.internal = backend.empty(n, backend.sum_type)
        self.priorities, self.locks = backend.empty(n), backend.full(n, 0)
        self.weights, self.counts = backend.dual_view(k), backend.dual_view(max(Counter) + 1)
        self.control_block = backend.dual_view(len(Control))
        self.part_weights, self.counters = self.weights.device, self.counts.device
        self.control = self.control_block.device
        self.active = backend.full(max(n, 1), NO_VERTEX)
        self.launches = launches_for(self, n)
        self.share, self.stripe_bits = self.launches.share, self.launches.stripe_bits
        self.list_size = -(-n // (COUNTER_STRIPES << self.stripe_bits)) << self.stripe_bits
        self.moved = backend.empty(COUNTER_STRIPES * self.list_size)
        self.move(graph, problem, pinned)

    def move(self, graph: DeviceGraph, problem: Problem, pinned: Array | None) -> None:
        """Move to a level of at most `room` vertices."""
        self.graph, self.problem, self.pinned = graph, problem, pinned
        self.metric = upload_metric(self.backend, graph, problem.metric, self.k)
        self.metric_kind, self.distances = self.metric.metric_kind, self.metric.distances
        self.unit, self.scale = self.metric.unit, self.metric.scale
        self.limits = self.backend.from_host(problem.limits)
        self.table = make_table(self.backend, graph, self.k)

    def start(self, parts: Array, known: Measures | None = None) -> None:
        """Start with a copy of `parts` (int32, shape (n,)).

        `known` are its measures, if the caller has them.
        """
        backend, rows = self.backend, self.graph.long_rows.fine
        n = self.graph.n_with_ghosts
        self.parts[: len(parts)] = parts
        self.graph.halo.exchange_ghosts(self.parts)
        self.previous[:n] = self.best_parts[:n] = self.parts[:n]
        self.measures = known or measure(backend, self.graph, self.parts, self.metric)
        rows.launch_lanes(table_kernels.clear_long_rows, graph=self.graph, table=self.table)
        rows.launch(
            self.graph.n, table_kernels.build_rows, graph=self.graph, table=self.table, state=self
        )
        if self.pinned is not None:
            backend.parallel_for(self.graph.n, active_kernels.pin, pinned=self.pinned, state=self)
        weight = max(1, int(self.measures.part_weights.sum()))
        tie_limit = LOOSE * TIE_SCALE * self.graph.edge_weight / weight
        self.tie_limit = int(min(tie_limit, INT32_MAX))
        self.weights.host[:] = self.measures.part_weights
        self.counts.host[Counter.ACTIVE] = self._list_active()
        self.control_block.host[Control.VERTICES] = self.graph.n
        self.launches.choose_room()
        backend.sync_device(self.weights)
        backend.sync_device(self.counts)

    def make_room(self) -> None:
        """Let launches cover all active vertices, until there are too many again.

        Recently activated vertices are listed out of order. Launches that read the number of active
        vertices cover them nevertheless.
        """
        if self.counts.host[Counter.ACTIVE] > self.control_block.host[Control.ROOM]:
            self._list_active()
            self.launches.choose_room()

    def resume(self) -> None:
        """Set the task of the last iteration again, in the host's copy of the control block."""
        control, active = self.control_block.host, self.counts.host[Counter.ACTIVE]
        control[Control.TASK] = task = control[Control.LAST_TASK]
        control[Control.PROPAGATING] = active if task == Task.PROPAGATE else 0
        control[Control.REBALANCING] = 0 if task == Task.PROPAGATE else active

    @property
    def propagating(self) -> int | Count:
        """Index count of a launch over the active vertices in an iteration that propagates."""
        return self.launches.over_active(Control.PROPAGATING)

    @property
    def rebalancing(self) -> int | Count:
        """Index count of a launch over the active vertices in an iteration that rebalances."""
        return self.launches.over_active(Control.REBALANCING)

    def _list_active(self) -> int:
        """List the active vertices, ascending, which makes kernels faster; return their number."""
        return self.backend.scan(
            self.graph.n,
            active_kernels.list_active,
            graph=self.graph,
            state=self,
            tie_limit=self.tie_limit,
        )

    def launch_update(self) -> None:
        """Update the table, the cut and the targets after moves.

        Moved vertices must be active. `previous` must equal `parts` for high-degree vertices that
        have not moved.
        """
        backend, rows, launches = self.backend, self.graph.long_rows, self.launches
        arguments = {"graph": self.graph, "table": self.table, "state": self}
        may_rebuild = launches.may_rebuild
        self.share_moves(may_rebuild=may_rebuild)
        if may_rebuild:
            backend.parallel_for(1, kernels.choose_update, state=self)
        moves, all_rows = launches.over_moves(), self.graph.all_rows
        all_rows.launch(moves, kernels.subtract_moves, count=moves, **arguments)
        all_rows.launch(moves, kernels.add_moves, count=moves, **arguments)
        if may_rebuild:
            rows.fine.launch(launches.over_rows(), kernels.rebuild_rows, **arguments)
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
