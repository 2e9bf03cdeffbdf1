"""Independent sets of moves that each lower the cut and together keep the balance.

Lee et al., "G-kway", TODAES 2025, section 3.2, Algorithms 2 and 3.
"""

from dataclasses import dataclass
from enum import IntEnum

import pykokkos as pk

from jetpy.workloads.common.control_block import Control, Request
from jetpy.workloads.common.groups import (
    INT32_MAX,
    NO_PART,
    NO_PRIORITY,
    Connectivity,
    Graph,
    Iteration,
    LongRows,
    Partition,
    Progress,
    Refinement,
    Vertices,
)
from jetpy.workloads.common.long_rows import (
    is_lane,
    is_left_to_lanes,
    lane_edges,
    vertex_of,
)
from jetpy.workloads.refinement.iterations import propagates
from jetpy.workloads.refinement.moves import begin_vertex, move
from jetpy.workloads.refinement.targets import Wanted, best_slot, gain_of, update_target

NUMBER_BITS = 32
"""Lower bits of a key. They hold a vertex or, in an event, a move and its direction."""
NUMBER = 2**NUMBER_BITS - 1


class Count(IntEnum):
    """Indices into the counts."""

    MOVES = 0
    BALANCED = 1
    """Moves in the longest prefix of the sequence after which no part is overweight."""


@dataclass(frozen=True, eq=False)
class Legal:
    """The legal moves of an iteration: they have positive gain and fit into the destination."""

    targets: pk.View1D[pk.int32]  # of each active vertex, or NO_PART
    counts: pk.View1D[pk.int32]  # by Count
    keys: pk.View1D[pk.int64]  # keys of the moves (`key_of`), in any order


@dataclass(frozen=True, eq=False)
class Sequence:
    """The moves by decreasing gain."""

    keys: pk.View1D[pk.int64]
    changes: pk.View1D[pk.int32]  # change of the number of overweight parts by each move
    admitted: pk.View1D[pk.int32]  # whether each move is made
    most: int  # capacity for moves


@dataclass(frozen=True, eq=False)
class Events:
    """The arrivals and departures of vertices, by part (`event_of`)."""

    ordered: pk.View1D[pk.int64]  # by part, then by index of the move in the sequence
    sums: pk.View1D[pk.int64]  # inclusive prefix sums of the weight changes
    bases: pk.View1D[pk.int64]  # by part: sum before its first event
    count: int


# Find an independent set of legal moves (Algorithm 2)


@pk.workunit
def find_legal(i: int, graph: Graph, table: Connectivity, state: Refinement, legal: Legal):
    """Find a legal target for every active vertex, and store its gain as priority (line 7).

    It is the best adjacent part if that has room, otherwise the best adjacent part with room.
    """
    if not propagates(state):
        return
    if i == 0:
        legal.counts[Count.MOVES] = 0
        legal.counts[Count.BALANCED] = 0
    v: int = state.active[i]
    if v < 0:
        return
    state.priorities[v] = NO_PRIORITY
    legal.targets[v] = NO_PART
    update_target(v, graph, table, state)
    q: int = state.targets[v]
    gain: int = state.gains[v]
    if q < 0 or gain <= 0:
        return
    if state.part_weights[q] + graph.vertex_weights[v] > state.limits[q]:
        best: int = best_slot(
            v, Wanted.WITH_ROOM, graph, table, state, state.part_weights, state.limits
        )
        if best < 0:
            return
        q = table.parts[best]
        gain = gain_of(v, best, graph, table, state)
    if gain > 0:
        state.priorities[v] = gain
        legal.targets[v] = q


@pk.workunit
def keep_lowest(i: int, graph: Graph, long_rows: LongRows, state: Refinement, legal: Legal):
    """Keep the move of a vertex only if no lower neighbour has a legal move (lines 8 to 16)."""
    if not propagates(state):
        return
    v: int = vertex_of(i, state.active, long_rows)
    if v < 0:
        return
    if not is_lane(i, long_rows):
        begin_vertex(v, state)
    if state.priorities[v] == NO_PRIORITY:
        return
    if is_left_to_lanes(i, graph.indptr[v + 1] - graph.indptr[v], long_rows):
        return
    for e in lane_edges(i, v, graph, long_rows):
        u: int = graph.indices[e]
        if u < v and state.priorities[u] != NO_PRIORITY:
            legal.targets[v] = NO_PART
            break


# Sort the moves (Algorithm 3, line 1)


