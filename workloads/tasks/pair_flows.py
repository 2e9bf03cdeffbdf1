"""Flows between all pairs of parts of a level by one index, one pair after another.

`jetpy.workloads.flows` has the regions, networks and cuts. The rows of a level are those of the
group `level`, whose arrays are the arrays of the levels under other names.
"""

import pykokkos as pk

from jetpy.workloads.common.groups import NO_PART, NO_VERTEX, Graph
from jetpy.workloads.common.heaps import Field
from jetpy.workloads.flows.flow_cuts import find_cut, is_before, order_index
from jetpy.workloads.flows.flow_networks import Side, connect_region, end_of, inner_begin
from jetpy.workloads.flows.max_flow import Trees
from jetpy.workloads.flows.regions import (
    KEPT_OUTSIDE,
    OUTSIDE,
    Pair,
    Pairs,
    grow_hops,
    propose,
)
from jetpy.workloads.tasks.kway import UNREAD, Parts, move_vertex, read_slots, weight_to

REGION_SHARE = 3
"""A region weighs at most 1 / REGION_SHARE of each part."""
MAX_CUT_SHARE = 10
"""There are no flows if more than 1 / MAX_CUT_SHARE of the edge weight is cut."""


@pk.function
def begin_pair(a: int, b: int, row: int, here: int, pairs: Pairs, state: Parts):
    """Set the fields of a pair of parts, whose region is still empty.

    Both parts together keep their weight, so the lower limit of one is an upper limit of the other.
    """
    base: int = state.numbers[here + Field.PARTS_BEGIN]
    for field in range(Pair.NODE):
        pairs.rows[row + field] = 0
    for field in range(Pair.NODE + 1, Pair.COUNT):
        pairs.rows[row + field] = 0
    pairs.rows[row + Pair.FIRST] = state.numbers[here + Field.BEGIN]
    pairs.rows[row + Pair.MAX_DEGREE] = state.part_sizes[base + a] + state.part_sizes[base + b]
    both: pk.int64 = state.part_weights[base + a] + state.part_weights[base + b]
    own: int = a
    other: int = b
    for side in range(2):
        weight: pk.int64 = state.part_weights[base + own]
        limit: pk.int64 = state.most[base + own]
        if both - state.least[base + other] < limit:
            limit = both - state.least[base + other]
        pairs.rows[row + Pair.PARTS + side] = own
        pairs.rows[row + Pair.ROOMS + side] = weight // REGION_SHARE
        pairs.rows[row + Pair.WEIGHTS + side] = weight
        pairs.rows[row + Pair.LIMITS + side] = limit
        own = b
        other = a


@pk.function
def propose_border(
    a: int, b: int, borders: int, row: int, level: Graph, pairs: Pairs, here: int, state: Parts
):
    """Propose the vertices of part a that are adjacent to part b for the region of a pair."""
    begin: int = state.numbers[here + Field.BEGIN]
    for j in range(begin, begin + borders):
        v: int = state.moved[j]
        if state.sides[v] == a and weight_to(v, b, state) > 0:
            propose(v, 0, row, level, pairs, state.sides)


@pk.function
def improve_two_parts(
    a: int,
    b: int,
    borders: int,
    hops: int,
    first_arc: int,
    row: int,
    level: Graph,
    pairs: Pairs,
    trees: Trees,
    here: int,
    state: Parts,
) -> bool:
    """Improve the cut between two parts by flows, and return whether it has changed."""
    begin_pair(a, b, row, here, pairs, state)
    propose_border(a, b, borders, row, level, pairs, here, state)
    propose_border(b, a, borders, row, level, pairs, here, state)
    grow_hops(row, level, pairs, state.sides, hops)
    connect_region(first_arc, row, level, pairs, state.sides, trees)
    side: int = find_cut(row, pairs, trees)
    if side == Side.NEITHER:
        return False
    for node in range(inner_begin(row, pairs), end_of(row, pairs)):
        to: int = b
        if is_before(node, side == Side.SOURCE, trees):
            to = a
        v: int = pairs.order[order_index(node, row, pairs)]
        if state.sides[v] != to:
            if state.internal[v] == UNREAD:
                read_slots(v, state.numbers[here + Field.PARTS_BEGIN], state)
            move_vertex(v, to, 0, here, state)
    return True


@pk.function
def list_borders(here: int, state: Parts) -> int:
    """List the vertices with slots in `moved`, and return their number; reset all places."""
    begin: int = state.numbers[here + Field.BEGIN]
    end: int = state.numbers[here + Field.END]
    borders: int = 0
    for v in range(begin, end):
        state.positions[v] = OUTSIDE
        if state.pinned[v] != NO_PART:
            state.positions[v] = KEPT_OUTSIDE
        if state.slots[v] > 0:
            state.moved[begin + borders] = v
            borders += 1
    return borders


@pk.function
def improve_pairs(
    hops: int,
    first_arc: int,
    row: int,
    level: Graph,
    pairs: Pairs,
    trees: Trees,
    here: int,
    state: Parts,
):
    """Improve the cut between each pair of adjacent parts of the current level once."""
    begin: int = state.numbers[here + Field.BEGIN]
    end: int = state.numbers[here + Field.END]
    base: int = state.numbers[here + Field.PARTS_BEGIN]
    k: int = state.numbers[here + Field.PARTS]
    weight: pk.int64 = 0
    for e in range(state.rows[begin], state.rows[end]):
        weight += state.edge_weights[e]
    if 2 * state.numbers[here + Field.CUT] * MAX_CUT_SHARE > weight:
        return
    borders: int = list_borders(here, state)
    for a in range(k):
        for b in range(a + 1, k):
            state.marks[base + b] = NO_VERTEX
        for j in range(begin, begin + borders):
            v: int = state.moved[j]
            if state.sides[v] == a:
                for slot in range(state.rows[v], state.rows[v] + state.slots[v]):
                    state.marks[base + state.slot_parts[slot]] = v
        for b in range(a + 1, k):
            if state.marks[base + b] != NO_VERTEX:
                state.marks[base + b] = NO_VERTEX
                improve_two_parts(
                    a, b, borders, hops, first_arc, row, level, pairs, trees, here, state
                )
