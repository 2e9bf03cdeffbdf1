"""FlowCutter: smaller balanced cuts between two parts by maximum flows, one index per pair.

Each round examines the two outermost minimum cuts of a flow. If neither is balanced, the nodes of
the lighter side and a few adjacent nodes become terminals, which moves the cut (Hamann, Strasser,
"Graph bisection with Pareto optimization", JEA 23 (2018); for k-way partitions, Gottesbüren, Heuer,
Sanders, "Parallel flow-based hypergraph partitioning", SEA 2022).
"""

from dataclasses import dataclass

import pykokkos as pk

from jetpy.workloads.common.groups import INT32_MAX, Weight
from jetpy.workloads.flows.flow_networks import TERMINALS, Side, end_of, inner_begin
from jetpy.workloads.flows.max_flow import ROOT, Trees, add_terminal, begin_flow, maximise_flow
from jetpy.workloads.flows.regions import Pair, Pairs

ROUNDS_PER_DOUBLING = 4
"""Rounds after which the number of nodes that pierce the cut in a round doubles."""
MAX_DOUBLINGS = 20
FULL = 1 << 20
"""Added to the preference of nodes that no augmenting path can use."""
UNWANTED = -FULL
"""Below all preferences."""


@dataclass(frozen=True, eq=False)
class Moves:
    """The partition that flows change."""

    vertex_weights: pk.View1D[Weight]
    parts: pk.View1D[pk.int32]


@pk.function
def is_before(node: int, by_sources: bool, trees: Trees) -> bool:
    """Whether a node is on the source side of the cut nearest to the sources, or to the sinks."""
    if by_sources:
        return trees.sides[node] == Side.SOURCE
    return trees.sides[node] != Side.SINK


@pk.function
def order_index(node: int, row: int, pairs: Pairs) -> int:
    """Return the index in the order of the vertex that a node stands for."""
    return pairs.rows[row + Pair.FIRST] - TERMINALS + node - pairs.rows[row + Pair.NODE]


@pk.function
def moved_weight(by_sources: bool, row: int, pairs: Pairs, moves: Moves, trees: Trees) -> pk.int64:
    """Return the net weight that a minimum cut would move from the first part to the second."""
    moved: pk.int64 = 0
    for node in range(inner_begin(row, pairs), end_of(row, pairs)):
        v: int = pairs.order[order_index(node, row, pairs)]
        is_first: bool = moves.parts[v] == pairs.rows[row + Pair.PARTS]
        if is_before(node, by_sources, trees) != is_first:
            if is_first:
                moved += moves.vertex_weights[v]
            else:
                moved -= moves.vertex_weights[v]
    return moved


@pk.function
def overload_with(moved: pk.int64, row: int, pairs: Pairs) -> pk.int64:
    """Return the largest excess of the two parts over their limits after a move, negative if below.

    A part that is already too heavy counts as exactly full.
    """
    first: pk.int64 = pairs.rows[row + Pair.WEIGHTS] - pairs.rows[row + Pair.LIMITS]
    second: pk.int64 = pairs.rows[row + Pair.WEIGHTS + 1] - pairs.rows[row + Pair.LIMITS + 1]
    if first > 0:
        first = 0
    if second > 0:
        second = 0
    first -= moved
    second += moved
    if second > first:
        return second
    return first


@pk.function
def lighter_side(nearer: pk.int64, farther: pk.int64, row: int, pairs: Pairs) -> int:
    """Return the lighter side relative to its part's limit, given what the two cuts would move."""
    sources: pk.int64 = pairs.rows[row + Pair.WEIGHTS] - nearer
    sinks: pk.int64 = pairs.rows[row + Pair.WEIGHTS + 1] + farther
    if sources * pairs.rows[row + Pair.LIMITS + 1] <= sinks * pairs.rows[row + Pair.LIMITS]:
        return Side.SOURCE
    return Side.SINK


@pk.function
def preference(node: int, side: int, row: int, pairs: Pairs, moves: Moves, trees: Trees) -> int:
    """Return the preference for a node as the next terminal of a side.

    Nodes in neither tree come first, because piercing them opens no augmenting path. Ties go to
    nodes in the side's part, far from the cut before near it.
    """
    index: int = order_index(node, row, pairs)
    wanted: int = pairs.hops[index]
    is_first: bool = moves.parts[pairs.order[index]] == pairs.rows[row + Pair.PARTS]
    if is_first != (side == Side.SOURCE):
        wanted = -1 - wanted
    if trees.settled[node] == Side.NEITHER:
        wanted += FULL
    return wanted


