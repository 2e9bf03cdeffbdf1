"""Jet with several weights per vertex: iterations in which all active vertices take part.

Proposals and the afterburner are Jetlp's (`jetlp`). Vertices then move as far as their destinations
have room for all of their weights. Rebalancing first chooses the vertices that leave parts above a
limit, by loss per relief: what the move takes off the excess of all parts, where each weight counts
in proportion to its total. Sources: Jet, sections 4.1 and 4.2; several weights: Karypis, Kumar,
"Multilevel algorithms for multi-constraint graph partitioning", SC 1998.
"""

from dataclasses import dataclass

import pykokkos as pk

from jetpy.workloads.common.control_block import Control, Task
from jetpy.workloads.common.ghosts import owned_global_id
from jetpy.workloads.common.groups import (
    INT32_MAX,
    NO_PART,
    NO_PRIORITY,
    Connectivity,
    Graph,
    Progress,
    Refinement,
)
from jetpy.workloads.common.hashing import index_of_hash, mix, part_hash
from jetpy.workloads.common.loads import (
    Loads,
    add_weights,
    excess_of,
    growth_above,
    total_excess,
)
from jetpy.workloads.common.prefetching import ENTRIES_AHEAD, OFFSETS_AHEAD, prefetch
from jetpy.workloads.common.striped_counters import stripe_index, stripe_of
from jetpy.workloads.refinement.active import is_prefetched, is_tied
from jetpy.workloads.refinement.connectivity import (
    capacity,
    ends_row,
    first_of_row,
    prefetch_slots,
    search_width,
)
from jetpy.workloads.refinement.iterations import choose_task, may_begin, propagates, rebalances
from jetpy.workloads.refinement.jetlp import ALL, NO_RANK, PERCENT, Proposals
from jetpy.workloads.refinement.losses import BUCKETS, NO_BUCKET, loss_bucket, tally_index
from jetpy.workloads.refinement.moves import begin_vertex, move
from jetpy.workloads.refinement.plan import HALVES_ABOVE_AVERAGE, begin_planned
from jetpy.workloads.refinement.rebalance import filled_lock

DIGITS = 64
"""Number of hash digits by which the vertices of the last bucket leave a part."""
MAX_CONSECUTIVE = 200
"""Rebalancing costs no patience in the first iterations between two propagations, and then as long
as it reduces the excess, up to this number of iterations."""
WORSE = 16
"""A move that does not reduce the excess counts as 1 / WORSE of its relief."""
CARRIED_ON = 4
"""In rebalancing, a part may exceed a limit by 1 / CARRIED_ON of the excess, because some problems
can only be balanced through other partitions with excess."""


@dataclass(frozen=True, eq=False)
class Inflow:
    """The caps on the weights that enter each part."""

    ranks: pk.View1D[pk.int32]  # rank of each move; NO_RANK of a vertex that stays
    incoming: pk.View1D[pk.int64]  # weights by stripe, destination, rank and kind
    outgoing: pk.View1D[pk.int64]  # weights by stripe, part and kind
    lowest_ranks: pk.View1D[pk.int32]  # lowest rank that each part admits
    shares: pk.View1D[pk.int64]  # share of that rank that it admits
    changes: pk.View1D[pk.int64]  # changes of the weights of parts, by part and kind
    stripes: int
    overfill: int  # percentage by which a part may exceed its limits


@dataclass(frozen=True, eq=False)
class Shedding:
    """The choice of the vertices that leave parts above a limit, by bucket and hash."""

    buckets: pk.View1D[pk.int32]  # of each vertex: bucket of its loss per relief; NO_BUCKET
    reliefs: pk.View1D[pk.int32]  # of each vertex: what it takes off the excess if it leaves
    tallies: pk.View1D[pk.int64]  # weights of the candidates by stripe, part, bucket and kind
    stripes: int
    last_buckets: pk.View1D[pk.int32]  # by part: last bucket that leaves; NO_BUCKET
    digits: pk.View1D[pk.int64]  # weights in the last bucket, by part, digit and kind
    last_digits: pk.View1D[pk.int32]  # by part: last digit of the last bucket that leaves
    needed: pk.View1D[pk.int64]  # by part and kind: weight still needed of the last bucket
    ideals: pk.View1D[pk.int64]  # by part and kind: ideal weight
    mean_relief: pk.int64  # mean of the scaled weights of vertices


