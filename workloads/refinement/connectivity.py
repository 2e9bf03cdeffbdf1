"""The connectivity table: the edge weight of each vertex into each adjacent part (Jet, 4.3).

Row v has min(degree, k) slots from `rows[v]` on. If the degree is high for k, slot p belongs to
part p (direct row). Otherwise a part takes a slot when it becomes adjacent, and the slot becomes
`FREED` when its weight drops to zero. A short row is a list: parts take slots from the front, and
the first `UNUSED` slot ends it. A long row is a hash table with linear probing. The order of
updates decides which slot a part has, so no result may depend on slots: readers break ties by hash
and part.
"""

import pykokkos as pk

from jetpy.workloads.common.groups import (
    INACTIVE,
    NO_PART,
    NO_PRIORITY,
    NO_VERTEX,
    UNKNOWN,
    Connectivity,
    Graph,
    LongRows,
    Refinement,
)
from jetpy.workloads.common.hash_table import claim_slot, find_slot, next_slot, slot_of_claim
from jetpy.workloads.common.hashing import spread
from jetpy.workloads.common.long_rows import (
    is_lane,
    lane_edges,
    lane_entries,
    row_of,
)
from jetpy.workloads.common.metric import MetricKind, distance_of
from jetpy.workloads.refinement.active import is_active

UNUSED, FREED = -1, -2
LONGEST_LIST = 16
"""Slots of the longest row that is a list."""
MAX_DIRECT, SPARSE = 16, 4
"""A row of k slots is direct if k <= MAX_DIRECT or degree >= SPARSE * k."""
NO_EDGES = -1
"""Cost of the edges of a vertex to other parts, if it has no such edges."""


@pk.function
def is_direct(degree: int, k: int) -> bool:
    """Whether a row of this degree is indexed by part."""
    return degree >= k and (k <= MAX_DIRECT or degree >= SPARSE * k)


@pk.function
def capacity(degree: int, k: int) -> int:
    """Return the number of slots of a row."""
    if degree < k:
        return degree
    return k


@pk.function
def first_slot(p: int, row: int, size: int) -> int:
    """Return the slot at which the search for part p begins in a row that is not direct."""
    if size <= LONGEST_LIST:
        return row
    return row + spread(p, size)


@pk.function
def ends_row(p: int, row: int, end: int) -> bool:
    """Whether a reader of the slots row..end - 1 can stop at a slot of part p."""
    return p == UNUSED and end - row <= LONGEST_LIST


@pk.function
def slot_of_part(p: int, first: int, row: int, size: int, table: Connectivity) -> int:
    """Return the slot of part p in a row, searched cyclically from `first` on, or -1."""
    s: int = first
    while table.parts[s] != p:
        if table.parts[s] == UNUSED:
            return -1
        s = next_slot(s, row, size)
        if s == first:
            return -1
    return s


@pk.function
def take_slot(p: int, row: int, size: int, table: Connectivity) -> int:
    """Find the slot of part p in a row, or claim the first free slot for it.

    Other threads may claim slots at the same time. The function first searches for a slot of p,
    because `FREED` slots may precede it.
    """
    first: int = first_slot(p, row, size)
    s: int = slot_of_part(p, first, row, size, table)
    if s < 0:
        s = slot_of_claim(claim_slot(p, first, row, size, table.parts))
    return s


@pk.function
def add_to_row(v: int, degree: int, p: int, weight: int, table: Connectivity):
    """Add an edge into part p to the row of a vertex; other threads may add to it, too."""
    s: int = table.rows[v]
    if is_direct(degree, table.k):
        s += p
    else:
        s = take_slot(p, s, capacity(degree, table.k), table)
    pk.atomic_fetch_add(table.weights, [s], weight)


@pk.function
def take_from_row(v: int, degree: int, p: int, weight: int, table: Connectivity):
    """Subtract an edge into part p from the row of a vertex; other threads may subtract, too.

    The thread that subtracts the last weight of a slot is the last to search for it, and frees it.
    """
    row: int = table.rows[v]
    if is_direct(degree, table.k):
        pk.atomic_fetch_add(table.weights, [row + p], -weight)
        return
    size: int = capacity(degree, table.k)
    s: int = first_slot(p, row, size)
    while table.parts[s] != p:
        s = next_slot(s, row, size)
    before: int = pk.atomic_fetch_add(table.weights, [s], -weight)
    if before == weight:
        table.parts[s] = FREED


