"""Conducting refinement: what the iteration before led to, and what the next one does.

The back end decides, so that a GPU need not wait for its host between iterations. The cut is the
weight of the edges between parts, each times the distance of these, which is 1 unless a graph is
mapped onto a machine. The orders are a list of numbers, by place:

==  =========================================================================================
 0  seed of the iteration
 1  filter ratio c of Jetlp, in percent
 2  number of the Jetlp iteration, for locks
 3  most weight, in 128ths, that ties a vertex to a part that candidates suffice for
 4  whether to keep the parts, as they are the best so far
 5  what the iteration does: 0 nothing, 1 moves (Jetlp), 2 weak rebalancing, 3 strong rebalancing
 6  what the host is asked for: 0 nothing, 1 to end, 2 to rebalance again with more vertices
    watched, 3 room for more watched vertices, 4 to make moves that are too many
 7  whether an iteration was made whose results are not taken yet
 8  what that iteration did, as in place 5
 9  cut
10  best cut
11  most weight above its limit (negative: below) of a part of the best partition
12  iterations since the best one
13  weak rebalancing iterations in a row
14  iterations
15  seed of the run
16  what the iteration is to do, as in place 5; 4: nothing, but keep the best part weights; 5: to
    rebalance by the same plan again
17  patience: iterations without a better partition before the end
18  tolerance: a cut below this, in thousandths, times the best one resets the patience
19  weak rebalancing iterations before strong ones
20  whether, while balanced, an iteration without moves is the last one: each uses up the patience
==  =========================================================================================
"""

import pykokkos as pk


