"""FlowCutter: smaller balanced cuts between two parts by maximum flows, one index per pair.

Each round examines the two outermost minimum cuts of a flow. If neither is balanced, the nodes of
the lighter side and a few adjacent nodes become terminals, which moves the cut (Hamann, Strasser,
"Graph bisection with Pareto optimization", JEA 23 (2018); for k-way partitions, Gottesbüren, Heuer,
Sanders, "Parallel flow-based hypergraph partitioning", SEA 2022).
"""

import pykokkos as pk

from jetpy.workloads.common.groups import NO_PART
from jetpy.workloads.common.loads import Loads, add_weights, may_change
from jetpy.workloads.flows.flow_networks import TERMINALS, Side, end_of, inner_begin
from jetpy.workloads.flows.max_flow import ROOT, Trees, add_terminal, begin_flow, maximise_flow
from jetpy.workloads.flows.regions import Pair, PairRows, Regions

ROUNDS_PER_DOUBLING = 4
"""Rounds after which the number of nodes that pierce the cut in a round doubles."""
MAX_DOUBLINGS = 20
FULL = 1 << 20
"""Added to the preference of nodes that no augmenting path can use."""
HELD, CHOSEN = 4, 8
"""Marks of terminals that have been held, and of nodes that pierce the cut. The other marks are the
sides in whose frontier a node is."""


@pk.function
def is_before(node: int, by_sources: bool, trees: Trees) -> bool:
    """Whether a node is on the source side of the cut nearest to the sources, or to the sinks."""
    if by_sources:
        return trees.sides[node] == Side.SOURCE
    return trees.sides[node] != Side.SINK


@pk.function
def order_index(node: int, row: int, pairs: Regions) -> int:
    """Return the index in the order of the vertex that a node stands for."""
    return pairs.rows[row + Pair.FIRST] - TERMINALS + node - pairs.rows[row + Pair.NODE]


@pk.function
def overload_with(moved: pk.int64, row: int, pairs: PairRows) -> pk.int64:
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
def lighter_side(nearer: pk.int64, farther: pk.int64, row: int, pairs: PairRows) -> int:
    """Return the lighter side relative to its part's limit, given what the two cuts would move."""
    sources: pk.int64 = pairs.rows[row + Pair.WEIGHTS] - nearer
    sinks: pk.int64 = pairs.rows[row + Pair.WEIGHTS + 1] + farther
    if sources * pairs.rows[row + Pair.LIMITS + 1] <= sinks * pairs.rows[row + Pair.LIMITS]:
        return Side.SOURCE
    return Side.SINK


@pk.function
def piercing_nodes(rounds: int) -> int:
    """Return the maximum number of nodes that pierce the cut after some rounds."""
    doublings: int = rounds // ROUNDS_PER_DOUBLING
    if doublings > MAX_DOUBLINGS:
        doublings = MAX_DOUBLINGS
    return 1 << doublings


@pk.function
def preference(node: int, side: int, row: int, pairs: Regions, trees: Trees) -> int:
    """Return the preference for a node as the next terminal of a side.

    Nodes in neither tree come first, because piercing them opens no augmenting path. Ties go to
    nodes in the side's part, far from the cut before near it.
    """
    wanted: int = pairs.hops[order_index(node, row, pairs)]
    if side == Side.SINK:
        wanted = -1 - wanted
    if trees.sides[node] == Side.NEITHER:
        wanted += FULL
    return wanted


@pk.function
def is_preferred(a: int, b: int, side: int, row: int, pairs: Regions, trees: Trees) -> bool:
    """Whether node a is preferred to node b; ties go to the lower vertex."""
    first: int = preference(a, side, row, pairs, trees)
    second: int = preference(b, side, row, pairs, trees)
    if first != second:
        return first > second
    return pairs.order[order_index(a, row, pairs)] < pairs.order[order_index(b, row, pairs)]


