"""Separators of small nodes: each node gets several tries, and the best one divides it.

A worker (`jetpy.workloads.tasks.loading`) processes one try of a node after another, then one node
after another.

Source: Karypis, Kumar, "A fast and high quality multilevel scheme for partitioning irregular
graphs", SIAM Journal on Scientific Computing 20 (1998).
"""

from dataclasses import dataclass
from enum import IntEnum

import pykokkos as pk

from jetpy.workloads.common.groups import Graph
from jetpy.workloads.common.hashing import mix
from jetpy.workloads.common.heaps import Field, Heaps, vertices_of
from jetpy.workloads.initial.inner_levels import ENTRY_ROOM, coarsen_to, heaviest_of, project
from jetpy.workloads.initial.two_way import bisect, keep_if_best, measure, refine, restore_best
from jetpy.workloads.ordering.separator_flows import Band, Bands, improve_by_flow
from jetpy.workloads.ordering.separators import (
    SEPARATOR,
    Separations,
    excess_of,
    grow_separator,
    has_empty_side,
    refine_separator,
    score_of,
    separate_sides,
    weigh_sides,
)
from jetpy.workloads.tasks.loading import Task, Work, load_graph

COARSEST = 100
"""Number of vertices at which inner coarsening ends."""
WORST, OF_BEST = 11, 10
"""Flows may improve a try whose score is at most 11/10 of the best one of its node."""
THOUSAND = 1000
"""Unit of the shares of weight that the host passes."""


class Weight(IntEnum):
    """Weights that the separator of a try has."""

    SIDES = 0
    SEPARATOR = 2
    COUNT = 3


@dataclass(frozen=True, eq=False)
class Search:
    """What a search for separators may do. Shares of the weight are in thousandths."""

    shares: pk.View1D[pk.int32]  # of a side while it grows, by the number of the try
    share: int  # of a side of a separator
    skew: int  # penalty of a lopsided separator that is large
    growings: int
    passes: int
    step: int  # only levels whose number is a multiple of it are refined; 0 is the finest one
    flows: int  # the maximum for a separator
    hops: int  # from a separator to the ends of the band of a flow
    most_in_band: int  # number of vertices at which such a band ends


@dataclass(frozen=True, eq=False)
class Separators(Work):
    """The nodes that workers separate, up to `tries` times each, and the sides that they find.

    The sides by try t begin at entry t n + `Task.PLACE` of `found`.
    """

    tries: int
    n: int  # number of vertices of all nodes
    weights: pk.View1D[pk.int64]  # by Weight, for each try of each node


@pk.function
def limit_sides(share: int, here: int, levels: Separations):
    """Limit the weight of each side to a share of the total, in thousandths."""
    for side in range(2):
        most: pk.int64 = levels.numbers[here + Field.TOTAL]
        levels.numbers[here + Field.MOST + side] = most * share // THOUSAND


@pk.function
def load_node(worker: int, node: int, graph: Graph, work: Separators, levels: Separations):
    """Load the graph of a node as the finest level of a worker's first try."""
    here: int = worker * work.tries * Field.COUNT
    load_graph(worker, node * Task.COUNT, ENTRY_ROOM, here, graph, work, levels)
    levels.numbers[here + Field.PINNED] = 0
    levels.numbers[here + Field.TARGET] = levels.numbers[here + Field.TOTAL] // 2
    levels.numbers[here + Field.OUTSIDE] = 0
    levels.numbers[here + Field.OUTSIDE + 1] = 0


@pk.function
def seed_of(node: int, number: int, work: Separators) -> pk.uint32:
    """Return the seed of a try."""
    return mix(work.tasks[node * Task.COUNT + Task.SEED] + number)


@pk.function
def is_bisection(number: int) -> bool:
    """Whether a try is a bisection with a small cut until it reaches the finest level.

    Every other try is. On coarse levels of dense graphs, all separators are large.
    """
    return number % 2 == 0


@pk.function
def refine_bisection(search: Search, here: int, levels: Separations):
    """Project a bisection to the finest level, and refine it on the way."""
    while levels.numbers[here + Field.LEVELS] > 0:
        project(here, levels)
        if levels.numbers[here + Field.LEVELS] % search.step == 0:
            measure(here, levels)
            refine(search.passes, here, levels)
    measure(here, levels)


