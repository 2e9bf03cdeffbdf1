"""The state of one level's refinement: the partition, its table and the update of both."""

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
"""Rows are rebuilt rather than updated when more than one in so many vertices moved."""
LOOSE = 0.75
"""A vertex without adjacent parts is active if its edges weigh at most this share of what those
of the average vertex do, each per vertex weight."""


class RefinementState:
    """A partition of a level, mutable, with everything that depends on it kept up to date.

    An iteration visits the active vertices only: those that had an adjacent part at some time
    since the start, and those that few edges tie to their own part. It is a sequence of launches
    whose results the host does not read (`CapturedLaunches`); `launches` has their indices.

    Kernels work on the attributes that the group `Refinement` of `jetpy.workloads.common.groups`
    declares.

    Attributes
    ----------
    room : int
        Vertices, without ghosts, of a level that there is room for.
    pinned : int32, shape (n,), or None
        Parts of vertices that never move, in which they are; `NO_PART` of others.
    measures : Measures
        Of `parts` at the start.
    table : Connectivity
    launches : Launches
    tie_limit : int
        Most weight of the edges, in 128ths per vertex weight, of a vertex that is always active.
    weights, counts, control_block : DualView
        Of `part_weights`, `counters` and `control`.
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
        """Go to a level, which there is room for."""
        self.graph, self.problem, self.pinned = graph, problem, pinned
        self.metric = upload_metric(self.backend, graph, problem.metric, self.k)
        self.metric_kind, self.distances = self.metric.metric_kind, self.metric.distances
        self.unit, self.scale = self.metric.unit, self.metric.scale
        self.limits = self.backend.from_host(problem.limits)
        self.table = make_table(self.backend, graph, self.k)

    def start(self, parts: Array, known: Measures | None = None) -> None:
        """Take over the contents of `parts` (int32, shape (n,)).

        `known` are its measures, where the caller has them.
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
        """Let launches reach all active vertices, for as long as they are few enough.

        Those that became active last are out of order; launches that read how many there are reach
        them all the same.
        """
        if self.counts.host[Counter.ACTIVE] > self.control_block.host[Control.ROOM]:
            self._list_active()
            self.launches.choose_room()

    def resume(self) -> None:
        """Take up the task of the last iteration again, on the host's copy of the control block."""
        control, active = self.control_block.host, self.counts.host[Counter.ACTIVE]
        control[Control.TASK] = task = control[Control.LAST_TASK]
        control[Control.PROPAGATING] = active if task == Task.PROPAGATE else 0
        control[Control.REBALANCING] = 0 if task == Task.PROPAGATE else active

    @property
    def propagating(self) -> int | Count:
        """Indices of a launch over the active vertices in an iteration that propagates."""
        return self.launches.over_active(Control.PROPAGATING)

    @property
    def rebalancing(self) -> int | Count:
        """Indices of a launch over the active vertices in an iteration that rebalances."""
        return self.launches.over_active(Control.REBALANCING)

    def _list_active(self) -> int:
        """List the active vertices in ascending order, which is quicker to work on."""
        return self.backend.scan(
            self.graph.n,
            active_kernels.list_active,
            graph=self.graph,
            state=self,
            tie_limit=self.tie_limit,
        )

    def launch_update(self) -> None:
        """Bring the table, the cut and the targets up to date with moves just made.

        Moved vertices must be active, and `previous` be `parts` for high-degree vertices that have
        not moved.
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
        """Hear of the moves of other pieces, before an update that may build rows anew."""

    def sum_up(self) -> None:
        """Sum up, over all pieces, what an update has counted."""


def make_table(backend: Backend, graph: DeviceGraph, k: int) -> Connectivity:
    """Allocate a connectivity table."""
    kind = backend.sum_type
    rows = backend.empty(graph.n, kind)
    empty = Connectivity(rows, backend.empty(0), backend.empty(0, kind), k)
    size = backend.scan(graph.n, table_kernels.place_rows, graph=graph, table=empty)
    return Connectivity(rows, backend.empty(size), backend.empty(size, kind), k)