@pk.function
def is_adjacent(node: int, side: int, trees: Trees) -> bool:
    """Whether a node has a neighbour on a side."""
    for arc in range(trees.rows[node], trees.rows[node + 1]):
        if trees.settled[trees.heads[arc]] == side:
            return True
    return False


@pk.function
def hold(side: int, row: int, pairs: Pairs, trees: Trees):
    """Make all nodes of a side terminals."""
    for node in range(inner_begin(row, pairs), end_of(row, pairs)):
        if trees.settled[node] == side:
            trees.parents[node] = ROOT
            trees.distances[node] = 0


@pk.function
def could_pierce(node: int, side: int, trees: Trees) -> bool:
    """Whether a node may become a terminal of a side: adjacent to it, and not yet a terminal."""
    return (
        trees.settled[node] != side
        and trees.parents[node] != ROOT
        and is_adjacent(node, side, trees)
    )


@pk.function
def next_preference(
    bound: int, side: int, row: int, pairs: Pairs, moves: Moves, trees: Trees
) -> int:
    """Return the highest preference below `bound` of the nodes that may pierce, or `UNWANTED`."""
    highest: int = UNWANTED
    for node in range(inner_begin(row, pairs), end_of(row, pairs)):
        wanted: int = preference(node, side, row, pairs, moves, trees)
        if highest < wanted and wanted < bound and could_pierce(node, side, trees):
            highest = wanted
    return highest


@pk.function
def pierce(side: int, most: int, row: int, pairs: Pairs, moves: Moves, trees: Trees) -> bool:
    """Make the nodes of a side and up to `most` adjacent ones terminals; return if there are any.

    Nodes adjacent to a new terminal count, too. The trees meanwhile depend on the order of arcs, so
    no choice depends on them.
    """
    begin: int = pairs.rows[row + Pair.NODE]
    for node in range(begin, end_of(row, pairs)):
        trees.settled[node] = trees.sides[node]
    hold(side, row, pairs, trees)
    left: int = most
    wanted: int = INT32_MAX
    while left > 0 and wanted != UNWANTED:
        wanted = next_preference(wanted, side, row, pairs, moves, trees)
        for node in range(inner_begin(row, pairs), end_of(row, pairs)):
            if left > 0 and preference(node, side, row, pairs, moves, trees) == wanted:
                if could_pierce(node, side, trees):
                    add_terminal(node, side, row, pairs, trees)
                    trees.settled[node] = side
                    left -= 1
    return left < most


@pk.function
def take_cut(by_sources: bool, row: int, pairs: Pairs, moves: Moves, trees: Trees):
    """Assign the vertices of a region to parts by a minimum cut."""
    p: int = pairs.rows[row + Pair.PARTS]
    q: int = pairs.rows[row + Pair.PARTS + 1]
    pairs.rows[row + Pair.GAIN] = pairs.rows[row + Pair.CUT] - pairs.rows[row + Pair.FLOW]
    for node in range(inner_begin(row, pairs), end_of(row, pairs)):
        v: int = pairs.order[order_index(node, row, pairs)]
        if is_before(node, by_sources, trees):
            if moves.parts[v] == q:
                moves.parts[v] = p
                pairs.rows[row + Pair.WEIGHT] -= moves.vertex_weights[v]
                pairs.rows[row + Pair.VERTICES] -= 1
        elif moves.parts[v] == p:
            moves.parts[v] = q
            pairs.rows[row + Pair.WEIGHT] += moves.vertex_weights[v]
            pairs.rows[row + Pair.VERTICES] += 1


@pk.workunit
def improve_pair(i: int, pairs: Pairs, moves: Moves, trees: Trees):
    """Search for a smaller balanced cut between two parts, and adopt it."""
    row: int = i * Pair.COUNT
    if pairs.rows[row + Pair.CUT] == 0:
        return
    begin_flow(row, pairs, trees)
    rounds: int = 0
    while maximise_flow(row, pairs, trees):
        nearer: pk.int64 = moved_weight(True, row, pairs, moves, trees)
        farther: pk.int64 = moved_weight(False, row, pairs, moves, trees)
        overload: pk.int64 = overload_with(nearer, row, pairs)
        other_overload: pk.int64 = overload_with(farther, row, pairs)
        if overload <= 0 or other_overload <= 0:
            take_cut(overload <= other_overload, row, pairs, moves, trees)
            return
        doublings: int = rounds // ROUNDS_PER_DOUBLING
        if doublings > MAX_DOUBLINGS:
            doublings = MAX_DOUBLINGS
        side: int = lighter_side(nearer, farther, row, pairs)
        if not pierce(side, 1 << doublings, row, pairs, moves, trees):
            return
        rounds += 1