@pk.function
def take_changes(k: int, several: Loads, inflow: Inflow):
    """Add the changes of the last iteration to the weights of parts, and reset them to 0."""
    for index in range(k * several.kinds):
        several.loads[index] += inflow.changes[index]
        inflow.changes[index] = 0


@pk.workunit
def begin_iteration(i: int, tasks: int, several: Loads, inflow: Inflow, state: Progress):
    """Process the results of the last iteration, and choose the next task (`iterations`).

    The overload is the excess of all weights.
    """
    take_changes(state.k, several, inflow)
    if may_begin(tasks, state):
        excess: pk.int64 = total_excess(state.k, several)
        before: pk.int64 = state.control[Control.EXCESS]
        if state.control[Control.IS_PENDING] == 1 and (
            state.control[Control.LAST_TASK] == Task.REBALANCE_WEAKLY
        ):
            consecutive: pk.int64 = state.control[Control.WEAK_ITERATIONS]
            if consecutive < 2 * state.control[Control.PATIENCE] or (
                excess < before and consecutive < MAX_CONSECUTIVE
            ):
                state.control[Control.SINCE_BEST] -= 1
        state.control[Control.EXCESS] = excess
        choose_task(excess, 0, tasks, state)


@pk.workunit
def begin_chosen(i: int, best_weights: pk.View1D[pk.int64], state: Progress):
    """Begin the chosen task (`begin_planned`)."""
    begin_planned(i, best_weights, state)


@pk.workunit
def weigh_groups(
    v: int,
    groups: pk.View1D[pk.int32],
    weights: pk.View1D[pk.int32],
    kinds: int,
    sums: pk.View1D[pk.int64],
):
    """Add the weights of a vertex to those of its group: its part or its coarse vertex."""
    for j in range(kinds):
        weight: pk.int64 = weights[v * kinds + j]
        pk.atomic_fetch_add(sums, [groups[v] * kinds + j], weight)


@pk.workunit
def rank_gains(
    i: int, graph: Graph, state: Refinement, proposals: Proposals, mean: pk.int64, inflow: Inflow
):
    """Choose the destination and the rank of each proposed move: by gain per combined weight."""
    if not propagates(state):
        return
    v: int = proposals.vertices[i]
    if v < 0:
        return
    inflow.ranks[v] = NO_RANK
    if state.priorities[v] != NO_PRIORITY and proposals.gains[v] >= 0:
        gain: pk.int64 = proposals.gains[v] * mean
        inflow.ranks[v] = loss_bucket(gain, graph.vertex_weights[v], state.scale)
        state.destinations[v] = state.targets[v]
    proposals.gains[v] = 0


@pk.workunit
def tally_inflow(
    i: int, vertices: pk.View1D[pk.int32], several: Loads, inflow: Inflow, state: Refinement
):
    """Sum the weights of the moves, by source, and by destination and rank."""
    v: int = vertices[i]
    if v < 0 or state.control[Control.TASK] == Task.NOTHING:
        return
    rank: int = inflow.ranks[v]
    if rank == NO_RANK:
        return
    kinds: int = several.kinds
    stripe: int = stripe_of(v, state) % inflow.stripes
    index: int = tally_index(stripe, state.destinations[v], rank, state.k) * kinds
    source: int = stripe_index(stripe, state.parts[v] * kinds, state.k * kinds)
    add_weights(v, 1, inflow.incoming, index, several)
    add_weights(v, 1, inflow.outgoing, source, several)


