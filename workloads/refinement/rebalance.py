"""Rebalancing: evict vertices from overweight parts at little loss (Jet, 4.2, Algorithm 4.3).

Losses are sorted into buckets (`losses`). The plan decides which vertices may leave which part, and
the valid destinations (`plan`). The control block holds the task, weak or strong.
"""

from dataclasses import dataclass

import pykokkos as pk

from jetpy.workloads.common.control_block import BLOCK_BITS, Control, Counter, Task
from jetpy.workloads.common.ghosts import owned_global_id
from jetpy.workloads.common.groups import (
    INACTIVE,
    NO_PART,
    NO_VERTEX,
    Connectivity,
    Graph,
    Iteration,
    Partition,
    Progress,
    Refinement,
    Weight,
)
from jetpy.workloads.common.hashing import index_of_hash, mix
from jetpy.workloads.common.striped_counters import tally_stripe
from jetpy.workloads.refinement.active import activate, is_tied
from jetpy.workloads.refinement.connectivity import (
    capacity,
    ends_row,
    first_of_row,
    prefetch_slots,
    search_width,
)
from jetpy.workloads.refinement.iterations import fills_underloaded, rebalances
from jetpy.workloads.refinement.losses import BUCKETS, NO_BUCKET, loss_bucket, tally_index
from jetpy.workloads.refinement.moves import begin_vertex, move
from jetpy.workloads.refinement.plan import NO_LIMIT, Plan, Row, is_open
from jetpy.workloads.refinement.targets import (
    NOT_ADJACENT,
    Wanted,
    best_slot,
    connection_to,
    prefetch_active,
    rebalances_by_cut,
)

DEALT_LATER = 0
"""Provisional destination of a vertex that strong rebalancing evicts."""
LOOKS = 64
"""Maximum number of open parts among which a heavy vertex looks for room."""
REGION_BITS = BLOCK_BITS + 6
"""A region is 2^15 consecutive vertices."""
REGION_BLOCKS = 1 << REGION_BITS - BLOCK_BITS
REGION_SUMS = 1 + REGION_BLOCKS


@dataclass(frozen=True, eq=False)
class Eviction:
    """The choice of evicted vertices: the first candidates of each part by bucket and global id."""

    buckets: pk.View1D[pk.int32]  # of each vertex of an overweight part: loss bucket; NO_BUCKET
    histogram: pk.View1D[Weight]  # weight of the candidates, by stripe, part and bucket
    stripes: int
    last_buckets: pk.View1D[pk.int32]  # by part: last bucket that it evicts from; NO_BUCKET
    needed: pk.View1D[pk.int64]  # by part: weight still needed of the last bucket
    last_vertices: pk.View1D[pk.int64]  # by part: leading bits of the id of the last vertex
    upper_digits: pk.View1D[Weight]  # weight in the last bucket, by part and upper half digit
    lower_digits: pk.View1D[Weight]  # by part, upper and lower half digit
    half_bits: int  # bits of half a digit of an id


@dataclass(frozen=True, eq=False)
class EvictedSums:
    """Weights of the evicted vertices of each group of parts, by region and block of vertices."""

    sums: pk.View1D[Weight]  # by group and region: sum of the region, then sums of its blocks
    regions: int
    here: pk.View1D[pk.int64]  # by group: total in this piece of the graph
    elsewhere: pk.View1D[pk.int64]  # by group: total in the preceding pieces


@pk.function
def region_of(v: int, group: int, evicted: EvictedSums) -> pk.int64:
    """Return the index of a group's sum over the region of a vertex."""
    index: pk.int64 = group
    return (index * evicted.regions + (v >> REGION_BITS)) * REGION_SUMS


@pk.function
def block_of(v: int, group: int, evicted: EvictedSums) -> pk.int64:
    """Return the index of a group's sum over the block of a vertex."""
    return region_of(v, group, evicted) + 1 + ((v >> BLOCK_BITS) & REGION_BLOCKS - 1)


@pk.function
def candidate_for(q: int) -> int:
    """Return the destination of a candidate for part q before it is evicted: below `NO_PART`."""
    return NO_PART - 1 - q


