"""Two-hop matching of vertices that are not adjacent but share neighbours (Jet, section 3.1).

Each kind of match (leaves, twins, relatives) assigns a group to every unmatched vertex and pairs
the vertices of a group in ascending order. Sorting keys (group, vertex) forms the groups, without
race conditions.
"""

from dataclasses import dataclass

import pykokkos as pk

from jetpy.workloads.coarsening.constraints import max_partner_weight, may_join
from jetpy.workloads.common.ghosts import degree_of, global_id
from jetpy.workloads.common.groups import (
    NO_VERTEX,
    Constraints,
    Graph,
    LongRows,
    edges,
)
from jetpy.workloads.common.hashing import ODD, mix, stir
from jetpy.workloads.common.long_rows import (
    lane_edges,
    row_of,
)
from jetpy.workloads.common.packing import lower_of, pack, upper_of

NO_GROUP = -1
NO_KEY = -1
NO_MATCHMAKER = (1 << 63) - 1
"""Above all keys that `find_matchmakers` compares."""


@dataclass(frozen=True, eq=False)
class Grouped:
    """Unmatched vertices sorted by group."""

    keys: pk.View1D[pk.int64]  # group and vertex, packed, or NO_KEY
    numbers: pk.View1D[pk.int32]  # the group of each key, numbered from 0
    starts: pk.View1D[pk.int32]  # index of the first key of each group


@pk.function
def key_of(group: int, v: int) -> pk.int64:
    """Return the sort key of a vertex in a group."""
    if group == NO_GROUP:
        return NO_KEY
    return pack(group, v)


@pk.workunit
def key_leaves(
    i: int, graph: Graph, unmatched: pk.View1D[pk.int32], keys: pk.View1D[pk.int64], n: int
):
    """Group a vertex of degree one by its neighbour; isolated vertices form one group."""
    v: int = unmatched[i]
    degree: int = graph.indptr[v + 1] - graph.indptr[v]
    group: int = NO_GROUP
    if degree == 1:
        group = global_id(graph.indices[graph.indptr[v]], graph)
    if degree == 0:
        group = n
    keys[i] = key_of(group, v)


@pk.workunit
def key_twins(
    i: int,
    graph: Graph,
    unmatched: pk.View1D[pk.int32],
    digests: pk.View1D[pk.int32],
    keys: pk.View1D[pk.int64],
    max_degree: int,
):
    """Group a vertex by a digest of its neighbourhood: two order-independent 31-bit sums.

    A vertex whose degree is above `max_degree` has no group.
    """
    v: int = unmatched[i]
    if graph.indptr[v + 1] - graph.indptr[v] > max_degree:
        keys[i] = NO_KEY
        return
    first: pk.uint32 = 0
    second: pk.uint32 = 0
    for e in edges(v, graph):
        h: pk.uint32 = mix(global_id(graph.indices[e], graph) + 1)
        first += h
        second += stir(h, ODD)
    keys[i] = key_of(first >> 1, v)
    digests[v] = second >> 1


@pk.workunit
def find_matchmakers(
    i: int,
    graph: Graph,
    match: pk.View1D[pk.int32],
    matchmakers: pk.View1D[pk.int64],
    long_rows: LongRows,
):
    """Find the neighbour of lowest degree of each unmatched high-degree vertex.

    Packs the degree and the global id into one value.
    """
    v: int = row_of(i, long_rows)
    if match[v] != NO_VERTEX:
        return
    best: pk.int64 = matchmakers[v]
    for e in lane_edges(i, v, graph, long_rows):
        u: int = graph.indices[e]
        candidate: pk.int64 = pack(degree_of(u, graph), global_id(u, graph))
        if candidate < best:
            best = candidate
    pk.atomic_fetch_min(matchmakers, [v], best)


@pk.workunit
def key_relatives(
    i: int,
    graph: Graph,
    unmatched: pk.View1D[pk.int32],
    matchmakers: pk.View1D[pk.int64],
    keys: pk.View1D[pk.int64],
    max_degree: int,
    longest: int,
):
    """Group a vertex by its matchmaker: the neighbour of lowest degree, at most `max_degree`.

    For rows longer than `longest`, `find_matchmakers` has found that neighbour.
    """
    v: int = unmatched[i]
    matchmaker: int = NO_GROUP
    lowest: int = max_degree + 1
    if graph.indptr[v + 1] - graph.indptr[v] > longest:
        if upper_of(matchmakers[v]) < lowest:
            matchmaker = lower_of(matchmakers[v])
    else:
        for e in edges(v, graph):
            u: int = graph.indices[e]
            u_id: int = global_id(u, graph)
            degree: int = degree_of(u, graph)
            if degree < lowest or (degree == lowest and u_id < matchmaker):
                lowest = degree
                matchmaker = u_id
    keys[i] = key_of(matchmaker, v)


@pk.workunit
def rank_groups(i: int, acc: pk.Acc[pk.int64], last_pass: bool, grouped: Grouped):
    """Number the groups of sorted keys, and store the first index of each group."""
    begins: bool = i == 0 or upper_of(grouped.keys[i]) != upper_of(grouped.keys[i - 1])
    acc += begins
    if last_pass:
        grouped.numbers[i] = acc - 1
        if begins:
            grouped.starts[acc - 1] = i


@pk.workunit
def pair_in_group(
    i: int,
    count: int,
    graph: Graph,
    grouped: Grouped,
    digests: pk.View1D[pk.int32],
    match: pk.View1D[pk.int32],
    constraints: Constraints,
):
    """Match every second vertex of a group with the next one, if their digests are equal."""
    if grouped.keys[i] == NO_KEY or i + 1 >= count:
        return
    group: int = grouped.numbers[i]
    if group != grouped.numbers[i + 1] or ((i - grouped.starts[group]) & 1) == 1:
        return
    u: int = lower_of(grouped.keys[i])
    v: int = lower_of(grouped.keys[i + 1])
    room: int = max_partner_weight(u, graph, constraints)
    if may_join(v, room, constraints.parts[u], graph, constraints) and digests[u] == digests[v]:
        match[u] = v
        match[v] = u