@pk.workunit
def cap_inflow(p: int, several: Loads, inflow: Inflow, state: Progress):
    """Find the lowest rank that a part admits, and the admitted share of that rank.

    In propagation, each weight of the part may exceed its limit by at most `overfill` percent if
    all moves out of it happen and the expected number of vertices of the lowest rank enters. In
    rebalancing, it may exceed the limit by a share of the excess (`CARRIED_ON`) if nothing leaves.
    Resets both sums to 0.
    """
    if state.control[Control.TASK] == Task.NOTHING:
        return
    kinds: int = several.kinds
    lowest: int = 0
    share: pk.int64 = ALL
    for j in range(kinds):
        outgoing: pk.int64 = 0
        for stripe in range(inflow.stripes):
            source: int = stripe_index(stripe, p * kinds + j, state.k * kinds)
            outgoing += inflow.outgoing[source]
            inflow.outgoing[source] = 0
        room: pk.int64 = several.limits[p * kinds + j]
        if propagates(state):
            room = room * (PERCENT + inflow.overfill) // PERCENT + outgoing
        else:
            room += state.control[Control.EXCESS] // several.factors[j] // CARRIED_ON
        room -= several.loads[p * kinds + j]
        if room < 0:
            room = 0
        for place in range(BUCKETS):
            rank: int = BUCKETS - 1 - place
            wanted: pk.int64 = 0
            for stripe in range(inflow.stripes):
                index: int = tally_index(stripe, p, rank, state.k) * kinds + j
                wanted += inflow.incoming[index]
                inflow.incoming[index] = 0
            if wanted > room and room >= 0:
                if rank > lowest:
                    lowest = rank
                    share = ALL
                if rank == lowest and room * ALL // wanted < share:
                    share = room * ALL // wanted
                room = 0
            room -= wanted
    inflow.lowest_ranks[p] = lowest
    inflow.shares[p] = share


@pk.workunit
def admit(
    i: int,
    vertices: pk.View1D[pk.int32],
    graph: Graph,
    several: Loads,
    inflow: Inflow,
    state: Refinement,
):
    """Move a vertex if its destination admits its rank; in the lowest rank, a hash decides."""
    v: int = vertices[i]
    if v < 0 or state.control[Control.TASK] == Task.NOTHING:
        return
    rank: int = inflow.ranks[v]
    if rank == NO_RANK:
        return
    q: int = state.destinations[v]
    if rank < inflow.lowest_ranks[q]:
        return
    if rank == inflow.lowest_ranks[q]:
        seed: int = state.control[Control.ITERATION_SEED]
        if index_of_hash(mix(owned_global_id(v, graph) ^ seed), ALL) >= inflow.shares[q]:
            return
    if propagates(state):
        state.locks[v] = state.control[Control.LOCK] + state.control[Control.LOCKED_FOR]
    else:
        state.locks[v] = filled_lock(state)
    add_weights(v, -1, inflow.changes, state.parts[v] * several.kinds, several)
    add_weights(v, 1, inflow.changes, q * several.kinds, several)
    move(v, q, graph, state)


@pk.function
def relief_of(v: int, p: int, several: Loads, shedding: Shedding) -> pk.int64:
    """Return what vertex v takes off the scaled excess of part p, if it leaves.

    It is 0 if, where the part is above a limit, v has more than 3/2 of what the part has above the
    ideal weight (Jet, 4.2.2).
    """
    relief: pk.int64 = 0
    for j in range(several.kinds):
        weight: pk.int64 = several.weights[v * several.kinds + j]
        load: pk.int64 = several.loads[p * several.kinds + j]
        above: pk.int64 = load - several.limits[p * several.kinds + j]
        if above > 0:
            if 2 * weight > HALVES_ABOVE_AVERAGE * (load - shedding.ideals[p * several.kinds + j]):
                return 0
            if weight < above:
                above = weight
            relief += above * several.factors[j]
    return relief


@pk.function
def prefetch_relief(i: int, several: Loads, shedding: Shedding, state: Refinement):
    """Ask for the values of an active vertex after the i-th."""
    if is_prefetched(state) and i + OFFSETS_AHEAD < state.control[Control.REBALANCING]:
        v: int = state.active[i + OFFSETS_AHEAD]
        prefetch(state.parts[v])
        prefetch(state.previous[v])
        prefetch(state.locks[v])
        prefetch(shedding.reliefs[v])
        prefetch(several.weights[v * several.kinds])


@pk.workunit
def find_reliefs(i: int, several: Loads, shedding: Shedding, state: Refinement):
    """Find what each vertex takes off the excess of its part.

    It is 0 if the vertex has moved to rebalance since the last propagation, so that vertices do not
    move to and fro.
    """
    if not rebalances(state):
        return
    v: int = state.active[i]
    if v < 0:
        return
    prefetch_relief(i, several, shedding, state)
    begin_vertex(v, state)
    relief: pk.int64 = 0
    if state.locks[v] != filled_lock(state):
        relief = relief_of(v, state.parts[v], several, shedding)
    if relief > INT32_MAX:
        relief = INT32_MAX
    shedding.reliefs[v] = relief


