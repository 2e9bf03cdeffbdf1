"""Iterations: what the one before led to, and what the next one does (Jet, Algorithm 4.1).

The back end decides, by the control block, so that a GPU need not wait for its host between
iterations. The cut is the weight of the edges between parts, each times the distance of these,
which is 1 unless a graph is mapped onto a machine.
"""

import pykokkos as pk

from jetpy.workloads.common.control_block import (
    COUNTER_STRIPES,
    TOLERANCE_UNITS,
    Control,
    Counter,
    Request,
    Task,
    Tasks,
)
from jetpy.workloads.common.groups import INT32_MAX, Refinement


@pk.function
def propagates(state: Refinement) -> bool:
    """Whether the iteration moves vertices of a balanced partition."""
    return state.control[Control.TASK] == Task.PROPAGATE


@pk.function
def rebalances(state: Refinement) -> bool:
    """Whether the iteration moves vertices out of overweight parts."""
    return (
        state.control[Control.TASK] == Task.REBALANCE_WEAKLY
        or state.control[Control.TASK] == Task.REBALANCE_STRONGLY
    )


@pk.function
def largest_overload(state: Refinement) -> pk.int64:
    """Return the most weight above its limit (negative: below) of a part."""
    overload: pk.int64 = state.part_weights[0] - state.limits[0]
    for p in range(1, state.k):
        if state.part_weights[p] - state.limits[p] > overload:
            overload = state.part_weights[p] - state.limits[p]
    return overload


@pk.function
def is_better(cut: pk.int64, overload: pk.int64, state: Refinement) -> bool:
    """Whether a partition is better than the best one so far.

    Balanced is better than not; then the smaller cut is, or among unbalanced ones the smaller
    overload.
    """
    if overload > 0:
        return overload < state.control[Control.BEST_OVERLOAD]
    return state.control[Control.BEST_OVERLOAD] > 0 or cut < state.control[Control.BEST_CUT]


@pk.function
def is_clearly_better(cut: pk.int64, state: Refinement) -> bool:
    """Whether a better partition is so by more than a cut that is only a little smaller.

    The best cut times the tolerance, rounded up, in two summands, as their product may overflow.
    """
    if state.control[Control.BEST_OVERLOAD] > 0:
        return True
    best: pk.int64 = state.control[Control.BEST_CUT]
    tolerance: pk.int64 = state.control[Control.TOLERANCE]
    bound: pk.int64 = best % TOLERANCE_UNITS * tolerance + TOLERANCE_UNITS - 1
    bound //= TOLERANCE_UNITS
    best //= TOLERANCE_UNITS
    return cut < bound + best * tolerance


@pk.function
def take_results(overload: pk.int64, state: Refinement):
    """Bring the cut up to date, and see whether the partition is the best so far."""
    state.control[Control.IS_PENDING] = 0
    if state.control[Control.LAST_TASK] != Task.NOTHING:
        state.control[Control.IS_BEST] = 0
    changes: pk.int64 = 0
    moved: pk.int64 = 0
    for stripe in range(COUNTER_STRIPES):
        changes += state.counters[Counter.CUT_CHANGE + stripe]
        moved += state.counters[Counter.MOVED + stripe]
    if moved == 0:
        return
    cut: pk.int64 = changes >> 1
    if state.counters[Counter.REBUILD] == 0:
        cut += state.control[Control.CUT]
    state.control[Control.CUT] = cut
    if is_better(cut, overload, state):
        if is_clearly_better(cut, state):
            state.control[Control.SINCE_BEST] = 0
        state.control[Control.IS_BEST] = 1
        state.control[Control.BEST_CUT] = cut
        state.control[Control.BEST_OVERLOAD] = overload


@pk.function
def task_of(overload: pk.int64, state: Refinement) -> int:
    """Return what the next iteration should do."""
    if overload <= 0:
        return Task.PROPAGATE
    if state.control[Control.WEAK_ITERATIONS] < state.control[Control.MAX_WEAK_ITERATIONS]:
        return Task.REBALANCE_WEAKLY
    return Task.REBALANCE_STRONGLY


