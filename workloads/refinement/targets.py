"""Targets: the best part adjacent to a vertex, found in its row of the connectivity table."""

from enum import IntEnum

import pykokkos as pk

from jetpy.workloads.common.control_block import Control
from jetpy.workloads.common.ghosts import owned_global_id
from jetpy.workloads.common.groups import (
    INT32_MAX,
    NO_PART,
    NO_VERTEX,
    UNKNOWN,
    Connectivity,
    Graph,
    Iteration,
    Metric,
    Refinement,
)
from jetpy.workloads.common.hashing import part_hash
from jetpy.workloads.common.metric import MetricKind, distance_of
from jetpy.workloads.common.prefetching import ENTRIES_AHEAD, OFFSETS_AHEAD, prefetch
from jetpy.workloads.refinement.active import is_prefetched
from jetpy.workloads.refinement.connectivity import capacity, ends_row, first_of_row, search_width

NO_SLOT, NOT_ADJACENT = -1, -2
"""Stand for a slot: no part qualifies; no other part is adjacent."""
MAX_GAIN = INT32_MAX - 1


class Wanted(IntEnum):
    """The parts that qualify as a target."""

    ANY = 0
    WITH_ROOM = 1
    """Parts that do not exceed their limit with the vertex."""
    OPEN = 2
    """Open parts with enough spare weight for the vertex. `loads` is then minus the spare weight
    (`plan`)."""
    VALID = 3
    """Open parts: the valid destinations of Jet, section 4.2.2."""


@pk.function
def connection_to(
    v: int, q: int, weight: int, size: int, table: Connectivity, metric: Metric
) -> pk.int64:
    """Return the connection of a vertex to part q, given its edge weight to q and its row's size.

    The connection is that weight if all parts have distance 1. Otherwise it is minus the cost of
    all edges of the vertex if it were in q.
    """
    connection: pk.int64 = weight
    if metric.metric_kind == MetricKind.EDGE_CUT:
        return connection
    connection = 0
    row: int = first_of_row(v, table)
    tail: int = row + search_width(v, size, table)
    for s in range(row, row + size):
        p: int = table.parts[s]
        if ends_row(s, tail, table):
            break
        if p >= 0:
            w: pk.int64 = table.weights[s]
            connection -= w * distance_of(p, q, metric)
    return connection


@pk.function
def rebalances_by_cut(iteration: Iteration) -> bool:
    """Whether weak rebalancing rates moves by the cut, even if the metric is another one."""
    return iteration.control[Control.REBALANCES_BY_CUT] == 1


@pk.function
def qualifies(
    q: int, weight: int, wanted: int, loads: pk.View1D[pk.int64], limits: pk.View1D[pk.int64]
) -> bool:
    """Whether a vertex of the given weight may choose part q."""
    if wanted == Wanted.WITH_ROOM:
        return loads[q] + weight <= limits[q]
    if wanted == Wanted.OPEN:
        return loads[q] + weight <= 0
    if wanted == Wanted.VALID:
        return loads[q] < 0
    return True


@pk.function
def best_slot(
    v: int,
    wanted: int,
    graph: Graph,
    table: Connectivity,
    state: Refinement,
    loads: pk.View1D[pk.int64],
    limits: pk.View1D[pk.int64],
) -> int:
    """Return the slot of the best adjacent part: largest connection, then hash, then lowest part.

    Returns `NO_SLOT` if no part qualifies, `NOT_ADJACENT` if there is no adjacent part. Stores
    `internal`. `loads` and `limits` decide which parts qualify (`Wanted`).
    """
    seed: int = state.control[Control.ITERATION_SEED]
    by_cut: bool = wanted >= Wanted.OPEN and rebalances_by_cut(state)
    home: int = state.parts[v]
    size: int = capacity(graph.indptr[v + 1] - graph.indptr[v], table.k)
    row: int = first_of_row(v, table)
    tail: int = row + search_width(v, size, table)
    internal: int = 0
    best: int = NOT_ADJACENT
    best_part: int = 0
    largest: pk.int64 = 0
    best_hash: pk.uint32 = 0
    for s in range(row, row + size):
        q: int = table.parts[s]
        if ends_row(s, tail, table):
            break
        w: int = table.weights[s]
        if q == home:
            internal = w
        elif q >= 0 and w > 0:
            if best == NOT_ADJACENT:
                best = NO_SLOT
            if qualifies(q, graph.vertex_weights[v], wanted, loads, limits):
                connection: pk.int64 = w
                if not by_cut:
                    connection = connection_to(v, q, w, size, table, state)
                if best < 0 or connection >= largest:
                    h: pk.uint32 = part_hash(owned_global_id(v, graph), q, seed)
                    if (
                        best < 0
                        or connection > largest
                        or h > best_hash
                        or (h == best_hash and q < best_part)
                    ):
                        best = s
                        best_part = q
                        largest = connection
                        best_hash = h
    state.internal[v] = internal
    return best


@pk.function
def gain_of(v: int, slot: int, graph: Graph, table: Connectivity, state: Refinement) -> int:
    """Return the gain of a move to the part of a slot, in units; `internal` must be up to date."""
    size: int = capacity(graph.indptr[v + 1] - graph.indptr[v], table.k)
    weight: int = table.weights[slot]
    gain: pk.int64 = connection_to(v, table.parts[slot], weight, size, table, state)
    gain -= connection_to(v, state.parts[v], state.internal[v], size, table, state)
    if state.unit > 1:
        gain //= state.unit
    return saturated(gain)


@pk.function
def saturated(gain: pk.int64) -> int:
    """Clamp a gain to the range of stored gains."""
    if gain > MAX_GAIN:
        return MAX_GAIN
    if gain < -MAX_GAIN:
        return -MAX_GAIN
    return gain


@pk.function
def prefetch_active(i: int, count: pk.int64, table: Connectivity, state: Refinement) -> int:
    """Ask for the row and the target of an active vertex after the i-th of `count`.

    Return the vertex whose slots are to be asked for, or `NO_VERTEX`.
    """
    if not is_prefetched(state):
        return NO_VERTEX
    if i + OFFSETS_AHEAD < count:
        v: int = state.active[i + OFFSETS_AHEAD]
        if v != NO_VERTEX:
            prefetch(state.targets[v])
            prefetch(table.rows[v])
    if i + ENTRIES_AHEAD < count:
        return state.active[i + ENTRIES_AHEAD]
    return NO_VERTEX


@pk.function
def update_target(v: int, graph: Graph, table: Connectivity, state: Refinement):
    """Set an unknown target of a vertex to its best adjacent part, and store the gain."""
    if state.targets[v] == UNKNOWN:
        best: int = best_slot(v, Wanted.ANY, graph, table, state, state.limits, state.limits)
        state.targets[v] = NO_PART
        if best >= 0:
            state.targets[v] = table.parts[best]
            state.gains[v] = gain_of(v, best, graph, table, state)
