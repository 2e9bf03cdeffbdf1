"""Union-find coarsening: subsets of vertices that are connected by their selected edges.

Lee et al., "G-kway", TODAES 2025, section 3.1. Every vertex selects a neighbour. A subset is a
connected component of the selected edges, named by its lowest vertex. Subsets that are too large
are split: Lee et al., "iG-kway", DAC 2025, section IV.
"""

from dataclasses import dataclass

import pykokkos as pk

from jetpy.workloads.coarsening.constraints import max_partner_weight, may_join
from jetpy.workloads.common.groups import NO_VERTEX, Constraints, Graph, LongRows, Weight
from jetpy.workloads.common.hashing import mix
from jetpy.workloads.common.long_rows import (
    is_lane,
    is_left_to_lanes,
    lane_edges,
    row_of,
)

NO_SCORE = -1
"""The score of a neighbour that is not a candidate, below all others."""
NO_CHOICE = -1
"""Below all choices."""
VERTEX_BITS = 31
LAST_VERTEX = (1 << VERTEX_BITS) - 1
KEY_BITS = 63
BETWEEN = -1
"""The bin of a vertex that straddles two bins."""


@dataclass(frozen=True, eq=False)
class Selection:
    """The neighbour that each vertex selects. Long rows are walked twice, for score and choice."""

    selected: pk.View1D[pk.int32]  # NO_VERTEX if there is no candidate
    scores: pk.View1D[pk.int64]  # the highest score of the neighbours in a long row
    choices: pk.View1D[pk.int64]  # the highest choice key among the neighbours with that score
    by_degree: bool  # whether low degrees are preferred
    seed: int


@dataclass(frozen=True, eq=False)
class Subsets:
    """Subsets of vertices as they grow, and their sizes and weights, at the index of the name."""

    names: pk.View1D[pk.int32]  # the lowest vertex of each vertex's subset
    joined: pk.View1D[pk.int32]  # the names after the round
    labels: pk.View1D[pk.int32]  # the round in which a vertex got its name
    sizes: pk.View1D[pk.int32]  # number of vertices
    totals: pk.View1D[Weight]  # weight


@dataclass(frozen=True, eq=False)
class Oversized:
    """The vertices of subsets that must be split, sorted by key."""

    keys: pk.View1D[pk.int64]  # subset, label and vertex, from high to low bits
    firsts: pk.View1D[pk.int32]  # index of the first key of each subset
    sums: pk.View1D[pk.int64]  # total weight before each key
    bits: int  # bits of a subset and of a vertex; the label has the other bits of KEY_BITS


@dataclass(frozen=True, eq=False)
class Groups:
    """The groups that large subsets are split into."""

    numbers: pk.View1D[pk.int32]  # the group of each key, numbered from 0
    representatives: pk.View1D[pk.int32]  # the first vertex of each group


@pk.function
def score_of(
    e: int, room: int, part: int, graph: Graph, selection: Selection, constraints: Constraints
) -> pk.int64:
    """Return the score c * w(u, v) - degree(v), with c = 2^31, plus the highest degree.

    Weights from 2^31 on, which only wide kernels have, count as 2^31 - 1. Returns `NO_SCORE` if v
    weighs more than `room`, or is in another part and parts are kept apart.
    """
    v: int = graph.indices[e]
    if not may_join(v, room, part, graph, constraints):
        return NO_SCORE
    score: pk.int64 = graph.edge_weights[e]
    if score > LAST_VERTEX:
        score = LAST_VERTEX
    score = (score << VERTEX_BITS) + LAST_VERTEX
    if selection.by_degree:
        score -= graph.indptr[v + 1] - graph.indptr[v]
    return score


@pk.function
def choice_of(v: int, seed: int) -> pk.int64:
    """Return the key that breaks ties between equal scores: by hash, then by lower vertex."""
    h: pk.uint32 = mix(v ^ seed)
    choice: pk.int64 = h
    return (choice << VERTEX_BITS) + (LAST_VERTEX - v)


