"""Union-find coarsening: subsets of vertices along the edge that each likes best.

Lee et al., "G-kway", TODAES 2025, section 3.1. Every vertex selects a neighbour, and what hangs
together by selections is a subset, named by its lowest vertex. Subsets that are too large are
split: Lee et al., "iG-kway", DAC 2025, section IV.
"""

from dataclasses import dataclass

import pykokkos as pk

from jetpy.workloads.coarsening.constraints import may_join, room_beside
from jetpy.workloads.common.groups import NO_VERTEX, Constraints, Graph, LongRows, Weight
from jetpy.workloads.common.hashing import mix
from jetpy.workloads.common.long_rows import (
    is_lane,
    is_left_to_lanes,
    lane_edges,
    row_of,
)

NO_SCORE = -1
"""The score of a neighbour that is no candidate: below all others."""
NO_CHOICE = -1
"""Below all choices."""
VERTEX_BITS = 31
LAST_VERTEX = (1 << VERTEX_BITS) - 1
KEY_BITS = 63
BETWEEN = -1
"""The bin of a vertex that lies between two."""


@dataclass(frozen=True, eq=False)
class Selection:
    """Which neighbour each vertex selects; long rows are walked twice, for score and choice."""

    selected: pk.View1D[pk.int32]  # NO_VERTEX if there is no candidate
    scores: pk.View1D[pk.int64]  # the highest score of the neighbours in a long row
    choices: pk.View1D[pk.int64]  # the first choice among those that have it
    by_degree: bool  # whether low degrees are preferred
    seed: int


@dataclass(frozen=True, eq=False)
class Subsets:
    """Subsets of vertices as they grow, and then their sizes, each at its name."""

    names: pk.View1D[pk.int32]  # the lowest vertex of each vertex's subset
    joined: pk.View1D[pk.int32]  # these after the round
    labels: pk.View1D[pk.int32]  # the round in which a vertex got its name
    sizes: pk.View1D[pk.int32]  # numbers of vertices
    totals: pk.View1D[Weight]  # weights


@dataclass(frozen=True, eq=False)
class Crowded:
    """The vertices of subsets that are to be split, in order of their keys."""

    keys: pk.View1D[pk.int64]  # subset, label and vertex, from high to low bits
    firsts: pk.View1D[pk.int32]  # where each subset begins
    sums: pk.View1D[pk.int64]  # weight before each vertex
    bits: int  # of a subset and of a vertex; a label has what is left of KEY_BITS


@dataclass(frozen=True, eq=False)
class Groups:
    """What crowded subsets are split into."""

    numbers: pk.View1D[pk.int32]  # the group of each key, counted from 0
    representatives: pk.View1D[pk.int32]  # the first vertex of each group


@pk.function
def score_of(
    e: int, room: int, part: int, graph: Graph, selection: Selection, constraints: Constraints
) -> pk.int64:
    """Return the score c * w(u, v) - degree(v), c being 2^31, plus the highest degree.

    Weights from 2^31 on, which wide kernels may meet, are as good as 2^31 - 1.
    `NO_SCORE` if v is no candidate: it weighs more than `room`, or is not in a part that is kept.
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
    """Return the key that breaks ties between equal scores: hash, then lower vertex."""
    h: pk.uint32 = mix(v ^ seed)
    choice: pk.int64 = h
    return (choice << VERTEX_BITS) + (LAST_VERTEX - v)


@pk.function
def chosen(choice: pk.int64) -> int:
    """Return the vertex of a choice, or `NO_VERTEX`."""
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
    """Let a vertex select the neighbour of highest score; of a long row, find that score.

    No two vertices that weigh more than is allowed together select each other.
    """
    u: int = row_of(i, long_rows)
    if is_left_to_lanes(i, graph.indptr[u + 1] - graph.indptr[u], long_rows):
        return
    room: int = room_beside(u, graph, constraints)
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
    """Find the first choice among the neighbours of highest score in a long row."""
    u: int = row_of(i, long_rows)
    highest: pk.int64 = selection.scores[u]
    if highest == NO_SCORE:
        return
    room: int = room_beside(u, graph, constraints)
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
    """Let the vertex of a long row select what `compare_choices` has found."""
    u: int = long_rows.vertices[r]
    selection.selected[u] = chosen(selection.choices[u])


@pk.workunit
def join_subsets(v: int, selected: pk.View1D[pk.int32], subsets: Subsets, shortcut: bool):
    """Give the lower of two subsets to a vertex and the one that it selects.

    Subsets are read as they were before the round, so that order does not show. With `shortcut`
    whole subsets are joined, as well as they are known, and vertices catch up with the one that
    names theirs: the number of rounds becomes logarithmic in the length of chains.
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
    """Take over the subsets after a round; count and label the vertices whose has changed."""
    if subsets.joined[v] != subsets.names[v]:
        subsets.names[v] = subsets.joined[v]
        subsets.labels[v] = label
        acc += 1


