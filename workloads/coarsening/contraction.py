"""Contraction of pairs or groups of vertices (Jet, Algorithm 3.1).

On CPUs, one index merges the parallel edges of a block of coarse rows (on GPUs: `slot_merging`). A
short row is a list with marks, a long row a hash table. A group is first gathered into one row with
all edges of its vertices. Merging then treats that row as a pair with a single vertex.
"""

from dataclasses import dataclass

import pykokkos as pk

from jetpy.workloads.common.groups import (
    NO_VERTEX,
    Graph,
    LongRows,
    Offset,
    Weight,
    edges,
)
from jetpy.workloads.common.hash_table import FREE, find_slot
from jetpy.workloads.common.hashing import spread
from jetpy.workloads.common.long_rows import (
    is_left_to_lanes,
    lane_entries,
    row_of,
)
from jetpy.workloads.common.packing import lower_of, pack, upper_of
from jetpy.workloads.common.prefetching import (
    ENTRIES_AHEAD,
    FEW_VERTICES,
    NEIGHBOURS_AHEAD,
    OFFSETS_AHEAD,
    first_edges,
    prefetch,
    prefetch_entries,
)

LONGEST_LIST = 512
"""Slots of the longest coarse row that is a list; longer rows are hash tables."""
MARKS = 4096
"""Number of marks of a block of coarse rows: a power of two, and few enough for the fastest cache.
Coarse neighbours that are congruent modulo MARKS share a mark: the slot of the last one that an
edge led to, perhaps in an earlier row."""


@dataclass(frozen=True, eq=False)
class Pairs:
    """A matching: each coarse vertex consists of one or two fine vertices."""

    match: pk.View1D[pk.int32]  # partner of each vertex, or NO_VERTEX
    coarse_of: pk.View1D[pk.int32]  # coarse vertex of each vertex
    representatives: pk.View1D[pk.int32]  # lower fine vertex of each coarse vertex


@dataclass(frozen=True, eq=False)
class Grouping:
    """A clustering: each coarse vertex consists of any number of fine vertices."""

    group_of: pk.View1D[pk.int32]  # the vertex that names the group of each vertex
    coarse_of: pk.View1D[pk.int32]  # coarse vertex of each vertex
    places: pk.View1D[Offset]  # position of each vertex's edges in the row of its group
    lengths: pk.View1D[Offset]  # length of the row of each group


@dataclass(frozen=True, eq=False)
class Tables:
    """Coarse rows during the merge: row c has the slots ``offsets[c]..offsets[c + 1] - 1``."""

    offsets: pk.View1D[Offset]
    keys: pk.View1D[pk.int32]  # coarse neighbours
    sums: pk.View1D[Weight]  # total weight of the edges to each coarse neighbour
    counts: pk.View1D[Offset]  # number of used slots of each row
    marks: pk.View1D[Offset]  # MARKS marks for each block of rows


@pk.function
def entries_of(u: int, v: int, graph: Graph) -> int:
    """Return the number of directed edges of a pair, whose second vertex may be `NO_VERTEX`."""
    entries: int = graph.indptr[u + 1] - graph.indptr[u]
    if v != NO_VERTEX:
        entries += graph.indptr[v + 1] - graph.indptr[v]
    return entries


@pk.function
def slots_for(entries: int, longest: int) -> int:
    """Return the slots of a coarse row whose fine vertices have some entries.

    Rows of more than `longest` entries are hash tables. They get half as many slots again, because
    almost full tables have long searches.
    """
    if entries > longest:
        return entries + entries // 2
    return entries


@pk.workunit
def number_pairs(
    v: int,
    acc: pk.Acc[pk.int64],
    last_pass: bool,
    graph: Graph,
    pairs: Pairs,
    offsets: pk.View1D[Offset],
    longest: int,
):
    """Fuse `number_lower` and `reserve_rows`, if the number of slots fits into 32 bits.

    The scan packs the coarse index and the row offset into one sum.
    """
    partner: int = pairs.match[v]
    if partner == NO_VERTEX or v < partner:
        added: pk.int64 = pack(1, slots_for(entries_of(v, partner, graph), longest))
        if last_pass:
            c: int = upper_of(acc)
            pairs.coarse_of[v] = c
            pairs.representatives[c] = v
            offsets[c] = lower_of(acc)
            offsets[c + 1] = lower_of(acc + added)
        acc += added