@pk.function
def chosen(choice: pk.int64) -> int:
    """Return the vertex of a choice key, or `NO_VERTEX`."""
    if choice == NO_CHOICE:
        return NO_VERTEX
    return LAST_VERTEX - (choice & LAST_VERTEX)


@pk.workunit
def select_neighbours(
    i: int,
    graph: Graph,
    selection: Selection,
    constraints: Constraints,
    long_rows: LongRows,
):
    """Select the neighbour of highest score for a vertex; for a long row, find only that score.

    Two vertices that together exceed the weight limit never select each other.
    """
    u: int = row_of(i, long_rows)
    if is_left_to_lanes(i, graph.indptr[u + 1] - graph.indptr[u], long_rows):
        return
    room: int = max_partner_weight(u, graph, constraints)
    part: int = constraints.parts[u]
    highest: pk.int64 = NO_SCORE
    best: pk.int64 = NO_CHOICE
    for e in lane_edges(i, u, graph, long_rows):
        score: pk.int64 = score_of(e, room, part, graph, selection, constraints)
        if score != NO_SCORE and score >= highest:
            choice: pk.int64 = choice_of(graph.indices[e], selection.seed)
            if score > highest or choice > best:
                highest = score
                best = choice
    if is_lane(i, long_rows):
        pk.atomic_fetch_max(selection.scores, [u], highest)
    else:
        selection.selected[u] = chosen(best)


@pk.workunit
def compare_choices(
    i: int, graph: Graph, selection: Selection, constraints: Constraints, long_rows: LongRows
):
    """Find the highest choice key among the neighbours of highest score in a long row."""
    u: int = row_of(i, long_rows)
    highest: pk.int64 = selection.scores[u]
    if highest == NO_SCORE:
        return
    room: int = max_partner_weight(u, graph, constraints)
    part: int = constraints.parts[u]
    best: pk.int64 = NO_CHOICE
    for e in lane_edges(i, u, graph, long_rows):
        if score_of(e, room, part, graph, selection, constraints) == highest:
            choice: pk.int64 = choice_of(graph.indices[e], selection.seed)
            if choice > best:
                best = choice
    pk.atomic_fetch_max(selection.choices, [u], best)


@pk.workunit
def select_chosen(r: int, selection: Selection, long_rows: LongRows):
    """Select the neighbour that `compare_choices` has found for the vertex of a long row."""
    u: int = long_rows.vertices[r]
    selection.selected[u] = chosen(selection.choices[u])


@pk.workunit
def join_subsets(v: int, selected: pk.View1D[pk.int32], subsets: Subsets, shortcut: bool):
    """Give a vertex and the neighbour that it selects the lower of their two subset names.

    The round reads the names from before it, so the result does not depend on the order. With
    `shortcut`, it also joins the named subsets and lets each vertex adopt the name of the vertex
    that names it. The number of rounds is then logarithmic in the length of chains.
    """
    u: int = selected[v]
    if u == NO_VERTEX:
        return
    a: int = subsets.names[v]
    b: int = subsets.names[u]
    if a > b:
        pk.atomic_fetch_min(subsets.joined, [v], b)
        if shortcut:
            pk.atomic_fetch_min(subsets.joined, [a], b)
    elif a < b:
        pk.atomic_fetch_min(subsets.joined, [u], a)
        if shortcut:
            pk.atomic_fetch_min(subsets.joined, [b], a)
    if shortcut:
        if subsets.names[a] < a:
            pk.atomic_fetch_min(subsets.joined, [v], subsets.names[a])


@pk.workunit
def take_subsets(v: int, acc: pk.Acc[pk.int64], subsets: Subsets, label: int):
    """Adopt the names after a round; count and label the vertices whose name has changed."""
    if subsets.joined[v] != subsets.names[v]:
        subsets.names[v] = subsets.joined[v]
        subsets.labels[v] = label
        acc += 1


@pk.workunit
def weigh_subsets(v: int, graph: Graph, subsets: Subsets):
    """Sum the number of vertices and the weight of each subset."""
    s: int = subsets.names[v]
    pk.atomic_fetch_add(subsets.sizes, [s], 1)
    pk.atomic_fetch_add(subsets.totals, [s], graph.vertex_weights[v])