@pk.function
def part_of_candidate(destination: int) -> int:
    """Return the part that a candidate is for."""
    return NO_PART - 1 - destination


@pk.function
def is_marked(v: int, state: Progress) -> bool:
    """Whether a vertex is evicted: its destination is a part."""
    return state.destinations[v] >= 0


@pk.function
def is_candidate(v: int, eviction: Eviction) -> bool:
    """Whether a vertex of an overweight part may leave it."""
    return eviction.buckets[v] != NO_BUCKET


@pk.function
def part_served(v: int, state: Progress) -> int:
    """Return the part whose need a candidate serves: the underloaded part that it is for, or the
    overweight part that it may leave.
    """
    if not fills_underloaded(state):
        return state.previous[v]
    if state.destinations[v] < NO_PART:
        return part_of_candidate(state.destinations[v])
    return state.destinations[v]


@pk.function
def mean_connection(
    v: int, graph: Graph, table: Connectivity, plan: Plan, state: Refinement
) -> int:
    """Return the mean connection to adjacent open parts, 0 if no adjacent part is open.

    Returns `NOT_ADJACENT` if there is no adjacent part. Stores `internal`.
    """
    size: int = capacity(graph.indptr[v + 1] - graph.indptr[v], table.k)
    row: int = first_of_row(v, table)
    tail: int = row + search_width(v, size, table)
    internal: int = 0
    external: pk.int64 = 0
    destination_count: int = 0
    is_adjacent: bool = False
    for s in range(row, row + size):
        q: int = table.parts[s]
        if ends_row(s, tail, table):
            break
        if q == state.parts[v]:
            internal = table.weights[s]
        elif q >= 0 and table.weights[s] > 0:
            is_adjacent = True
            if is_open(q, plan, state):
                external += table.weights[s]
                destination_count += 1
    state.internal[v] = internal
    if not is_adjacent:
        return NOT_ADJACENT
    if destination_count > 0:
        external //= destination_count
    return external


@pk.function
def tally(i: int, v: int, p: int, bucket: int, graph: Graph, eviction: Eviction, state: Progress):
    """Add the weight of a candidate, which index i processes, to its part and bucket."""
    stripe: int = tally_stripe(i, state.control[Control.REBALANCING], eviction.stripes)
    index: int = tally_index(stripe, p, bucket, state.k)
    pk.atomic_fetch_add(eviction.histogram, [index], graph.vertex_weights[v])


@pk.function
def lose_to(
    v: int, q: int, weight: int, graph: Graph, table: Connectivity, state: Refinement
) -> pk.int64:
    """Make a vertex a candidate for part q, to which it has this edge weight; return its loss."""
    state.destinations[v] = candidate_for(q)
    if rebalances_by_cut(state):
        return state.internal[v] - weight
    size: int = capacity(graph.indptr[v + 1] - graph.indptr[v], table.k)
    loss: pk.int64 = connection_to(v, state.parts[v], state.internal[v], size, table, state)
    return loss - connection_to(v, q, weight, size, table, state)


@pk.function
def roomy_place(place: int, first: int, weight: int, plan: Plan, partition: Partition) -> int:
    """Return the place of an open part with spare weight for a vertex, from `place` on.

    After the last open part of the group, whose first place is `first`, comes the first one. If no
    part of the next `LOOKS` has enough, it is `place` itself. A vertex of weight 1 fits everywhere.
    """
    count: int = plan.numbers[Row.OPEN_COUNT * partition.k + first]
    looks: int = LOOKS
    if count < looks:
        looks = count
    found: int = place
    for _ in range(looks):
        q: int = plan.numbers[Row.OPEN_PART * partition.k + found]
        if -plan.numbers[Row.HEAVIEST * partition.k + q] >= weight:
            return found
        found += 1
        if found == first + count:
            found = first
    return place


