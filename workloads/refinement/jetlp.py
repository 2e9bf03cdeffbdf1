"""Jetlp: unconstrained label propagation with two filters and locks (Jet, Algorithm 4.2).

`propose` is lines 1 to 8, with the first filter; `afterburn` is the second filter, lines 9 to 19.
"""

from dataclasses import dataclass

import pykokkos as pk

from jetpy.workloads.common.control_block import Control
from jetpy.workloads.common.ghosts import comes_before, owned_global_id
from jetpy.workloads.common.groups import (
    NO_PRIORITY,
    NO_VERTEX,
    UNKNOWN,
    UNWANTED,
    Connectivity,
    Graph,
    LongRows,
    Progress,
    Refinement,
    Weight,
    lower_limit,
)
from jetpy.workloads.common.hashing import index_of_hash, mix
from jetpy.workloads.common.long_rows import (
    LANE_BITS,
    is_lane,
    is_left_to_lanes,
    lane_edges,
    vertex_of,
)
from jetpy.workloads.common.metric import MetricKind, distance_of
from jetpy.workloads.common.prefetching import first_edges, prefetch, prefetch_rows
from jetpy.workloads.common.striped_counters import stripe_index, tally_stripe
from jetpy.workloads.refinement.active import is_prefetched
from jetpy.workloads.refinement.connectivity import prefetch_slots
from jetpy.workloads.refinement.iterations import propagates
from jetpy.workloads.refinement.losses import BUCKETS, loss_bucket, tally_index
from jetpy.workloads.refinement.moves import begin_vertex, move
from jetpy.workloads.refinement.targets import prefetch_active, update_target

PERCENT = 100
ALL = 65536
"""Shares of a rank that a part admits are in units of 1/65536. The weights of a graph sum to at
most 2**46, so their products with this fit into int64."""


@dataclass(frozen=True, eq=False)
class Proposals:
    """The proposed moves of the iteration, the set X of Algorithm 4.2."""

    vertices: pk.View1D[pk.int32]  # active vertices, or the vertices that passed the first filter
    gains: pk.View1D[pk.int64]  # gain of each vertex after the afterburner, F_2
    is_capped: bool  # whether the inflow of parts is capped


@dataclass(frozen=True, eq=False)
class Inflow:
    """The caps on the weight that enters each part, or leaves it below its lower limit."""

    ranks: pk.View1D[pk.int32]  # rank of each vertex by gain per weight; NO_RANK if it stays
    incoming: pk.View1D[Weight]  # weight by stripe, destination and rank
    outgoing: pk.View1D[Weight]  # weight by stripe and part
    lowest_ranks: pk.View1D[pk.int32]  # lowest rank that each part admits
    shares: pk.View1D[pk.int64]  # share of that rank that it admits
    most: pk.View1D[pk.int64]  # weight of the heaviest vertex that it admits
    leaving: pk.View1D[pk.int64]  # share of the proposals to leave each part that it allows
    stripes: int  # of `incoming`
    outgoing_stripes: int
    overfill: int  # percentage by which a part may exceed its limit


NO_RANK = -1


@pk.function
def passes_first_filter(v: int, state: Refinement) -> bool:
    """Whether a move passes inequality 4.3, where distances of parts multiply edge weights."""
    if state.gains[v] >= 0:
        return True
    ratio: pk.int64 = state.control[Control.FILTER_RATIO]
    loss: pk.int64 = -state.gains[v]
    limit: pk.int64 = state.internal[v]
    limit = limit * distance_of(state.parts[v], state.targets[v], state)
    limit = limit // PERCENT * ratio + limit % PERCENT * ratio // PERCENT
    return loss * state.unit < limit


@pk.workunit
def propose(i: int, graph: Graph, table: Connectivity, state: Refinement):
    """Choose a target for every active vertex, and apply the first filter (lines 3 to 8).

    The priority of a vertex that passes is its gain. Locked vertices stay in place.
    """
    if not propagates(state):
        return
    v: int = state.active[i]
    if v < 0:
        return
    u: int = prefetch_active(i, state.control[Control.PROPAGATING], table, state)
    if u != NO_VERTEX and state.targets[u] == UNKNOWN:
        prefetch_slots(u, table)
    begin_vertex(v, state)
    state.priorities[v] = NO_PRIORITY
    if state.locks[v] == state.control[Control.LOCK]:
        return
    update_target(v, graph, table, state)
    if state.targets[v] >= 0:
        if passes_first_filter(v, state):
            state.priorities[v] = state.gains[v]
        else:
            state.targets[v] = UNWANTED


