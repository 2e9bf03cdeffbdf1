"""Communication volume: one index moves vertices of a whole graph, as Fiduccia and Mattheyses do.

The volume is the sum over the vertices of how many other parts they have neighbours in. A move
changes that of the vertex and of its neighbours, which a table tells: how many neighbours of each
vertex are in each part. Sources: Hendrickson, Kolda, "Graph partitioning models for parallel
computing", Parallel Computing 26 (2000); Karypis, Kumar, METIS 5, `objtype=vol`; Fiduccia,
Mattheyses, "A linear-time heuristic for improving network partitions", DAC 1982.
"""

import pykokkos as pk

from jetpy.workloads.connectivity import (
    add_to_row,
    capacity,
    first_slot,
    is_direct,
    slot_of_part,
    take_from_row,
)
from jetpy.workloads.groups import NO_PART, Connectivity, Graph
from jetpy.workloads.hashing import mix
from jetpy.workloads.heaps import DONE, NOT_QUEUED, Heaps, Number, insert, rekey, remove

KEY_BITS = 32
FEWEST_TRIED, TRIED_SHARE = 200, 50
"""Moves without success after which a pass ends: a share of the vertices, and so many at least."""
MOST_LOOKUPS = 1 << 12
"""Vertices of more neighbours times adjacent parts stay where they are."""
LONGEST_LOOK = 32
"""Vertices of fewer neighbours, and these, are looked at again after a move nearby; others when it
is their turn."""
MOST_THAT_MATTER = 2
"""More neighbours in a part than so many, and one more or less changes no gain."""
ONLY_HEAP = 0
NOT_LISTED = -1


class Volume(Heaps):
    """A partition, and room for one vertex's moves."""

    parts: pk.View1D[pk.int32]
    loads: pk.View1D[pk.int64]  # weights of parts
    limits: pk.View1D[pk.int64]  # and what they may be
    pinned: pk.View1D[pk.int32]  # 1 for vertices that stay
    adjacent: pk.View1D[pk.int32]  # the parts that the vertex at work may go to
    losses: pk.View1D[pk.int32]  # what it loses there, by part; NOT_LISTED of others
    moved: pk.View1D[pk.int32]  # the vertices in the order of their moves
    homes: pk.View1D[pk.int32]  # where a queued vertex would go, or a moved one was


@pk.function
def count_in(v: int, p: int, graph: Graph, table: Connectivity) -> int:
    """Return how many neighbours of a vertex are in a part."""
    degree: int = graph.indptr[v + 1] - graph.indptr[v]
    row: int = table.rows[v]
    if is_direct(degree, table.k):
        return table.weights[row + p]
    size: int = capacity(degree, table.k)
    if size == 0:
        return 0
    s: int = slot_of_part(p, first_slot(p, row, size), row, size, table)
    if s < 0:
        return 0
    return table.weights[s]


@pk.function
def list_adjacent(v: int, graph: Graph, state: Volume) -> int:
    """List the parts that a vertex may go to, in the order of its neighbours; return how many."""
    own: int = state.parts[v]
    count: int = 0
    for e in range(graph.indptr[v], graph.indptr[v + 1]):
        q: int = state.parts[graph.indices[e]]
        if q != own and state.losses[q] == NOT_LISTED:
            load: pk.int64 = state.loads[q] + graph.vertex_weights[v]
            if load <= state.limits[q]:
                state.losses[q] = 0
                state.adjacent[count] = q
                count += 1
    return count


@pk.function
def gain_anywhere(v: int, count: int, graph: Graph, table: Connectivity, state: Volume) -> int:
    """Return what it gains that a vertex leaves its part, and find what it loses in each listed."""
    own: int = state.parts[v]
    gain: int = 1
    if count_in(v, own, graph, table) > 0:
        gain = 0
    for e in range(graph.indptr[v], graph.indptr[v + 1]):
        u: int = graph.indices[e]
        r: int = state.parts[u]
        if r != own and count_in(u, own, graph, table) == 1:
            gain += 1
        for j in range(count):
            q: int = state.adjacent[j]
            if r != q and count_in(u, q, graph, table) == 0:
                state.losses[q] += 1
    return gain


@pk.function
def find_best(v: int, graph: Graph, table: Connectivity, state: Volume) -> int:
    """Find where a vertex should go, `NO_PART` if nowhere; return what that gains.

    The first part by number, if several gain the same.
    """
    count: int = list_adjacent(v, graph, state)
    degree: int = graph.indptr[v + 1] - graph.indptr[v]
    gain: int = 0
    best: int = NO_PART
    if count > 0 and degree <= MOST_LOOKUPS // count:
        gain = gain_anywhere(v, count, graph, table, state)
        best = state.adjacent[0]
        for j in range(1, count):
            p: int = state.adjacent[j]
            if state.losses[p] < state.losses[best] or (
                state.losses[p] == state.losses[best] and p < best
            ):
                best = p
        gain -= state.losses[best]
    for j in range(count):
        state.losses[state.adjacent[j]] = NOT_LISTED
    state.homes[v] = best
    return gain