@pk.function
def lose_weakly(
    v: int, found: int, graph: Graph, table: Connectivity, plan: Plan, state: Refinement
) -> pk.int64:
    """Make a vertex a candidate for the part of its best slot, and return its loss (equation 4.9).

    Without such a slot, a hash chooses an open part of its group, with room if possible.
    """
    p: int = state.parts[v]
    q: int = 0
    weight: int = 0
    if found >= 0:
        q = table.parts[found]
        weight = table.weights[found]
    else:
        seed: int = state.control[Control.ITERATION_SEED]
        first: int = p // plan.group_size * plan.group_size
        count: int = plan.numbers[Row.OPEN_COUNT * state.k + p]
        place: int = first + index_of_hash(mix(owned_global_id(v, graph) ^ seed), count)
        if state.control[Control.CHECKS_ROOM] == 1:
            place = roomy_place(place, first, graph.vertex_weights[v], plan, state)
        q = plan.numbers[Row.OPEN_PART * state.k + place]
    return lose_to(v, q, weight, graph, table, state)


@pk.workunit
def rate_losses(
    i: int,
    graph: Graph,
    table: Connectivity,
    plan: Plan,
    eviction: Eviction,
    evicted: EvictedSums,
    state: Refinement,
):
    """Sort the candidates into loss buckets, and choose a destination for each.

    A vertex of an overweight part is a candidate if it weighs anything, is not too heavy for the
    plan, and has an adjacent part or little internal weight. Weak: the destination is the adjacent
    open part where its edges cost least, otherwise an open part of its group by hash. Strong:
    `deal_evicted` chooses the destination. The loss is then in edge weight, whatever the metric
    (equation 4.10).
    Resets the destinations and sums of the last iteration.
    """
    if not rebalances(state) or fills_underloaded(state):
        return
    v: int = state.active[i]
    if v < 0:
        return
    u: int = prefetch_active(i, state.control[Control.REBALANCING], table, state)
    if u != NO_VERTEX and plan.numbers[Row.HEAVIEST * state.k + state.parts[u]] > 0:
        prefetch_slots(u, table)
    begin_vertex(v, state)
    state.destinations[v] = NO_PART
    p: int = state.parts[v]
    strong: bool = state.control[Control.TASK] == Task.REBALANCE_STRONGLY
    if strong:
        group: int = p // plan.group_size
        evicted.sums[region_of(v, group, evicted)] = 0
        evicted.sums[block_of(v, group, evicted)] = 0
    heaviest: pk.int64 = plan.numbers[Row.HEAVIEST * state.k + p]
    if heaviest <= 0:
        return
    eviction.buckets[v] = NO_BUCKET
    if graph.vertex_weights[v] == 0 or graph.vertex_weights[v] > heaviest:
        return
    found: int = NOT_ADJACENT
    if state.targets[v] != NO_PART:
        if strong:
            found = mean_connection(v, graph, table, plan, state)
        else:
            wanted: int = Wanted.OPEN
            if state.control[Control.CHECKS_ROOM] == 0:
                wanted = Wanted.VALID
            found = best_slot(v, wanted, graph, table, state, plan.numbers, plan.numbers)
    if found == NOT_ADJACENT:
        state.targets[v] = NO_PART
        limit: pk.int64 = plan.numbers[Row.TIE_LIMIT * state.k + p]
        if is_tied(state.internal[v], graph.vertex_weights[v], limit):
            return
    loss: pk.int64 = 0
    if strong:
        state.destinations[v] = candidate_for(DEALT_LATER)
        loss = state.internal[v]
        if found > 0:
            loss -= found
    else:
        loss = lose_weakly(v, found, graph, table, plan, state)
    bucket: int = loss_bucket(loss, graph.vertex_weights[v], state.scale)
    eviction.buckets[v] = bucket
    tally(i, v, p, bucket, graph, eviction, state)


@pk.function
def filled_lock(iteration: Iteration) -> int:
    """Return the lock of a vertex that has filled a part since the last propagation."""
    lock: int = iteration.control[Control.LOCK]
    return -1 - lock


@pk.function
def may_fill(v: int, q: int, graph: Graph, plan: Plan, state: Refinement) -> bool:
    """Whether a vertex may leave its part for underloaded part q.

    Its own part may fall below its lower limit, but then lacks at most half as much as q did, so
    that the lack moves on to parts with spare weight. A vertex moves once between propagations.
    """
    lacks: pk.int64 = plan.numbers[Row.EXCESS * state.k + state.parts[v]] + graph.vertex_weights[v]
    needed: pk.int64 = plan.numbers[Row.EXCESS * state.k + q]
    return lacks <= needed // 2 and state.locks[v] != filled_lock(state)


