"""Communities: groups of vertices with more edges inside than chance would give, by one index.

Vertices move to the adjacent community that increases modularity most. Then the communities become
the vertices of a coarser level, and so on. Source: Blondel, Guillaume, Lambiotte, Lefebvre, "Fast
unfolding of communities in large networks", Journal of Statistical Mechanics P10008 (2008).
Coarsening within communities: Heuer, Schlag, "Improving coarsening schemes for hypergraph
partitioning by exploiting community structure", SEA 2017.

A community has the number of one of its vertices. In these functions, `origins` has the community
of each vertex, `best` its volume, `keys` the volume of each community, and `internal` the weight of
the edges from the vertex at hand to each community. Volumes are sums of edge weights, shifted so
that the volume of the graph fits into 31 bits.
"""

import pykokkos as pk

from jetpy.workloads.common.groups import NO_VERTEX
from jetpy.workloads.common.hashing import mix
from jetpy.workloads.common.heaps import MAX_LEVELS, Field, vertices_of
from jetpy.workloads.common.hubs import IRREGULAR
from jetpy.workloads.initial.inner_levels import (
    add_row,
    can_hold_level,
    enter_level,
    is_useful,
    project,
    shuffle,
)
from jetpy.workloads.tasks.bisections import Bisections

ROUNDS = 2
"""Maximum number of times that all vertices of a level may move."""
FEW = 20
"""A round that moves less than a twentieth of the vertices is the last one of its level."""
LARGEST_VOLUME = 1 << 30
"""Limit of the volume of a graph, before each edge weight is rounded up."""


@pk.function
def is_irregular(here: int, state: Bisections) -> bool:
    """Return whether the current level has hubs, like those of circuits and social networks."""
    begin: int = state.numbers[here + Field.BEGIN]
    end: int = state.numbers[here + Field.END]
    highest: pk.int64 = 0
    for v in range(begin, end):
        degree: pk.int64 = state.rows[v + 1] - state.rows[v]
        if degree > highest:
            highest = degree
    entries: pk.int64 = state.rows[end] - state.rows[begin]
    return highest * (end - begin) > entries * IRREGULAR


@pk.function
def volume_shift(here: int, state: Bisections) -> int:
    """Return the number of bits by which edge weights are shifted."""
    total: pk.int64 = 0
    begin: int = state.numbers[here + Field.BEGIN]
    end: int = state.numbers[here + Field.END]
    for e in range(state.rows[begin], state.rows[end]):
        total += state.edge_weights[e]
    shift: int = 0
    while (total >> shift) > LARGEST_VOLUME:
        shift += 1
    return shift


@pk.function
def shifted(w: int, shift: int) -> int:
    """Return a shifted edge weight, rounded up."""
    return -((-w) >> shift)


@pk.function
def measure_volumes(shift: int, here: int, state: Bisections) -> pk.int64:
    """Measure the volumes of the vertices of the current level, and return their sum."""
    total: pk.int64 = 0
    for v in vertices_of(here, state):
        volume: int = 0
        for e in range(state.rows[v], state.rows[v + 1]):
            volume += shifted(state.edge_weights[e], shift)
        state.best[v] = volume
        total += volume
    return total


@pk.function
def best_community(v: int, begin: int, total: pk.int64, shift: int, state: Bisections) -> int:
    """Return the community in which a vertex increases modularity most.

    That is its own if others are not better, and of several others the one with the lowest number.
    Pinned vertices only join vertices of their part. `external` lists the adjacent communities from
    place `begin` on.
    """
    last: int = begin
    for e in range(state.rows[v], state.rows[v + 1]):
        c: int = state.origins[state.ends[e]]
        before: int = state.internal[c]
        state.internal[c] = before + shifted(state.edge_weights[e], shift)
        state.external[last] = c
        last += before == 0
    own: int = state.origins[v]
    volume: pk.int64 = state.best[v]
    best: int = own
    most: pk.int64 = state.internal[own]
    most = most * total - volume * (state.keys[own] - volume)
    state.internal[own] = 0
    for j in range(begin, last):
        c: int = state.external[j]
        gain: pk.int64 = state.internal[c]
        state.internal[c] = 0
        if gain == 0:
            continue
        gain = gain * total - volume * state.keys[c]
        is_better: bool = gain > most or (gain == most and best != own and c < best)
        if is_better and state.pinned[c] == state.pinned[v]:
            most = gain
            best = c
    return best