@pk.workunit
def number_lower(v: int, acc: pk.Acc[pk.int64], last_pass: bool, pairs: Pairs):
    """Number the coarse vertices in the order of the lower vertices of the pairs."""
    partner: int = pairs.match[v]
    if partner == NO_VERTEX or v < partner:
        if last_pass:
            pairs.coarse_of[v] = acc
            pairs.representatives[acc] = v
        acc += 1


@pk.workunit
def reserve_rows(
    c: int,
    acc: pk.Acc[pk.int64],
    last_pass: bool,
    graph: Graph,
    pairs: Pairs,
    offsets: pk.View1D[Offset],
    longest: int,
):
    """Reserve a row for each coarse vertex, with slots for the edges of its fine vertices."""
    u: int = pairs.representatives[c]
    v: int = pairs.match[u]
    if last_pass:
        offsets[c] = acc
    acc += slots_for(entries_of(u, v, graph), longest)
    if last_pass:
        offsets[c + 1] = acc


@pk.workunit
def join_pairs(c: int, graph: Graph, pairs: Pairs, coarse_weights: pk.View1D[Weight]):
    """Give the second vertex of a pair its coarse index, and sum the weights of the pair."""
    u: int = pairs.representatives[c]
    v: int = pairs.match[u]
    weight: int = graph.vertex_weights[u]
    if v != NO_VERTEX:
        pairs.coarse_of[v] = c
        weight += graph.vertex_weights[v]
    coarse_weights[c] = weight


@pk.workunit
def number_groups(
    v: int,
    acc: pk.Acc[pk.int64],
    last_pass: bool,
    group_of: pk.View1D[pk.int32],
    coarse_of: pk.View1D[pk.int32],
):
    """Number the coarse vertices in the order of the vertices that name groups."""
    if group_of[v] == v:
        if last_pass:
            coarse_of[v] = acc
        acc += 1


@pk.workunit
def join_groups(v: int, graph: Graph, grouping: Grouping, coarse_weights: pk.View1D[Weight]):
    """Give a vertex the coarse index of its group and a position for its edges in the group's row.

    Sums the weights and row lengths of the group. The order of the entries in a row varies between
    runs, so no result may depend on it.
    """
    c: int = grouping.coarse_of[grouping.group_of[v]]
    if grouping.group_of[v] != v:
        grouping.coarse_of[v] = c
    degree: int = graph.indptr[v + 1] - graph.indptr[v]
    pk.atomic_fetch_add(coarse_weights, [c], graph.vertex_weights[v])
    grouping.places[v] = pk.atomic_fetch_add(grouping.lengths, [c], degree)


@pk.workunit
def gather_rows(i: int, graph: Graph, grouping: Grouping, gathered: Graph, long_rows: LongRows):
    """Copy the edges of a vertex into the row of its group, with coarse heads."""
    v: int = row_of(i, long_rows)
    degree: int = graph.indptr[v + 1] - graph.indptr[v]
    if is_left_to_lanes(i, degree, long_rows):
        return
    source: int = graph.indptr[v]
    target: int = gathered.indptr[grouping.coarse_of[v]] + grouping.places[v]
    for entry in lane_entries(i, degree, long_rows):
        gathered.indices[target + entry] = grouping.coarse_of[graph.indices[source + entry]]
        gathered.edge_weights[target + entry] = graph.edge_weights[source + entry]


@pk.function
def list_edges(
    u: int,
    c: int,
    start: int,
    end: int,
    first_mark: int,
    graph: Graph,
    pairs: Pairs,
    tables: Tables,
) -> int:
    """Add the edges of u to the list of its coarse vertex c; return the end of the list.

    If the list contains d, the mark of d is a slot of the list: that of d, or that of a vertex with
    the same mark. Apart from loops (d = c), only the search, which is rare, is a branch:
    mispredicted branches would take longer than the rest.
    """
    last: int = end
    for e in edges(u, graph):
        d: int = pairs.coarse_of[graph.indices[e]]
        if d == c:
            continue
        place: int = first_mark + (d & (MARKS - 1))
        slot: int = tables.marks[place]
        if slot < start:  # no mark is above `last`, because rows are filled in ascending order
            slot = last
        tables.keys[last] = d
        tables.sums[last] = 0
        if tables.keys[slot] != d:
            slot = start
            while tables.keys[slot] != d:
                slot += 1
        tables.sums[slot] += graph.edge_weights[e]
        tables.marks[place] = slot
        last += slot == last
    return last


@pk.function
def clear_table(start: int, size: int, tables: Tables):
    """Empty the hash table of a coarse row."""
    for slot in range(start, start + size):
        tables.keys[slot] = FREE