@pk.workunit
def rate_fillers(
    i: int, graph: Graph, table: Connectivity, plan: Plan, eviction: Eviction, state: Refinement
):
    """Sort the candidates for underloaded parts into loss buckets, and choose their destinations.

    A vertex is a candidate if it is adjacent to an underloaded part that has room for it, and is in
    no such part itself. Its destination is the one where its edges cost least. Resets the
    destinations of the last iteration.
    """
    if not fills_underloaded(state):
        return
    v: int = state.active[i]
    if v < 0:
        return
    begin_vertex(v, state)
    state.destinations[v] = NO_PART
    eviction.buckets[v] = NO_BUCKET
    if graph.vertex_weights[v] == 0 or is_open(state.parts[v], plan, state):
        return
    found: int = NOT_ADJACENT
    if state.targets[v] != NO_PART:
        found = best_slot(v, Wanted.OPEN, graph, table, state, plan.numbers, plan.numbers)
    if found < 0:
        return
    q: int = table.parts[found]
    if not may_fill(v, q, graph, plan, state):
        return
    loss: pk.int64 = lose_to(v, q, table.weights[found], graph, table, state)
    bucket: int = loss_bucket(loss, graph.vertex_weights[v], state.scale)
    eviction.buckets[v] = bucket
    tally(i, v, q, bucket, graph, eviction, state)


@pk.workunit
def activate_interior(v: int, graph: Graph, plan: Plan, state: Refinement):
    """Activate all vertices that may leave a part whose tie limit has been removed."""
    if state.targets[v] == INACTIVE:
        p: int = state.parts[v]
        if (
            plan.numbers[Row.TIE_LIMIT * state.k + p] == NO_LIMIT
            and graph.vertex_weights[v] <= plan.numbers[Row.HEAVIEST * state.k + p]
        ):
            activate(v, state)


@pk.workunit
def find_last_bucket(p: int, plan: Plan, eviction: Eviction, state: Progress):
    """Find the last bucket that a part must evict from, and the weight needed from it.

    Resets the histogram to 0. If all candidates weigh too little, removes the tie limit of the
    part and sets `Counter.TOO_FEW`.
    """
    if not rebalances(state):
        return
    eviction.last_buckets[p] = NO_BUCKET
    needed: pk.int64 = plan.numbers[Row.EXCESS * state.k + p]
    if needed <= 0:
        return
    last: int = NO_BUCKET
    needed_of_last: pk.int64 = 0
    for bucket in range(BUCKETS):
        if needed > 0:
            last = bucket
            needed_of_last = needed
        for stripe in range(eviction.stripes):
            needed -= eviction.histogram[tally_index(stripe, p, bucket, state.k)]
    eviction.last_buckets[p] = last
    eviction.needed[p] = needed_of_last
    eviction.last_vertices[p] = 0
    for stripe in range(eviction.stripes):
        for bucket in range(BUCKETS):
            eviction.histogram[tally_index(stripe, p, bucket, state.k)] = 0
    if (
        needed > 0
        and not fills_underloaded(state)
        and plan.numbers[Row.TIE_LIMIT * state.k + p] != NO_LIMIT
    ):
        plan.numbers[Row.TIE_LIMIT * state.k + p] = NO_LIMIT
        state.counters[Counter.TOO_FEW] = 1


@pk.workunit
def list_candidates(
    i: int,
    acc: pk.Acc[pk.int64],
    last_pass: bool,
    vertices: pk.View1D[pk.int32],
    eviction: Eviction,
    state: Refinement,
):
    """List the candidates up to the last bucket of their part."""
    v: int = state.active[i]
    if v >= 0:
        if is_candidate(v, eviction):
            if eviction.buckets[v] <= eviction.last_buckets[part_served(v, state)]:
                if last_pass:
                    vertices[acc] = v
                acc += 1


