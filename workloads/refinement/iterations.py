"""Iterations of refinement: result of the last one and choice of the next (Jet, Algorithm 4.1).

The back end decides by the control block, so a GPU does not wait for its host between iterations.
The cut is the weight of the edges between parts. For a mapping, each weight is multiplied by the
distance of the parts.
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
from jetpy.workloads.common.groups import (
    INT32_MAX,
    Iteration,
    Partition,
    Progress,
    lower_limit,
)
from jetpy.workloads.common.striped_counters import copy_of


@pk.function
def propagates(iteration: Iteration) -> bool:
    """Whether the iteration moves vertices of a balanced partition."""
    return iteration.control[Control.TASK] == Task.PROPAGATE


@pk.function
def rebalances(iteration: Iteration) -> bool:
    """Whether the iteration moves vertices out of overweight parts or into underloaded ones."""
    return (
        iteration.control[Control.TASK] == Task.REBALANCE_WEAKLY
        or iteration.control[Control.TASK] == Task.REBALANCE_STRONGLY
        or iteration.control[Control.TASK] == Task.FILL_UNDERLOADED
    )


@pk.function
def fills_underloaded(iteration: Iteration) -> bool:
    """Whether the iteration moves vertices into parts below their lower limits."""
    return iteration.control[Control.TASK] == Task.FILL_UNDERLOADED


@pk.function
def largest_overload(partition: Partition) -> pk.int64:
    """Return the largest excess of a part over its limit; negative if all parts are below."""
    overload: pk.int64 = partition.part_weights[0] - partition.limits[0]
    for p in range(1, partition.k):
        if partition.part_weights[p] - partition.limits[p] > overload:
            overload = partition.part_weights[p] - partition.limits[p]
    return overload


@pk.function
def largest_underload(state: Progress) -> pk.int64:
    """Return the largest lack of a part below its lower limit; 0 if all keep theirs."""
    underload: pk.int64 = 0
    if state.control[Control.HAS_LOWER_LIMITS] == 1:
        for p in range(state.k):
            if lower_limit(p, state) - state.part_weights[p] > underload:
                underload = lower_limit(p, state) - state.part_weights[p]
    return underload


@pk.function
def is_better(cut: pk.int64, overload: pk.int64, iteration: Iteration) -> bool:
    """Whether a partition is better than the best one so far.

    A balanced partition is better than an unbalanced one. Between balanced partitions the smaller
    cut is better, between unbalanced ones the smaller overload, which counts weight below a lower
    limit, too.
    """
    if overload > 0:
        return overload < iteration.control[Control.BEST_OVERLOAD]
    return iteration.control[Control.BEST_OVERLOAD] > 0 or cut < iteration.control[Control.BEST_CUT]


@pk.function
def is_clearly_better(cut: pk.int64, iteration: Iteration) -> bool:
    """Whether a better partition resets the patience (Jet, Algorithm 4.1, tolerance factor phi).

    It does if the best partition so far is unbalanced, or if its cut is below tolerance * best cut,
    rounded up. The product is computed in two summands because it may overflow.
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
    """Update the cut, and find out whether the partition is the best so far.

    If underloaded parts found no vertices, none will come, and refinement ends.
    """
    iteration.control[Control.IS_PENDING] = 0
    if iteration.control[Control.LAST_TASK] != Task.NOTHING:
        iteration.control[Control.IS_BEST] = 0
    changes: pk.int64 = 0
    moved: pk.int64 = 0
    for stripe in range(COUNTER_STRIPES):
        changes += iteration.counters[copy_of(Counter.CUT_CHANGE, stripe)]
        moved += iteration.counters[copy_of(Counter.MOVED, stripe)]
    if moved == 0:
        if iteration.control[Control.LAST_TASK] == Task.FILL_UNDERLOADED:
            iteration.control[Control.SINCE_BEST] = 2 * iteration.control[Control.PATIENCE]
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
def task_of(overload: pk.int64, underload: pk.int64, iteration: Iteration) -> int:
    """Return the task of the next iteration."""
    if overload <= 0:
        if underload > 0:
            return Task.FILL_UNDERLOADED
        return Task.PROPAGATE
    if iteration.control[Control.WEAK_ITERATIONS] < iteration.control[Control.MAX_WEAK_ITERATIONS]:
        return Task.REBALANCE_WEAKLY
    return Task.REBALANCE_STRONGLY