@pk.function
def grow_best(
    search: Search,
    here: int,
    levels: Separations,
    other: Heaps,
    best: pk.View1D[pk.int32],
):
    """Grow separators of the coarsest level, and keep the best one."""
    for growing in range(search.growings):
        grow_separator(growing, here, levels, other)
        refine_separator(search.passes, here, levels, other)
        excess: pk.int64 = excess_of(here, levels)
        score: pk.int64 = score_of(here, levels)
        keep_if_best(growing, excess, score, 0, Field.BEST_GROWING, here, levels, best)
    restore_best(here, levels, best)


@pk.function
def refine_levels(search: Search, here: int, levels: Separations, other: Heaps):
    """Project a separator to the finest level, and refine it on the way."""
    weigh_sides(here, levels)
    refine_separator(search.passes, here, levels, other)
    while levels.numbers[here + Field.LEVELS] > 0:
        project(here, levels)
        if levels.numbers[here + Field.LEVELS] % search.step == 0:
            weigh_sides(here, levels)
            refine_separator(search.passes, here, levels, other)


@pk.function
def keep_sides(node: int, number: int, here: int, work: Separators, levels: Separations):
    """Write the sides by a try."""
    first: int = levels.numbers[here + Field.BEGIN]
    own: int = number * work.n + work.tasks[node * Task.COUNT + Task.PLACE] - first
    for v in vertices_of(here, levels):
        work.found[own + v] = levels.sides[v]


@pk.function
def find_separator(
    worker: int,
    node: int,
    number: int,
    keeps_bisections: int,
    graph: Graph,
    work: Separators,
    search: Search,
    levels: Separations,
    other: Heaps,
    best: pk.View1D[pk.int32],
):
    """Find a candidate of a node, and its weights."""
    here: int = worker * work.tries * Field.COUNT
    load_node(worker, node, graph, work, levels)
    levels.numbers[here + Field.SKEW] = search.skew
    levels.numbers[here + Field.SEED] = seed_of(node, number, work)
    limit_sides(search.shares[number], here, levels)
    heaviest: int = heaviest_of(levels.numbers[here + Field.TOTAL], COARSEST)
    coarsen_to(COARSEST, heaviest, True, here, levels)
    if is_bisection(number):
        bisect(search.growings, search.passes, here, levels, best)
        refine_bisection(search, here, levels)
        if keeps_bisections == 0:
            separate_sides(here, levels)
    else:
        grow_best(search, here, levels, other, best)
    if keeps_bisections == 0 or not is_bisection(number):
        limit_sides(search.share, here, levels)
        refine_levels(search, here, levels, other)
    keep_sides(node, number, here, work, levels)
    if keeps_bisections == 0:
        place: int = (node * work.tries + number) * Weight.COUNT
        for side in range(2):
            weight: pk.int64 = levels.numbers[here + Field.WEIGHTS + side]
            work.weights[place + Weight.SIDES + side] = weight
        work.weights[place + Weight.SEPARATOR] = levels.numbers[here + Field.CUT]


@pk.workunit
def find_separators(
    worker: int,
    keeps_bisections: int,
    graph: Graph,
    work: Separators,
    search: Search,
    levels: Separations,
    other: Heaps,
    best: pk.View1D[pk.int32],
):
    """Find the candidates of all nodes, and their weights.

    With `keeps_bisections` = 1, tries that are bisections remain so, and weights are not written.
    """
    turn: int = pk.atomic_fetch_add(work.turns, [0], 1)
    while turn < work.count * work.tries:
        node: int = turn // work.tries
        number: int = turn % work.tries
        if number < work.tasks[node * Task.COUNT + Task.TRIES]:
            find_separator(
                worker, node, number, keeps_bisections, graph, work, search, levels, other, best
            )
        turn = pk.atomic_fetch_add(work.turns, [0], 1)


@pk.function
def is_better(i: int, j: int, levels: Separations) -> bool:
    """Whether try i has a smaller overload than try j, then a smaller score, then index."""
    excess: pk.int64 = excess_of(i * Field.COUNT, levels)
    other_excess: pk.int64 = excess_of(j * Field.COUNT, levels)
    if excess != other_excess:
        return excess < other_excess
    score: pk.int64 = score_of(i * Field.COUNT, levels)
    other_score: pk.int64 = score_of(j * Field.COUNT, levels)
    if score != other_score:
        return score < other_score
    return i < j