@pk.function
def patience_with(overload: pk.int64, state: Refinement) -> pk.int64:
    """Return the iterations without a better partition before the end.

    Twice as many where only balance lacks: the best partition is not balanced, either, or the cut
    is already smaller than its cut.
    """
    patience: pk.int64 = state.control[Control.PATIENCE]
    if overload > 0 and (
        state.control[Control.BEST_OVERLOAD] > 0
        or state.control[Control.CUT] < state.control[Control.BEST_CUT]
    ):
        patience = 2 * patience
    return patience


@pk.function
def count_iteration(task: int, state: Refinement):
    """Begin an iteration that has a task: count it, and give it a seed of its own."""
    state.control[Control.NEXT_TASK] = task
    state.control[Control.IS_PENDING] = 1
    state.control[Control.SINCE_BEST] += 1
    state.control[Control.ITERATIONS] += 1
    state.control[Control.ITERATION_SEED] = (
        state.control[Control.SEED] + state.control[Control.ITERATIONS]
    ) & INT32_MAX
    if task == Task.PROPAGATE:
        state.control[Control.LOCK] += 1
        state.control[Control.WEAK_ITERATIONS] = 0
        if state.control[Control.ENDS_WITHOUT_GAIN] == 1:
            state.control[Control.SINCE_BEST] = state.control[Control.PATIENCE]
    elif task == Task.REBALANCE_WEAKLY:
        state.control[Control.WEAK_ITERATIONS] += 1


@pk.function
def begin_task(task: int, state: Refinement):
    """Say what the iteration does, and over how many indices."""
    state.control[Control.TASK] = task
    state.control[Control.PROPAGATING] = 0
    state.control[Control.REBALANCING] = 0
    if propagates(state):
        state.control[Control.PROPAGATING] = state.counters[Counter.ACTIVE]
    if rebalances(state):
        state.control[Control.REBALANCING] = state.counters[Counter.ACTIVE]


@pk.workunit
def begin_iteration(i: int, tasks: int, state: Refinement):
    """Take the results of one iteration, and say what is due.

    `tasks` is what launches can do (`Tasks`); nothing is due if they cannot do what should be next,
    or while the host is asked for something. Where the active vertices did not suffice to
    rebalance, but all are active, the host has nothing to add.
    """
    begin_task(Task.NOTHING, state)
    state.control[Control.NEXT_TASK] = Task.NOTHING
    if state.control[Control.REQUEST] != Request.NOTHING:
        return
    if state.counters[Counter.TOO_FEW] == 1:
        if (
            state.counters[Counter.ACTIVE] < state.control[Control.VERTICES]
            or state.control[Control.INACTIVE] > 0
        ):
            state.control[Control.REQUEST] = Request.ACTIVATE
        elif tasks != Tasks.PROPAGATION:
            state.counters[Counter.TOO_FEW] = 0
            state.control[Control.NEXT_TASK] = Task.REPEAT
        return
    if (
        state.counters[Counter.ACTIVE] > state.control[Control.ROOM]
        or state.control[Control.WITHOUT_ROOM] > 0
    ):
        state.control[Control.REQUEST] = Request.ROOM
        return
    overload: pk.int64 = largest_overload(state)
    if state.control[Control.IS_PENDING] == 1:
        take_results(overload, state)
    if state.control[Control.SINCE_BEST] >= patience_with(overload, state):
        state.control[Control.REQUEST] = Request.END
        state.control[Control.NEXT_TASK] = Task.FINISH
        return
    task: int = task_of(overload, state)
    if task == Task.PROPAGATE and tasks == Tasks.REBALANCING:
        return
    if task != Task.PROPAGATE and tasks == Tasks.PROPAGATION:
        return
    count_iteration(task, state)
