"""Conducting refinement: what the iteration before led to, and what the next one does.

The back end decides, so that a GPU need not wait for its host between iterations. The orders are
a list of numbers, by place:

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
22  what the iteration is to do, as in place 5; 4: nothing, but keep the best part weights; 5: to
    rebalance by the same plan again
==  =========================================================================================
"""

import pykokkos as pk


@pk.function
def take_results(
    orders: pk.View1D[pk.int64],
    account: pk.View1D[pk.int64],
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
    cut: pk.int64 = changes >> 1
    if account[k + 128] == 0:
        cut += orders[9]
    orders[9] = cut
    better: int = 0
    clearly: int = 0
    if heaviest <= orders[16]:
        if orders[11] > orders[16]:
            better = 1
            clearly = 1
        elif cut < orders[10]:
            better = 1
            if cut * 1000 < orders[10] * orders[18]:
                clearly = 1
    elif heaviest < orders[11]:
        better = 1
        clearly = 1
    if clearly == 1:
        orders[12] = 0
    if better == 0:
        return
    orders[4] = 1
    orders[10] = cut
    orders[11] = heaviest


@pk.workunit
def conduct(
    i: int,
    orders: pk.View1D[pk.int64],
    account: pk.View1D[pk.int64],
    room: int,
    tasks: int,
    n: int,
    k: int,
):
    """Take the results of one iteration, and say what is due (Jet, Algorithm 4.1).

    `room` is the number of watched vertices that launches reach, `tasks` whether they can
    propagate labels (1), rebalance (2) or do either (3); nothing is due if they cannot do what
    should be next, or while the host is asked for something. Where candidates did not suffice
    but all n vertices are watched, the host has nothing to add.
    """
    orders[5] = 0
    orders[22] = 0
    if orders[6] > 0:
        return
    if account[k + 130] == 1:
        if account[k + 129] < n:
            orders[6] = 2
        elif tasks > 1:
            account[k + 130] = 0
            orders[22] = 5
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
        take_results(orders, account, heaviest, k)
    if orders[12] >= orders[17]:
        orders[6] = 1
        orders[22] = 4
        return
    task: int = 1
    if heaviest > orders[16]:
        task = 3
        if orders[13] < orders[19]:
            task = 2
    if task == 1 and tasks == 2:
        return
    if task > 1 and tasks == 1:
        return
    orders[22] = task
    orders[7] = 1
    orders[12] += 1
    orders[14] += 1
    orders[0] = (orders[15] + orders[14]) & 2147483647
    if task == 1:
        orders[2] += 1
        orders[13] = 0
    elif task == 2:
        orders[13] += 1


@pk.workunit
def draw_up_plan(
    p: int,
    orders: pk.View1D[pk.int64],
    account: pk.View1D[pk.int64],
    best_weights: pk.View1D[pk.int64],
    leave_limit: pk.View1D[pk.int64],
    tie_limit: pk.View1D[pk.int64],
    excess: pk.View1D[pk.int64],
    open_parts: pk.View1D[pk.int64],
    capacity_ends: pk.View1D[pk.int64],
    k: int,
):
    """Give orders for what is due; to rebalance, say what may leave which part, and for where.

    A part is open if it weighs less than max(0.99 limit, limit - 100); if none does, every part
    below the limit is. `leave_limit` is -1 where a part is open, 0 where it is not overweight, and
    else the weight of the heaviest vertices that may leave: 1.5 times what the part weighs above
    the average. `capacity_ends` sums up what open parts have room for, below the threshold if
    that suffices, else below the limit. Nothing is ordered if no part is open. What the iteration
    before has counted is cleared; each index has one number of that, and one part.
    """
    due: pk.int64 = orders[22]
    if due == 0:
        return
    if due == 5:
        if p == 0:
            orders[5] = orders[8]
        return
    if p < k and orders[4] == 1:
        best_weights[p] = account[p]
    if due == 4:
        return
    if p < 129:
        account[k + p] = 0
    if due == 1:
        if p == 0:
            orders[5] = 1
            orders[8] = 1
        return
    if p >= k:
        return
    limit: pk.int64 = orders[16]
    threshold: pk.int64 = limit * 99
    threshold //= 100
    if threshold < limit - 100:
        threshold = limit - 100
    lightest: pk.int64 = account[0]
    total: pk.int64 = 0
    q: int = 0
    while q < k:
        weight: pk.int64 = account[q]
        if weight < lightest:
            lightest = weight
        if weight > limit:
            total += weight - limit
        q += 1
    if lightest >= threshold:
        threshold = limit
    count: int = 0
    place: int = 0
    spare: pk.int64 = 0
    spare_before: pk.int64 = 0
    q = 0
    while q < k:
        room: pk.int64 = threshold - account[q]
        if room > 0:
            if q < p:
                place += 1
                spare_before += room
            count += 1
            spare += room
        q += 1
    if p == 0:
        task: pk.int64 = 0
        if count > 0 and total > 0:
            task = due
        orders[3] = count
        orders[5] = task
        orders[8] = task
    more: pk.int64 = 0
    if spare < total:
        more = limit - threshold
    own: pk.int64 = account[p]
    excess[p] = 0
    leave_limit[p] = 0
    tie_limit[p] = orders[21]
    if own > limit:
        wide_k: pk.int64 = k
        over: pk.int64 = 3 * (wide_k * own - orders[20])
        over //= 2 * wide_k
        if over < 1:
            over = 1
        excess[p] = own - limit
        leave_limit[p] = over
    if own < threshold:
        leave_limit[p] = -1
        open_parts[place] = p
        wide_place: pk.int64 = place + 1
        capacity_ends[place] = spare_before + threshold - own + more * wide_place
