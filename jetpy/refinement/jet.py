"""The refinement loop of one level (Jet, Algorithm 4.1)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from jetpy.backends.base import Array, Backend
from jetpy.backends.level import DeviceGraph
from jetpy.problem import Problem
from jetpy.refinement.jetlp import LabelPropagation
from jetpy.refinement.rebalance import Rebalancing
from jetpy.refinement.state import SHORT, Measures, Recording, RefinementState
from jetpy.workloads import conduct as kernels

STEPS = 4
"""Iterations that a back end that runs ahead of its host is sent at a time."""


class Order(IntEnum):
    """Places in the orders (`jetpy.workloads.conduct`)."""

    SALT = 0
    RATIO = 1
    LOCK = 2
    KEEP = 4
    TASK = 5
    REQUEST = 6
    UNTAKEN = 7
    LAST_TASK = 8
    CUT = 9
    BEST_CUT = 10
    BEST_HEAVIEST = 11
    SINCE_BEST = 12
    WEAK = 13
    ITERATION = 14
    SEED = 15
    LIMIT = 16
    PATIENCE = 17
    TOLERANCE = 18
    WEAK_ROUNDS = 19
    WEIGHT = 20
    TIE_LIMIT = 21


class Task(IntEnum):
    """What an iteration does."""

    NOTHING = 0
    PROPAGATE = 1
    REBALANCE = 2


class Request(IntEnum):
    """What the host is asked for."""

    NOTHING = 0
    END = 1
    STRONG = 2
    WATCH_MORE = 3
    ROOM = 4


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
        self.state = RefinementState(backend, graph, problem.k)
        self.propagation, self.rebalancing = LabelPropagation(self.state), Rebalancing(self.state)
        self._best_weights = backend.mirror(problem.k)
        self._candidates = self.state.watched
        self._iteration, self._weak = Recording(self.state), Recording(self.state)
        self._strong, self._moves = Recording(self.state), Recording(self.state)

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
            while self.iterate(STEPS):
                pass
            parts, measures = self._best()
        assert measures is not None
        assert cut_before is not None
        iterations = int(self.state.orders.host[Order.ITERATION])
        return Refined(parts, measures, cut_before, iterations)

    def start(self, parts: Array, ratio: int, known: Measures | None) -> Measures:
        """Begin with a partition and a filter ratio in percent; return its measures."""
        state, options = self.state, self.problem.options.refine
        state.start(parts, known)
        measures = state.measures
        orders = state.orders.host
        orders[Order.LOCK] += 1
        for order, value in {
            Order.RATIO: ratio,
            Order.KEEP: 0,
            Order.REQUEST: Request.NOTHING,
            Order.UNTAKEN: 0,
            Order.CUT: measures.cut,
            Order.BEST_CUT: measures.cut,
            Order.BEST_HEAVIEST: measures.heaviest,
            Order.SINCE_BEST: 0,
            Order.WEAK: 0,
            Order.SEED: self.problem.seed,
            Order.LIMIT: self.problem.limit,
            Order.PATIENCE: options.patience,
            Order.TOLERANCE: round(1000 * options.tolerance),
            Order.WEAK_ROUNDS: options.weak_rounds,
            Order.WEIGHT: measures.part_weights.sum(),
            Order.TIE_LIMIT: state.loose,
        }.items():
            orders[order] = value
        self.backend.push(state.orders)
        self._best_weights.host[:] = measures.part_weights
        self.backend.push(self._best_weights)
        return measures

    def iterate(self, steps: int = 1) -> bool:
        """Make iterations, as many as given or fewer; return whether there is more to do."""
        state, backend = self.state, self.backend
        for _ in range(1 if backend.prefers_lists else steps):
            self._iteration.play(self._launch_iteration)
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
        if request == Request.ROOM:
            self.state.make_room()
            self._order(Task.NOTHING)
        elif request == Request.WATCH_MORE:
            self.rebalancing.watch_more()
            self._order(Task.REBALANCE)
            self._weak.play(self._launch_weak)
        else:
            self._order(Task.REBALANCE)
            self._rebalance_strongly()

    def _order(self, task: Task) -> None:
        orders = self.state.orders
        orders.host[Order.TASK], orders.host[Order.REQUEST] = task, Request.NOTHING
        self.backend.push(orders)

    def _rebalance_strongly(self) -> None:
        state, backend = self.state, self.backend
        self._strong.play(self._launch_strong)
        backend.pull(state.account)
        backend.synchronize()
        if state.account.host[state.k + SHORT]:
            self.rebalancing.watch_more()
            self._strong.play(self._launch_strong)
        self.rebalancing.deal(self._candidates)
        self._moves.play(self._launch_moves)

    def _launch_iteration(self) -> None:
        """Have the orders given, and carried out."""
        state = self.state
        if self.backend.prefers_lists:
            state.make_room()
        self.backend.parallel_for(
            1,
            kernels.conduct,
            orders=state.orders.device,
            account=state.account.device,
            best_weights=self._best_weights.device,
            room=state.watched.count,
            k=state.k,
            **self.rebalancing.plan,
        )
        if not self.backend.prefers_lists:
            self.propagation.launch()
            self._launch_weak()
        elif state.orders.host[Order.TASK] == Task.PROPAGATE:
            state.launch_moves(self.propagation.launch())
        elif state.orders.host[Order.TASK] == Task.REBALANCE:
            self._launch_weak()

    def _launch_weak(self) -> None:
        self.state.launch_moves(self.rebalancing.launch_weak())

    def _launch_strong(self) -> None:
        self._candidates = self.rebalancing.launch_strong()

    def _launch_moves(self) -> None:
        self.state.launch_moves(self._candidates)