@pk.function
def patience_with(overload: pk.int64, iteration: Iteration) -> pk.int64:
    """Return the number of iterations without a better partition after which refinement ends.

    With extra patience it doubles while the partition lacks only balance: the best partition is
    unbalanced, too, or has a larger cut.
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
    """Begin an iteration that has a task: count it, and set its seed.

    The first iterations that fill underloaded parts cost no patience, because a propagation within
    both limits needs them.
    """
    iteration.control[Control.NEXT_TASK] = task
    iteration.control[Control.IS_PENDING] = 1
    if (
        task != Task.FILL_UNDERLOADED
        or iteration.control[Control.WEAK_ITERATIONS] >= iteration.control[Control.PATIENCE]
    ):
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
    elif task != Task.REBALANCE_STRONGLY:
        iteration.control[Control.WEAK_ITERATIONS] += 1


@pk.function
def begin_task(task: int, iteration: Iteration):
    """Set the task of the iteration, and the number of indices of its launches."""
    iteration.control[Control.TASK] = task
    iteration.control[Control.PROPAGATING] = 0
    iteration.control[Control.REBALANCING] = 0
    if propagates(iteration):
        iteration.control[Control.PROPAGATING] = iteration.counters[Counter.ACTIVE]
    if rebalances(iteration):
        iteration.control[Control.REBALANCING] = iteration.counters[Counter.ACTIVE]


@pk.function
def may_begin(tasks: int, state: Progress) -> bool:
    """Whether an iteration may begin: no request to the host is open, and none is made now.

    `tasks` as for `begin_iteration`.
    """
    begin_task(Task.NOTHING, state)
    state.control[Control.NEXT_TASK] = Task.NOTHING
    if state.control[Control.REQUEST] != Request.NOTHING:
        return False
    if state.counters[Counter.TOO_FEW] == 1:
        if (
            state.counters[Counter.ACTIVE] < state.control[Control.VERTICES]
            or state.control[Control.INACTIVE] > 0
        ):
            state.control[Control.REQUEST] = Request.ACTIVATE
        elif tasks != Tasks.PROPAGATION:
            state.counters[Counter.TOO_FEW] = 0
            state.control[Control.NEXT_TASK] = Task.REPEAT
        return False
    if (
        state.counters[Counter.ACTIVE] > state.control[Control.ROOM]
        or state.control[Control.WITHOUT_ROOM] > 0
    ):
        state.control[Control.REQUEST] = Request.ROOM
        return False
    return True


@pk.function
def choose_task(overload: pk.int64, underload: pk.int64, tasks: int, state: Progress):
    """Process the results of the last iteration, and choose the next task, or end refinement.

    `tasks` as for `begin_iteration`.
    """
    outside: pk.int64 = overload
    if underload > 0 and underload > overload:
        outside = underload
    if state.control[Control.IS_PENDING] == 1:
        take_results(outside, state)
    if state.control[Control.SINCE_BEST] >= patience_with(outside, state):
        state.control[Control.REQUEST] = Request.END
        state.control[Control.NEXT_TASK] = Task.FINISH
        return
    task: int = task_of(overload, underload, state)
    if task == Task.PROPAGATE and tasks == Tasks.REBALANCING:
        return
    if task != Task.PROPAGATE and tasks == Tasks.PROPAGATION:
        return
    count_iteration(task, state)


@pk.workunit
def begin_iteration(i: int, tasks: int, state: Progress):
    """Process the results of the last iteration, and choose the next task.

    `tasks` are the tasks that the launches can do (`Tasks`). The task is `NOTHING` if they cannot
    do the next task, or if a request to the host is open. If there were too few active vertices to
    rebalance, but all vertices are active, the kernels rebalance again without a request.
    """
    if may_begin(tasks, state):
        choose_task(largest_overload(state), largest_underload(state), tasks, state)