@pk.workunit
def weigh_subsets(v: int, graph: Graph, subsets: Subsets):
    """Sum up the vertices of each subset, and their weights."""
    s: int = subsets.names[v]
    pk.atomic_fetch_add(subsets.sizes, [s], 1)
    pk.atomic_fetch_add(subsets.totals, [s], graph.vertex_weights[v])


@pk.function
def key_of(s: int, label: int, v: int, bits: int) -> pk.int64:
    """Return the key of a vertex; a label too large for its bits becomes the largest."""
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
    """Return the subset of a key."""
    return key >> (KEY_BITS - bits)


@pk.function
def vertex_in(key: pk.int64, bits: int) -> int:
    """Return the vertex of a key."""
    one: pk.int64 = 1
    return key & ((one << bits) - 1)


@pk.workunit
def list_crowded(
    v: int,
    acc: pk.Acc[pk.int64],
    last_pass: bool,
    subsets: Subsets,
    crowded: Crowded,
    most: int,
    heaviest: int,
):
    """List the vertices of subsets of more than `most` vertices, or heavier than `heaviest`."""
    s: int = subsets.names[v]
    if subsets.sizes[s] > most or subsets.totals[s] > heaviest:
        if last_pass:
            crowded.keys[acc] = key_of(s, subsets.labels[v], v, crowded.bits)
        acc += 1


@pk.workunit
def find_first(i: int, crowded: Crowded):
    """Note where each subset begins among the sorted keys."""
    s: int = subset_in(crowded.keys[i], crowded.bits)
    if i > 0:
        if subset_in(crowded.keys[i - 1], crowded.bits) == s:
            return
    crowded.firsts[s] = i


@pk.workunit
def add_up(i: int, acc: pk.Acc[pk.int64], last_pass: bool, graph: Graph, crowded: Crowded):
    """Sum up the weights before each vertex, in the order of the keys."""
    if last_pass:
        crowded.sums[i] = acc
    acc += graph.vertex_weights[vertex_in(crowded.keys[i], crowded.bits)]


@pk.function
def bin_of(i: int, first: int, graph: Graph, crowded: Crowded, heaviest: int) -> pk.int64:
    """Return the bin that a vertex lies in, if bins have room for `heaviest`, or `BETWEEN`.

    Vertices fill bin by bin, in the order of the keys, from place `first` on.
    """
    before: pk.int64 = crowded.sums[i] - crowded.sums[first]
    number: pk.int64 = before
    number //= heaviest
    weight: int = graph.vertex_weights[vertex_in(crowded.keys[i], crowded.bits)]
    if before + weight > (number + 1) * heaviest:
        return BETWEEN
    return number


@pk.workunit
def split_subsets(
    i: int,
    acc: pk.Acc[pk.int64],
    last_pass: bool,
    graph: Graph,
    crowded: Crowded,
    groups: Groups,
    most: int,
    heaviest: int,
):
    """Number the groups that sorted subsets are split into, and note the first vertex of each.

    Groups are runs of `most` vertices; in each, vertices that lie in one bin. A vertex that lies
    between two bins is a group of its own, so that none of several is heavier than `heaviest`.
    """
    first: int = crowded.firsts[subset_in(crowded.keys[i], crowded.bits)]
    first += (i - first) // most * most
    begins: bool = True
    if i > first:
        number: pk.int64 = bin_of(i, first, graph, crowded, heaviest)
        if number != BETWEEN:
            if bin_of(i - 1, first, graph, crowded, heaviest) == number:
                begins = False
    acc += begins
    if last_pass:
        groups.numbers[i] = acc - 1
        if begins:
            groups.representatives[acc - 1] = vertex_in(crowded.keys[i], crowded.bits)


@pk.workunit
def name_groups(i: int, crowded: Crowded, groups: Groups, names: pk.View1D[pk.int32]):
    """Name each vertex's group by its first vertex."""
    v: int = vertex_in(crowded.keys[i], crowded.bits)
    names[v] = groups.representatives[groups.numbers[i]]
