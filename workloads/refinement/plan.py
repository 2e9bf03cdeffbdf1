"""The plan of a rebalancing iteration: valid destinations, and vertices that may leave a part.

Each group of consecutive parts has its own plan. A part is open, a valid destination (Jet, 4.2.2),
if it weighs less than max(0.99 limit, limit - 100). If no part of the group does, every part below
its limit is open.
"""

from dataclasses import dataclass
from enum import IntEnum

import pykokkos as pk

from jetpy.workloads.common.control_block import COUNTER_STRIPES, Control, Counter, Task
from jetpy.workloads.common.groups import Iteration, Partition, Progress, lower_limit
from jetpy.workloads.common.striped_counters import copy_of
from jetpy.workloads.refinement.iterations import begin_task

NO_LIMIT = -1
"""`TIE_LIMIT` of a part that vertices may leave whatever their internal weight is."""
DIFFERENT = -1
"""Stands for the common limit of all parts if their limits differ."""
HALVES_ABOVE_AVERAGE = 3
"""Largest weight of a vertex that may leave, in halves of the excess over average (Jet, 4.2.2)."""


class Row(IntEnum):
    """Rows of the plan: k values each, by part or by position.

    The positions of a group begin at its first part and count its open parts.
    """

    HEAVIEST = 0
    """By part: largest weight of a vertex that may leave it. 0 if the part is not overweight or no
    part is open. For an open part, minus its spare weight below the limit."""
    TIE_LIMIT = 1
    """By part: largest internal weight of a vertex that may leave it without an adjacent part
    (`is_tied`), or `NO_LIMIT`."""
    OPEN_COUNT = 2
    """By part: number of open parts of its group."""
    EXCESS = 3
    """By part: weight that it must lose."""
    OPEN_PART = 4
    """By position: the open part."""
    ROOM = 5
    """By position: total spare weight of the open parts of the group up to this one. Spare weight
    counts up to the threshold if that suffices for the group, otherwise up to the limit."""


class Plan:
    """The plan. A launch can take few arguments, so one view contains all six rows."""

    numbers: pk.View1D[pk.int64]  # by Row
    group_size: int
    limit: pk.int64  # common limit of all parts, whose shares are then 1, or DIFFERENT
    threshold: pk.int64  # weight below which all parts are usually open
    shares: pk.View1D[pk.int64]  # target weight of each part relative to the others
    all_shares: pk.int64  # sum of the shares of a group
    thresholds: pk.View1D[pk.int64]  # threshold of each part if the limits differ
    strong_threshold: pk.int64  # threshold in strong rebalancing
    strong_thresholds: pk.View1D[pk.int64]
    fills_to_average: bool  # whether strong rebalancing fills parts only to their average weight


@dataclass(frozen=True, eq=False)
class BlockSums:
    """Sums over chunks of at most `span` consecutive parts, for groups of more than `span` parts.

    `add_up_blocks` replaces three of them by sums over the open parts of the preceding chunks.
    """

    weight: pk.View1D[pk.int64]
    overload: pk.View1D[pk.int64]  # total excess over the limits
    destination_count: pk.View1D[pk.int64]  # parts below the usual threshold; then open parts
    room: pk.View1D[pk.int64]  # spare weight below the usual threshold; then of open parts
    above: pk.View1D[pk.int64]  # sum of limit - threshold of these parts; then of open parts
    count_at_limit: pk.View1D[pk.int64]  # parts below the limit
    room_at_limit: pk.View1D[pk.int64]  # spare weight below the limit
    span: int


@dataclass(frozen=True, eq=False)
class GroupSums:
    """Sums over each group of more than `span` parts."""

    at_limit: pk.View1D[pk.int64]  # 1 if all parts below their limits are open
    weight: pk.View1D[pk.int64]
    overload: pk.View1D[pk.int64]
    destination_count: pk.View1D[pk.int64]
    room: pk.View1D[pk.int64]


@pk.function
def is_open(p: int, plan: Plan, partition: Partition) -> bool:
    """Whether a part is open: rebalancing may move vertices into it."""
    return plan.numbers[Row.HEAVIEST * partition.k + p] < 0


@pk.function
def is_to_rebalance(iteration: Iteration) -> bool:
    """Whether the next iteration needs a plan."""
    return (
        iteration.control[Control.NEXT_TASK] == Task.REBALANCE_WEAKLY
        or iteration.control[Control.NEXT_TASK] == Task.REBALANCE_STRONGLY
    )


@pk.function
def limit_of(p: int, plan: Plan, partition: Partition) -> pk.int64:
    """Return the limit of a part, without a memory access if all limits are equal."""
    if plan.limit != DIFFERENT:
        return plan.limit
    return partition.limits[p]


@pk.function
def usual_threshold(p: int, plan: Plan, iteration: Iteration) -> pk.int64:
    """Return the weight below which a part is usually open."""
    if iteration.control[Control.NEXT_TASK] == Task.REBALANCE_STRONGLY:
        if plan.limit != DIFFERENT:
            return plan.strong_threshold
        return plan.strong_thresholds[p]
    if plan.limit != DIFFERENT:
        return plan.threshold
    return plan.thresholds[p]