@pk.workunit
def list_candidates(
    i: int,
    acc: pk.Acc[pk.int64],
    last_pass: bool,
    vertices: pk.View1D[pk.int32],
    shedding: Shedding,
    state: Refinement,
):
    """List the vertices with a relief."""
    v: int = state.active[i]
    if v >= 0:
        if shedding.reliefs[v] > 0:
            if last_pass:
                vertices[acc] = v
            acc += 1


@pk.function
def prefetch_candidate(
    i: int,
    vertices: pk.View1D[pk.int32],
    graph: Graph,
    table: Connectivity,
    several: Loads,
    shedding: Shedding,
    state: Refinement,
):
    """Ask for the values of a listed vertex after the i-th, and for the row of another one."""
    if not is_prefetched(state):
        return
    count: pk.int64 = state.control[Control.LISTED]
    if i + OFFSETS_AHEAD < count:
        v: int = vertices[i + OFFSETS_AHEAD]
        prefetch(state.parts[v])
        prefetch(state.targets[v])
        prefetch(state.internal[v])
        prefetch(state.destinations[v])
        prefetch(shedding.reliefs[v])
        prefetch(shedding.buckets[v])
        prefetch(several.weights[v * several.kinds])
        prefetch(graph.indptr[v])
        prefetch(table.rows[v])
    if i + ENTRIES_AHEAD < count:
        prefetch_slots(vertices[i + ENTRIES_AHEAD], table)


@pk.workunit
def rate_losses(
    i: int,
    vertices: pk.View1D[pk.int32],
    graph: Graph,
    table: Connectivity,
    several: Loads,
    shedding: Shedding,
    state: Refinement,
):
    """Choose a destination for each vertex with a relief, and sort it into a loss bucket.

    The destination is the adjacent part whose excess grows least, then the one of largest
    connection. If no adjacent part has room, all parts are candidates, from one given by a hash on.
    """
    if not rebalances(state):
        return
    v: int = vertices[i]
    if v < 0:
        return
    prefetch_candidate(i, vertices, graph, table, several, shedding, state)
    shedding.buckets[v] = NO_BUCKET
    relief: pk.int64 = shedding.reliefs[v]
    if relief == 0:
        return
    p: int = state.parts[v]
    seed: int = state.control[Control.ITERATION_SEED]
    best: int = NO_PART
    least: pk.int64 = 0
    largest: int = 0
    best_hash: pk.uint32 = 0
    if state.targets[v] != NO_PART:
        internal: int = 0
        size: int = capacity(graph.indptr[v + 1] - graph.indptr[v], table.k)
        row: int = first_of_row(v, table)
        tail: int = row + search_width(v, size, table)
        for s in range(row, row + size):
            q: int = table.parts[s]
            if ends_row(s, tail, table):
                break
            w: int = table.weights[s]
            if q == p:
                internal = w
            elif q >= 0 and w > 0:
                growth: pk.int64 = growth_above(q, v, several)
                if best == NO_PART or growth < least or (growth == least and w >= largest):
                    h: pk.uint32 = part_hash(owned_global_id(v, graph), q, seed)
                    if (
                        best == NO_PART
                        or growth < least
                        or w > largest
                        or h > best_hash
                        or (h == best_hash and q < best)
                    ):
                        best = q
                        least = growth
                        largest = w
                        best_hash = h
        state.internal[v] = internal
    if best == NO_PART:
        state.targets[v] = NO_PART
        if is_tied(state.internal[v], graph.vertex_weights[v], state.control[Control.TIE_LIMIT]):
            return
    first: int = index_of_hash(mix(owned_global_id(v, graph) ^ seed), state.k)
    searched: int = 0
    while searched < state.k and (best == NO_PART or least > 0):
        other: int = (first + searched) % state.k
        searched += 1
        if other != p:
            there: pk.int64 = growth_above(other, v, several)
            if best == NO_PART or there < least:
                best = other
                least = there
                largest = 0
    state.destinations[v] = best
    if least < relief:
        relief -= least
    else:
        relief = relief // WORSE + 1
    loss: pk.int64 = state.internal[v] - largest
    shedding.buckets[v] = loss_bucket(loss * shedding.mean_relief, relief, state.scale)