@pk.workunit
def tally_digits(
    i: int,
    vertices: pk.View1D[pk.int32],
    shift: int,
    graph: Graph,
    eviction: Eviction,
    state: Progress,
):
    """Sum the weights of candidates in the last bucket by the next digit of their global id.

    A digit has 2 * `half_bits` bits, `shift` above the lowest. Only candidates whose higher bits
    equal the leading bits of the last vertex count.
    """
    if not rebalances(state):
        return
    v: int = vertices[i]
    if v < 0:
        return
    if not is_candidate(v, eviction):
        return
    p: int = part_served(v, state)
    v_id: pk.int64 = owned_global_id(v, graph)
    v_id = v_id >> shift
    if eviction.buckets[v] == eviction.last_buckets[p] and (
        (v_id >> 2 * eviction.half_bits) == eviction.last_vertices[p]
    ):
        base: int = 1 << eviction.half_bits
        upper: pk.int64 = p * base + ((v_id >> eviction.half_bits) & base - 1)
        lower: pk.int64 = upper * base + (v_id & base - 1)
        pk.atomic_fetch_add(eviction.upper_digits, [upper], graph.vertex_weights[v])
        pk.atomic_fetch_add(eviction.lower_digits, [lower], graph.vertex_weights[v])


@pk.function
def find_half_digit(p: int, start: pk.int64, weights: pk.View1D[Weight], eviction: Eviction):
    """Find the next half digit of the last vertex; its weights begin at index `start`."""
    base: int = 1 << eviction.half_bits
    needed: pk.int64 = eviction.needed[p]
    total: pk.int64 = 0
    before: pk.int64 = 0
    digit: int = 0
    for d in range(base - 1):
        total += weights[start + d]
        if total < needed:
            digit = d + 1
            before = total
    eviction.needed[p] = needed - before
    eviction.last_vertices[p] = eviction.last_vertices[p] * base + digit


@pk.workunit
def narrow_down(p: int, eviction: Eviction, state: Progress):
    """Find the next digit of the global id of the last vertex that a part evicts.

    Resets the weights by digit to 0.
    """
    if not rebalances(state):
        return
    if eviction.last_buckets[p] == NO_BUCKET:
        return
    base: int = 1 << eviction.half_bits
    first: pk.int64 = p * base
    find_half_digit(p, first, eviction.upper_digits, eviction)
    upper: pk.int64 = first + (eviction.last_vertices[p] & base - 1)
    find_half_digit(p, upper * base, eviction.lower_digits, eviction)
    for d in range(base):
        if eviction.upper_digits[first + d] > 0:
            eviction.upper_digits[first + d] = 0
            for e in range(base):
                eviction.lower_digits[(first + d) * base + e] = 0


@pk.function
def is_evicted(
    v: int, p: int, shift: int, graph: Graph, eviction: Eviction, state: Progress
) -> bool:
    """Whether a candidate is among the first of its part, by bucket and id, that weigh enough.

    If its id equals the last vertex's without the `shift` lowest bits, the preceding candidates
    with these bits must weigh less than needed.
    """
    last: int = eviction.last_buckets[p]
    if eviction.buckets[v] != last:
        return eviction.buckets[v] < last
    v_id: pk.int64 = owned_global_id(v, graph) >> shift
    if v_id != eviction.last_vertices[p]:
        return v_id < eviction.last_vertices[p]
    before: pk.int64 = 0
    for u in range(v - (owned_global_id(v, graph) & (1 << shift) - 1), v):
        if (
            state.destinations[u] != NO_PART
            and eviction.buckets[u] == last
            and part_served(u, state) == p
        ):
            before += graph.vertex_weights[u]
    return before < eviction.needed[p]


@pk.workunit
def evict(
    i: int,
    vertices: pk.View1D[pk.int32],
    shift: int,
    graph: Graph,
    plan: Plan,
    eviction: Eviction,
    evicted: EvictedSums,
    state: Refinement,
):
    """Evict the first candidates of each part, by bucket and id, if no part has too few.

    Weak: move them to their destinations. Strong: mark them by a provisional destination, and sum
    their weights by block and region.
    """
    if not rebalances(state) or state.counters[Counter.TOO_FEW] == 1:
        return
    v: int = vertices[i]
    if v < 0:
        return
    if not is_candidate(v, eviction):
        return
    p: int = part_served(v, state)
    if eviction.last_buckets[p] == NO_BUCKET:
        return
    if not is_evicted(v, p, shift, graph, eviction, state):
        return
    state.destinations[v] = part_of_candidate(state.destinations[v])
    if state.control[Control.TASK] != Task.REBALANCE_STRONGLY:
        if fills_underloaded(state):
            state.locks[v] = filled_lock(state)
        move(v, state.destinations[v], graph, state)
    else:
        group: int = p // plan.group_size
        weight: int = graph.vertex_weights[v]
        pk.atomic_fetch_add(evicted.sums, [region_of(v, group, evicted)], weight)
        pk.atomic_fetch_add(evicted.sums, [block_of(v, group, evicted)], weight)