@pk.workunit
def list_proposers(
    i: int, acc: pk.Acc[pk.int64], last_pass: bool, state: Refinement, proposals: Proposals
):
    """List the vertices that have passed the first filter."""
    v: int = state.active[i]
    if v >= 0:
        if state.priorities[v] != NO_PRIORITY:
            if last_pass:
                proposals.vertices[acc] = v
            acc += 1


@pk.function
def accept(v: int, graph: Graph, state: Refinement):
    """Move a vertex to its target; with locks, it stays there in the next Jetlp iteration."""
    state.locks[v] = state.control[Control.LOCK] + state.control[Control.LOCKED_FOR]
    move(v, state.targets[v], graph, state)


@pk.function
def prefetch_proposals(i: int, graph: Graph, state: Refinement, proposals: Proposals):
    """Ask for what the proposals after the i-th need."""
    v: int = prefetch_rows(i, state.control[Control.LISTED], proposals.vertices, graph)
    if v != NO_VERTEX:
        for e in first_edges(v, graph):
            u: int = graph.indices[e]
            prefetch(state.priorities[u])
            prefetch(state.targets[u])
            prefetch(state.previous[u])


@pk.workunit
def afterburn(i: int, graph: Graph, long_rows: LongRows, state: Refinement, proposals: Proposals):
    """Recompute the gain of a proposal as if all neighbours of higher priority had moved.

    A vertex moves if that gain is not negative. Neighbours' parts come from `previous`, because
    other vertices may be moving. `afterburn_long_rows` moves high-degree vertices, for which lanes
    sum the gains. If the inflow of parts is capped, `admit` moves all vertices.
    """
    if not propagates(state):
        return
    v: int = vertex_of(i, proposals.vertices, long_rows)
    if v < 0:
        return
    if not is_lane(i, long_rows) and is_prefetched(state):
        prefetch_proposals(i - long_rows.lanes, graph, state, proposals)
    priority: int = state.priorities[v]
    if priority == NO_PRIORITY:
        return
    source: int = state.previous[v]
    target: int = state.targets[v]
    gain: pk.int64 = 0
    if is_left_to_lanes(i, graph.indptr[v + 1] - graph.indptr[v], long_rows):
        return
    ghosts: int = state.control[Control.GHOSTS]
    higher: int = state.control[Control.HIGHER_GHOSTS]
    for e in lane_edges(i, v, graph, long_rows):
        u: int = graph.indices[e]
        p: int = 0
        other: int = state.priorities[u]
        if other > priority or (other == priority and comes_before(u, v, ghosts, higher)):
            p = state.targets[u]
        else:
            p = state.previous[u]
        w: pk.int64 = graph.edge_weights[e]
        if state.metric_kind == MetricKind.EDGE_CUT:
            if p == target:
                gain += w
            if p == source:
                gain -= w
        else:
            nearer: int = distance_of(source, p, state)
            nearer -= distance_of(target, p, state)
            gain += w * nearer
    if is_lane(i, long_rows):
        pk.atomic_fetch_add(proposals.gains, [v], gain)
    elif proposals.is_capped:
        proposals.gains[v] = gain
    elif gain >= 0:
        accept(v, graph, state)


@pk.workunit
def afterburn_long_rows(
    i: int, graph: Graph, long_rows: LongRows, state: Refinement, proposals: Proposals
):
    """Move a high-degree vertex if the gain that lanes have summed is not negative."""
    if not propagates(state):
        return
    v: int = long_rows.vertices[i]
    if state.priorities[v] != NO_PRIORITY and proposals.gains[v] >= 0:
        accept(v, graph, state)
    proposals.gains[v] = 0


@pk.workunit
def skip_afterburner(i: int, graph: Graph, state: Refinement, proposals: Proposals):
    """Make a proposed move of positive gain (Jet, section 7.1.4: label propagation alone).

    If the inflow of parts is capped, `admit` makes the move instead.
    """
    if not propagates(state):
        return
    v: int = proposals.vertices[i]
    if v < 0:
        return
    gain: int = state.priorities[v]
    if gain == NO_PRIORITY:
        return
    if proposals.is_capped:
        proposals.gains[v] = gain
        if gain == 0:
            proposals.gains[v] = -1
    elif gain > 0:
        accept(v, graph, state)


