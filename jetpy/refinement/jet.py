"""The refinement loop of one level (Jet, Algorithm 4.1), with Jetlp or what else lowers the cut."""

from __future__ import annotations

from dataclasses import dataclass

from jetpy.backends.base import Array, Backend
from jetpy.backends.level import DeviceGraph
from jetpy.problem import Problem
from jetpy.refinement.methods import REFINEMENTS
from jetpy.refinement.orders import Order, Request, Task
from jetpy.refinement.rebalance import Rebalancing
from jetpy.refinement.state import Measures, Recording, RefinementState
from jetpy.workloads import conduct as kernels

STEPS = 4
"""Iterations, at least, that a back end that runs ahead of its host is sent at a time."""
PROPAGATIONS, REBALANCINGS, ANY = 1, 2, 3
"""Iterations that a sequence of launches can make (`tasks` of `jetpy.workloads.conduct`)."""


@dataclass(frozen=True, eq=False)
class Refined:
    """The best partition that a level's refinement met, and what it took.

    `parts` are overwritten by the next refinement of the level.
    """

    parts: Array
    measures: Measures
    cut_before: int
    iterations: int


class Refinement:
    """Refinement of one level, any number of times.

    The back end conducts itself from one iteration to the next; the host is asked for what has to
    be launched differently.
    """

    def __init__(self, backend: Backend, graph: DeviceGraph, problem: Problem) -> None:
        self.backend, self.problem = backend, problem
        self.state = RefinementState(backend, graph, problem)
        self.improvement = REFINEMENTS[problem.options.refine.method](self.state)
        self.rebalancing = Rebalancing(self.state)
        self._best_weights = backend.mirror(problem.k)
        self._propagate, self._rebalance = Recording(self.state), Recording(self.state)

    def refine(self, parts: Array, *, finest: bool, known: Measures | None = None) -> Refined:
        """Refine `parts` (int32, shape (n,)) until patience runs out.

        `known` are the measures of `parts`, where the caller has them.
        """
        options = self.problem.options.refine
        self.state.orders.host[Order.ITERATION] = 0
        measures, cut_before = known, None
        for ratio in options.finest_ratios if finest else options.coarse_ratios:
            measures = self.start(parts, ratio, measures)
            cut_before = measures.cut if cut_before is None else cut_before
            self.send_off()
            while self.look():
                self.send_off()
            parts, measures = self._best()
        assert measures is not None
        assert cut_before is not None
        iterations = int(self.state.orders.host[Order.ITERATION])
        return Refined(parts, measures, cut_before, iterations)

    def start(self, parts: Array, ratio: int, known: Measures | None) -> Measures:
        """Begin with a partition and a filter ratio in percent; return its measures."""
        state, options = self.state, self.problem.options.refine
        state.start(parts, known)
        self.rebalancing.start()
        measures = state.measures
        orders = state.orders.host
        orders[Order.LOCK] += 1
        self._made = self._count()
        for order, value in {
            Order.RATIO: ratio,
            Order.KEEP: 0,
            Order.REQUEST: Request.NOTHING,
            Order.UNTAKEN: 0,
            Order.CUT: measures.cut,
            Order.BEST_CUT: measures.cut,
            Order.BEST_OVERLOAD: measures.overload(self.problem),
            Order.SINCE_BEST: 0,
            Order.WEAK: 0,
            Order.SEED: self.problem.seed,
            Order.PATIENCE: options.patience,
            Order.TOLERANCE: round(1000 * options.tolerance),
            Order.WEAK_ROUNDS: options.weak_rounds,
            Order.TIE_LIMIT: state.loose,
            Order.SETTLES: int(self.improvement.settles),
        }.items():
            orders[order] = value
        self.backend.push(state.orders)
        self._best_weights.host[:] = measures.part_weights
        self.backend.push(self._best_weights)
        return measures

    def send_off(self) -> None:
        """Make an iteration; or send off some, in proportion to those of each kind just made.

        Launches for an iteration that is not due do nothing.
        """
        if self.backend.prefers_lists:
            self._launch_any()
            return
        before = self._made
        self._made = self._count()
        iterations, propagations = (now - b for now, b in zip(self._made, before, strict=True))
        rebalancings = iterations - propagations
        in_a_row = min(STEPS, max(1, propagations // max(1, rebalancings)))
        then = min(STEPS, max(1, rebalancings // max(1, propagations)))
        for _ in range(-(-STEPS // (in_a_row + then))):
            for _ in range(in_a_row):
                self.propagate()
            for _ in range(then):
                self.rebalance()

    def _count(self) -> tuple[int, int]:
        """Return how many iterations were made, of either kind and of Jetlp."""
        orders = self.state.orders.host
        return int(orders[Order.ITERATION]), int(orders[Order.LOCK])

    def propagate(self) -> None:
        """Make an iteration of Jetlp, if that is due."""
        self._propagate.play(self._launch_propagation)

    def rebalance(self) -> None:
        """Make an iteration of rebalancing, if that is due."""
        self._rebalance.play(self._launch_rebalancing)

    def look(self) -> bool:
        """Wait for the iterations, do what the host is asked for; return whether to go on."""
        state, backend = self.state, self.backend
        backend.pull(state.orders)
        backend.synchronize()
        request = state.orders.host[Order.REQUEST]
        if request == Request.END:
            return False
        if request != Request.NOTHING:
            backend.pull(state.account)
            backend.synchronize()
            self._answer(request)
        return True

    def _best(self) -> tuple[Array, Measures]:
        """Return the best partition since the start."""
        state, backend = self.state, self.backend
        backend.pull(self._best_weights)
        backend.synchronize()
        orders = state.orders.host
        parts = state.parts if orders[Order.KEEP] else state.kept
        return parts, Measures(int(orders[Order.BEST_CUT]), self._best_weights.host.copy())

    def _answer(self, request: Request) -> None:
        """Do what the back end asks for."""
        state, orders = self.state, self.state.orders
        orders.host[Order.REQUEST] = Request.NOTHING
        if request == Request.ROOM:
            state.make_room()
            self.backend.push(orders)
            return
        if request == Request.WATCH_MORE:
            self.rebalancing.watch_more()
        orders.host[Order.TASK] = orders.host[Order.LAST_TASK]
        self.backend.push(orders)
        if request == Request.WATCH_MORE:
            self._launch_evictions()
        else:
            self.improvement.launch_many()
            state.launch_update()

    def _launch_any(self) -> None:
        self._launch_orders(ANY)
        task = self.state.orders.host[Order.TASK]
        if task == Task.PROPAGATE:
            self._launch_moves()
        elif task != Task.NOTHING:
            self._launch_evictions()

    def _launch_propagation(self) -> None:
        self._launch_orders(PROPAGATIONS)
        self._launch_moves()

    def _launch_rebalancing(self) -> None:
        self._launch_orders(REBALANCINGS)
        self._launch_evictions()

    def _launch_orders(self, tasks: int) -> None:
        """Have orders given for an iteration, if one of the tasks is due."""
        state, backend = self.state, self.backend
        if backend.prefers_lists:
            state.make_room()
        room, n = state.watched.count, state.graph.n
        backend.parallel_for(
            1, kernels.conduct, limits=state.limits, room=room, tasks=tasks, n=n, **state.moves
        )
        self.rebalancing.plan.draw_up(
            limits=state.limits, best_weights=self._best_weights.device, **state.moves
        )

    def _launch_moves(self) -> None:
        self.improvement.launch()
        self.state.launch_update()

    def _launch_evictions(self) -> None:
        state = self.state
        task = Task(state.orders.host[Order.TASK]) if self.backend.prefers_lists else None
        self.rebalancing.launch(task)
        state.launch_update()