@pk.function
def key_of(v: int, vertices: Vertices) -> pk.int64:
    """Return the sort key of a vertex's move: by decreasing gain, then by vertex."""
    key: pk.int64 = INT32_MAX - vertices.priorities[v]
    return (key << NUMBER_BITS) + v


@pk.function
def vertex_of_key(key: pk.int64) -> int:
    """Return the vertex of a sort key."""
    return key & NUMBER


@pk.workunit
def list_moves(i: int, acc: pk.Acc[pk.int64], last_pass: bool, state: Refinement, legal: Legal):
    """List the keys of the moves."""
    v: int = state.active[i]
    if v >= 0:
        if legal.targets[v] != NO_PART:
            if last_pass:
                legal.keys[acc] = key_of(v, state)
            acc += 1


@pk.workunit
def collect_moves(i: int, state: Refinement, legal: Legal):
    """Append the keys of the moves in any order, and count them."""
    if not propagates(state):
        return
    v: int = state.active[i]
    if v < 0:
        return
    if legal.targets[v] != NO_PART:
        index: int = pk.atomic_fetch_add(legal.counts, [Count.MOVES], 1)
        legal.keys[index] = key_of(v, state)


@pk.workunit
def rank_moves(i: int, state: Progress, legal: Legal, sequence: Sequence):
    """Sort the moves by counting smaller keys; if they are too many, ask the host to sort."""
    if not propagates(state):
        return
    if legal.counts[Count.MOVES] > sequence.most:
        if i == 0:
            state.control[Control.REQUEST] = Request.MOVES
        return
    if i >= legal.counts[Count.MOVES]:
        return
    rank: int = 0
    for j in range(legal.counts[Count.MOVES]):
        if legal.keys[j] < legal.keys[i]:
            rank += 1
    sequence.keys[rank] = legal.keys[i]


# Select moves that keep the balance, if they are few: each index examines all preceding moves


@pk.function
def is_move(i: int, iteration: Iteration, legal: Legal, sequence: Sequence) -> bool:
    """Whether index i has a move of the sequence."""
    return (
        propagates(iteration)
        and legal.counts[Count.MOVES] <= sequence.most
        and i < legal.counts[Count.MOVES]
    )


@pk.workunit
def weigh_moves(i: int, graph: Graph, state: Progress, legal: Legal, sequence: Sequence):
    """Compute the change of the number of overweight parts by each move of the sequence.

    A part counts from its first move on.
    """
    if not is_move(i, state, legal, sequence):
        return
    v: int = vertex_of_key(sequence.keys[i])
    source: int = state.parts[v]
    target: int = legal.targets[v]
    from_excess: pk.int64 = state.part_weights[source] - state.limits[source]
    to_excess: pk.int64 = state.part_weights[target] - state.limits[target]
    from_counts: bool = False
    to_counts: bool = False
    for j in range(i):
        u: int = vertex_of_key(sequence.keys[j])
        weight: pk.int64 = graph.vertex_weights[u]
        if state.parts[u] == source:
            from_excess -= weight
            from_counts = True
        elif state.parts[u] == target:
            to_excess -= weight
            to_counts = True
        if legal.targets[u] == source:
            from_excess += weight
            from_counts = True
        elif legal.targets[u] == target:
            to_excess += weight
            to_counts = True
    change: int = 0
    if from_excess > 0 and from_counts:
        change -= 1
    if to_excess > 0 and to_counts:
        change -= 1
    if from_excess > graph.vertex_weights[v]:
        change += 1
    if to_excess + graph.vertex_weights[v] > 0:
        change += 1
    sequence.changes[i] = change


@pk.workunit
def measure_moves(i: int, state: Progress, legal: Legal, sequence: Sequence):
    """Find the longest prefix of the sequence after which no part is overweight."""
    if not is_move(i, state, legal, sequence):
        return
    overweight: int = 0
    for j in range(i + 1):
        overweight += sequence.changes[j]
    if overweight == 0:
        pk.atomic_fetch_max(legal.counts, [Count.BALANCED], i + 1)


@pk.workunit
def admit_moves(i: int, graph: Graph, state: Progress, legal: Legal, sequence: Sequence):
    """Admit that prefix, and later moves whose target has room even if no later vertex leaves."""
    sequence.admitted[i] = 0
    if not is_move(i, state, legal, sequence):
        return
    p: int = legal.targets[vertex_of_key(sequence.keys[i])]
    weight: pk.int64 = state.part_weights[p]
    for j in range(i + 1):
        u: int = vertex_of_key(sequence.keys[j])
        if legal.targets[u] == p:
            weight += graph.vertex_weights[u]
        elif state.parts[u] == p and j < legal.counts[Count.BALANCED]:
            weight -= graph.vertex_weights[u]
    if i < legal.counts[Count.BALANCED] or weight <= state.limits[p]:
        sequence.admitted[i] = 1


