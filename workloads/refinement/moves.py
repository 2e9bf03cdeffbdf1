"""Moves of vertices, and updates of the connectivity table and the cut (Jet, Algorithm 4.4).

After few moves, the rows of the neighbours are updated: first all subtractions, then all additions.
After many moves, all rows are rebuilt.
"""

import pykokkos as pk

from jetpy.workloads.common.control_block import COUNTER_STRIPES, Control, Counter, Task
from jetpy.workloads.common.ghosts import is_ghost
from jetpy.workloads.common.groups import (
    INACTIVE,
    NO_VERTEX,
    PINNED,
    UNKNOWN,
    Connectivity,
    Graph,
    Iteration,
    LongRows,
    Partition,
    Progress,
    Refinement,
)
from jetpy.workloads.common.long_rows import (
    edges_from,
    edges_to,
    is_lane,
    is_left_to_lanes,
    lane_edges,
    row_of,
    step_of,
)
from jetpy.workloads.common.metric import MetricKind, distance_of
from jetpy.workloads.common.prefetching import first_edges, prefetch, prefetch_rows
from jetpy.workloads.common.striped_counters import copy_of, stripe_of
from jetpy.workloads.refinement.active import activate, is_prefetched
from jetpy.workloads.refinement.connectivity import (
    NO_EDGES,
    add_to_row,
    build_row,
    clear_chunk,
    empty_row,
    prefetch_slots,
    take_from_row,
)


@pk.workunit
def begin_part(v: int, given: pk.View1D[pk.int32], state: Partition):
    """Put a vertex into its given part, which is also its previous and its best one."""
    p: int = given[v]
    state.parts[v] = p
    state.previous[v] = p
    state.best_parts[v] = p


@pk.function
def begin_vertex(v: int, state: Progress):
    """Set the previous part of a vertex, and its best part if the partition is the best so far.

    Every active vertex must call it before any vertex moves.
    """
    state.previous[v] = state.parts[v]
    if state.control[Control.IS_BEST] == 1:
        state.best_parts[v] = state.parts[v]


@pk.function
def first_change(stripe: int, iteration: Iteration) -> int:
    """Return the index of a stripe's first weight change of a part among the counters."""
    own: pk.int64 = stripe & iteration.control[Control.CHANGE_STRIPES] - 1
    return Counter.CHANGES + own * iteration.control[Control.CHANGE_GAP]


@pk.function
def move(v: int, q: int, graph: Graph, state: Refinement):
    """Move a vertex to part q, and append it to the list of moved vertices of its stripe."""
    p: int = state.parts[v]
    weight: pk.int64 = graph.vertex_weights[v]
    one: pk.int64 = 1
    state.previous[v] = p
    state.parts[v] = q
    stripe: int = stripe_of(v, state)
    if state.control[Control.CHANGE_STRIPES] == 1:
        pk.atomic_fetch_add(state.part_weights, [p], -weight)
        pk.atomic_fetch_add(state.part_weights, [q], weight)
    else:
        first: int = first_change(stripe, state)
        pk.atomic_fetch_add(state.counters, [first + p], -weight)
        pk.atomic_fetch_add(state.counters, [first + q], weight)
    index: pk.int64 = pk.atomic_fetch_add(state.counters, [copy_of(Counter.MOVED, stripe)], one)
    state.moved[stripe * state.list_size + index] = v


@pk.workunit
def change_part_weights(p: int, state: Progress):
    """Add the changes of all stripes to the weight of a part, and reset them to 0."""
    stripes: int = state.control[Control.CHANGE_STRIPES]
    for stripe in range(stripes):
        index: int = first_change(stripe, state) + p
        state.part_weights[p] += state.counters[index]
        state.counters[index] = 0


@pk.workunit
def choose_update(i: int, state: Progress):
    """Choose to rebuild all rows, instead of updating them, if more than `MAX_MOVED` have moved."""
    state.control[Control.MOVES] = 0
    state.control[Control.ROWS] = 0
    if state.control[Control.TASK] == Task.NOTHING:
        return
    moved: pk.int64 = 0
    longest: pk.int64 = 0
    for stripe in range(COUNTER_STRIPES):
        listed: pk.int64 = state.counters[copy_of(Counter.MOVED, stripe)]
        moved += listed
        if listed > longest:
            longest = listed
    if moved > state.control[Control.MAX_MOVED]:
        state.counters[Counter.REBUILD] = 1
        state.control[Control.ROWS] = state.control[Control.VERTICES]
    else:
        state.control[Control.MOVES] = longest * COUNTER_STRIPES


