"""Independent sets of moves that each lower the cut and keep the balance.

Lee et al., "G-kway", TODAES 2025, section 3.2.
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
"""Number of lower bits of a key that hold a vertex, or in an event a move and its direction."""
NUMBER = 2**NUMBER_BITS - 1


class Count(IntEnum):
    """Places among the counts."""

    MOVES = 0
    BALANCED = 1
    """Moves in the longest beginning of the sequence after which no part is overweight."""


@dataclass(frozen=True, eq=False)
class Legal:
    """The legal moves of an iteration: positive gain, and room in the destination."""

    targets: pk.View1D[pk.int32]  # of each active vertex; NO_PART
    counts: pk.View1D[pk.int32]  # by Count
    keys: pk.View1D[pk.int64]  # of the moves (`key_of`), in any order


@dataclass(frozen=True, eq=False)
class Sequence:
    """The moves by falling gain."""

    keys: pk.View1D[pk.int64]
    changes: pk.View1D[pk.int32]  # by how much each move changes the number of overweight parts
    admitted: pk.View1D[pk.int32]  # whether each move is made
    most: int  # moves that there is room for


@dataclass(frozen=True, eq=False)
class Events:
    """What the moves mean to parts (`event_of`)."""

    ordered: pk.View1D[pk.int64]  # by part, then by place of the move in the sequence
    sums: pk.View1D[pk.int64]  # of the changes of weight up to the end of each event
    bases: pk.View1D[pk.int64]  # by part: of those before its first event
    count: int


# Legal moves that are independent


@pk.workunit
def find_legal(i: int, graph: Graph, table: Connectivity, state: Refinement, legal: Legal):
    """Find every active vertex a legal target, with the gain as the vertex's priority.

    That is the target that is best if all parts had room, where it has; else the best with room.
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
    """Let a vertex stay if a lower neighbour has a legal move: the others are independent."""
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


# Sorting them


@pk.function
def key_of(v: int, vertices: Vertices) -> pk.int64:
    """Return the key by which a vertex's move is sorted: by falling gain, then vertex."""
    key: pk.int64 = INT32_MAX - vertices.priorities[v]
    return (key << NUMBER_BITS) + v


@pk.function
def vertex_of_key(key: pk.int64) -> int:
    """Return the vertex of a move."""
    return key & NUMBER


@pk.workunit
def list_moves(i: int, acc: pk.Acc[pk.int64], last_pass: bool, state: Refinement, legal: Legal):
    """List the moves."""
    v: int = state.active[i]
    if v >= 0:
        if legal.targets[v] != NO_PART:
            if last_pass:
                legal.keys[acc] = key_of(v, state)
            acc += 1


@pk.workunit
def collect_moves(i: int, state: Refinement, legal: Legal):
    """List the moves in any order, and count them."""
    if not propagates(state):
        return
    v: int = state.active[i]
    if v < 0:
        return
    if legal.targets[v] != NO_PART:
        place: int = pk.atomic_fetch_add(legal.counts, [Count.MOVES], 1)
        legal.keys[place] = key_of(v, state)


@pk.workunit
def rank_moves(i: int, state: Progress, legal: Legal, sequence: Sequence):
    """Sort the moves, each by looking at all others; if they are too many, ask the host to."""
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


# Making those that keep the balance, with a few: each looks at all before it


@pk.function
def is_move(i: int, iteration: Iteration, legal: Legal, sequence: Sequence) -> bool:
    """Whether an index has a move of the sequence."""
    return (
        propagates(iteration)
        and legal.counts[Count.MOVES] <= sequence.most
        and i < legal.counts[Count.MOVES]
    )


@pk.workunit
def weigh_moves(i: int, graph: Graph, state: Progress, legal: Legal, sequence: Sequence):
    """Find by how much the number of overweight parts changes with each move of the sequence.

    A part counts from the first move that it has to do with.
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
    """Find the longest beginning of the sequence after which no part is overweight."""
    if not is_move(i, state, legal, sequence):
        return
    overweight: int = 0
    for j in range(i + 1):
        overweight += sequence.changes[j]
    if overweight == 0:
        pk.atomic_fetch_max(legal.counts, [Count.BALANCED], i + 1)


@pk.workunit
def admit_moves(i: int, graph: Graph, state: Progress, legal: Legal, sequence: Sequence):
    """Admit a move up to there; one after it if its target has room even if nobody leaves."""
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


# Making those that keep the balance, with many: by sums over sorted events


@pk.function
def event_of(p: pk.int64, j: pk.int64, arrives: bool) -> pk.int64:
    """Return what move j means to part p: that its vertex arrives there, or leaves."""
    return (p << NUMBER_BITS) + 2 * j + arrives


@pk.function
def part_of(event: pk.int64) -> int:
    """Return the part of an event."""
    return event >> NUMBER_BITS


@pk.function
def move_of(event: pk.int64) -> int:
    """Return the place of an event's move in the sequence."""
    return (event & NUMBER) >> 1


@pk.function
def is_arrival(event: pk.int64) -> bool:
    """Whether the part of an event gets heavier."""
    return (event & 1) == 1


@pk.workunit
def list_events(
    j: int, state: Progress, legal: Legal, sequence: Sequence, listed: pk.View1D[pk.int64]
):
    """List what move j of the sequence means to two parts."""
    v: int = vertex_of_key(sequence.keys[j])
    place: pk.int64 = j
    listed[2 * place] = event_of(state.parts[v], place, False)
    listed[2 * place + 1] = event_of(legal.targets[v], place, True)


@pk.function
def change_of(event: pk.int64, certain: int, graph: Graph, sequence: Sequence) -> pk.int64:
    """Return by how much an event changes the weight of its part, at most.

    Only as many moves are certain; others may or may not take place.
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
    """Sum the weight changes up to each event; only the first `certain[0]` moves count."""
    begins: bool = i == 0 or part_of(events.ordered[i]) != part_of(events.ordered[i - 1])
    if last_pass and begins:
        events.bases[part_of(events.ordered[i])] = acc
    acc += change_of(events.ordered[i], certain[0], graph, sequence)
    if last_pass:
        events.sums[i] = acc


@pk.function
def is_overweight_after(i: int, partition: Partition, events: Events) -> bool:
    """Whether the part of an event is above its limit after it."""
    p: int = part_of(events.ordered[i])
    return partition.part_weights[p] + events.sums[i] - events.bases[p] > partition.limits[p]


@pk.workunit
def mark_overweight(i: int, state: Progress, sequence: Sequence, events: Events):
    """Count the part as overweight from an event to its next, if it is."""
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
    """Find the longest beginning of the sequence after which no part is overweight."""
    acc += sequence.changes[j]
    if last_pass and acc == 0:
        if j + 1 >= sequence.most or sequence.changes[j + 1] != 0:
            pk.atomic_fetch_max(balanced, [0], j + 1)


@pk.workunit
def admit_rest(
    i: int, balanced: pk.View1D[pk.int32], state: Progress, sequence: Sequence, events: Events
):
    """Admit a move up to there; one after it if its target has room even if nobody leaves."""
    if not is_arrival(events.ordered[i]):
        return
    j: int = move_of(events.ordered[i])
    sequence.admitted[j] = 0
    if j < balanced[0] or not is_overweight_after(i, state, events):
        sequence.admitted[j] = 1


@pk.workunit
def make_moves(j: int, graph: Graph, state: Refinement, legal: Legal, sequence: Sequence):
    """Make the moves that are admitted."""
    if sequence.admitted[j] == 0:
        return
    v: int = vertex_of_key(sequence.keys[j])
    move(v, legal.targets[v], graph, state)
