"""The plan of an iteration: which vertices may leave each part, and for which parts."""

from __future__ import annotations

from typing import Any

import numpy as np

from jetpy.engines.base import Array, Backend
from jetpy.problem.problem import Problem
from jetpy.refinement.state import RefinementState
from jetpy.workloads.common.control_block import COUNTER_STRIPES
from jetpy.workloads.refinement import plan as kernels
from jetpy.workloads.refinement.plan import DIFFERENT, BlockSums, GroupSums, Row

PERCENT_OPEN, MAX_BELOW_LIMIT = 99, 100
"""A part is usually open if it weighs less than PERCENT_OPEN of its limit, or less than the limit
minus MAX_BELOW_LIMIT if that is more."""
WIDE, SPAN = 512, 64
"""Maximum size of a group whose parts each read all others; size of blocks in larger groups."""


class Plan:
    """The plan for k parts in groups of `group_size`.

    Attributes
    ----------
    numbers : int64, shape (6 k,)
        Rows of k numbers, indexed by `Row`.
    group_size : int
    limit, threshold : int
        Limit of all parts, and weight below which they are usually open; `DIFFERENT` if the parts
        have limits of their own.
    strong_threshold, strong_thresholds
        Threshold and thresholds in strong rebalancing.
    fills_to_average : bool
        Whether these are the average weights of the parts.
    shares, thresholds : int64, shape (k,), or empty
        Relative target weight of each part, and its threshold, if the parts have their own limits.
    all_shares : int
        Sum of the shares of a group.
    """

    def __init__(
        self, backend: Backend, problem: Problem, wide: int = WIDE, span: int = SPAN
    ) -> None:
        k, group_size = problem.k, problem.group_size
        self.numbers: Array = backend.empty(len(Row) * k, np.int64)
        self.group_size = group_size
        self._backend, self._k = backend, k
        self.take_limits(problem)
        is_wide = group_size > wide
        span = span if is_wide else group_size
        self._groups = k // group_size if is_wide else 0
        self._blocks = self._groups * -(-group_size // span)
        self._sums = {
            "blocks": BlockSums(*_arrays(backend, 7, self._blocks), span),
            "groups": GroupSums(*_arrays(backend, 5, self._groups)),
        }

    def take_limits(self, problem: Problem) -> None:
        """Read the limits of the parts from a problem."""
        backend = self._backend
        self.limit, self.threshold = problem.limit, int(destination_below(problem.limit))
        self.shares = self.thresholds = self.strong_thresholds = backend.empty(0, np.int64)
        fill = problem.options.refine.strong_fill
        self.fills_to_average = fill == "average" and problem.groups == 1
        self.strong_threshold = self.threshold
        if self.fills_to_average:
            self.strong_threshold = min(problem.ideal_in_units + 1, problem.limit)
        self.all_shares = problem.group_size
        if problem.part_limits is not None:
            self.limit = self.threshold = DIFFERENT
            self.shares = backend.from_host(problem.shares)
            self.all_shares = int(problem.shares[: problem.group_size].sum())
            self.thresholds = backend.from_host(destination_below(problem.part_limits))
            self.strong_threshold, self.strong_thresholds = DIFFERENT, self.thresholds
            if self.fills_to_average:
                averages = -(-problem.ideals // problem.unit) + 1
                self.strong_thresholds = backend.from_host(
                    np.minimum(averages, problem.part_limits)
                )

    def draw_up(self, state: RefinementState, best_weights: Array) -> None:
        """Launch the kernels that compute the plan, if the iteration that begins needs one.

        `best_weights` (int64, shape (k,)) receives the part weights if the partition is the best so
        far.
        """
        backend = self._backend
        if self._blocks:
            blocks = self._sums["blocks"]
            backend.parallel_for(
                self._blocks, kernels.sum_up_block, plan=self, blocks=blocks, state=state
            )
            backend.parallel_for(
                self._groups, kernels.add_up_blocks, plan=self, state=state, **self._sums
            )
        backend.parallel_for(
            max(self._k, COUNTER_STRIPES),
            kernels.draw_up_plan,
            best_weights=best_weights,
            plan=self,
            state=state,
            **self._sums,
        )


def destination_below(limits: Any) -> Any:
    """Return the weights below which parts are usually open, given their limits.

    >>> destination_below(np.array([1000, 100_000])).tolist()
    [990, 99900]
    """
    return np.maximum(limits * PERCENT_OPEN // 100, limits - MAX_BELOW_LIMIT)


def _arrays(backend: Backend, count: int, size: int) -> list[Array]:
    """Return `count` int64 arrays of shape (size,); one shared empty array if `size` is 0."""
    if size == 0:
        return count * [backend.empty(0, np.int64)]
    return [backend.empty(size, np.int64) for _ in range(count)]