@pk.function
def move_vertices(seed: pk.uint32, total: pk.int64, shift: int, here: int, state: Bisections):
    """Make each vertex of a level a community, and move vertices while many of them move."""
    begin: int = state.numbers[here + Field.BEGIN]
    end: int = state.numbers[here + Field.END]
    shuffle(begin, end, state.numbers[here + Field.ORIGIN], seed, state)
    for v in range(begin, end):
        state.origins[v] = v
        state.keys[v] = state.best[v]
        state.internal[v] = 0
    rounds: int = 0
    while rounds < ROUNDS:
        rounds += 1
        moves: int = 0
        for j in range(begin, end):
            v: int = state.heap[j]
            c: int = best_community(v, begin, total, shift, state)
            if c != state.origins[v]:
                state.keys[state.origins[v]] -= state.best[v]
                state.keys[c] += state.best[v]
                state.origins[v] = c
                moves += 1
        if moves * FEW < end - begin:
            rounds = ROUNDS


@pk.function
def number_communities(begin: int, end: int, state: Bisections) -> int:
    """Number the communities of a level from end + 1 on, and return their end.

    Members are linked: `slots` has the last one of each community, `positions` the one before.
    """
    for v in range(begin, end):
        state.external[v] = NO_VERTEX
    last: int = end + 1
    for v in range(begin, end):
        c: int = state.external[state.origins[v]]
        if c == NO_VERTEX:
            c = last
            last += 1
            state.external[state.origins[v]] = c
            state.pinned[c] = state.pinned[v]
            state.best[c] = 0
            state.slots[c] = NO_VERTEX
            state.moved[c] = NO_VERTEX
        state.coarse_of[v] = c
        state.best[c] += state.best[v]
        state.positions[v] = state.slots[c]
        state.slots[c] = v
    return last


@pk.function
def contract_communities(here: int, state: Bisections) -> bool:
    """Switch to a level whose vertices are the communities; False if it is full or useless."""
    if state.numbers[here + Field.LEVELS] + 1 >= MAX_LEVELS or not can_hold_level(here, state):
        return False
    begin: int = state.numbers[here + Field.BEGIN]
    end: int = state.numbers[here + Field.END]
    last: int = number_communities(begin, end, state)
    if not is_useful(last, here, state):
        return False
    entry: int = state.rows[end]
    for c in range(end + 1, last):
        first: int = entry
        state.rows[c] = first
        v: int = state.slots[c]
        while v != NO_VERTEX:
            entry = add_row(v, c, first, entry, state)
            v = state.positions[v]
    enter_level(last, entry, here, state)
    return True


@pk.function
def is_modular(total: pk.int64, shift: int, here: int, state: Bisections) -> bool:
    """Return whether the modularity of the communities of the current level exceeds 1/2."""
    inside: pk.int64 = total
    expected: pk.int64 = 0
    for v in vertices_of(here, state):
        expected += state.keys[v] * state.keys[v]
        for e in range(state.rows[v], state.rows[v + 1]):
            if state.origins[state.ends[e]] != state.origins[v]:
                inside -= shifted(state.edge_weights[e], shift)
    return inside * total - expected > (total * total) >> 1


@pk.function
def mark_communities(here: int, state: Bisections):
    """Store the communities of the current level in `sides`, if its modularity exceeds 1/2.

    Before, the side of each vertex is what it is pinned to. That of vertices without edges remains.
    """
    base: int = state.numbers[here + Field.LEVELS]
    seed: pk.uint32 = state.numbers[here + Field.SEED]
    shift: int = volume_shift(here, state)
    total: pk.int64 = measure_volumes(shift, here, state)
    move_vertices(seed, total, shift, here, state)
    while contract_communities(here, state):
        seed = mix(seed)
        move_vertices(seed, total, shift, here, state)
    is_marked: bool = is_modular(total, shift, here, state)
    for v in vertices_of(here, state):
        state.sides[v] = state.pinned[v]
        if is_marked:
            state.sides[v] = state.origins[v]
    while state.numbers[here + Field.LEVELS] > base:
        project(here, state)
    for v in vertices_of(here, state):
        if state.rows[v] == state.rows[v + 1]:
            state.sides[v] = state.pinned[v]


@pk.workunit
def find_communities(worker: int, state: Bisections):
    """Store the communities of a graph in `sides`; worker 0 has it as its finest level."""
    mark_communities(worker, state)