@pk.function
def sink_node(node: int, hole: int, size: int, side: int, row: int, pairs: Regions, trees: Trees):
    """Store a node at the free position of the heap of candidates, or below it."""
    begin: int = pairs.rows[row + Pair.NODE]
    free: int = hole
    while 2 * free + 1 < size:
        child: int = 2 * free + 1
        below: int = trees.orphans[begin + child]
        if child + 1 < size:
            other: int = trees.orphans[begin + child + 1]
            if is_preferred(other, below, side, row, pairs, trees):
                child += 1
                below = other
        if is_preferred(node, below, side, row, pairs, trees):
            break
        trees.orphans[begin + free] = below
        free = child
    trees.orphans[begin + free] = node


@pk.function
def raise_node(node: int, hole: int, side: int, row: int, pairs: Regions, trees: Trees):
    """Store a node at the free position of the heap of candidates, or above it."""
    begin: int = pairs.rows[row + Pair.NODE]
    free: int = hole
    while free > 0:
        above: int = trees.orphans[begin + (free - 1) // 2]
        if is_preferred(above, node, side, row, pairs, trees):
            break
        trees.orphans[begin + free] = above
        free = (free - 1) // 2
    trees.orphans[begin + free] = node


@pk.function
def could_pierce(node: int, side: int, trees: Trees) -> bool:
    """Whether a node in the frontier of a side may become one of its terminals."""
    return trees.sides[node] != side and trees.parents[node] != ROOT


@pk.function
def frontier_begin(side: int, row: int, pairs: Regions) -> int:
    """Return the index of the first node in the frontier of a side."""
    begin: int = 2 * pairs.rows[row + Pair.NODE]
    if side == Side.SINK:
        begin += TERMINALS + pairs.rows[row + Pair.SIZE]
    return begin


@pk.function
def extend_frontier(node: int, side: int, row: int, pairs: Regions, trees: Trees):
    """Add the neighbours of a terminal to the frontier of its side, unless they are there."""
    size: int = pairs.rows[row + Pair.FRONTIERS + side - 1]
    begin: int = frontier_begin(side, row, pairs)
    for arc in range(trees.rows[node], trees.ends[node]):
        head: int = trees.heads[arc]
        if (trees.marks[head] & side) == 0 and could_pierce(head, side, trees):
            trees.marks[head] += side
            trees.frontiers[begin + size] = head
            size += 1
    pairs.rows[row + Pair.FRONTIERS + side - 1] = size


@pk.function
def hold(side: int, row: int, pairs: Regions, trees: Trees):
    """Make all nodes of a side terminals."""
    begin: int = pairs.rows[row + Pair.NODE]
    for node in range(begin, end_of(row, pairs)):
        if trees.sides[node] == side and (trees.marks[node] & HELD) == 0:
            trees.marks[node] += HELD
            trees.parents[node] = ROOT
            trees.labels[node] = 0
            extend_frontier(node, side, row, pairs, trees)


@pk.function
def list_candidates(side: int, row: int, pairs: Regions, trees: Trees) -> int:
    """Make a heap of the nodes that may pierce; forget the others. Return how many there are."""
    begin: int = frontier_begin(side, row, pairs)
    heap: int = pairs.rows[row + Pair.NODE]
    size: int = 0
    end: int = begin + pairs.rows[row + Pair.FRONTIERS + side - 1]
    for j in range(begin, end):
        node: int = trees.frontiers[j]
        if could_pierce(node, side, trees):
            trees.frontiers[begin + size] = node
            trees.orphans[heap + size] = node
            size += 1
    pairs.rows[row + Pair.FRONTIERS + side - 1] = size
    for j in range(size // 2):
        hole: int = size // 2 - 1 - j
        sink_node(trees.orphans[heap + hole], hole, size, side, row, pairs, trees)
    return size


@pk.function
def choose(side: int, most: int, row: int, pairs: Regions, trees: Trees) -> bool:
    """Mark up to `most` candidates in descending preference; return whether there are any.

    A neighbour of a chosen node becomes a candidate if its turn has not yet passed.
    """
    heap: int = pairs.rows[row + Pair.NODE]
    begin: int = frontier_begin(side, row, pairs)
    size: int = list_candidates(side, row, pairs, trees)
    left: int = most
    while left > 0 and size > 0:
        node: int = trees.orphans[heap]
        size -= 1
        if size > 0:
            sink_node(trees.orphans[heap + size], 0, size, side, row, pairs, trees)
        trees.marks[node] += CHOSEN
        left -= 1
        known: int = begin + pairs.rows[row + Pair.FRONTIERS + side - 1]
        extend_frontier(node, side, row, pairs, trees)
        end: int = begin + pairs.rows[row + Pair.FRONTIERS + side - 1]
        for j in range(known, end):
            other: int = trees.frontiers[j]
            if is_preferred(node, other, side, row, pairs, trees):
                raise_node(other, size, side, row, pairs, trees)
                size += 1
    return left < most


@pk.function
def pierce(side: int, most: int, row: int, pairs: Regions, trees: Trees) -> bool:
    """Make the nodes of a side and up to `most` adjacent ones terminals; return if there are any.

    Nodes adjacent to a new terminal count, too. The trees depend on the order of arcs while they
    change, so all nodes are chosen first.
    """
    hold(side, row, pairs, trees)
    if not choose(side, most, row, pairs, trees):
        return False
    begin: int = frontier_begin(side, row, pairs)
    end: int = begin + pairs.rows[row + Pair.FRONTIERS + side - 1]
    for j in range(begin, end):
        node: int = trees.frontiers[j]
        if (trees.marks[node] & CHOSEN) != 0:
            trees.marks[node] -= CHOSEN
            add_terminal(node, side, row, pairs, trees)
    return True


@pk.function
def balanced_side(row: int, pairs: PairRows) -> int:
    """Return the side that the better balanced minimum cut is nearer to; `NEITHER` if none is."""
    overload: pk.int64 = overload_with(pairs.rows[row + Pair.NEARER], row, pairs)
    other_overload: pk.int64 = overload_with(pairs.rows[row + Pair.FARTHER], row, pairs)
    if overload <= 0 and overload <= other_overload:
        return Side.SOURCE
    if other_overload <= 0:
        return Side.SINK
    return Side.NEITHER


@pk.function
def pierce_lighter(row: int, pairs: Regions, trees: Trees) -> bool:
    """Pierce the cut from its lighter side; return whether that is possible."""
    nearer: pk.int64 = pairs.rows[row + Pair.NEARER]
    farther: pk.int64 = pairs.rows[row + Pair.FARTHER]
    side: int = lighter_side(nearer, farther, row, pairs)
    rounds: int = pairs.rows[row + Pair.ROUNDS]
    pairs.rows[row + Pair.ROUNDS] += 1
    return pierce(side, piercing_nodes(rounds), row, pairs, trees)


@pk.function
def next_cut(row: int, pairs: Regions, trees: Trees) -> int:
    """Pierce until a minimum cut is balanced, and return the side that it is nearer to.

    Returns `Side.NEITHER` if there is none smaller than the cut of the two parts.
    """
    while maximise_flow(row, pairs, trees):
        side: int = balanced_side(row, pairs)
        if side != Side.NEITHER:
            return side
        if not pierce_lighter(row, pairs, trees):
            return Side.NEITHER
    return Side.NEITHER


@pk.function
def find_cut(row: int, pairs: Regions, trees: Trees) -> int:
    """Search for a smaller balanced cut of two parts, and return the side that it is nearer to.

    Returns `Side.NEITHER` if there is none.
    """
    if pairs.rows[row + Pair.CUT] == 0:
        return Side.NEITHER
    begin_flow(row, pairs, trees)
    return next_cut(row, pairs, trees)


@pk.function
def leaves_first(by_sources: bool, node: int, index: int, pairs: Regions, trees: Trees) -> int:
    """Return 1 if a cut moves a node from the first part to the second, -1 for the reverse, or 0.

    `index` is the index in the order of its vertex.
    """
    if is_before(node, by_sources, trees):
        if pairs.hops[index] < 0:
            return -1
    elif pairs.hops[index] >= 0:
        return 1
    return 0


@pk.function
def keeps_limits(by_sources: bool, row: int, pairs: Regions, trees: Trees, several: Loads) -> bool:
    """Whether both parts keep the limits of each of several weights after a minimum cut."""
    p: int = pairs.rows[row + Pair.PARTS]
    q: int = pairs.rows[row + Pair.PARTS + 1]
    for j in range(several.kinds):
        moved: pk.int64 = 0
        for node in range(inner_begin(row, pairs), end_of(row, pairs)):
            index: int = order_index(node, row, pairs)
            weight: pk.int64 = several.weights[pairs.order[index] * several.kinds + j]
            moved += weight * leaves_first(by_sources, node, index, pairs, trees)
        if not may_change(p, j, -moved, several) or not may_change(q, j, moved, several):
            return False
    return True


@pk.function
def kept_side(side: int, row: int, pairs: Regions, trees: Trees, several: Loads) -> int:
    """Return a side whose minimum cut is balanced and keeps the limits of each of several weights.

    It is `side`, whose cut is the better balanced one, if possible; `NEITHER` if there is none.
    """
    if keeps_limits(side == Side.SOURCE, row, pairs, trees, several):
        return side
    moved: pk.int64 = pairs.rows[row + Pair.FARTHER]
    other: int = Side.SINK
    if side == Side.SINK:
        moved = pairs.rows[row + Pair.NEARER]
        other = Side.SOURCE
    if overload_with(moved, row, pairs) <= 0:
        if keeps_limits(other == Side.SOURCE, row, pairs, trees, several):
            return other
    return Side.NEITHER


@pk.function
def find_cut_of_several(row: int, pairs: Regions, trees: Trees, several: Loads) -> int:
    """Return what `find_cut` does, for cuts that keep the limits of each of several weights."""
    side: int = find_cut(row, pairs, trees)
    while side != Side.NEITHER:
        kept: int = kept_side(side, row, pairs, trees, several)
        if kept != Side.NEITHER:
            return kept
        if not pierce_lighter(row, pairs, trees):
            return Side.NEITHER
        side = next_cut(row, pairs, trees)
    return Side.NEITHER


@pk.function
def take_cut(
    by_sources: bool,
    row: int,
    pairs: Regions,
    new_parts: pk.View1D[pk.int32],
    trees: Trees,
    several: Loads,
):
    """Store the parts of the vertices of a region after a minimum cut, in the region's order."""
    p: int = pairs.rows[row + Pair.PARTS]
    q: int = pairs.rows[row + Pair.PARTS + 1]
    pairs.rows[row + Pair.GAIN] = pairs.rows[row + Pair.CUT] - pairs.rows[row + Pair.FLOW]
    for node in range(inner_begin(row, pairs), end_of(row, pairs)):
        index: int = order_index(node, row, pairs)
        new_parts[index] = q
        if is_before(node, by_sources, trees):
            new_parts[index] = p
        moved: int = leaves_first(by_sources, node, index, pairs, trees)
        if moved != 0:
            pairs.rows[row + Pair.WEIGHT] += moved * trees.node_weights[node]
            pairs.rows[row + Pair.VERTICES] += moved
            add_weights(pairs.order[index], -moved, several.loads, p * several.kinds, several)
            add_weights(pairs.order[index], moved, several.loads, q * several.kinds, several)


@pk.function
def find_new_parts(
    row: int, pairs: Regions, new_parts: pk.View1D[pk.int32], trees: Trees, several: Loads
):
    """Search for a smaller balanced cut of two parts; without one, new parts are `NO_PART`."""
    side: int = find_cut_of_several(row, pairs, trees, several)
    if side != Side.NEITHER:
        take_cut(side == Side.SOURCE, row, pairs, new_parts, trees, several)
        return
    first: int = pairs.rows[row + Pair.FIRST]
    end: int = first + pairs.rows[row + Pair.SIZE]
    for index in range(first, end):
        new_parts[index] = NO_PART


@pk.function
def take_new_parts(
    row: int, pairs: Regions, new_parts: pk.View1D[pk.int32], parts: pk.View1D[pk.int32]
):
    """Move the vertices of a region to their new parts, if there are any."""
    first: int = pairs.rows[row + Pair.FIRST]
    end: int = first + pairs.rows[row + Pair.SIZE]
    for index in range(first, end):
        if new_parts[index] != NO_PART:
            parts[pairs.order[index]] = new_parts[index]