@pk.workunit
def place_rows(v: int, acc: pk.Acc[pk.int64], last_pass: bool, graph: Graph, table: Connectivity):
    """Compute the first slot of each row; rows are consecutive."""
    if last_pass:
        table.rows[v] = acc
    acc += capacity(graph.indptr[v + 1] - graph.indptr[v], table.k)


@pk.function
def clear_slot(s: int, row: int, degree: int, table: Connectivity):
    """Empty slot s of a row, counted from the begin of the row."""
    table.parts[row + s] = UNUSED
    if is_direct(degree, table.k):
        table.parts[row + s] = s
    table.weights[row + s] = 0


@pk.function
def clear_chunk(i: int, graph: Graph, long_rows: LongRows, table: Connectivity):
    """Empty the slots of a long row that belong to a lane."""
    v: int = row_of(i, long_rows)
    degree: int = graph.indptr[v + 1] - graph.indptr[v]
    size: int = capacity(degree, table.k)
    for s in lane_entries(i, size, long_rows):
        clear_slot(s, table.rows[v], degree, table)


@pk.workunit
def clear_long_rows(i: int, graph: Graph, long_rows: LongRows, table: Connectivity):
    """Empty the long rows."""
    clear_chunk(i, graph, long_rows, table)


@pk.function
def build_row(
    v: int, after_moves: bool, graph: Graph, table: Connectivity, state: Refinement
) -> pk.int64:
    """Compute a row, and `internal`, from the parts of the neighbours.

    Return the cost of the edges to other parts, which may be 0, or `NO_EDGES` if there is no such
    edge.
    With `after_moves`, the target of an active vertex becomes unknown if it or a neighbour has
    moved.
    """
    e: int = graph.indptr[v]
    end: int = graph.indptr[v + 1]
    degree: int = end - e
    row: int = table.rows[v]
    size: int = capacity(degree, table.k)
    for slot in range(size):
        clear_slot(slot, row, degree, table)
    home: int = state.parts[v]
    internal: int = 0
    external: int = 0
    cost: pk.int64 = 0
    moved: bool = after_moves and state.previous[v] != home
    while e < end:
        u: int = graph.indices[e]
        if state.parts[u] != home:
            break
        if after_moves and state.previous[u] != home:
            moved = True
        internal += graph.edge_weights[e]
        e += 1
    if internal > 0:
        s: int = row + home
        if not is_direct(degree, table.k):
            s = first_slot(home, row, size)
        table.parts[s] = home
        table.weights[s] = internal
    while e < end:
        u: int = graph.indices[e]
        p: int = state.parts[u]
        w: int = graph.edge_weights[e]
        if after_moves and state.previous[u] != p:
            moved = True
        if p == home:
            internal += w
        else:
            external += w
            if state.metric_kind != MetricKind.EDGE_CUT:
                wide: pk.int64 = w
                cost += wide * distance_of(home, p, state)
        s: int = row + p
        if not is_direct(degree, table.k):
            s = find_slot(p, first_slot(p, row, size), row, size, table.parts)
            table.parts[s] = p
        table.weights[s] += w
        e += 1
    state.internal[v] = internal
    if moved and is_active(v, state):
        state.targets[v] = UNKNOWN
    if external == 0:
        return NO_EDGES
    if state.metric_kind == MetricKind.EDGE_CUT:
        cost = external
    return cost


@pk.workunit
def build_rows(i: int, graph: Graph, long_rows: LongRows, table: Connectivity, state: Refinement):
    """Compute every row, and reset the state of the vertices; long rows must be empty before.

    Targets become unknown, or `INACTIVE` for a vertex without adjacent parts. All high-degree
    vertices are active.
    """
    v: int = row_of(i, long_rows)
    degree: int = graph.indptr[v + 1] - graph.indptr[v]
    if not is_lane(i, long_rows):
        state.targets[v] = UNKNOWN
        state.priorities[v] = NO_PRIORITY
        state.destinations[v] = NO_PART
        state.active[v] = NO_VERTEX
        if degree <= long_rows.longest:
            if build_row(v, False, graph, table, state) == NO_EDGES:
                state.targets[v] = INACTIVE
        return
    for e in lane_edges(i, v, graph, long_rows):
        add_to_row(v, degree, state.parts[graph.indices[e]], graph.edge_weights[e], table)