@pk.workunit
def tally_losses(
    i: int, vertices: pk.View1D[pk.int32], several: Loads, shedding: Shedding, state: Refinement
):
    """Sum the weights of the candidates, by part and bucket."""
    if not rebalances(state):
        return
    v: int = vertices[i]
    if v < 0:
        return
    bucket: int = shedding.buckets[v]
    if bucket == NO_BUCKET:
        return
    stripe: int = stripe_of(v, state) % shedding.stripes
    index: int = tally_index(stripe, state.parts[v], bucket, state.k) * several.kinds
    add_weights(v, 1, shedding.tallies, index, several)


@pk.workunit
def find_last_bucket(p: int, several: Loads, shedding: Shedding, state: Progress):
    """Find the last bucket that a part above a limit sheds, and what it needs of that bucket.

    It is the first bucket with which every weight is within its limit. Resets the sums to 0.
    """
    if not rebalances(state):
        return
    kinds: int = several.kinds
    last: int = NO_BUCKET
    shedding.last_buckets[p] = last
    if excess_of(p, 0, 0, several) == 0:
        return
    for j in range(kinds):
        needed: pk.int64 = several.loads[p * kinds + j] - several.limits[p * kinds + j]
        own: int = NO_BUCKET
        needed_of_own: pk.int64 = 0
        for bucket in range(BUCKETS):
            weight: pk.int64 = 0
            for stripe in range(shedding.stripes):
                index: int = tally_index(stripe, p, bucket, state.k) * kinds + j
                weight += shedding.tallies[index]
                shedding.tallies[index] = 0
            if needed > 0:
                own = bucket
                needed_of_own = needed
            needed -= weight
        shedding.needed[p * kinds + j] = needed_of_own
        if own > last:
            last = own
            for other in range(j):
                shedding.needed[p * kinds + other] = 0
        elif own < last:
            shedding.needed[p * kinds + j] = 0
    shedding.last_buckets[p] = last


@pk.function
def digit_of(v: int, graph: Graph, state: Progress) -> int:
    """Return the digit of a vertex: a hash."""
    seed: int = state.control[Control.ITERATION_SEED]
    return index_of_hash(mix(mix(owned_global_id(v, graph) ^ seed)), DIGITS)


@pk.workunit
def tally_digits(
    i: int,
    vertices: pk.View1D[pk.int32],
    graph: Graph,
    several: Loads,
    shedding: Shedding,
    state: Refinement,
):
    """Sum the weights of the candidates in the last bucket of their part, by digit."""
    if not rebalances(state):
        return
    v: int = vertices[i]
    if v < 0:
        return
    bucket: int = shedding.buckets[v]
    p: int = state.parts[v]
    if bucket == NO_BUCKET or bucket != shedding.last_buckets[p]:
        return
    index: int = (p * DIGITS + digit_of(v, graph, state)) * several.kinds
    add_weights(v, 1, shedding.digits, index, several)


@pk.workunit
def find_last_digit(p: int, several: Loads, shedding: Shedding, state: Progress):
    """Find the last digit of the last bucket that a part sheds; resets the sums to 0."""
    if not rebalances(state):
        return
    if shedding.last_buckets[p] == NO_BUCKET:
        return
    kinds: int = several.kinds
    last: int = -1
    for j in range(kinds):
        needed: pk.int64 = shedding.needed[p * kinds + j]
        for digit in range(DIGITS):
            if needed > 0 and digit > last:
                last = digit
            index: int = (p * DIGITS + digit) * kinds + j
            needed -= shedding.digits[index]
            shedding.digits[index] = 0
    shedding.last_digits[p] = last


@pk.workunit
def shed(
    i: int,
    vertices: pk.View1D[pk.int32],
    graph: Graph,
    shedding: Shedding,
    inflow: Inflow,
    state: Refinement,
):
    """Rank the first candidates of each part, by bucket and digit; the others stay."""
    if not rebalances(state):
        return
    v: int = vertices[i]
    if v < 0:
        return
    inflow.ranks[v] = NO_RANK
    bucket: int = shedding.buckets[v]
    if bucket == NO_BUCKET:
        return
    p: int = state.parts[v]
    last: int = shedding.last_buckets[p]
    if bucket < last or (bucket == last and digit_of(v, graph, state) <= shedding.last_digits[p]):
        inflow.ranks[v] = BUCKETS - 1 - bucket
