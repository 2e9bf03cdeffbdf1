"""Contraction: pairs or groups become coarse vertices; parallel edges merge in per-row tables.

The members of a group are first put together, edges and all, in one row; merging rows is then the
same as for pairs of one vertex each.
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
from jetpy.workloads.common.hash_table import FREE, claim_slot, find_slot, slot_of_claim, was_free
from jetpy.workloads.common.hashing import spread
from jetpy.workloads.common.long_rows import (
    is_left_to_lanes,
    lane_entries,
    row_of,
)
from jetpy.workloads.common.packing import lower_of, pack, upper_of

LONGEST_LIST = 24
"""Maximum number of slots of a coarse row that is a list, searched from the front, which is quicker
than a hash table; a longer row is a hash table."""


@dataclass(frozen=True, eq=False)
class Pairs:
    """Fine vertices that become coarse ones, two at most."""

    match: pk.View1D[pk.int32]  # each vertex's partner, or NO_VERTEX
    coarse_of: pk.View1D[pk.int32]  # its coarse vertex
    representatives: pk.View1D[pk.int32]  # the lower vertex of each coarse one


@dataclass(frozen=True, eq=False)
class Grouping:
    """Fine vertices that become coarse ones, any number of them."""

    group_of: pk.View1D[pk.int32]  # the vertex that names each one's group
    coarse_of: pk.View1D[pk.int32]  # its coarse vertex
    places: pk.View1D[Offset]  # where its edges begin in the row of its group
    lengths: pk.View1D[Offset]  # of the rows of groups


@dataclass(frozen=True, eq=False)
class Tables:
    """Coarse rows while edges merge: that of c has the slots ``offsets[c]..offsets[c + 1] - 1``."""

    offsets: pk.View1D[Offset]
    keys: pk.View1D[pk.int32]  # coarse neighbours
    sums: pk.View1D[Weight]  # summed weights of the edges to them
    counts: pk.View1D[Offset]  # slots in use, of each row


@pk.workunit
def number_pairs(
    v: int,
    acc: pk.Acc[pk.int64],
    last_pass: bool,
    graph: Graph,
    pairs: Pairs,
    offsets: pk.View1D[Offset],
):
    """Do at once what `number_lower` and `reserve_rows` do, where 32 bits hold all sums.

    Numbers and room add up in one sum.
    """
    partner: int = pairs.match[v]
    if partner == NO_VERTEX or v < partner:
        room: int = graph.indptr[v + 1] - graph.indptr[v]
        if partner != NO_VERTEX:
            room += graph.indptr[partner + 1] - graph.indptr[partner]
        added: pk.int64 = pack(1, room)
        if last_pass:
            c: int = upper_of(acc)
            pairs.coarse_of[v] = c
            pairs.representatives[c] = v
            offsets[c] = lower_of(acc)
            offsets[c + 1] = lower_of(acc + added)
        acc += added


@pk.workunit
def number_lower(v: int, acc: pk.Acc[pk.int64], last_pass: bool, pairs: Pairs):
    """Number the coarse vertices by the lower vertex of each pair."""
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
):
    """Reserve the rows of coarse vertices, each with room for all edges of its vertices."""
    u: int = pairs.representatives[c]
    v: int = pairs.match[u]
    if last_pass:
        offsets[c] = acc
    acc += graph.indptr[u + 1] - graph.indptr[u]
    if v != NO_VERTEX:
        acc += graph.indptr[v + 1] - graph.indptr[v]
    if last_pass:
        offsets[c + 1] = acc


@pk.workunit
def join_pairs(c: int, graph: Graph, pairs: Pairs, coarse_weights: pk.View1D[Weight]):
    """Give the second vertex of a pair its number, and sum the weights."""
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
    """Number the coarse vertices by the vertices that name groups."""
    if group_of[v] == v:
        if last_pass:
            coarse_of[v] = acc
        acc += 1


@pk.workunit
def join_groups(v: int, graph: Graph, grouping: Grouping, coarse_weights: pk.View1D[Weight]):
    """Give a vertex its group's number, and a place for its edges in the group's row.

    Weights and lengths of rows add up. Who comes first gets the first place: the order of a row's
    entries is left to chance; nothing may depend on it.
    """
    c: int = grouping.coarse_of[grouping.group_of[v]]
    if grouping.group_of[v] != v:
        grouping.coarse_of[v] = c
    degree: int = graph.indptr[v + 1] - graph.indptr[v]
    pk.atomic_fetch_add(coarse_weights, [c], graph.vertex_weights[v])
    grouping.places[v] = pk.atomic_fetch_add(grouping.lengths, [c], degree)


@pk.workunit
def gather_rows(i: int, graph: Graph, grouping: Grouping, gathered: Graph, long_rows: LongRows):
    """Copy a vertex's edges, to coarse vertices, into the row of its group."""
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
def clear_table(start: int, size: int, tables: Tables):
    """Empty the hash table of a coarse row."""
    for slot in range(start, start + size):
        tables.keys[slot] = FREE