@pk.function
def enter_edges(
    u: int, c: int, start: int, size: int, graph: Graph, pairs: Pairs, tables: Tables
) -> int:
    """Add the edges of u to the hash table of its coarse vertex c; return the slots they fill."""
    filled: int = 0
    for e in edges(u, graph):
        d: int = pairs.coarse_of[graph.indices[e]]
        if d == c:
            continue
        slot: int = find_slot(d, start + spread(d, size), start, size, tables.keys)
        if tables.keys[slot] == FREE:
            tables.keys[slot] = d
            tables.sums[slot] = 0
            filled += 1
        tables.sums[slot] += graph.edge_weights[e]
    return filled


@pk.function
def close_gaps(start: int, used: int, tables: Tables):
    """Move the entries of a hash table to the front of its slots."""
    slot: int = start
    for target in range(start, start + used):
        while tables.keys[slot] == FREE:
            slot += 1
        tables.keys[target] = tables.keys[slot]
        tables.sums[target] = tables.sums[slot]
        slot += 1


@pk.function
def merge_row(c: int, first_mark: int, graph: Graph, pairs: Pairs, tables: Tables):
    """Merge the edges of a pair into a coarse row, at the front of its slots."""
    start: int = tables.offsets[c]
    size: int = tables.offsets[c + 1] - start
    u: int = pairs.representatives[c]
    v: int = pairs.match[u]
    if size <= LONGEST_LIST:
        end: int = list_edges(u, c, start, start, first_mark, graph, pairs, tables)
        if v != NO_VERTEX:
            end = list_edges(v, c, start, end, first_mark, graph, pairs, tables)
        tables.counts[c] = end - start
        return
    clear_table(start, size, tables)
    used: int = enter_edges(u, c, start, size, graph, pairs, tables)
    if v != NO_VERTEX:
        used += enter_edges(v, c, start, size, graph, pairs, tables)
    close_gaps(start, used, tables)
    tables.counts[c] = used


@pk.function
def prefetch_coarse(v: int, graph: Graph, pairs: Pairs):
    """Ask for the coarse vertices of the neighbours of a vertex."""
    for e in first_edges(v, graph):
        prefetch(pairs.coarse_of[graph.indices[e]])


@pk.function
def prefetch_pairs(c: int, n: int, graph: Graph, pairs: Pairs):
    """Ask for what the rows after a coarse row need.

    Representatives follow each other in memory, but their partners do not.
    """
    if c + OFFSETS_AHEAD < n:
        v: int = pairs.match[pairs.representatives[c + OFFSETS_AHEAD]]
        if v != NO_VERTEX:
            prefetch(graph.indptr[v])
    if c + ENTRIES_AHEAD < n:
        v: int = pairs.match[pairs.representatives[c + ENTRIES_AHEAD]]
        if v != NO_VERTEX:
            prefetch_entries(v, graph)
    if c + NEIGHBOURS_AHEAD < n:
        u: int = pairs.representatives[c + NEIGHBOURS_AHEAD]
        v: int = pairs.match[u]
        prefetch_coarse(u, graph, pairs)
        if v != NO_VERTEX:
            prefetch_coarse(v, graph, pairs)


@pk.workunit
def merge_rows(block: int, n: int, rows_per_index: int, graph: Graph, pairs: Pairs, tables: Tables):
    """Merge the edges of the pairs of a block: `rows_per_index` of the `n` coarse rows."""
    first_mark: int = block * MARKS
    for place in range(first_mark, first_mark + MARKS):
        tables.marks[place] = 0
    first: int = block * rows_per_index
    end: int = n
    if n - first > rows_per_index:
        end = first + rows_per_index
    for c in range(first, end):
        if 2 * n > FEW_VERTICES:
            prefetch_pairs(c, n, graph, pairs)
        merge_row(c, first_mark, graph, pairs, tables)


@pk.workunit
def offset_rows(
    c: int,
    acc: pk.Acc[pk.int64],
    last_pass: bool,
    counts: pk.View1D[Offset],
    indptr: pk.View1D[Offset],
):
    """Turn row lengths into row offsets; entry n of `indptr` is the total."""
    if last_pass:
        indptr[c] = acc
    acc += counts[c]
    if last_pass:
        indptr[c + 1] = acc


@pk.workunit
def copy_rows(c: int, tables: Tables, coarse: Graph):
    """Copy the merged rows out of the tables."""
    source: int = tables.offsets[c]
    for target in edges(c, coarse):
        coarse.indices[target] = tables.keys[source]
        coarse.edge_weights[target] = tables.sums[source]
        source += 1
