"""Large nodes of nested dissection: the graph of all nodes of a depth, and bands around separators.

A band has the vertices within some hops of a node's separator. Refinement needs no other vertices:
those at the end of the band may not move to the other side. A node has several candidates on each
level: slot c n + v has the side of vertex v by candidate c. Of those that tries propose, every
other one is a bisection, which becomes a separator on the finest level.

Source: Chevalier, Pellegrini, "PT-Scotch: A tool for efficient parallel graph ordering", Parallel
Computing 34 (2008).
"""

from dataclasses import dataclass

import pykokkos as pk

from jetpy.workloads.common.groups import NO_PART, Graph, edges
from jetpy.workloads.common.hashing import mix
from jetpy.workloads.common.heaps import Field, Heaps
from jetpy.workloads.initial.two_way import measure, refine
from jetpy.workloads.ordering.induced_subgraphs import NO_PLACE, Selection
from jetpy.workloads.ordering.separator_flows import Band, Bands
from jetpy.workloads.ordering.separators import (
    SEPARATOR,
    Separations,
    has_empty_side,
    refine_separator,
    separate_sides,
    weigh_sides,
)
from jetpy.workloads.ordering.tries import (
    Search,
    best_try,
    improve_by_flow_and_passes,
    is_bisection,
    limit_sides,
    select_tries,
)

FAR = -1
"""Number of hops of a vertex that no search has reached."""
ALL_SEPARATE = -1
"""Stands for a candidate with all vertices in the separator."""


@dataclass(frozen=True, eq=False)
class Candidates:
    """The candidates of all nodes in their bands: candidate c of node i is task i count + c."""

    count: int  # of each node
    nodes: int
    has_bisections: int  # 1 if every other candidate is a bisection until the finest level
    seeds: pk.View1D[pk.int64]  # of each node
    starts: pk.View1D[pk.int64]  # first vertex of the band of node i by candidate c: c nodes + i
    side_weights: pk.View1D[pk.int64]  # of the sides and the separator of each task


@pk.workunit
def label_nodes_to_coarsen(
    v: int,
    count: int,
    node_of: pk.View1D[pk.int32],
    is_done: pk.View1D[pk.int32],
    labels: pk.View1D[pk.int32],
):
    """Label a vertex by its node, or by a label of its own if its node is small enough.

    Only vertices with the same label may be contracted. There are `count` nodes.
    """
    node: int = node_of[v]
    labels[v] = node
    if is_done[node] == 1:
        labels[v] = count + v