@pk.function
def queue(v: int, graph: Graph, table: Connectivity, seed: pk.uint32, state: Volume):
    """Queue a vertex by what its best move gains, if it has one."""
    if state.positions[v] == DONE:
        return
    gain: pk.int64 = find_best(v, graph, table, state)
    if state.homes[v] == NO_PART:
        if state.positions[v] != NOT_QUEUED:
            remove(v, 0, ONLY_HEAP, state)
        return
    h: pk.uint32 = mix(v ^ seed)
    key: pk.int64 = (gain << KEY_BITS) + h
    if state.positions[v] == NOT_QUEUED:
        insert(v, key, 0, ONLY_HEAP, state)
    else:
        rekey(v, key, 0, ONLY_HEAP, state)


@pk.function
def move(v: int, q: int, graph: Graph, table: Connectivity, state: Volume):
    """Put a vertex into another part, and tell its neighbours' rows."""
    p: int = state.parts[v]
    state.loads[p] -= graph.vertex_weights[v]
    state.loads[q] += graph.vertex_weights[v]
    state.parts[v] = q
    for e in range(graph.indptr[v], graph.indptr[v + 1]):
        u: int = graph.indices[e]
        degree: int = graph.indptr[u + 1] - graph.indptr[u]
        take_from_row(u, degree, p, 1, table)
        add_to_row(u, degree, q, 1, table)


@pk.function
def queue_around(v: int, p: int, graph: Graph, table: Connectivity, seed: pk.uint32, state: Volume):
    """Queue anew those whose gains have changed since a vertex has left a part."""
    q: int = state.parts[v]
    for e in range(graph.indptr[v], graph.indptr[v + 1]):
        u: int = graph.indices[e]
        if graph.indptr[u + 1] - graph.indptr[u] < LONGEST_LOOK:
            queue(u, graph, table, seed, state)
            left: int = count_in(u, p, graph, table)
            come: int = count_in(u, q, graph, table)
            if left <= MOST_THAT_MATTER or come <= MOST_THAT_MATTER:
                for f in range(graph.indptr[u], graph.indptr[u + 1]):
                    queue(graph.indices[f], graph, table, seed, state)


@pk.function
def improve(n: int, graph: Graph, table: Connectivity, seed: pk.uint32, state: Volume) -> bool:
    """Make one pass of Fiduccia and Mattheyses; return whether it has improved anything."""
    state.numbers[Number.SIZES] = 0
    for v in range(n):
        state.positions[v] = NOT_QUEUED
        if state.pinned[v] == 1:
            state.positions[v] = DONE
    for v in range(n):
        queue(v, graph, table, seed, state)
    most: int = n // TRIED_SHARE
    if most < FEWEST_TRIED:
        most = FEWEST_TRIED
    count: int = 0
    kept: int = 0
    total: pk.int64 = 0
    highest: pk.int64 = 0
    while state.numbers[Number.SIZES] > 0 and count - kept < most:
        u: int = state.heap[0]
        expected: pk.int64 = state.keys[u]
        queue(u, graph, table, seed, state)
        if state.positions[u] < 0 or state.keys[u] != expected:
            continue
        remove(u, 0, ONLY_HEAP, state)
        state.positions[u] = DONE
        p: int = state.parts[u]
        state.moved[count] = u
        count += 1
        total += expected >> KEY_BITS
        move(u, state.homes[u], graph, table, state)
        state.homes[u] = p
        if total > highest:
            highest = total
            kept = count
        queue_around(u, p, graph, table, seed, state)
    while count > kept:
        count -= 1
        last: int = state.moved[count]
        move(last, state.homes[last], graph, table, state)
    return kept > 0


@pk.workunit
def shrink(
    i: int,
    n: int,
    passes: int,
    seed: pk.uint32,
    graph: Graph,
    table: Connectivity,
    state: Volume,
):
    """Make the volume of a partition smaller; the table is empty before."""
    for v in range(n):
        degree: int = graph.indptr[v + 1] - graph.indptr[v]
        for e in range(graph.indptr[v], graph.indptr[v + 1]):
            add_to_row(v, degree, state.parts[graph.indices[e]], 1, table)
    done: int = 0
    while done < passes:
        done += 1
        salt: pk.uint32 = seed + done
        if not improve(n, graph, table, salt, state):
            break
