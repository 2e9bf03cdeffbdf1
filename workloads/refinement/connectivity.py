"""The connectivity table: the edge weight of each vertex into each adjacent part (Jet, 4.3).

Row v has min(degree, k) slots from `rows[v]` on. If the degree is high for k, slot p belongs to
part p (direct row). Otherwise a part takes a slot when it becomes adjacent, and the slot becomes
`FREED` when its weight drops to zero. The order of updates decides which slot a part has, so no
result may depend on slots: readers break ties by hash and part.

A row that is not direct is a hash table with linear probing, but searches begin only at the first
slots. In a short row they begin at the first slot, so the row is a list. In a long row they begin
at the first `FEW` slots (narrow row) if few parts are adjacent when `build_row` computes the row,
otherwise anywhere. On most meshes few parts are adjacent, whatever the degrees. The first `UNUSED`
slot after the slots at which searches begin ends the row, so readers see few slots.

All slots after the end of a row are `UNUSED` and have weight 0, so a row is emptied up to its end.

Edges of weight 0 are not in the table: whether they are cut changes no cost.
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
from jetpy.workloads.common.prefetching import FEW_PARTS, NEIGHBOURS_AHEAD, first_edges, prefetch
from jetpy.workloads.refinement.active import is_active

UNUSED, FREED = -1, -2
LONGEST_LIST = 16
"""Slots of the longest row that is a list."""
FEW = 8
"""Slots at which searches in a narrow row begin: at most half of `LONGEST_LIST`."""
MAX_DIRECT, SPARSE = 16, 4
"""A row of k slots is direct if k <= MAX_DIRECT or degree >= SPARSE * k."""
NO_EDGES = -1
"""Cost of the edges of a vertex to other parts, if it has no such edges of positive weight."""


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
def mark_narrow(row: int) -> int:
    """Return the entry in `rows` of a narrow row, given its first slot, or the reverse."""
    return -1 - row


@pk.function
def first_of_row(v: int, table: Connectivity) -> int:
    """Return the first slot of a row."""
    row: int = table.rows[v]
    if row < 0:
        return mark_narrow(row)
    return row


@pk.function
def prefetch_slots(v: int, table: Connectivity):
    """Ask for the first slots of a row."""
    row: int = first_of_row(v, table)
    prefetch(table.parts[row])
    prefetch(table.weights[row])


@pk.function
def prefetch_parts(v: int, graph: Graph, state: Refinement):
    """Ask for the parts of the neighbours of a vertex."""
    for e in first_edges(v, graph):
        prefetch(state.parts[graph.indices[e]])


@pk.function
def search_width(v: int, size: int, table: Connectivity) -> int:
    """Return the number of slots at which searches in a row of `size` slots begin; 0 for a list."""
    if size <= LONGEST_LIST:
        return 0
    if table.rows[v] < 0:
        return FEW
    return size


@pk.function
def first_slot(p: int, row: int, width: int) -> int:
    """Return the slot at which the search for part p begins: one of the first `width`, if any."""
    if width == 0:
        return row
    return row + spread(p, width)


@pk.function
def ends_row(s: int, tail: int, table: Connectivity) -> bool:
    """Whether a row ends at slot s; searches begin before slot `tail`."""
    return s >= tail and table.parts[s] == UNUSED


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
def take_slot(p: int, first: int, row: int, size: int, table: Connectivity) -> int:
    """Find the slot of part p in a row, or claim the first free slot for it.

    Other threads may claim slots at the same time. The function first searches for a slot of p,
    because `FREED` slots may precede it.
    """
    s: int = slot_of_part(p, first, row, size, table)
    if s < 0:
        s = slot_of_claim(claim_slot(p, first, row, size, table.parts))
    return s


@pk.function
def add_to_row(v: int, degree: int, p: int, weight: int, table: Connectivity):
    """Add an edge into part p to the row of a vertex; other threads may add to it, too."""
    if weight == 0:
        return
    row: int = first_of_row(v, table)
    s: int = row + p
    if not is_direct(degree, table.k):
        size: int = capacity(degree, table.k)
        s = take_slot(p, first_slot(p, row, search_width(v, size, table)), row, size, table)
    pk.atomic_fetch_add(table.weights, [s], weight)


@pk.function
def take_from_row(v: int, degree: int, p: int, weight: int, table: Connectivity):
    """Subtract an edge into part p from the row of a vertex; other threads may subtract, too.

    The thread that subtracts the last weight of a slot is the last to search for it, and frees it.
    """
    if weight == 0:
        return
    row: int = first_of_row(v, table)
    if is_direct(degree, table.k):
        pk.atomic_fetch_add(table.weights, [row + p], -weight)
        return
    size: int = capacity(degree, table.k)
    s: int = first_slot(p, row, search_width(v, size, table))
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
def empty_row(v: int, is_new: bool, graph: Graph, table: Connectivity):
    """Empty a row up to its end, or all its slots if the table is new."""
    degree: int = graph.indptr[v + 1] - graph.indptr[v]
    row: int = first_of_row(v, table)
    size: int = capacity(degree, table.k)
    s: int = size
    if not is_new and not is_direct(degree, table.k):
        s = search_width(v, size, table)
    for slot in range(s):
        clear_slot(slot, row, degree, table)
    while s < size and table.parts[row + s] != UNUSED:
        clear_slot(s, row, degree, table)
        s += 1


@pk.function
def needs_wide_row(others: int, seen: int) -> bool:
    """Whether not to build a narrow row, given that `seen` edges reach `others` other parts.

    If nearly every edge reaches another part, there will probably be more than `FEW`.
    """
    return others == FEW or 2 * others > seen + 2


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
    """Compute a row, which is empty, and `internal`, from the parts of the neighbours.

    Return the cost of the edges to other parts, which may be 0, or `NO_EDGES` if there is no such
    edge of positive weight.
    With `after_moves`, the target of an active vertex becomes unknown if it or a neighbour has
    moved.
    """
    e: int = graph.indptr[v]
    end: int = graph.indptr[v + 1]
    size: int = capacity(end - e, table.k)
    direct: bool = is_direct(end - e, table.k)
    row: int = first_of_row(v, table)
    is_long: bool = size > LONGEST_LIST
    width: int = 0
    if is_long:
        width = FEW
    home: int = state.parts[v]
    internal: int = 0
    external: int = 0
    cost: pk.int64 = 0
    others: int = 0
    moved: bool = after_moves and state.previous[v] != home
    while e < end:
        u: int = graph.indices[e]
        if state.parts[u] != home:
            break
        if after_moves and state.previous[u] != home:
            moved = True
        internal += graph.edge_weights[e]
        e += 1
    while e < end:
        u: int = graph.indices[e]
        p: int = state.parts[u]
        w: int = graph.edge_weights[e]
        if after_moves and state.previous[u] != p:
            moved = True
        if p == home:
            internal += w
        elif w > 0:
            s: int = row + p
            if not direct:
                s = find_slot(p, first_slot(p, row, width), row, size, table.parts)
                if table.parts[s] != p:
                    others += 1
                    if width == FEW and needs_wide_row(others, e - graph.indptr[v] + 1):
                        for slot in range(2 * FEW):
                            clear_slot(slot, row, end - graph.indptr[v], table)
                        width = size
                        internal = 0
                        external = 0
                        cost = 0
                        e = graph.indptr[v]
                        continue
                    table.parts[s] = p
            table.weights[s] += w
            external += w
            if state.metric_kind != MetricKind.EDGE_CUT:
                wide: pk.int64 = w
                cost += wide * distance_of(home, p, state)
        e += 1
    if internal > 0:
        s: int = row + home
        if not direct:
            s = find_slot(home, first_slot(home, row, width), row, size, table.parts)
            table.parts[s] = home
        table.weights[s] = internal
    if is_long and not direct:
        table.rows[v] = row
        if width == FEW:
            table.rows[v] = mark_narrow(row)
    state.internal[v] = internal
    if moved and is_active(v, state):
        state.targets[v] = UNKNOWN
    if external == 0:
        return NO_EDGES
    if state.metric_kind == MetricKind.EDGE_CUT:
        cost = external
    return cost


@pk.workunit
def build_rows(
    i: int,
    is_new: bool,
    graph: Graph,
    long_rows: LongRows,
    table: Connectivity,
    state: Refinement,
):
    """Compute every row, and reset the state of the vertices; long rows must be empty before.

    The other rows of a new table have undefined contents.

    Targets become unknown, or `INACTIVE` for a vertex without adjacent parts. All high-degree
    vertices are active.
    """
    v: int = row_of(i, long_rows)
    degree: int = graph.indptr[v + 1] - graph.indptr[v]
    if not is_lane(i, long_rows):
        if graph.n_owned > FEW_PARTS and v + NEIGHBOURS_AHEAD < graph.n_owned:
            prefetch_parts(v + NEIGHBOURS_AHEAD, graph, state)
        state.targets[v] = UNKNOWN
        state.priorities[v] = NO_PRIORITY
        state.destinations[v] = NO_PART
        state.active[v] = NO_VERTEX
        if degree <= long_rows.longest:
            empty_row(v, is_new, graph, table)
            if build_row(v, False, graph, table, state) == NO_EDGES:
                state.targets[v] = INACTIVE
        return
    for e in lane_edges(i, v, graph, long_rows):
        add_to_row(v, degree, state.parts[graph.indices[e]], graph.edge_weights[e], table)