@pk.workunit
def tally_inflow(i: int, graph: Graph, state: Refinement, proposals: Proposals, cap: Inflow):
    """Sum the weights of proposed moves, by source, and by destination and rank of the gain."""
    if not propagates(state):
        return
    v: int = proposals.vertices[i]
    if v < 0:
        return
    cap.ranks[v] = NO_RANK
    if state.priorities[v] == NO_PRIORITY or proposals.gains[v] < 0:
        return
    weight: int = graph.vertex_weights[v]
    rank: int = loss_bucket(proposals.gains[v], weight, state.scale)
    cap.ranks[v] = rank
    stripe: int = tally_stripe(i, state.control[Control.LISTED], cap.stripes)
    index: int = tally_index(stripe, state.targets[v], rank, state.k)
    pk.atomic_fetch_add(cap.incoming, [index], weight)
    if cap.stripes == 1:
        stripe = (i >> LANE_BITS) % cap.outgoing_stripes
    pk.atomic_fetch_add(cap.outgoing, [stripe_index(stripe, state.parts[v], state.k)], weight)


@pk.workunit
def cap_inflow(p: int, state: Progress, cap: Inflow):
    """Find the lowest rank that a part admits, and the admitted share of that rank.

    The part may exceed its limit by at most `overfill` percent if all proposed moves out of it
    happen and the expected number of vertices of the lowest rank enters. A vertex heavier than 1
    must fit even if none of these moves happens. The part may fall below its lower limit by
    `overfill` percent if nothing enters. Resets both sums to 0.
    """
    if not propagates(state):
        return
    room: pk.int64 = state.limits[p] * (PERCENT + cap.overfill)
    room = room // PERCENT - state.part_weights[p]
    cap.most[p] = 1
    if room > 1:
        cap.most[p] = room
    outgoing: pk.int64 = 0
    for stripe in range(cap.outgoing_stripes):
        outgoing += cap.outgoing[stripe_index(stripe, p, state.k)]
    room += outgoing
    if state.control[Control.HAS_LOWER_LIMITS] == 1:
        least: pk.int64 = lower_limit(p, state) * (PERCENT - cap.overfill) // PERCENT
        cap.leaving[p] = ALL
        if least > 0 and state.part_weights[p] - outgoing < least:
            cap.leaving[p] = 0
            if state.part_weights[p] > least:
                cap.leaving[p] = (state.part_weights[p] - least) * ALL // outgoing
    if room < 0:
        room = 0
    lowest: int = 0
    room_of_lowest: pk.int64 = 1
    wanted_of_lowest: pk.int64 = 1
    for place in range(BUCKETS):
        rank: int = BUCKETS - 1 - place
        wanted: pk.int64 = 0
        for stripe in range(cap.stripes):
            wanted += cap.incoming[tally_index(stripe, p, rank, state.k)]
        if wanted > room and room >= 0:
            lowest = rank
            room_of_lowest = room
            wanted_of_lowest = wanted
            room = 0
        room -= wanted
    cap.lowest_ranks[p] = lowest
    cap.shares[p] = room_of_lowest * ALL // wanted_of_lowest
    for stripe in range(cap.outgoing_stripes):
        cap.outgoing[stripe_index(stripe, p, state.k)] = 0
    for stripe in range(cap.stripes):
        for rank in range(BUCKETS):
            cap.incoming[tally_index(stripe, p, rank, state.k)] = 0


@pk.workunit
def admit(i: int, graph: Graph, state: Refinement, proposals: Proposals, cap: Inflow):
    """Move a vertex if its target admits its weight and rank; a hash decides in the lowest rank."""
    if not propagates(state):
        return
    v: int = proposals.vertices[i]
    if v < 0:
        return
    proposals.gains[v] = 0
    rank: int = cap.ranks[v]
    p: int = state.targets[v]
    if rank == NO_RANK:
        return
    if rank < cap.lowest_ranks[p] or graph.vertex_weights[v] > cap.most[p]:
        return
    if rank == cap.lowest_ranks[p]:
        seed: int = state.control[Control.ITERATION_SEED]
        if index_of_hash(mix(owned_global_id(v, graph) ^ seed), ALL) >= cap.shares[p]:
            return
    if state.control[Control.HAS_LOWER_LIMITS] == 1:
        other_seed: int = state.control[Control.ITERATION_SEED] + 1
        h: pk.uint32 = mix(mix(owned_global_id(v, graph) ^ other_seed))
        if index_of_hash(h, ALL) >= cap.leaving[state.parts[v]]:
            return
    accept(v, graph, state)