@pk.workunit
def begin_search(
    slot: int,
    n: int,
    has_bisections: int,
    graph: Graph,
    sides: pk.View1D[pk.int32],
    hops: pk.View1D[pk.int32],
):
    """Start from the separators, and from the vertices of bisections with edges between sides.

    With `has_bisections` = 1, every other candidate is a bisection.
    """
    hops[slot] = FAR
    if has_bisections == 0 or not is_bisection(slot // n):
        if sides[slot] == SEPARATOR:
            hops[slot] = 0
        return
    copy: int = slot - slot % n
    for e in edges(slot % n, graph):
        if sides[copy + graph.indices[e]] != sides[slot]:
            hops[slot] = 0


@pk.workunit
def list_reached(
    slot: int,
    acc: pk.Acc[pk.int64],
    last_pass: bool,
    hop: int,
    hops: pk.View1D[pk.int32],
    reached: pk.View1D[pk.int32],
):
    """List the slots that are `hop` hops away."""
    if hops[slot] == hop:
        if last_pass:
            reached[acc] = slot
        acc += 1


@pk.workunit
def reach(
    i: int,
    n: int,
    hop: int,
    graph: Graph,
    reached: pk.View1D[pk.int32],
    hops: pk.View1D[pk.int32],
):
    """Reach the neighbours of a vertex that is `hop` hops away."""
    v: int = reached[i] % n
    copy: int = reached[i] - v
    for e in edges(v, graph):
        if hops[copy + graph.indices[e]] == FAR:
            hops[copy + graph.indices[e]] = hop + 1


@pk.workunit
def select_band(
    slot: int,
    acc: pk.Acc[pk.int64],
    last_pass: bool,
    hops: pk.View1D[pk.int32],
    selection: Selection,
):
    """Select the slots that the search has reached, in ascending order."""
    is_near: bool = hops[slot] != FAR
    if last_pass:
        selection.places[slot] = NO_PLACE
        if is_near:
            selection.places[slot] = acc
            selection.slots[acc] = slot
    if is_near:
        acc += 1


@pk.workunit
def pin_ends(
    i: int,
    graph: Graph,
    selection: Selection,
    sides: pk.View1D[pk.int32],
    band_sides: pk.View1D[pk.int32],
    pinned: pk.View1D[pk.int32],
):
    """Copy the side of a vertex of a band; pin it to this side if it has a neighbour outside."""
    slot: int = selection.slots[i]
    copy: int = slot - slot % selection.n
    band_sides[i] = sides[slot]
    pinned[i] = NO_PART
    for e in edges(slot % selection.n, graph):
        if selection.places[copy + graph.indices[e]] == NO_PLACE:
            pinned[i] = sides[slot]


@pk.workunit
def take_best(
    v: int,
    n: int,
    best: pk.View1D[pk.int32],
    node_of: pk.View1D[pk.int32],
    sides: pk.View1D[pk.int32],
    result: pk.View1D[pk.int32],
):
    """Write the side of a vertex by the best candidate of its node."""
    result[v] = SEPARATOR
    if best[node_of[v]] != ALL_SEPARATE:
        result[v] = sides[best[node_of[v]] * n + v]


@pk.function
def begin_band(i: int, candidates: Candidates, levels: Separations):
    """Set the fields of the band of a candidate."""
    here: int = i * Field.COUNT
    node: int = i // candidates.count
    number: int = i % candidates.count
    place: int = number * candidates.nodes + node
    begin: int = candidates.starts[place]
    end: int = candidates.starts[place + 1]
    levels.numbers[here + Field.BEGIN] = begin
    levels.numbers[here + Field.END] = end
    levels.numbers[here + Field.ORIGIN] = begin
    levels.numbers[here + Field.LEVELS] = 0
    levels.numbers[here + Field.SEED] = mix(candidates.seeds[node] + number)
    total: pk.int64 = 0
    for part in range(SEPARATOR + 1):
        total += candidates.side_weights[i * (SEPARATOR + 1) + part]
    levels.numbers[here + Field.TOTAL] = total
    levels.numbers[here + Field.TARGET] = total // 2
    for side in range(2):
        weight: pk.int64 = candidates.side_weights[i * (SEPARATOR + 1) + side]
        levels.numbers[here + Field.OUTSIDE + side] = weight
    for v in range(begin, end):
        if levels.sides[v] != SEPARATOR:
            levels.numbers[here + Field.OUTSIDE + levels.sides[v]] -= levels.weights[v]


@pk.workunit
def refine_bands(
    i: int,
    is_finest: int,
    candidates: Candidates,
    search: Search,
    levels: Separations,
    other: Heaps,
):
    """Refine a candidate in its band. On the finest level, bisections become separators."""
    here: int = i * Field.COUNT
    begin_band(i, candidates, levels)
    levels.numbers[here + Field.SKEW] = search.skew
    number: int = i % candidates.count
    if candidates.has_bisections == 1 and is_bisection(number):
        limit_sides(search.shares[number], here, levels)
        measure(here, levels)
        for side in range(2):
            outside: pk.int64 = levels.numbers[here + Field.OUTSIDE + side]
            levels.numbers[here + Field.WEIGHTS + side] += outside
        refine(search.passes, here, levels)
        if is_finest == 0:
            return
        separate_sides(here, levels)
    limit_sides(search.share, here, levels)
    weigh_sides(here, levels)
    refine_separator(search.passes, here, levels, other)


@pk.workunit
def select_candidates(node: int, candidates: int, levels: Separations, bands: pk.View1D[pk.int64]):
    """Select the candidates of a node that flows may improve."""
    select_tries(node * candidates, candidates, levels, bands)


@pk.workunit
def improve_candidates(i: int, search: Search, levels: Separations, other: Heaps, bands: Bands):
    """Improve a candidate by a flow and passes, unless it is not selected or a flow has failed."""
    if bands.bands[i * Band.COUNT + Band.FAILED] == 0:
        improve_by_flow_and_passes(i, search, levels, other, bands)


@pk.workunit
def find_best(node: int, candidates: int, levels: Separations, best: pk.View1D[pk.int32]):
    """Write the index of the best candidate of a node, `ALL_SEPARATE` if it has an empty side."""
    i: int = best_try(node * candidates, candidates, levels)
    best[node] = i - node * candidates
    if has_empty_side(i * Field.COUNT, levels):
        best[node] = ALL_SEPARATE
