"""The refinement loop of one level (Jet, Algorithm 4.1), with Jetlp or another `Refiner`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from jetpy.device.device_graph import DeviceGraph
from jetpy.device.processes import ALONE, Processes
from jetpy.engines.base import Array, Backend
from jetpy.problem.options import INT32_MAX
from jetpy.problem.problem import Problem
from jetpy.refinement.captured_launches import CapturedLaunches
from jetpy.refinement.flows import Flows, are_due
from jetpy.refinement.measures import Measures
from jetpy.refinement.methods import REFINEMENTS, Refiner
from jetpy.refinement.rebalance import Rebalancer, Rebalancing
from jetpy.refinement.state import MAX_MOVED, RefinementState
from jetpy.workloads.common.control_block import TOLERANCE_UNITS, Control, Request, Tasks

STEPS = 4
"""Minimum number of iterations that the host enqueues at a time on an asynchronous back end."""


@dataclass(frozen=True, eq=False)
class Refined:
    """The best partition found by the refinement of a level, its measures and the iterations.

    `parts` are overwritten when the same object refines again.
    """

    parts: Array
    measures: Measures
    cut_before: int
    iterations: int

    def or_better(self, found: Refined, problem: Problem, iterations: int) -> Refined:
        """Return the better of this result, whose parts are kept, and one that started from it.

        `iterations` are those of both.
        """
        is_better = found.measures.quality(problem) < self.measures.quality(problem)
        best = found if is_better else self
        return replace(best, cut_before=self.cut_before, iterations=iterations)


class Refinement:
    """Refinement of one level at a time, for any number of partitions and levels.

    `pinned` (int32, shape (n,), or None) has the parts of vertices that never move, -1 for others;
    the given partitions must agree with it. Levels have at most as many vertices as the first
    level, or `room` if that is more. `processes` all have the level as a whole, and share flows.

    The back end proceeds from one iteration to the next without the host
    (`jetpy.workloads.refinement.iterations`). It requests the host only if the launches have to
    change.
    """

    state_type: Any = RefinementState

    def __init__(
        self,
        backend: Backend,
        graph: DeviceGraph,
        problem: Problem,
        pinned: Array | None = None,
        room: int = 0,
        processes: Processes = ALONE,
    ) -> None:
        self.backend, self.problem, self.pinned = backend, problem, pinned
        self.processes = processes
        self.state: RefinementState = self.state_type(backend, graph, problem, pinned, room)
        self.refiner, self.rebalancing = self._make_methods()
        self._flows = Flows(backend, graph, problem, pinned, processes)
        self._best_weights = backend.dual_view(problem.k)
        self._captured = {tasks: CapturedLaunches(self.state) for tasks in Tasks}

    def _make_methods(self) -> tuple[Refiner, Rebalancer]:
        """Return what makes the iterations, while the partition is balanced and otherwise."""
        refiner = REFINEMENTS[self.problem.options.refine.method](self.state)
        return refiner, Rebalancing(self.state)

    def move(self, graph: DeviceGraph, problem: Problem, pinned: Array | None) -> None:
        """Move to another level; on CPUs, both levels must be without long rows.

        The problem must have the same number of parts and the same options as before.
        """
        self.problem, self.pinned = problem, pinned
        before, table = self.state.graph, self.state.table
        self.state.move(graph, problem, pinned)
        self.rebalancing.move()
        others = {id(before): graph, id(table): self.state.table}
        for captured in self._captured.values():
            captured.move(others)
        self._flows = Flows(self.backend, graph, problem, pinned, self.processes)

    def refine(
        self, parts: Array, *, finest: bool, known: Measures | None = None, flows: bool = False
    ) -> Refined:
        """Refine `parts` (int32, shape (n,)) until patience runs out, then by flows if `flows`.

        `known` are the measures of `parts`, if the caller has them.
        """
        ratios, tolerance = self.problem.options.refine.ratios_and_tolerance(finest=finest)
        self.state.dual.control.host[Control.ITERATIONS] = 0
        measures, cut_before = known, None
        for ratio in ratios:
            measures = self.start(parts, ratio, tolerance, measures)
            cut_before = measures.cut if cut_before is None else cut_before
            self.enqueue_iterations()
            while self.wait_and_serve():
                self.enqueue_iterations()
            parts, measures = self.best()
        assert measures is not None
        assert cut_before is not None
        if flows and are_due(self.state.graph, self.problem, measures, finest=finest):
            parts, measures = self._flows.improve(parts, measures, finest=finest)
        iterations = int(self.state.dual.control.host[Control.ITERATIONS])
        return Refined(parts, measures, cut_before, iterations)

    def start(self, parts: Array, ratio: int, tolerance: float, known: Measures | None) -> Measures:
        """Start with a partition, a filter ratio in percent and a tolerance.

        Return the partition's measures.
        """
        state, options = self.state, self.problem.options.refine
        state.start(parts, known)
        measures = state.measures
        control = state.dual.control.host
        control[Control.LOCK] += 1
        self._made = self._count()
        for place, value in {
            Control.FILTER_RATIO: ratio,
            Control.IS_BEST: 0,
            Control.REQUEST: Request.NOTHING,
            Control.IS_PENDING: 0,
            Control.CUT: measures.cut,
            Control.BEST_CUT: measures.cut,
            Control.SINCE_BEST: 0,
            Control.WEAK_ITERATIONS: 0,
            Control.SEED: self.problem.seed,
            Control.PATIENCE: options.patience,
            Control.TOLERANCE: round(TOLERANCE_UNITS * tolerance),
            Control.MAX_WEAK_ITERATIONS: (
                INT32_MAX if options.weak_rounds is None else options.weak_rounds
            ),
            Control.LOCKED_FOR: int(options.locks),
            Control.EXTRA_PATIENCE: int(options.extra_patience),
            Control.CHECKS_ROOM: int(options.check_room),
            Control.REBALANCES_BY_CUT: int(options.rebalance_by == "cut"),
            Control.GHOSTS: state.graph.n_owned,
            Control.HIGHER_GHOSTS: state.graph.higher_ghosts,
            Control.MAX_MOVED: state.graph.n // MAX_MOVED,
            Control.HAS_LOWER_LIMITS: int(self.problem.part_lower_limits is not None),
            Control.ENDS_WITHOUT_GAIN: int(self.refiner.is_monotone),
        }.items():
            control[place] = value
        control[Control.BEST_OVERLOAD] = self.rebalancing.start(measures)
        self.backend.sync_device(state.dual.control)
        self._best_weights.host[:] = measures.part_weights
        self.backend.sync_device(self._best_weights)
        return measures

    def enqueue_iterations(self) -> None:
        """Enqueue iterations, in proportion to the recent ones if each kind has its own launches.

        Launches for an iteration that is not due do nothing.
        """
        if self.state.launches.has_any_task:
            self.iterate(Tasks.ANY)
            return
        before = self._made
        self._made = self._count()
        iterations, propagations = (now - b for now, b in zip(self._made, before, strict=True))
        rebalancings = iterations - propagations
        in_a_row = min(STEPS, max(1, propagations // max(1, rebalancings)))
        then = min(STEPS, max(1, rebalancings // max(1, propagations)))
        for _ in range(-(-STEPS // (in_a_row + then))):
            for _ in range(in_a_row):
                self.iterate(Tasks.PROPAGATION)
            for _ in range(then):
                self.iterate(Tasks.REBALANCING)

    def _count(self) -> tuple[int, int]:
        """Return the number of iterations made so far, and the number of those that propagate."""
        control = self.state.dual.control.host
        return int(control[Control.ITERATIONS]), int(control[Control.LOCK])

    def iterate(self, tasks: Tasks) -> None:
        """Launch an iteration by the captured launches; it does nothing if no task is due."""
        self._captured[tasks].replay(partial(self.launch, tasks))

    def launch(self, tasks: Tasks) -> None:
        """Launch an iteration that can do some tasks."""
        self.begin(tasks)
        if tasks & Tasks.PROPAGATION:
            self.refiner.launch()
        if tasks & Tasks.REBALANCING:
            self.rebalancing.launch()
        self.state.launch_update()

    def begin(self, tasks: Tasks = Tasks.ANY) -> None:
        """Begin an iteration, if one of the tasks is due."""
        self.rebalancing.begin(tasks, self._best_weights.device)

    def wait_and_serve(self) -> bool:
        """Wait for the iterations and serve a request; return False if refinement has ended."""
        state, backend = self.state, self.backend
        backend.sync_host(state.dual.control)
        backend.synchronize()
        request = Request(state.dual.control.host[Control.REQUEST])
        if request == Request.END:
            return False
        if request != Request.NOTHING:
            backend.sync_host(state.dual.counters)
            backend.synchronize()
            self._answer(request)
        return True

    def best(self) -> tuple[Array, Measures]:
        """Return the best partition since the start, and its measures."""
        state, backend = self.state, self.backend
        backend.sync_host(self._best_weights)
        backend.synchronize()
        control, own = state.dual.control.host, state.partition
        parts = own.parts if control[Control.IS_BEST] else own.best_parts
        if len(parts) > state.graph.n_with_ghosts:
            parts = parts[: state.graph.n_with_ghosts]
        return parts, Measures(int(control[Control.BEST_CUT]), self._best_weights.host.copy())

    def _answer(self, request: Request) -> None:
        """Serve a request of the back end."""
        state, control = self.state, self.state.dual.control
        control.host[Control.REQUEST] = Request.NOTHING
        if request == Request.ROOM:
            state.make_room()
            self.backend.sync_device(control)
            return
        if request == Request.ACTIVATE:
            self.rebalancing.activate_more()
        state.resume()
        self.backend.sync_device(control)
        if request == Request.ACTIVATE:
            self.rebalancing.launch()
        else:
            self.refiner.launch_many()
        state.launch_update()