@pk.function
def best_try(first: int, tries: int, levels: Separations) -> int:
    """Return the best of some tries, from the first on."""
    best: int = first
    for i in range(first + 1, first + tries):
        if is_better(i, best, levels):
            best = i
    return best


@pk.function
def select_tries(first: int, tries: int, levels: Separations, bands: pk.View1D[pk.int64]):
    """Select the tries of a node that flows may improve: those almost as good as its best one."""
    best: int = best_try(first, tries, levels)
    overload: pk.int64 = excess_of(best * Field.COUNT, levels)
    score: pk.int64 = score_of(best * Field.COUNT, levels)
    for i in range(first, first + tries):
        other: pk.int64 = score_of(i * Field.COUNT, levels)
        if excess_of(i * Field.COUNT, levels) > overload or OF_BEST * other > WORST * score:
            bands[i * Band.COUNT + Band.FAILED] = 1


@pk.function
def begin_tries(
    worker: int,
    node: int,
    work: Separators,
    search: Search,
    levels: Separations,
    bands: pk.View1D[pk.int64],
):
    """Set the fields of all tries of a worker, given those of the first from `load_node`."""
    here: int = worker * work.tries * Field.COUNT
    levels.numbers[here + Field.SKEW] = search.skew
    limit_sides(search.share, here, levels)
    tries: int = work.tasks[node * Task.COUNT + Task.TRIES]
    for number in range(1, tries):
        for field in range(Field.LEVEL_BEGINS):
            levels.numbers[here + number * Field.COUNT + field] = levels.numbers[here + field]
    for number in range(tries):
        own: int = here + number * Field.COUNT
        place: int = (node * work.tries + number) * Weight.COUNT
        levels.numbers[own + Field.SEED] = seed_of(node, number, work)
        for side in range(2):
            weight: pk.int64 = work.weights[place + Weight.SIDES + side]
            levels.numbers[own + Field.WEIGHTS + side] = weight
        levels.numbers[own + Field.CUT] = work.weights[place + Weight.SEPARATOR]
        bands[(worker * work.tries + number) * Band.COUNT + Band.FAILED] = 0


@pk.function
def improve_by_flow_and_passes(
    i: int, search: Search, levels: Separations, other: Heaps, bands: Bands
) -> bool:
    """Improve a try by a flow, then by passes; a flow that fails is the last one of its try."""
    row: int = i * Band.COUNT
    here: int = i * Field.COUNT
    if not improve_by_flow(search.hops, search.most_in_band, here, row, levels, bands):
        bands.bands[row + Band.FAILED] = 1
        return False
    refine_separator(search.passes, here, levels, other)
    return True


@pk.workunit
def improve_separators(
    worker: int,
    graph: Graph,
    work: Separators,
    search: Search,
    levels: Separations,
    other: Heaps,
    bands: Bands,
    sides: pk.View1D[pk.int32],
):
    """Improve the best candidates of all nodes by flows, and write the sides of the best ones.

    Passes follow each flow, and one that fails is the last of its try. If the best try has an empty
    side, all vertices are in the separator.
    """
    node: int = pk.atomic_fetch_add(work.turns, [0], 1)
    while node < work.count:
        load_node(worker, node, graph, work, levels)
        begin_tries(worker, node, work, search, levels, bands.bands)
        first_try: int = worker * work.tries
        task: int = node * Task.COUNT
        vertex: int = work.tasks[task + Task.VERTEX]
        own: int = work.tasks[task + Task.PLACE]
        size: int = work.tasks[task + Task.N]
        tries: int = work.tasks[task + Task.TRIES]
        begin: int = worker * work.vertex_room
        for _flow in range(search.flows):
            select_tries(first_try, tries, levels, bands.bands)
            for number in range(tries):
                i: int = first_try + number
                if bands.bands[i * Band.COUNT + Band.FAILED] == 1:
                    continue
                for j in range(size):
                    levels.sides[begin + j] = work.found[number * work.n + own + j]
                if improve_by_flow_and_passes(i, search, levels, other, bands):
                    keep_sides(node, number, i * Field.COUNT, work, levels)
        best: int = best_try(first_try, tries, levels)
        chosen: int = (best - first_try) * work.n + own
        is_divided: bool = not has_empty_side(best * Field.COUNT, levels)
        for j in range(size):
            sides[vertex + j] = SEPARATOR
            if is_divided:
                sides[vertex + j] = work.found[chosen + j]
        node = pk.atomic_fetch_add(work.turns, [0], 1)
