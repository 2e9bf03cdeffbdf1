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
from jetpy.workloads.common.groups import INT32_MAX, Iteration, Partition, Progress


@pk.function
def propagates(iteration: Iteration) -> bool:
    """Whether the iteration moves vertices of a balanced partition."""
    return iteration.control[Control.TASK] == Task.PROPAGATE


@pk.function
def rebalances(iteration: Iteration) -> bool:
    """Whether the iteration moves vertices out of overweight parts."""
    return (
        iteration.control[Control.TASK] == Task.REBALANCE_WEAKLY
        or iteration.control[Control.TASK] == Task.REBALANCE_STRONGLY
    )


@pk.function
def largest_overload(partition: Partition) -> pk.int64:
    """Return the most weight above its limit (negative: below) of a part."""
    overload: pk.int64 = partition.part_weights[0] - partition.limits[0]
    for p in range(1, partition.k):
        if partition.part_weights[p] - partition.limits[p] > overload:
            overload = partition.part_weights[p] - partition.limits[p]
    return overload


@pk.function
def is_better(cut: pk.int64, overload: pk.int64, iteration: Iteration) -> bool:
    """Whether a partition is better than the best one so far.

    Balanced is better than not; then the smaller cut is, or among unbalanced ones the smaller
    overload.
    """
    if overload > 0:
        return overload < iteration.control[Control.BEST_OVERLOAD]
    return iteration.control[Control.BEST_OVERLOAD] > 0 or cut < iteration.control[Control.BEST_CUT]


@pk.function
def is_clearly_better(cut: pk.int64, iteration: Iteration) -> bool:
    """Whether a better partition is so by more than a cut that is only a little smaller.

    The best cut times the tolerance, rounded up, in two summands, as their product may overflow.
    """
    if iteration.control[Control.BEST_OVERLOAD] > 0:
        return True
    best: pk.int64 = iteration.control[Control.BEST_CUT]
    tolerance: pk.int64 = iteration.control[Control.TOLERANCE]
    bound: pk.int64 = best % TOLERANCE_UNITS * tolerance + TOLERANCE_UNITS - 1
    bound //= TOLERANCE_UNITS
    best //= TOLERANCE_UNITS
    return cut < bound + best * tolerance


@pk.function
def take_results(overload: pk.int64, iteration: Iteration):
    """Bring the cut up to date, and see whether the partition is the best so far."""
    iteration.control[Control.IS_PENDING] = 0
    if iteration.control[Control.LAST_TASK] != Task.NOTHING:
        iteration.control[Control.IS_BEST] = 0
    changes: pk.int64 = 0
    moved: pk.int64 = 0
    for stripe in range(COUNTER_STRIPES):
        changes += iteration.counters[Counter.CUT_CHANGE + stripe]
        moved += iteration.counters[Counter.MOVED + stripe]
    if moved == 0:
        return
    cut: pk.int64 = changes >> 1
    if iteration.counters[Counter.REBUILD] == 0:
        cut += iteration.control[Control.CUT]
    iteration.control[Control.CUT] = cut
    if is_better(cut, overload, iteration):
        if is_clearly_better(cut, iteration):
            iteration.control[Control.SINCE_BEST] = 0
        iteration.control[Control.IS_BEST] = 1
        iteration.control[Control.BEST_CUT] = cut
        iteration.control[Control.BEST_OVERLOAD] = overload


@pk.function
def task_of(overload: pk.int64, iteration: Iteration) -> int:
    """Return what the next iteration should do."""
    if overload <= 0:
        return Task.PROPAGATE
    if iteration.control[Control.WEAK_ITERATIONS] < iteration.control[Control.MAX_WEAK_ITERATIONS]:
        return Task.REBALANCE_WEAKLY
    return Task.REBALANCE_STRONGLY


@pk.function
def patience_with(overload: pk.int64, iteration: Iteration) -> pk.int64:
    """Return the iterations without a better partition before the end.

    Extra patience: twice as many while only the balance is missing, because the best partition is
    not balanced either, or the cut is smaller than its cut.
    """
    patience: pk.int64 = iteration.control[Control.PATIENCE]
    if iteration.control[Control.EXTRA_PATIENCE] == 0 or overload <= 0:
        return patience
    if (
        iteration.control[Control.BEST_OVERLOAD] > 0
        or iteration.control[Control.CUT] < iteration.control[Control.BEST_CUT]
    ):
        return 2 * patience
    return patience


@pk.function
def count_iteration(task: int, iteration: Iteration):
    """Begin an iteration that has a task: count it, and give it a seed of its own."""
    iteration.control[Control.NEXT_TASK] = task
    iteration.control[Control.IS_PENDING] = 1
    iteration.control[Control.SINCE_BEST] += 1
    iteration.control[Control.ITERATIONS] += 1
    iteration.control[Control.ITERATION_SEED] = (
        iteration.control[Control.SEED] + iteration.control[Control.ITERATIONS]
    ) & INT32_MAX
    if task == Task.PROPAGATE:
        iteration.control[Control.LOCK] += 1
        iteration.control[Control.WEAK_ITERATIONS] = 0
        if iteration.control[Control.ENDS_WITHOUT_GAIN] == 1:
            iteration.control[Control.SINCE_BEST] = iteration.control[Control.PATIENCE]
    elif task == Task.REBALANCE_WEAKLY:
        iteration.control[Control.WEAK_ITERATIONS] += 1


@pk.function
def begin_task(task: int, iteration: Iteration):
    """Say what the iteration does, and over how many indices."""
    iteration.control[Control.TASK] = task
    iteration.control[Control.PROPAGATING] = 0
    iteration.control[Control.REBALANCING] = 0
    if propagates(iteration):
        iteration.control[Control.PROPAGATING] = iteration.counters[Counter.ACTIVE]
    if rebalances(iteration):
        iteration.control[Control.REBALANCING] = iteration.counters[Counter.ACTIVE]


@pk.workunit
def begin_iteration(i: int, tasks: int, state: Progress):
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