@pk.function
def is_rebuilt(state: Progress) -> bool:
    """Whether the table must be rebuilt."""
    return state.control[Control.TASK] != Task.NOTHING and state.counters[Counter.REBUILD] == 1


@pk.function
def add_to_cut(i: int, v: int, change: pk.int64, state: Refinement):
    """Add what index i found at vertex v to the stripes of `CUT_CHANGE`.

    Neighbouring threads of a GPU use different stripes, and so do the threads of a CPU.
    """
    if change != 0:
        stripe: int = stripe_of(v, state)
        if state.share > 1:
            stripe = i & COUNTER_STRIPES - 1
        pk.atomic_fetch_add(state.counters, [copy_of(Counter.CUT_CHANGE, stripe)], change)


@pk.function
def change_of_cut(w: pk.int64, old: int, new: int, u: int, state: Refinement) -> pk.int64:
    """Return the change of twice the cut by an edge to u of a vertex that moved from old to new.

    An edge between two moved vertices is seen from both ends; any other edge counts double.
    """
    if state.parts[u] == state.previous[u]:
        w = 2 * w
    if state.metric_kind != MetricKind.EDGE_CUT:
        farther: int = distance_of(new, state.parts[u], state)
        farther -= distance_of(old, state.previous[u], state)
        return w * farther
    change: pk.int64 = 0
    if state.parts[u] != new:
        change += w
    if state.previous[u] != old:
        change -= w
    return change


@pk.function
def subtract_edges(
    i: int,
    v: int,
    first: int,
    end: int,
    step: int,
    graph: Graph,
    table: Connectivity,
    state: Refinement,
):
    """Subtract every `step`-th edge of a moved vertex from the rows of its neighbours."""
    old: int = state.previous[v]
    new: int = state.parts[v]
    change: pk.int64 = 0
    for e in range(first, end, step):
        u: int = graph.indices[e]
        w: int = graph.edge_weights[e]
        change += change_of_cut(w, old, new, u, state)
        if is_ghost(u, graph):
            continue
        take_from_row(u, graph.indptr[u + 1] - graph.indptr[u], old, w, table)
        target: int = state.targets[u]
        if target != UNKNOWN and target != PINNED:
            if target == INACTIVE:
                activate(u, state)
            state.targets[u] = UNKNOWN
    if not is_ghost(v, graph):
        add_to_cut(i, v, change, state)


@pk.function
def add_edges(
    v: int, first: int, end: int, step: int, graph: Graph, table: Connectivity, state: Progress
):
    """Add every `step`-th edge of a moved vertex to the rows of its neighbours."""
    p: int = state.parts[v]
    for e in range(first, end, step):
        u: int = graph.indices[e]
        if not is_ghost(u, graph):
            add_to_row(u, graph.indptr[u + 1] - graph.indptr[u], p, graph.edge_weights[e], table)


@pk.function
def prefetch_moved(
    i: pk.int64,
    end: pk.int64,
    is_adding: bool,
    graph: Graph,
    table: Connectivity,
    state: Refinement,
):
    """Ask for what the vertices after the i-th of a list of moved ones need."""
    if not is_prefetched(state):
        return
    v: int = prefetch_rows(i, end, state.moved, graph)
    if v != NO_VERTEX:
        for e in first_edges(v, graph):
            u: int = graph.indices[e]
            prefetch(table.rows[u])
            prefetch(graph.indptr[u])
            if not is_adding:
                prefetch(state.parts[u])
                prefetch(state.previous[u])
                prefetch(state.targets[u])
    if i + 1 < end:
        for e in first_edges(state.moved[i + 1], graph):
            if not is_ghost(graph.indices[e], graph):
                prefetch_slots(graph.indices[e], table)