@pk.function
def key_of(s: int, label: int, v: int, bits: int) -> pk.int64:
    """Return the sort key of a vertex; a label too large for its bits becomes the largest."""
    label_bits: int = KEY_BITS - 2 * bits
    one: pk.int64 = 1
    kept: pk.int64 = (one << label_bits) - 1
    if label < kept:
        kept = label
    key: pk.int64 = s
    key = (key << label_bits) + kept
    return (key << bits) + v


@pk.function
def subset_in(key: pk.int64, bits: int) -> int:
    """Return the subset of a sort key."""
    return key >> (KEY_BITS - bits)


@pk.function
def vertex_in(key: pk.int64, bits: int) -> int:
    """Return the vertex of a sort key."""
    one: pk.int64 = 1
    return key & ((one << bits) - 1)


@pk.workunit
def list_oversized(
    v: int,
    acc: pk.Acc[pk.int64],
    last_pass: bool,
    subsets: Subsets,
    oversized: Oversized,
    most: int,
    heaviest: int,
):
    """List the vertices of subsets with more than `most` vertices or heavier than `heaviest`."""
    s: int = subsets.names[v]
    if subsets.sizes[s] > most or subsets.totals[s] > heaviest:
        if last_pass:
            oversized.keys[acc] = key_of(s, subsets.labels[v], v, oversized.bits)
        acc += 1


@pk.workunit
def find_first(i: int, oversized: Oversized):
    """Store the index of the first key of each subset."""
    s: int = subset_in(oversized.keys[i], oversized.bits)
    if i > 0:
        if subset_in(oversized.keys[i - 1], oversized.bits) == s:
            return
    oversized.firsts[s] = i


@pk.workunit
def add_up(i: int, acc: pk.Acc[pk.int64], last_pass: bool, graph: Graph, oversized: Oversized):
    """Sum the weights before each vertex, in the order of the keys."""
    if last_pass:
        oversized.sums[i] = acc
    acc += graph.vertex_weights[vertex_in(oversized.keys[i], oversized.bits)]


@pk.function
def bin_of(i: int, first: int, graph: Graph, oversized: Oversized, heaviest: int) -> pk.int64:
    """Return the bin of a vertex, if each bin holds the weight `heaviest`, or `BETWEEN`.

    Vertices fill one bin after the other, in the order of the keys, from index `first` on.
    """
    before: pk.int64 = oversized.sums[i] - oversized.sums[first]
    vertex_bin: pk.int64 = before
    vertex_bin //= heaviest
    weight: int = graph.vertex_weights[vertex_in(oversized.keys[i], oversized.bits)]
    if before + weight > (vertex_bin + 1) * heaviest:
        return BETWEEN
    return vertex_bin


@pk.workunit
def split_subsets(
    i: int,
    acc: pk.Acc[pk.int64],
    last_pass: bool,
    graph: Graph,
    oversized: Oversized,
    groups: Groups,
    most: int,
    heaviest: int,
):
    """Number the groups that the sorted subsets are split into, and store their first vertices.

    A subset is cut into runs of `most` vertices, and a run into its bins. A vertex between two bins
    forms its own group, so that no group of two or more vertices is heavier than `heaviest`.
    """
    first: int = oversized.firsts[subset_in(oversized.keys[i], oversized.bits)]
    first += (i - first) // most * most
    begins: bool = True
    if i > first:
        vertex_bin: pk.int64 = bin_of(i, first, graph, oversized, heaviest)
        if vertex_bin != BETWEEN:
            if bin_of(i - 1, first, graph, oversized, heaviest) == vertex_bin:
                begins = False
    acc += begins
    if last_pass:
        groups.numbers[i] = acc - 1
        if begins:
            groups.representatives[acc - 1] = vertex_in(oversized.keys[i], oversized.bits)


@pk.workunit
def name_groups(i: int, oversized: Oversized, groups: Groups, names: pk.View1D[pk.int32]):
    """Name the group of each vertex by its first vertex."""
    v: int = vertex_in(oversized.keys[i], oversized.bits)
    names[v] = groups.representatives[groups.numbers[i]]
