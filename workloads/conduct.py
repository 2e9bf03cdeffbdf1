"""Conducting refinement: what the iteration before led to, and what the next one does.

One index decides for all, so that a GPU need not wait for its host between iterations. The
orders are a list of numbers, by place:

==  =========================================================================================
 0  seed of the iteration
 1  filter ratio c of Jetlp, in percent
 2  number of the Jetlp iteration, for locks
 3  number of open parts
 4  whether to keep the parts, as they are the best so far
 5  what the iteration does: 0 nothing, 1 Jetlp, 2 weak rebalancing, 3 strong rebalancing
 6  what the host is asked for: 0 nothing, 1 to end, 2 to rebalance again with more vertices
    watched, 3 room for more watched vertices
 7  whether an iteration was made whose results are not taken yet
 8  what that iteration did, as in place 5
 9  cut
10  best cut
11  weight of the heaviest part of the best partition
12  iterations since the best one
13  weak rebalancing iterations in a row
14  iterations
15  seed of the run
16  largest part weight allowed
17  patience: iterations without a better partition before the end
18  tolerance: a cut below this, in thousandths, times the best one resets the patience
19  weak rebalancing iterations before strong ones
20  weight of all vertices
21  `tie_limit` of a part that candidates suffice for
==  =========================================================================================
"""

import pykokkos as pk


@pk.function
def take_results(
    orders: pk.View1D[pk.int64],
    account: pk.View1D[pk.int64],
    best_weights: pk.View1D[pk.int64],
    heaviest: pk.int64,
    k: int,
):
    """Bring the cut up to date, and see whether the partition is the best so far.

    Balanced is better than not; then the smaller cut is, or among unbalanced ones the lighter
    heaviest part.
    """
    orders[7] = 0
    if orders[8] > 0:
        orders[4] = 0
    changes: pk.int64 = 0
    moved: pk.int64 = 0
    counter: int = 0
    while counter < 64:
        changes += account[k + counter]
        moved += account[k + 64 + counter]
        counter += 1
    if moved == 0:
        return
    orders[9] += changes >> 1
    better: int = 0
    clearly: int = 0
    if heaviest <= orders[16]:
        if orders[11] > orders[16]:
            better = 1
            clearly = 1
        elif orders[9] < orders[10]:
            better = 1
            if orders[9] * 1000 < orders[10] * orders[18]:
                clearly = 1
    elif heaviest < orders[11]:
        better = 1
        clearly = 1
    if clearly == 1:
        orders[12] = 0
    if better == 0:
        return
    orders[4] = 1
    orders[10] = orders[9]
    orders[11] = heaviest
    p: int = 0
    while p < k:
        best_weights[p] = account[p]
        p += 1


@pk.function
def open_below(
    threshold: pk.int64,
    account: pk.View1D[pk.int64],
    is_open: pk.View1D[pk.int64],
    open_parts: pk.View1D[pk.int64],
    k: int,
) -> int:
    """Open the parts that weigh less than a threshold, and return how many."""
    count: int = 0
    p: int = 0
    while p < k:
        is_open[p] = 0
        if account[p] < threshold:
            is_open[p] = 1
            open_parts[count] = p
            count += 1
        p += 1
    return count


@pk.function
def draw_up_plan(
    orders: pk.View1D[pk.int64],
    account: pk.View1D[pk.int64],
    leave_limit: pk.View1D[pk.int64],
    tie_limit: pk.View1D[pk.int64],
    excess: pk.View1D[pk.int64],
    is_open: pk.View1D[pk.int64],
    open_parts: pk.View1D[pk.int64],
    capacity_ends: pk.View1D[pk.int64],
    k: int,
) -> bool:
    """Say what may leave which part, and for where; return whether anything may.

    A part is open if it weighs less than max(0.99 limit, limit - 100); if none does, every part
    below the limit is. A vertex that weighs more than 1.5 times what its part weighs above the
    average stays (`leave_limit`). `capacity_ends` sums up what open parts have room for, below
    the threshold if that suffices, else below the limit.
    """
    limit: pk.int64 = orders[16]
    wide_k: pk.int64 = k
    total: pk.int64 = 0
    p: int = 0
    while p < k:
        excess[p] = 0
        leave_limit[p] = 0
        tie_limit[p] = orders[21]
        if account[p] > limit:
            excess[p] = account[p] - limit
            total += excess[p]
            over: pk.int64 = 3 * (wide_k * account[p] - orders[20])
            over //= 2 * wide_k
            leave_limit[p] = over
        p += 1
    threshold: pk.int64 = limit * 99
    threshold //= 100
    if threshold < limit - 100:
        threshold = limit - 100
    count: int = open_below(threshold, account, is_open, open_parts, k)
    if count == 0:
        threshold = limit
        count = open_below(threshold, account, is_open, open_parts, k)
    orders[3] = count
    if count == 0 or total == 0:
        return False
    spare: pk.int64 = 0
    place: int = 0
    while place < count:
        spare += threshold - account[open_parts[place]]
        place += 1
    more: pk.int64 = 0
    if spare < total:
        more = limit - threshold
    spare = 0
    place = 0
    while place < count:
        spare += threshold + more - account[open_parts[place]]
        capacity_ends[place] = spare
        place += 1
    return True


@pk.workunit
def conduct(
    i: int,
    orders: pk.View1D[pk.int64],
    account: pk.View1D[pk.int64],
    best_weights: pk.View1D[pk.int64],
    leave_limit: pk.View1D[pk.int64],
    tie_limit: pk.View1D[pk.int64],
    excess: pk.View1D[pk.int64],
    is_open: pk.View1D[pk.int64],
    open_parts: pk.View1D[pk.int64],
    capacity_ends: pk.View1D[pk.int64],
    room: int,
    k: int,
):
    """Take the results of one iteration, and give orders for the next (Jet, Algorithm 4.1).

    `room` is the number of watched vertices that launches reach. While the host is asked for
    something, nothing happens.
    """
    orders[5] = 0
    if orders[6] > 0:
        return
    if account[k + 130] == 1:
        orders[6] = 2
        return
    if account[k + 129] > room:
        orders[6] = 3
        return
    heaviest: pk.int64 = 0
    p: int = 0
    while p < k:
        if account[p] > heaviest:
            heaviest = account[p]
        p += 1
    if orders[7] == 1:
        take_results(orders, account, best_weights, heaviest, k)
    if orders[12] >= orders[17]:
        orders[6] = 1
        return
    counter: int = k
    while counter < k + 128:
        account[counter] = 0
        counter += 1
    orders[7] = 1
    orders[8] = 0
    orders[12] += 1
    orders[14] += 1
    orders[0] = (orders[15] + orders[14]) & 2147483647
    if heaviest <= orders[16]:
        orders[2] += 1
        orders[13] = 0
        orders[5] = 1
        orders[8] = 1
        return
    task: int = 3
    if orders[13] < orders[19]:
        orders[13] += 1
        task = 2
    if draw_up_plan(
        orders,
        account,
        leave_limit,
        tie_limit,
        excess,
        is_open,
        open_parts,
        capacity_ends,
        k,
    ):
        orders[5] = task
        orders[8] = task