@pk.function
def update_rows(
    i: int,
    count: int,
    is_adding: bool,
    graph: Graph,
    long_rows: LongRows,
    table: Connectivity,
    state: Refinement,
):
    """Subtract the edges of moved vertices from the rows of their neighbours, or add them.

    `count` indices follow the lanes. They process the moved vertices whose rows are short, with
    `share` indices per vertex.
    """
    if state.control[Control.TASK] == Task.NOTHING or state.counters[Counter.REBUILD] == 1:
        return
    v: int = 0
    e: int = 0
    end: int = 0
    if is_lane(i, long_rows):
        v = row_of(i, long_rows)
        if state.parts[v] != state.previous[v]:
            e = edges_from(i, v, graph, long_rows)
            end = edges_to(i, v, graph, long_rows)
            if is_adding:
                add_edges(v, e, end, step_of(i, long_rows), graph, table, state)
            else:
                subtract_edges(i, v, e, end, step_of(i, long_rows), graph, table, state)
        return
    j: int = i - long_rows.lanes
    width: int = count // (COUNTER_STRIPES * state.share)
    stripe: int = j // (width * state.share)
    index: int = j // state.share - stripe * width
    listed: pk.int64 = state.counters[copy_of(Counter.MOVED, stripe)]
    while index < listed:
        place: int = stripe * state.list_size + index
        prefetch_moved(place, stripe * state.list_size + listed, is_adding, graph, table, state)
        v = state.moved[place]
        e = graph.indptr[v]
        end = graph.indptr[v + 1]
        if not is_adding:
            state.targets[v] = UNKNOWN
        if end - e <= long_rows.longest:
            e += j % state.share
            if is_adding:
                add_edges(v, e, end, state.share, graph, table, state)
            else:
                subtract_edges(i, v, e, end, state.share, graph, table, state)
        index += width


@pk.workunit
def subtract_moves(
    i: int, count: int, graph: Graph, long_rows: LongRows, table: Connectivity, state: Refinement
):
    """Subtract the edges of moved vertices from the rows of their neighbours (first pass).

    Sums twice the change of the cut, each edge at the vertex that moved. The targets of moved
    vertices and neighbours become unknown, and the neighbours active.
    """
    update_rows(i, count, False, graph, long_rows, table, state)


@pk.workunit
def add_moves(
    i: int, count: int, graph: Graph, long_rows: LongRows, table: Connectivity, state: Refinement
):
    """Add the edges of moved vertices to the rows of their neighbours (second pass)."""
    update_rows(i, count, True, graph, long_rows, table, state)


@pk.workunit
def rebuild_rows(i: int, graph: Graph, long_rows: LongRows, table: Connectivity, state: Refinement):
    """Rebuild every row after many moves, but only empty the long ones.

    Sums the cost of the edges between parts, each edge twice. The targets of moved vertices and
    their neighbours become unknown. Vertices with an adjacent part become active.
    """
    if not is_rebuilt(state):
        return
    if is_lane(i, long_rows):
        clear_chunk(i, graph, long_rows, table)
        return
    v: int = row_of(i, long_rows)
    if is_left_to_lanes(i, graph.indptr[v + 1] - graph.indptr[v], long_rows):
        return
    empty_row(v, False, graph, table)
    cost: pk.int64 = build_row(v, True, graph, table, state)
    if cost != NO_EDGES:
        if state.targets[v] == INACTIVE:
            activate(v, state)
        add_to_cut(v, v, cost, state)


@pk.workunit
def rebuild_long_rows(
    i: int, graph: Graph, long_rows: LongRows, table: Connectivity, state: Refinement
):
    """Fill the long rows that `rebuild_rows` has emptied, with the same sums and targets."""
    if not is_rebuilt(state):
        return
    v: int = row_of(i, long_rows)
    degree: int = graph.indptr[v + 1] - graph.indptr[v]
    home: int = state.parts[v]
    cost: pk.int64 = 0
    moved: bool = state.previous[v] != home
    for e in lane_edges(i, v, graph, long_rows):
        u: int = graph.indices[e]
        p: int = state.parts[u]
        w: pk.int64 = graph.edge_weights[e]
        cost += w * distance_of(home, p, state)
        if state.previous[u] != p:
            moved = True
        add_to_row(v, degree, p, graph.edge_weights[e], table)
    if moved and state.targets[v] != PINNED:
        state.targets[v] = UNKNOWN
    add_to_cut(i, v, cost, state)
