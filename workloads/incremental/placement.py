"""Rounds that place the vertices of the pseudo-partition (iG-kway, Algorithm 4).

In a round, every vertex without unplaced neighbours of lower index chooses a part: a vertex move.
The moves are sorted by part, then by decreasing edge weight to it. Each part admits a prefix of its
moves, until it is full. In the paper, all parts stop if one is full.
"""

from dataclasses import dataclass

import pykokkos as pk

from jetpy.workloads.common.groups import NO_PART, Connectivity, Partition
from jetpy.workloads.common.hashing import part_hash
from jetpy.workloads.incremental.pseudo_partition import PseudoPartition, part_of_end
from jetpy.workloads.refinement.connectivity import (
    add_to_row,
    capacity,
    ends_row,
    is_direct,
    search_width,
)


class Placement(PseudoPartition, Partition):
    """The vertices of the pseudo-partition, by index, and the parts.

    `parts` has NO_PART for unplaced vertices, and the part weights exclude them.
    """

    lightest: pk.View1D[pk.int32]  # shape (1,): the part of lowest weight
    seed: int


@dataclass(frozen=True, eq=False)
class VertexMoves:
    """The vertex moves of a round, by vertex, and the sorted sequence of the moves."""

    targets: pk.View1D[pk.int32]  # the chosen part; NO_PART if the vertex waits or is placed
    pulls: pk.View1D[pk.int32]  # edge weight to the chosen part
    losses: pk.View1D[pk.int32]  # how much more edge weight goes to a part without room
    keys: pk.View1D[pk.int64]  # the sequence: sort keys, with the vertex in the lowest bits
    pull_bits: int  # bits of the edge weight in a key
    number_bits: int  # bits of the vertex in a key
    weights_before: pk.View1D[pk.int64]  # vertex weight before each index of the sequence
    weights_before_part: pk.View1D[pk.int64]  # vertex weight before the first move to each part


@pk.function
def number_at(i: int, moves: VertexMoves) -> int:
    """Return the vertex at index i of the sequence."""
    one: pk.int64 = 1
    return moves.keys[i] & ((one << moves.number_bits) - 1)


@pk.function
def is_lighter(q: int, q_hash: pk.uint32, p: int, p_hash: pk.uint32, state: Placement) -> bool:
    """Whether part q weighs less than part p; ties go to the higher hash, then the lower part."""
    if state.part_weights[q] != state.part_weights[p]:
        return state.part_weights[q] < state.part_weights[p]
    return q_hash > p_hash or (q_hash == p_hash and q < p)


@pk.workunit
def find_lightest(i: int, state: Placement):
    """Find the part of lowest weight; ties go to the lowest part."""
    best: int = 0
    for p in range(1, state.k):
        if state.part_weights[p] < state.part_weights[best]:
            best = p
    state.lightest[0] = best


@pk.workunit
def choose(j: int, state: Placement, table: Connectivity, moves: VertexMoves):
    """Choose a part for each vertex that is not placed and waits for no neighbour.

    It is the part with room that has most edge weight, then the lightest. A vertex without edges to
    a part with room chooses the lightest of all parts.
    """
    moves.targets[j] = NO_PART
    if state.parts[j] != NO_PART or state.waits[j] > 0:
        return
    degree: int = state.indptr[j + 1] - state.indptr[j]
    row: int = table.rows[j]
    size: int = capacity(degree, table.k)
    tail: int = row + search_width(j, size, table)
    best: int = state.lightest[0]
    best_pull: int = 0
    best_hash: pk.uint32 = 0
    most: int = 0
    for s in range(row, row + size):
        q: int = table.parts[s]
        if is_direct(degree, table.k):
            q = s - row
        elif ends_row(s, tail, table):
            break
        pull: int = table.weights[s]
        if q >= 0 and pull > most:
            most = pull
        if q >= 0 and pull > 0 and pull >= best_pull:
            if state.part_weights[q] + state.vertex_weights[j] <= state.limits[q]:
                h: pk.uint32 = part_hash(j, q, state.seed)
                if pull > best_pull or is_lighter(q, h, best, best_hash, state):
                    best = q
                    best_pull = pull
                    best_hash = h
    moves.targets[j] = best
    moves.pulls[j] = best_pull
    moves.losses[j] = most - best_pull


@pk.function
def is_first(i: int, moves: VertexMoves) -> bool:
    """Whether the move at index i of the sequence is the first one to its part."""
    if i == 0:
        return True
    return moves.targets[number_at(i - 1, moves)] != moves.targets[number_at(i, moves)]


@pk.workunit
def list_moves(j: int, acc: pk.Acc[pk.int64], last_pass: bool, moves: VertexMoves):
    """List the moves by key: part, then decreasing edge weight to it, then vertex."""
    if moves.targets[j] != NO_PART:
        if last_pass:
            one: pk.int64 = 1
            part: pk.int64 = moves.targets[j]
            rest: pk.int64 = (one << moves.pull_bits) - 1 - moves.pulls[j]
            if rest < 0:
                rest = 0
            moves.keys[acc] = (((part << moves.pull_bits) + rest) << moves.number_bits) + j
        acc += 1


@pk.workunit
def accumulate_weights(
    i: int, acc: pk.Acc[pk.int64], last_pass: bool, state: Placement, moves: VertexMoves
):
    """Sum the vertex weights before each index, and before the first move to each part."""
    j: int = number_at(i, moves)
    if last_pass:
        moves.weights_before[i] = acc
        if is_first(i, moves):
            moves.weights_before_part[moves.targets[j]] = acc
    acc += state.vertex_weights[j]


@pk.workunit
def admit(i: int, acc: pk.Acc[pk.int64], state: Placement, moves: VertexMoves):
    """Place the first vertex of each part, and the next ones until it is full; count them."""
    j: int = number_at(i, moves)
    p: int = moves.targets[j]
    before: pk.int64 = moves.weights_before[i] - moves.weights_before_part[p]
    grown: pk.int64 = state.part_weights[p] + before + state.vertex_weights[j]
    if is_first(i, moves) or grown <= state.limits[p]:
        state.parts[j] = p
        acc += 1


@pk.workunit
def commit_placements(i: int, state: Placement, table: Connectivity, moves: VertexMoves):
    """Add placed vertices to their parts, and update the tables and waits of their neighbours."""
    j: int = number_at(i // state.lanes, moves)
    p: int = state.parts[j]
    if p == NO_PART:
        return
    if i % state.lanes == 0:
        weight: pk.int64 = state.vertex_weights[j]
        pk.atomic_fetch_add(state.part_weights, [p], weight)
    for e in range(state.indptr[j] + i % state.lanes, state.indptr[j + 1], state.lanes):
        u: int = state.ends[e]
        if u >= 0:
            degree: int = state.indptr[u + 1] - state.indptr[u]
            add_to_row(u, degree, p, state.edge_weights[e], table)
            if u > j:
                pk.atomic_fetch_add(state.waits, [u], -1)


@pk.workunit
def sum_change_of_cut(i: int, acc: pk.Acc[pk.int64], state: Placement):
    """Sum the change of twice the cut by the placements."""
    j: int = i // state.lanes
    for e in range(state.indptr[j] + i % state.lanes, state.indptr[j + 1], state.lanes):
        u: int = state.ends[e]
        weight: pk.int64 = state.edge_weights[e]
        before: int = part_of_end(u)
        after: int = part_of_end(u)
        if u >= 0:
            before = state.previous[u]
            after = state.parts[u]
        else:
            weight *= 2
        if after != state.parts[j]:
            acc += weight
        if before != state.previous[j]:
            acc -= weight
