"""Iterations of a level without a graph: their control block and plans."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from jetpy.engines.base import Backend
from jetpy.problem.options import Options
from jetpy.problem.problem import Problem
from jetpy.refinement.plan import Plan
from jetpy.workloads.common.control_block import COUNTER_GAP, Control, Counter, Tasks
from jetpy.workloads.refinement.iterations import begin_iteration
from jetpy.workloads.refinement.plan import Row

PATIENCE, WEAK_ITERATIONS, TIE_LIMIT = 3, 2, 77


class Iterations:
    """Control block, counters, part weights and plan of a level, and the start of iterations."""

    def __init__(
        self,
        backend: Backend,
        weights: np.ndarray,
        cut: int,
        limits: np.ndarray,
        groups: int = 1,
        span: int = 99,
        targets: np.ndarray | None = None,
    ) -> None:
        self.backend, self.k = backend, len(weights)
        self.group_size = self.k // groups
        problem = Problem(
            self.k, 0.0, 0, 0, 1, Options(), groups, part_limits=limits, targets=targets
        )
        self.limits = backend.from_host(np.asarray(limits, np.int64))
        self.control, self.counters = (
            backend.dual_view(len(Control)),
            backend.dual_view(max(Counter) + 1),
        )
        self.weights, self.best_weights = backend.dual_view(self.k), backend.dual_view(self.k)
        self.plan = Plan(backend, problem, wide=span, span=span)
        for place, value in {
            Control.CUT: cut,
            Control.BEST_CUT: cut,
            Control.BEST_OVERLOAD: (weights - limits).max(),
            Control.SEED: 5,
            Control.PATIENCE: PATIENCE,
            Control.TOLERANCE: 900_000,
            Control.MAX_WEAK_ITERATIONS: WEAK_ITERATIONS,
            Control.TIE_LIMIT: TIE_LIMIT,
            Control.EXTRA_PATIENCE: 1,
        }.items():
            self.control.host[place] = value
        self.best_weights.host[:] = weights
        for array in (self.control, self.best_weights):
            backend.sync_device(array)
        self.report(weights, 0, 0)

    def report(self, weights: np.ndarray, change: int, moved: int, rebuilt: bool = False) -> None:
        """Report the results of an iteration, distributed over the counter stripes.

        `change` is that of the cut, or the cut itself if rows were rebuilt.
        """
        counters = self.counters.host
        counters[Counter.CUT_CHANGE + 7 * COUNTER_GAP] = 2 * change - 10
        counters[Counter.CUT_CHANGE + 40 * COUNTER_GAP] = 10
        counters[Counter.REBUILD] = rebuilt
        counters[Counter.MOVED + 3 * COUNTER_GAP] = moved
        self.weights.host[:] = weights
        self.backend.sync_device(self.counters)
        self.backend.sync_device(self.weights)

    def count(self, counter: Counter, value: int) -> None:
        """Set a counter."""
        self.counters.host[counter] = value
        self.backend.sync_device(self.counters)

    def begin(self, room: int = 1, tasks: Tasks = Tasks.ANY, n: int = 2) -> np.ndarray:
        """Start the next iteration of a level of n vertices and return the control block."""
        partition = SimpleNamespace(part_weights=self.weights.device, limits=self.limits, k=self.k)
        iteration = SimpleNamespace(control=self.control.device, counters=self.counters.device)
        state = SimpleNamespace(partition=partition, iteration=iteration)
        self.control.host[Control.ROOM] = room
        self.control.host[Control.VERTICES] = n
        self.backend.sync_device(self.control)
        self.backend.parallel_for(1, begin_iteration, tasks=tasks, state=state)
        self.plan.draw_up(state, self.best_weights.device)
        for array in (self.control, self.counters, self.best_weights):
            self.backend.sync_host(array)
        self.backend.synchronize()
        return self.control.host

    def check_plan(self, weights: np.ndarray, limits: np.ndarray) -> bool:
        """Compare the plan of each group with its definition; return whether any requests moves."""
        asked = False
        for first in range(0, self.k, self.group_size):
            group = slice(first, first + self.group_size)
            asked |= self._check_group(weights[group], limits[group], first)
        return asked

    def _check_group(self, weights: np.ndarray, limits: np.ndarray, first: int) -> bool:
        """Compare the plan of the group with the given first part."""
        numbers = self.backend.to_host(self.plan.numbers).reshape(len(Row), -1)
        plan = numbers[:, first : first + len(weights)]
        shares = self.backend.to_host(self.plan.shares)[first : first + len(weights)]
        overload = np.maximum(weights - limits, 0)
        threshold = np.maximum(limits * 99 // 100, limits - 100)
        if not (weights < threshold).any():
            threshold = limits
        open_parts = np.flatnonzero(weights < threshold)
        count = len(open_parts)
        assert (plan[Row.OPEN_COUNT] == count).all()
        if count == 0:
            assert not plan[Row.EXCESS].any()
            assert not plan[Row.HEAVIEST].any()
            return False
        room = (threshold - weights)[open_parts]
        if room.sum() < overload.sum():
            room += (limits - threshold)[open_parts]
        exact_weights, exact_shares = weights.astype(object), shares.astype(object)
        total = exact_shares.sum()
        over_average = 3 * (total * exact_weights - exact_weights.sum() * exact_shares)
        over_average //= 2 * total
        heaviest = np.where(overload > 0, np.maximum(over_average, 1), 0)
        assert plan[Row.EXCESS].tolist() == overload.tolist()
        assert plan[Row.OPEN_PART][:count].tolist() == (first + open_parts).tolist()
        assert plan[Row.ROOM][:count].tolist() == np.cumsum(room).tolist()
        leaving = np.where(weights < threshold, weights - limits, heaviest)
        assert plan[Row.HEAVIEST].tolist() == leaving.tolist()
        assert (plan[Row.TIE_LIMIT] == TIE_LIMIT).all()
        return bool(overload.any())
