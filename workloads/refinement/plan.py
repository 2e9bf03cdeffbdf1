"""The plan of an iteration that rebalances: what may leave which part, and for where.

Each group of parts in a row has a plan of its own. A part is open if it weighs less than
max(0.99 limit, limit - 100); if none of the group does, every part of it below its limit is.
"""

from dataclasses import dataclass
from enum import IntEnum

import pykokkos as pk

from jetpy.workloads.common.control_block import Control, Counter, Task
from jetpy.workloads.common.groups import Iteration, Partition, Progress
from jetpy.workloads.refinement.iterations import begin_task

NO_LIMIT = -1
"""`TIE_LIMIT` of a part that vertices may leave however much ties them to it."""
DIFFERENT = -1
"""In place of the limit of all parts, where these have limits of their own."""
HALVES_ABOVE_AVERAGE = 3
"""Maximum weight of a vertex that may leave a part, in halves of the part's excess over average."""


class Row(IntEnum):
    """Rows of the plan: k numbers each, by part or by place.

    The places are those of the open parts: one after the other in a group, from its first part on.
    """

    HEAVIEST = 0
    """By part: weight of the heaviest vertices that may leave it; 0 if it is not overweight or no
    part is open; of an open one, minus what it has room for below its limit."""
    TIE_LIMIT = 1
    """By part: how little must tie a vertex to it that may leave without having an adjacent part
    (`is_tied`); or `NO_LIMIT`."""
    OPEN_COUNT = 2
    """By part: number of open parts in its group."""
    EXCESS = 3
    """By part: weight that it must lose."""
    OPEN_PART = 4
    """By place: the part."""
    ROOM = 5
    """By place: what the open parts of the group up to there have room for: below the threshold if
    that suffices, else below the limit."""


class Plan:
    """The plan; launches have few arguments to spare, hence one view of six rows."""

    numbers: pk.View1D[pk.int64]  # by Row
    group_size: int
    limit: pk.int64  # of all parts, whose shares are 1; or DIFFERENT
    threshold: pk.int64  # weight below which all parts are usually open
    shares: pk.View1D[pk.int64]  # of each part: what it should weigh relative to the others
    all_shares: pk.int64  # of a group
    thresholds: pk.View1D[pk.int64]  # the weight for each part, where limits are different
    strong_threshold: pk.int64  # as threshold, in strong rebalancing
    strong_thresholds: pk.View1D[pk.int64]
    fills_to_average: bool  # whether strong rebalancing fills parts to the average alone


@dataclass(frozen=True, eq=False)
class BlockSums:
    """Sums over blocks of at most `span` parts in a row of a group, where groups are large."""

    weight: pk.View1D[pk.int64]
    overload: pk.View1D[pk.int64]  # weight above limits
    destination_count: pk.View1D[
        pk.int64
    ]  # parts below the usual threshold; later open parts before
    room: pk.View1D[pk.int64]  # below the usual threshold; then that of open parts before
    above: pk.View1D[pk.int64]  # from there to the limits of these; then of open parts before
    count_at_limit: pk.View1D[pk.int64]  # parts below the limit
    room_at_limit: pk.View1D[pk.int64]
    span: int


@dataclass(frozen=True, eq=False)
class GroupSums:
    """Sums over large groups."""

    at_limit: pk.View1D[pk.int64]  # 1 if parts are open up to their limits
    weight: pk.View1D[pk.int64]
    overload: pk.View1D[pk.int64]
    destination_count: pk.View1D[pk.int64]
    room: pk.View1D[pk.int64]


@pk.function
def is_open(p: int, plan: Plan, partition: Partition) -> bool:
    """Whether rebalancing may fill a part, by the plan."""
    return plan.numbers[Row.HEAVIEST * partition.k + p] < 0


@pk.function
def is_to_rebalance(iteration: Iteration) -> bool:
    """Whether the iteration that begins needs a plan."""
    return (
        iteration.control[Control.NEXT_TASK] == Task.REBALANCE_WEAKLY
        or iteration.control[Control.NEXT_TASK] == Task.REBALANCE_STRONGLY
    )


@pk.function
def limit_of(p: int, plan: Plan, partition: Partition) -> pk.int64:
    """Return the limit of a part; without a look at memory where it is that of all."""
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
    """Return what a part should weigh relative to the others of its group."""
    share: pk.int64 = 1
    if plan.limit == DIFFERENT:
        share = plan.shares[p]
    return share


@pk.function
def threshold_of(p: int, at_limit: bool, plan: Plan, state: Progress) -> pk.int64:
    """Return the weight below which a part is open."""
    if at_limit:
        return limit_of(p, plan, state)
    return usual_threshold(p, plan, state)


@pk.function
def blocks_per_group(group_size: int, span: int) -> int:
    """Return the number of blocks that a group is cut into."""
    return (group_size + span - 1) // span


@pk.workunit
def sum_up_block(b: int, plan: Plan, blocks: BlockSums, state: Progress):
    """Sum up what `plan_part` wants to know of a block."""
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
    """Add up the blocks of a group; of each, say how many open parts are before, and their room."""
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
    """Return the weight of the heaviest vertices that may leave a part.

    3/2 (weight of the part - share / all shares * weight of the group), rounded down, in steps
    whose products 64 bits hold.
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
def plan_part(p: int, plan: Plan, blocks: BlockSums, groups: GroupSums, state: Progress):
    """Write the plan's numbers of a part, and those of its place if it is open."""
    first: int = p // plan.group_size * plan.group_size
    at_limit: bool = True
    group_weight: pk.int64 = 0
    overload: pk.int64 = 0
    destination_count: int = 0
    room: pk.int64 = 0
    place: int = first
    room_before: pk.int64 = 0
    above: pk.int64 = 0
    if plan.group_size > blocks.span:
        g: int = p // plan.group_size
        at_limit = groups.at_limit[g] == 1
        group_weight = groups.weight[g]
        overload = groups.overload[g]
        destination_count = groups.destination_count[g]
        room = groups.room[g]
        number: int = (p - first) // blocks.span
        b: int = g * blocks_per_group(plan.group_size, blocks.span) + number
        place += blocks.destination_count[b]
        room_before = blocks.room[b]
        above = blocks.above[b]
        for q in range(first + number * blocks.span, p):
            below: pk.int64 = threshold_of(q, at_limit, plan, state)
            if state.part_weights[q] < below:
                place += 1
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
                    place += 1
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
        plan.numbers[Row.OPEN_PART * state.k + place] = p
        plan.numbers[Row.ROOM * state.k + place] = room_before + threshold - own + above


@pk.workunit
def draw_up_plan(
    i: int,
    best_weights: pk.View1D[pk.int64],
    plan: Plan,
    blocks: BlockSums,
    groups: GroupSums,
    state: Progress,
):
    """Hand out the task of the iteration that begins; to rebalance, draw up the plan.

    Keeps the part weights, if the partition is the best so far, and clears what the iteration
    before has counted: each index has one part and one counter.
    """
    task: pk.int64 = state.control[Control.NEXT_TASK]
    if task == Task.NOTHING:
        return
    if task == Task.REPEAT:
        if i == 0:
            begin_task(state.control[Control.LAST_TASK], state)
        return
    if i < state.k and state.control[Control.IS_BEST] == 1:
        best_weights[i] = state.part_weights[i]
    if task == Task.FINISH:
        return
    if i <= Counter.REBUILD:
        state.counters[i] = 0
    if i == 0:
        begin_task(task, state)
        state.control[Control.LAST_TASK] = task
    if i < state.k and task != Task.PROPAGATE:
        plan_part(i, plan, blocks, groups, state)