@pk.function
def merge_edge(d: int, weight: int, start: int, size: int, used: int, tables: Tables) -> int:
    """Add an edge to d to a coarse row with `used` slots in use; return their new number.

    Lists are filled from the front.
    """
    slot: int = start
    end: int = start + used
    is_new: bool = False
    if size <= LONGEST_LIST:
        slot = end
        for s in range(start, end):
            if tables.keys[s] == d:
                slot = s
        is_new = slot == end
    else:
        slot = find_slot(d, start + spread(d, size), start, size, tables.keys)
        is_new = tables.keys[slot] != d
    if not is_new:
        tables.sums[slot] += weight
        return used
    tables.keys[slot] = d
    tables.sums[slot] = weight
    return used + 1


@pk.function
def close_gaps(start: int, used: int, tables: Tables):
    """Move what a hash table holds to the front of its slots."""
    slot: int = start
    for target in range(start, start + used):
        while tables.keys[slot] == FREE:
            slot += 1
        tables.keys[target] = tables.keys[slot]
        tables.sums[target] = tables.sums[slot]
        slot += 1


@pk.workunit
def merge_rows(c: int, graph: Graph, pairs: Pairs, tables: Tables, longest: int):
    """Merge the edges of a pair into a coarse row; its entries end up at the front of its slots.

    Rows longer than `longest` are left to lanes (`merge_long_rows`).
    """
    start: int = tables.offsets[c]
    size: int = tables.offsets[c + 1] - start
    if size > longest:
        return
    if size > LONGEST_LIST:
        clear_table(start, size, tables)
    used: int = 0
    u: int = pairs.representatives[c]
    partner: int = pairs.match[u]
    while u != NO_VERTEX:
        for e in edges(u, graph):
            d: int = pairs.coarse_of[graph.indices[e]]
            if d != c:
                used = merge_edge(d, graph.edge_weights[e], start, size, used, tables)
        u = partner
        partner = NO_VERTEX
    if size > LONGEST_LIST:
        close_gaps(start, used, tables)
    tables.counts[c] = used


@pk.workunit
def clear_long_rows(i: int, tables: Tables, long_rows: LongRows):
    """Empty the tables of coarse rows that are left to lanes."""
    c: int = row_of(i, long_rows)
    start: int = tables.offsets[c]
    size: int = tables.offsets[c + 1] - start
    for entry in lane_entries(i, size, long_rows):
        tables.keys[start + entry] = FREE
        tables.sums[start + entry] = 0
    tables.counts[c] = 0


@pk.workunit
def merge_long_rows(i: int, graph: Graph, pairs: Pairs, tables: Tables, long_rows: LongRows):
    """Let a lane merge its share of the edges of a pair into the coarse row's hash table.

    The order of a row's entries is left to chance; nothing may depend on it.
    """
    c: int = row_of(i, long_rows)
    u: int = pairs.representatives[c]
    partner: int = pairs.match[u]
    degree: int = graph.indptr[u + 1] - graph.indptr[u]
    start: int = tables.offsets[c]
    size: int = tables.offsets[c + 1] - start
    added: int = 0
    for entry in lane_entries(i, size, long_rows):
        e: int = graph.indptr[u] + entry
        if entry >= degree:
            e = graph.indptr[partner] + (entry - degree)
        d: int = pairs.coarse_of[graph.indices[e]]
        if d != c:
            claim: int = claim_slot(d, start + spread(d, size), start, size, tables.keys)
            if was_free(claim):
                added += 1
            pk.atomic_fetch_add(tables.sums, [slot_of_claim(claim)], graph.edge_weights[e])
    if added > 0:
        pk.atomic_fetch_add(tables.counts, [c], added)


@pk.workunit
def copy_long_rows(i: int, tables: Tables, coarse: Graph, long_rows: LongRows):
    """Let a lane copy its share of a merged row out of the table; uses up `counts`."""
    c: int = row_of(i, long_rows)
    start: int = tables.offsets[c]
    size: int = tables.offsets[c + 1] - start
    used: int = 0
    for entry in lane_entries(i, size, long_rows):
        if tables.keys[start + entry] != FREE:
            used += 1
    if used == 0:
        return
    left: int = pk.atomic_fetch_add(tables.counts, [c], -used)
    target: int = coarse.indptr[c] + left - used
    for entry in lane_entries(i, size, long_rows):
        if tables.keys[start + entry] != FREE:
            coarse.indices[target] = tables.keys[start + entry]
            coarse.edge_weights[target] = tables.sums[start + entry]
            target += 1


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
def copy_rows(c: int, tables: Tables, coarse: Graph, longest: int):
    """Copy the merged rows out of the tables, but for those longer than `longest`."""
    source: int = tables.offsets[c]
    if tables.offsets[c + 1] - source > longest:
        return
    for target in edges(c, coarse):
        coarse.indices[target] = tables.keys[source]
        coarse.edge_weights[target] = tables.sums[source]
        source += 1