@pk.function
def share_of(p: int, plan: Plan) -> pk.int64:
    """Return the target weight of a part relative to the other parts of its group."""
    share: pk.int64 = 1
    if plan.limit == DIFFERENT:
        share = plan.shares[p]
    return share


@pk.function
def threshold_of(p: int, at_limit: bool, plan: Plan, state: Progress) -> pk.int64:
    """Return the weight below which a part is open: usual threshold or, `at_limit`, its limit."""
    if at_limit:
        return limit_of(p, plan, state)
    return usual_threshold(p, plan, state)


@pk.function
def blocks_per_group(group_size: int, span: int) -> int:
    """Return the number of chunks of a group."""
    return (group_size + span - 1) // span


@pk.workunit
def sum_up_block(b: int, plan: Plan, blocks: BlockSums, state: Progress):
    """Compute the sums of a chunk of parts that `plan_part` needs."""
    if not is_to_rebalance(state):
        return
    per_group: int = blocks_per_group(plan.group_size, blocks.span)
    first: int = b // per_group * plan.group_size
    start: int = first + b % per_group * blocks.span
    end: int = start + blocks.span
    if end > first + plan.group_size:
        end = first + plan.group_size
    all_weight: pk.int64 = 0
    overload: pk.int64 = 0
    destination_count: int = 0
    room: pk.int64 = 0
    above: pk.int64 = 0
    count_at_limit: int = 0
    room_at_limit: pk.int64 = 0
    for q in range(start, end):
        weight: pk.int64 = state.part_weights[q]
        limit: pk.int64 = limit_of(q, plan, state)
        threshold: pk.int64 = usual_threshold(q, plan, state)
        all_weight += weight
        if weight > limit:
            overload += weight - limit
        if weight < threshold:
            destination_count += 1
            room += threshold - weight
            above += limit - threshold
        if weight < limit:
            count_at_limit += 1
            room_at_limit += limit - weight
    blocks.weight[b] = all_weight
    blocks.overload[b] = overload
    blocks.destination_count[b] = destination_count
    blocks.room[b] = room
    blocks.above[b] = above
    blocks.count_at_limit[b] = count_at_limit
    blocks.room_at_limit[b] = room_at_limit


@pk.workunit
def add_up_blocks(g: int, plan: Plan, blocks: BlockSums, groups: GroupSums, state: Progress):
    """Sum the chunks of a group, and the open parts and their spare weight before each chunk."""
    if not is_to_rebalance(state):
        return
    per_group: int = blocks_per_group(plan.group_size, blocks.span)
    first: int = g * per_group
    weight: pk.int64 = 0
    overload: pk.int64 = 0
    at_limit: bool = True
    for b in range(first, first + per_group):
        weight += blocks.weight[b]
        overload += blocks.overload[b]
        if blocks.destination_count[b] > 0:
            at_limit = False
    count: pk.int64 = 0
    room: pk.int64 = 0
    above: pk.int64 = 0
    for b in range(first, first + per_group):
        count_here: pk.int64 = blocks.destination_count[b]
        room_here: pk.int64 = blocks.room[b]
        above_here: pk.int64 = blocks.above[b]
        if at_limit:
            count_here = blocks.count_at_limit[b]
            room_here = blocks.room_at_limit[b]
        blocks.destination_count[b] = count
        blocks.room[b] = room
        blocks.above[b] = above
        count += count_here
        room += room_here
        above += above_here
    groups.at_limit[g] = at_limit
    groups.weight[g] = weight
    groups.overload[g] = overload
    groups.destination_count[g] = count
    groups.room[g] = room


@pk.function
def heaviest_to_leave(p: int, group_weight: pk.int64, plan: Plan, partition: Partition) -> pk.int64:
    """Return the largest weight of a vertex that may leave a part.

    It is 3/2 (weight of the part - share / all shares * weight of the group), rounded down, at
    least 1. Each intermediate product fits into 64 bits.
    """
    whole: pk.int64 = group_weight // plan.all_shares
    rest: pk.int64 = group_weight % plan.all_shares
    halves: pk.int64 = partition.part_weights[p] - share_of(p, plan) * whole
    halves *= HALVES_ABOVE_AVERAGE
    heaviest: pk.int64 = halves // 2
    below: pk.int64 = HALVES_ABOVE_AVERAGE * (share_of(p, plan) * rest)
    below -= halves % 2 * plan.all_shares
    if below > 0:
        heaviest -= (below - 1) // (2 * plan.all_shares) + 1
    if heaviest < 1:
        return 1
    return heaviest