@pk.workunit
def sum_regions(i: int, evicted: EvictedSums, state: Progress):
    """Strong: sum the weights of the evicted vertices of a group, one index per region."""
    if state.control[Control.TASK] != Task.REBALANCE_STRONGLY:
        return
    index: pk.int64 = i
    weight: pk.int64 = evicted.sums[index * REGION_SUMS]
    if weight > 0:
        pk.atomic_fetch_add(evicted.here, [i // evicted.regions], weight)


@pk.function
def evicted_before(
    v: int, group: int, graph: Graph, plan: Plan, evicted: EvictedSums, state: Progress
) -> pk.int64:
    """Return the weight of the evicted vertices of a group that precede vertex v."""
    before: pk.int64 = evicted.elsewhere[group]
    index: pk.int64 = region_of(0, group, evicted)
    while index < region_of(v, group, evicted):
        before += evicted.sums[index]
        index += REGION_SUMS
    index += 1
    while index < block_of(v, group, evicted):
        before += evicted.sums[index]
        index += 1
    for u in range((v >> BLOCK_BITS) << BLOCK_BITS, v):
        if is_marked(u, state) and state.previous[u] // plan.group_size == group:
            before += graph.vertex_weights[u]
    return before


@pk.function
def spare_weight(index: int, first: int, plan: Plan, partition: Partition) -> pk.int64:
    """Return the spare weight of the open part at an index; `first` is the first of its group."""
    spare: pk.int64 = plan.numbers[Row.ROOM * partition.k + index]
    if index > first:
        spare -= plan.numbers[Row.ROOM * partition.k + index - 1]
    return spare


@pk.workunit
def deal_evicted(
    i: int,
    vertices: pk.View1D[pk.int32],
    graph: Graph,
    plan: Plan,
    evicted: EvictedSums,
    state: Refinement,
):
    """Strong: move an evicted vertex to an open part with spare weight.

    The evicted vertices of a group, in ascending order, are cut into segments. Each open part gets
    one that fills its spare weight (the cookie-cutter pattern of Jet, 4.2.2). A vertex that is too
    heavy for its part goes to a later one that has room, if there is any nearby.
    If parts are filled to the average, the middle of a vertex decides. If the spare weight of its
    part is less than half of it, the vertex goes to the next part that has so much, or stays.
    """
    if state.control[Control.TASK] != Task.REBALANCE_STRONGLY:
        return
    v: int = vertices[i]
    if v < 0:
        return
    if not is_marked(v, state):
        return
    group: int = state.previous[v] // plan.group_size
    before: pk.int64 = evicted_before(v, group, graph, plan, evicted, state)
    first: int = group * plan.group_size
    last: int = first + plan.numbers[Row.OPEN_COUNT * state.k + first] - 1
    low: int = first
    high: int = last
    half: int = 0
    if plan.fills_to_average:
        half = graph.vertex_weights[v] // 2
        if before + half >= plan.numbers[Row.ROOM * state.k + last]:
            return
    while low < high:
        middle: int = (low + high) >> 1
        if before + half < plan.numbers[Row.ROOM * state.k + middle]:
            high = middle
        else:
            low = middle + 1
    parts_left: int = last - first
    while spare_weight(low, first, plan, state) < half:
        if parts_left == 0:
            return
        parts_left -= 1
        low += 1
        if low > last:
            low = first
    if not plan.fills_to_average:
        low = roomy_place(low, first, graph.vertex_weights[v], plan, state)
    move(v, plan.numbers[Row.OPEN_PART * state.k + low], graph, state)