@pk.function
def take_results(
    orders: pk.View1D[pk.int64],
    account: pk.View1D[pk.int64],
    overload: pk.int64,
    k: int,
):
    """Bring the cut up to date, and see whether the partition is the best so far.

    Balanced is better than not; then the smaller cut is, or among unbalanced ones the smaller
    overload.
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
    if overload <= 0:
        if orders[11] > 0:
            better = 1
            clearly = 1
        elif cut < orders[10]:
            better = 1
            now: pk.double = cut
            before: pk.double = orders[10]
            if now * 1000.0 < before * orders[18]:
                clearly = 1
    elif overload < orders[11]:
        better = 1
        clearly = 1
    if clearly == 1:
        orders[12] = 0
    if better == 0:
        return
    orders[4] = 1
    orders[10] = cut
    orders[11] = overload


@pk.workunit
def conduct(
    i: int,
    orders: pk.View1D[pk.int64],
    account: pk.View1D[pk.int64],
    limits: pk.View1D[pk.int64],
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
    orders[16] = 0
    if orders[6] > 0:
        return
    if account[k + 130] == 1:
        if account[k + 129] < n:
            orders[6] = 2
        elif tasks > 1:
            account[k + 130] = 0
            orders[16] = 5
        return
    if account[k + 129] > room:
        orders[6] = 3
        return
    overload: pk.int64 = account[0] - limits[0]
    p: int = 1
    while p < k:
        if account[p] - limits[p] > overload:
            overload = account[p] - limits[p]
        p += 1
    if orders[7] == 1:
        take_results(orders, account, overload, k)
    if orders[12] >= orders[17]:
        orders[6] = 1
        orders[16] = 4
        return
    task: int = 1
    if overload > 0:
        task = 3
        if orders[13] < orders[19]:
            task = 2
    if task == 1 and tasks == 2:
        return
    if task > 1 and tasks == 1:
        return
    orders[16] = task
    orders[7] = 1
    orders[12] += 1
    orders[14] += 1
    orders[0] = (orders[15] + orders[14]) & 2147483647
    if task == 1:
        orders[2] += 1
        orders[13] = 0
        if orders[20] == 1:
            orders[12] = orders[17]
    elif task == 2:
        orders[13] += 1


@pk.function
def usual_threshold(limit: pk.int64) -> pk.int64:
    """Return the weight below which parts are open: max(0.99 limit, limit - 100)."""
    threshold: pk.int64 = limit * 99
    threshold //= 100
    if threshold < limit - 100:
        threshold = limit - 100
    return threshold


@pk.workunit
def sum_up_block(
    b: int,
    orders: pk.View1D[pk.int64],
    account: pk.View1D[pk.int64],
    limits: pk.View1D[pk.int64],
    blocks: pk.View1D[pk.int64],
    siblings: int,
    span: int,
):
    """Sum up what `draw_up_plan` wants to know of `span` parts in a row of a group.

    Seven numbers a block: weight of the lightest part, weight of all, weight above limits; number
    of open parts and their room, by the usual threshold and by the limit.
    """
    if orders[16] < 2 or orders[16] > 3:
        return
    per_group: int = (siblings + span - 1) // span
    first: int = b // per_group * siblings
    q: int = first + b % per_group * span
    end: int = q + span
    if end > first + siblings:
        end = first + siblings
    limit: pk.int64 = limits[first]
    threshold: pk.int64 = usual_threshold(limit)
    lightest: pk.int64 = account[q]
    all_weight: pk.int64 = 0
    total: pk.int64 = 0
    count: int = 0
    spare: pk.int64 = 0
    count_at_limit: int = 0
    spare_at_limit: pk.int64 = 0
    while q < end:
        weight: pk.int64 = account[q]
        all_weight += weight
        if weight < lightest:
            lightest = weight
        if weight > limit:
            total += weight - limit
        if weight < threshold:
            count += 1
            spare += threshold - weight
        if weight < limit:
            count_at_limit += 1
            spare_at_limit += limit - weight
        q += 1
    place: int = b * 7
    blocks[place] = lightest
    blocks[place + 1] = all_weight
    blocks[place + 2] = total
    blocks[place + 3] = count
    blocks[place + 4] = spare
    blocks[place + 5] = count_at_limit
    blocks[place + 6] = spare_at_limit


@pk.workunit
def add_up_blocks(
    group: int,
    orders: pk.View1D[pk.int64],
    limits: pk.View1D[pk.int64],
    blocks: pk.View1D[pk.int64],
    siblings: int,
    span: int,
    places: int,
):
    """Add up the blocks of a group.

    Afterwards numbers 3 and 4 of a block are those of the blocks before it; and the numbers of all
    its blocks stand at 7 `places` + 5 group: threshold, weight of all, weight above limits, number
    of open parts and their room.
    """
    if orders[16] < 2 or orders[16] > 3:
        return
    per_group: int = (siblings + span - 1) // span
    first: int = group * per_group * 7
    end: int = first + per_group * 7
    limit: pk.int64 = limits[group * siblings]
    threshold: pk.int64 = usual_threshold(limit)
    lightest: pk.int64 = blocks[first]
    all_weight: pk.int64 = 0
    total: pk.int64 = 0
    block: int = first
    while block < end:
        if blocks[block] < lightest:
            lightest = blocks[block]
        all_weight += blocks[block + 1]
        total += blocks[block + 2]
        block += 7
    which: int = 3
    if lightest >= threshold:
        threshold = limit
        which = 5
    count: pk.int64 = 0
    spare: pk.int64 = 0
    block = first
    while block < end:
        own_count: pk.int64 = blocks[block + which]
        own_spare: pk.int64 = blocks[block + which + 1]
        blocks[block + 3] = count
        blocks[block + 4] = spare
        count += own_count
        spare += own_spare
        block += 7
    sums: int = places * 7 + group * 5
    blocks[sums] = threshold
    blocks[sums + 1] = all_weight
    blocks[sums + 2] = total
    blocks[sums + 3] = count
    blocks[sums + 4] = spare


@pk.workunit
def draw_up_plan(
    p: int,
    orders: pk.View1D[pk.int64],
    account: pk.View1D[pk.int64],
    limits: pk.View1D[pk.int64],
    best_weights: pk.View1D[pk.int64],
    plan: pk.View1D[pk.int64],
    blocks: pk.View1D[pk.int64],
    siblings: int,
    span: int,
    places: int,
    k: int,
):
    """Give orders for what is due; to rebalance, say what may leave which part, and for where.

    Each group of `siblings` parts in a row, which have the same limit, has a plan of its own. A
    part is open if it weighs less than max(0.99 limit, limit - 100); if none of the group does,
    every part of it below the limit is. The plan consists of six rows of k numbers:

    =  ====================================================================================
    0  weight of the heaviest vertices that may leave a part, 1.5 times what it weighs above
       the group's average; 0 if it is not overweight or no part is open; -1 if it is open
    1  how little must tie a vertex to a part that may leave it without having an adjacent
       one (`is_tied`)
    2  open parts of each group, from the place of its first part on
    3  number of open parts in a part's group
    4  weight that a part must lose
    5  sums, in the order of row 2, of what open parts have room for: below the threshold if
       that suffices, else below the limit
    =  ====================================================================================

    What the iteration before has counted is cleared; each index has one number of that, and one
    part. Groups of more than `span` parts are summed up by `add_up_blocks`.
    """
    due: pk.int64 = orders[16]
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
    if p == 0:
        orders[5] = due
        orders[8] = due
    if due == 1 or p >= k:
        return
    limit: pk.int64 = limits[p]
    first: int = p // siblings * siblings
    end: int = first + siblings
    threshold: pk.int64 = usual_threshold(limit)
    all_weight: pk.int64 = 0
    total: pk.int64 = 0
    count: int = 0
    place: int = first
    spare: pk.int64 = 0
    spare_before: pk.int64 = 0
    q: int = first
    if siblings > span:
        group: int = p // siblings
        sums: int = places * 7 + group * 5
        threshold = blocks[sums]
        all_weight = blocks[sums + 1]
        total = blocks[sums + 2]
        count = blocks[sums + 3]
        spare = blocks[sums + 4]
        number: int = (p - first) // span
        block: int = (group * ((siblings + span - 1) // span) + number) * 7
        place += blocks[block + 3]
        spare_before = blocks[block + 4]
        q = first + number * span
        while q < p:
            if account[q] < threshold:
                place += 1
                spare_before += threshold - account[q]
            q += 1
    else:
        lightest: pk.int64 = account[first]
        while q < end:
            weight: pk.int64 = account[q]
            all_weight += weight
            if weight < lightest:
                lightest = weight
            if weight > limit:
                total += weight - limit
            q += 1
        if lightest >= threshold:
            threshold = limit
        q = first
        while q < end:
            room: pk.int64 = threshold - account[q]
            if room > 0:
                if q < p:
                    place += 1
                    spare_before += room
                count += 1
                spare += room
            q += 1
    plan[3 * k + p] = count
    more: pk.int64 = 0
    if spare < total:
        more = limit - threshold
    own: pk.int64 = account[p]
    plan[4 * k + p] = 0
    plan[p] = 0
    plan[k + p] = orders[3]
    if own > limit and count > 0:
        wide: pk.int64 = siblings
        over: pk.int64 = 3 * (wide * own - all_weight)
        over //= 2 * wide
        if over < 1:
            over = 1
        plan[4 * k + p] = own - limit
        plan[p] = over
    if own < threshold:
        plan[p] = -1
        plan[2 * k + place] = p
        wide_place: pk.int64 = place - first + 1
        plan[5 * k + place] = spare_before + threshold - own + more * wide_place