@pk.function
def plan_underloaded(p: int, plan: Plan, state: Progress):
    """Write the entries of the plan for a part that may need weight: such parts are open.

    `Row.EXCESS` is the weight that it needs, or minus its spare weight above the lower limit.
    """
    needed: pk.int64 = lower_limit(p, state) - state.part_weights[p]
    plan.numbers[Row.HEAVIEST * state.k + p] = 0
    plan.numbers[Row.EXCESS * state.k + p] = needed
    if needed > 0:
        plan.numbers[Row.HEAVIEST * state.k + p] = state.part_weights[p] - limit_of(p, plan, state)


@pk.function
def plan_part(p: int, plan: Plan, blocks: BlockSums, groups: GroupSums, state: Progress):
    """Write the entries of the plan for a part, and for its position if it is open."""
    first: int = p // plan.group_size * plan.group_size
    at_limit: bool = True
    group_weight: pk.int64 = 0
    overload: pk.int64 = 0
    destination_count: int = 0
    room: pk.int64 = 0
    index: int = first
    room_before: pk.int64 = 0
    above: pk.int64 = 0
    if plan.group_size > blocks.span:
        g: int = p // plan.group_size
        at_limit = groups.at_limit[g] == 1
        group_weight = groups.weight[g]
        overload = groups.overload[g]
        destination_count = groups.destination_count[g]
        room = groups.room[g]
        chunk: int = (p - first) // blocks.span
        b: int = g * blocks_per_group(plan.group_size, blocks.span) + chunk
        index += blocks.destination_count[b]
        room_before = blocks.room[b]
        above = blocks.above[b]
        for q in range(first + chunk * blocks.span, p):
            below: pk.int64 = threshold_of(q, at_limit, plan, state)
            if state.part_weights[q] < below:
                index += 1
                room_before += below - state.part_weights[q]
                above += limit_of(q, plan, state) - below
    else:
        end: int = first + plan.group_size
        for q in range(first, end):
            weight: pk.int64 = state.part_weights[q]
            group_weight += weight
            most: pk.int64 = limit_of(q, plan, state)
            if weight > most:
                overload += weight - most
            if weight < usual_threshold(q, plan, state):
                at_limit = False
        for q in range(first, end):
            bound: pk.int64 = threshold_of(q, at_limit, plan, state)
            room_there: pk.int64 = bound - state.part_weights[q]
            if room_there > 0:
                if q < p:
                    index += 1
                    room_before += room_there
                    above += limit_of(q, plan, state) - bound
                destination_count += 1
                room += room_there
    own: pk.int64 = state.part_weights[p]
    limit: pk.int64 = limit_of(p, plan, state)
    threshold: pk.int64 = threshold_of(p, at_limit, plan, state)
    plan.numbers[Row.HEAVIEST * state.k + p] = 0
    plan.numbers[Row.TIE_LIMIT * state.k + p] = state.control[Control.TIE_LIMIT]
    plan.numbers[Row.OPEN_COUNT * state.k + p] = destination_count
    plan.numbers[Row.EXCESS * state.k + p] = 0
    if own > limit and destination_count > 0:
        plan.numbers[Row.HEAVIEST * state.k + p] = heaviest_to_leave(p, group_weight, plan, state)
        plan.numbers[Row.EXCESS * state.k + p] = own - limit
    if own < threshold:
        above += limit - threshold
        if room >= overload:
            above = 0
        plan.numbers[Row.HEAVIEST * state.k + p] = own - limit
        plan.numbers[Row.OPEN_PART * state.k + index] = p
        plan.numbers[Row.ROOM * state.k + index] = room_before + threshold - own + above


@pk.function
def begin_planned(i: int, best_weights: pk.View1D[pk.int64], state: Progress) -> bool:
    """Begin the chosen task; return whether part i needs a plan.

    Stores the part weights if the partition is the best so far, and clears the counters of the
    last iteration. Each index has one part and one stripe.
    """
    task: pk.int64 = state.control[Control.NEXT_TASK]
    if task == Task.NOTHING:
        return False
    if task == Task.REPEAT:
        if i == 0:
            begin_task(state.control[Control.LAST_TASK], state)
        return False
    if i < state.k and state.control[Control.IS_BEST] == 1:
        best_weights[i] = state.part_weights[i]
    if task == Task.FINISH:
        return False
    if i < COUNTER_STRIPES:
        state.counters[copy_of(Counter.CUT_CHANGE, i)] = 0
        state.counters[copy_of(Counter.MOVED, i)] = 0
    if i == 0:
        state.counters[Counter.REBUILD] = 0
        begin_task(task, state)
        state.control[Control.LAST_TASK] = task
    return i < state.k and task != Task.PROPAGATE


@pk.workunit
def draw_up_plan(
    i: int,
    best_weights: pk.View1D[pk.int64],
    plan: Plan,
    blocks: BlockSums,
    groups: GroupSums,
    state: Progress,
):
    """Begin the chosen task (`begin_planned`); to rebalance, also compute the plan."""
    if begin_planned(i, best_weights, state):
        if state.control[Control.NEXT_TASK] == Task.FILL_UNDERLOADED:
            plan_underloaded(i, plan, state)
        else:
            plan_part(i, plan, blocks, groups, state)