# Select moves that keep the balance, if they are many: prefix sums over sorted events


@pk.function
def event_of(p: pk.int64, j: pk.int64, arrives: bool) -> pk.int64:
    """Return the event that the vertex of move j arrives in part p, or leaves it."""
    return (p << NUMBER_BITS) + 2 * j + arrives


@pk.function
def part_of(event: pk.int64) -> int:
    """Return the part of an event."""
    return event >> NUMBER_BITS


@pk.function
def move_of(event: pk.int64) -> int:
    """Return the index in the sequence of an event's move."""
    return (event & NUMBER) >> 1


@pk.function
def is_arrival(event: pk.int64) -> bool:
    """Whether an event is an arrival."""
    return (event & 1) == 1


@pk.workunit
def list_events(
    j: int, state: Progress, legal: Legal, sequence: Sequence, listed: pk.View1D[pk.int64]
):
    """List the two events of move j of the sequence."""
    v: int = vertex_of_key(sequence.keys[j])
    index: pk.int64 = j
    listed[2 * index] = event_of(state.parts[v], index, False)
    listed[2 * index + 1] = event_of(legal.targets[v], index, True)


@pk.function
def change_of(event: pk.int64, certain: int, graph: Graph, sequence: Sequence) -> pk.int64:
    """Return the largest possible weight change of a part by an event.

    Only the first `certain` moves are certain to happen.
    """
    weight: pk.int64 = graph.vertex_weights[vertex_of_key(sequence.keys[move_of(event)])]
    if is_arrival(event):
        return weight
    if move_of(event) < certain:
        return -weight
    return 0


@pk.workunit
def add_up_events(
    i: int,
    acc: pk.Acc[pk.int64],
    last_pass: bool,
    certain: pk.View1D[pk.int32],
    graph: Graph,
    sequence: Sequence,
    events: Events,
):
    """Sum the weight changes up to each event; departures count in the first `certain[0]` moves."""
    begins: bool = i == 0 or part_of(events.ordered[i]) != part_of(events.ordered[i - 1])
    if last_pass and begins:
        events.bases[part_of(events.ordered[i])] = acc
    acc += change_of(events.ordered[i], certain[0], graph, sequence)
    if last_pass:
        events.sums[i] = acc


@pk.function
def is_overweight_after(i: int, partition: Partition, events: Events) -> bool:
    """Whether the part of an event is above its limit after the event."""
    p: int = part_of(events.ordered[i])
    return partition.part_weights[p] + events.sums[i] - events.bases[p] > partition.limits[p]


@pk.workunit
def mark_overweight(i: int, state: Progress, sequence: Sequence, events: Events):
    """Count a part as overweight from an event to its next event, if it is above its limit."""
    if not is_overweight_after(i, state, events):
        return
    pk.atomic_fetch_add(sequence.changes, [move_of(events.ordered[i])], 1)
    if i + 1 < events.count:
        if part_of(events.ordered[i + 1]) == part_of(events.ordered[i]):
            pk.atomic_fetch_add(sequence.changes, [move_of(events.ordered[i + 1])], -1)


@pk.workunit
def find_balanced(
    j: int,
    acc: pk.Acc[pk.int64],
    last_pass: bool,
    sequence: Sequence,
    balanced: pk.View1D[pk.int32],
):
    """Find the longest prefix of the sequence after which no part is overweight."""
    acc += sequence.changes[j]
    if last_pass and acc == 0:
        if j + 1 >= sequence.most or sequence.changes[j + 1] != 0:
            pk.atomic_fetch_max(balanced, [0], j + 1)


@pk.workunit
def admit_rest(
    i: int, balanced: pk.View1D[pk.int32], state: Progress, sequence: Sequence, events: Events
):
    """Admit that prefix, and later moves whose target has room even if no later vertex leaves."""
    if not is_arrival(events.ordered[i]):
        return
    j: int = move_of(events.ordered[i])
    sequence.admitted[j] = 0
    if j < balanced[0] or not is_overweight_after(i, state, events):
        sequence.admitted[j] = 1


@pk.workunit
def make_moves(j: int, graph: Graph, state: Refinement, legal: Legal, sequence: Sequence):
    """Make the admitted moves."""
    if sequence.admitted[j] == 0:
        return
    v: int = vertex_of_key(sequence.keys[j])
    move(v, legal.targets[v], graph, state)
