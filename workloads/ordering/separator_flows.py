"""Smaller vertex separators by a maximum flow in a band around a separator, one index per try.

The band contains the vertices within a number of hops of the separator. In its network, a vertex v
is an arc from v.in to v.out with the weight of v as capacity. An edge between v and u is the arcs
v.out -> u.in and u.out -> v.in of unlimited capacity. There are arcs of unlimited capacity from the
source to v.in if v has a neighbour on side 0 outside the band or is pinned to side 0, and from
v.out to the sink if v has one on side 1 or is pinned to side 1. A minimum cut is a vertex separator
of least weight in the band. Two minimum cuts are considered, the nearest to the source and the
nearest to the sink.

The network is not stored. Both entries of an edge have its net flow, with opposite signs: flows in
opposite directions cancel.

Source: Ashcraft, Liu, "Applications of the Dulmage-Mendelsohn decomposition and network flow to
graph bisection improvement", SIAM Journal on Matrix Analysis and Applications 19 (1998); for the
maximum flow by shortest augmenting paths with distance labels, Ahuja, Orlin, "Distance-directed
augmenting path algorithms for network flow and related problems", Naval Research Logistics 38
(1991).
"""

from dataclasses import dataclass
from enum import IntEnum

import pykokkos as pk

from jetpy.workloads.common.groups import INT32_MAX
from jetpy.workloads.common.heaps import Field
from jetpy.workloads.ordering.separators import (
    SEPARATOR,
    Separations,
    excess_of,
    flipped,
    score_of,
)

OUTSIDE = -1
"""Label of a vertex that is not in the band."""
DEAD = INT32_MAX
"""Label of a node from which no path leads to the sink."""
AT_SOURCE = INT32_MAX
"""Stands for the source as a node of a path."""
NEXT_TO_END = 1
"""Distance of nodes with an arc to the sink (from the source): v.out (v.in), no others."""
MAX_RAISES, PER_VERTICES = 1, 2
"""All labels are computed again after one of v.in has risen for every second vertex of the band."""
MIN_ROOM = 8
"""At least an eighth of each side may enter the band."""


class Band(IntEnum):
    """Fields of a band."""

    SIZE = 0
    """Number of vertices."""
    ROOMS = 1
    """Weight that the band may still take from each side."""
    SOURCES = 3
    """Number of vertices with an arc from the source; they are the first in the order."""
    LABEL = 4
    """Label of the source."""
    NEXT = 5
    """Index of the next vertex that a path from the source may begin with."""
    FLOW = 6
    RAISES = 7
    """Number of v.in whose labels have risen since all labels were distances."""
    FAILED = 8
    """1 if the last flow has not improved the separator, or the try is not selected."""
    COUNT = 9


class Cut(IntEnum):
    """Separators to choose from."""

    PRESENT = 0
    NEAREST_SOURCE = 1
    NEAREST_SINK = 2


@dataclass(frozen=True, eq=False)
class Bands:
    """Bands and flows in them, by the vertices and directed edges of levels.

    The labels are lower bounds of the distances to the sink: odd for v.out, even for v.in.

    Some arrays have other values before or after a flow. While the band grows, `in_arcs` has the
    hops from the separator. A search has its queues in `in_before` and `out_before`. Once the flow
    is maximal, `find_cuts` writes distances from the source to `in_arcs` and `out_arcs`, and the
    sides of the vertices before the flow to `through`.
    """

    bands: pk.View1D[pk.int64]  # by Band
    order: pk.View1D[pk.int32]  # the vertices of each band, from the begin of the level on
    flows: pk.View1D[pk.int32]  # net flow along each directed edge
    through: pk.View1D[pk.int32]  # flow through each vertex
    in_labels: pk.View1D[pk.int32]  # label of v.in; OUTSIDE, DEAD
    out_labels: pk.View1D[pk.int32]  # label of v.out; DEAD
    in_arcs: pk.View1D[pk.int32]  # arcs of v.in before it lead to no node with the next label
    out_arcs: pk.View1D[pk.int32]
    in_before: pk.View1D[pk.int32]  # v.in follows u.out of this vertex u on the path; AT_SOURCE
    out_before: pk.View1D[pk.int32]  # v.out follows u.in
    # Entry i from the begin of the level on counts the labels 2 i + 2 of v.in, 2 i + 1 of v.out.
    in_counts: pk.View1D[pk.int64]
    out_counts: pk.View1D[pk.int64]


@pk.function
def admit_to_band(v: int, hop: int, here: int, row: int, state: Separations, bands: Bands):
    """Add a vertex to a band if the weight limit of its side allows it."""
    side: int = state.sides[v]
    if side != SEPARATOR:
        if state.weights[v] > bands.bands[row + Band.ROOMS + side]:
            return
        bands.bands[row + Band.ROOMS + side] -= state.weights[v]
    bands.order[state.numbers[here + Field.BEGIN] + bands.bands[row + Band.SIZE]] = v
    bands.bands[row + Band.SIZE] += 1
    bands.in_labels[v] = DEAD
    bands.in_arcs[v] = hop


@pk.function
def limit_band(here: int, row: int, state: Separations, bands: Bands):
    """Limit what the band may take from each side, so that no cut overloads the other side.

    It may always take an eighth of a side, and never all of it.
    """
    for side in range(2):
        weight: pk.int64 = state.numbers[here + Field.WEIGHTS + side]
        room: pk.int64 = state.numbers[here + Field.MOST + 1 - side]
        room -= state.numbers[here + Field.TOTAL] - weight
        least: pk.int64 = weight
        least //= MIN_ROOM
        if room < least:
            room = least
        if room > weight - 1:
            room = weight - 1
        bands.bands[row + Band.ROOMS + side] = room


@pk.function
def find_band(hops: int, limit: int, here: int, row: int, state: Separations, bands: Bands):
    """Find the vertices within `hops` hops of the separator; stop at `limit` vertices."""
    begin: int = state.numbers[here + Field.BEGIN]
    end: int = state.numbers[here + Field.END]
    bands.bands[row + Band.SIZE] = 0
    limit_band(here, row, state, bands)
    for v in range(begin, end):
        bands.in_labels[v] = OUTSIDE
        if state.sides[v] == SEPARATOR:
            admit_to_band(v, 0, here, row, state, bands)
    index: int = begin
    while index < begin + bands.bands[row + Band.SIZE]:
        v: int = bands.order[index]
        index += 1
        hop: int = bands.in_arcs[v] + 1
        if hop > hops or bands.bands[row + Band.SIZE] >= limit:
            break
        for e in range(state.rows[v], state.rows[v + 1]):
            if bands.in_labels[state.ends[e]] == OUTSIDE:
                admit_to_band(state.ends[e], hop, here, row, state, bands)


@pk.function
def find_terminals(here: int, row: int, state: Separations, bands: Bands) -> bool:
    """Begin with zero flow, find the arcs of source and sink, and return whether both have any."""
    begin: int = state.numbers[here + Field.BEGIN]
    end: int = begin + bands.bands[row + Band.SIZE]
    sources: int = begin
    has_sink: bool = False
    for index in range(begin, end):
        v: int = bands.order[index]
        is_source: bool = state.pinned[v] == 0
        bands.out_labels[v] = DEAD
        bands.through[v] = 0
        if state.pinned[v] == 1:
            bands.out_labels[v] = NEXT_TO_END
            has_sink = True
        for e in range(state.rows[v], state.rows[v + 1]):
            u: int = state.ends[e]
            bands.flows[e] = 0
            if bands.in_labels[u] == OUTSIDE:
                if state.sides[u] == 0:
                    is_source = True
                else:
                    bands.out_labels[v] = NEXT_TO_END
                    has_sink = True
        if is_source:
            bands.order[index] = bands.order[sources]
            bands.order[sources] = v
            sources += 1
    bands.bands[row + Band.SOURCES] = sources - begin
    return has_sink and sources > begin


@pk.function
def search(
    sign: int,
    here: int,
    row: int,
    state: Separations,
    bands: Bands,
    near: pk.View1D[pk.int32],
    far: pk.View1D[pk.int32],
):
    """Compute the distances of all nodes to the sink (sign -1), or from the source (sign 1).

    `near` has the distances of the nodes that arcs join with the sink, which are those of v.out,
    and `far` has the others; for the source, vice versa. They are `NEXT_TO_END` already for the
    nodes with an arc to the sink, or from the source, and become `DEAD` for those without a path.
    """
    begin: int = state.numbers[here + Field.BEGIN]
    end: int = begin + bands.bands[row + Band.SIZE]
    last_near: int = begin
    last_far: int = begin
    for index in range(begin, end):
        v: int = bands.order[index]
        far[v] = DEAD
        if near[v] == NEXT_TO_END:
            bands.in_before[last_near] = v
            last_near += 1
        else:
            near[v] = DEAD
    head_near: int = begin
    head_far: int = begin
    label: int = NEXT_TO_END
    while head_near < last_near:
        label += 1
        while head_near < last_near:
            w: int = bands.in_before[head_near]
            head_near += 1
            if far[w] == DEAD and bands.through[w] < state.weights[w]:
                far[w] = label
                bands.out_before[last_far] = w
                last_far += 1
            if bands.through[w] > 0:
                for e in range(state.rows[w], state.rows[w + 1]):
                    if sign * bands.flows[e] < 0 and far[state.ends[e]] == DEAD:
                        far[state.ends[e]] = label
                        bands.out_before[last_far] = state.ends[e]
                        last_far += 1
        label += 1
        while head_far < last_far:
            x: int = bands.out_before[head_far]
            head_far += 1
            if near[x] == DEAD and bands.through[x] > 0:
                near[x] = label
                bands.in_before[last_near] = x
                last_near += 1
            for e in range(state.rows[x], state.rows[x + 1]):
                u: int = state.ends[e]
                if near[u] == DEAD and bands.in_labels[u] != OUTSIDE:
                    near[u] = label
                    bands.in_before[last_near] = u
                    last_near += 1


@pk.function
def label_nodes(here: int, row: int, state: Separations, bands: Bands):
    """Label the nodes by their distances to the sink, and count each label."""
    begin: int = state.numbers[here + Field.BEGIN]
    end: int = begin + bands.bands[row + Band.SIZE]
    search(-1, here, row, state, bands, bands.out_labels, bands.in_labels)
    for index in range(begin, end):
        bands.in_counts[index] = 0
        bands.out_counts[index] = 0
    for index in range(begin, end):
        v: int = bands.order[index]
        bands.in_arcs[v] = state.rows[v] - 1
        bands.out_arcs[v] = state.rows[v] - 1
        if bands.in_labels[v] != DEAD:
            bands.in_counts[begin + bands.in_labels[v] // 2 - 1] += 1
        if bands.out_labels[v] != DEAD:
            bands.out_counts[begin + bands.out_labels[v] // 2] += 1
    bands.bands[row + Band.RAISES] = 0


@pk.function
def next_source(here: int, row: int, state: Separations, bands: Bands) -> int:
    """Return a vertex that a shortest path from the source begins with, or `AT_SOURCE`."""
    first: int = state.numbers[here + Field.BEGIN]
    label: int = bands.bands[row + Band.LABEL]
    end: int = bands.bands[row + Band.SOURCES]
    current: int = bands.bands[row + Band.NEXT]
    for index in range(current, end):
        v: int = bands.order[first + index]
        if bands.in_labels[v] == label - 1:
            bands.bands[row + Band.NEXT] = index
            return v
    bands.bands[row + Band.NEXT] = end
    return AT_SOURCE


@pk.function
def label_source(here: int, row: int, state: Separations, bands: Bands) -> bool:
    """Raise the label of the source; return False if no path leads to the sink."""
    first: int = state.numbers[here + Field.BEGIN]
    label: int = DEAD
    count: int = bands.bands[row + Band.SOURCES]
    for index in range(count):
        other: int = bands.in_labels[bands.order[first + index]]
        if other < label:
            label = other
    if label == DEAD:
        return False
    bands.bands[row + Band.LABEL] = label + 1
    bands.bands[row + Band.NEXT] = 0
    return True


@pk.function
def next_out(v: int, state: Separations, bands: Bands) -> int:
    """Return the vertex u of the first arc from v.in to a u.out with the next label, or -1.

    The current arc becomes this one. The arc to v.out is before those of the edges.
    """
    label: int = bands.in_labels[v] - 1
    arc: int = bands.in_arcs[v]
    if arc < state.rows[v]:
        if bands.out_labels[v] == label and bands.through[v] < state.weights[v]:
            return v
        arc += 1
    if bands.through[v] > 0:
        for e in range(arc, state.rows[v + 1]):
            if bands.flows[e] < 0 and bands.out_labels[state.ends[e]] == label:
                bands.in_arcs[v] = e
                return state.ends[e]
    return -1


@pk.function
def next_in(v: int, state: Separations, bands: Bands) -> int:
    """Return the vertex u of the first arc from v.out to a u.in with the next label, or -1."""
    label: int = bands.out_labels[v] - 1
    arc: int = bands.out_arcs[v]
    if arc < state.rows[v]:
        if bands.in_labels[v] == label and bands.through[v] > 0:
            return v
        arc += 1
    for e in range(arc, state.rows[v + 1]):
        if bands.in_labels[state.ends[e]] == label:
            bands.out_arcs[v] = e
            return state.ends[e]
    return -1


@pk.function
def raised(lowest: int, row: int, bands: Bands) -> int:
    """Return the label of a node, given the lowest one that an arc leads to.

    A path visits each of v.in and v.out at most once, so no distance exceeds their number.
    """
    if lowest >= 2 * bands.bands[row + Band.SIZE]:
        return DEAD
    return lowest + 1


@pk.function
def raise_in(v: int, here: int, row: int, state: Separations, bands: Bands) -> bool:
    """Raise the label of v.in if no arc leads to the next label; return False if that ends all.

    If no v.in has the old label any longer, no path leads from higher labels to the sink.
    """
    first: int = state.numbers[here + Field.BEGIN]
    old: int = bands.in_labels[v]
    lowest: int = DEAD
    if bands.through[v] < state.weights[v]:
        lowest = bands.out_labels[v]
    if bands.through[v] > 0:
        for e in range(state.rows[v], state.rows[v + 1]):
            if bands.flows[e] < 0 and bands.out_labels[state.ends[e]] < lowest:
                lowest = bands.out_labels[state.ends[e]]
    bands.in_arcs[v] = state.rows[v] - 1
    bands.bands[row + Band.RAISES] += 1
    lowest = raised(lowest, row, bands)
    if lowest != DEAD:
        bands.in_counts[first + lowest // 2 - 1] += 1
    bands.in_labels[v] = lowest
    bands.in_counts[first + old // 2 - 1] -= 1
    return bands.in_counts[first + old // 2 - 1] > 0


@pk.function
def raise_out(v: int, here: int, row: int, state: Separations, bands: Bands) -> bool:
    """Raise the label of v.out if no arc leads to the next label; return False if that ends all.

    If no v.out has the old label any longer, no path leads from higher labels to the sink.
    """
    first: int = state.numbers[here + Field.BEGIN]
    old: int = bands.out_labels[v]
    lowest: int = DEAD
    if bands.through[v] > 0:
        lowest = bands.in_labels[v]
    for e in range(state.rows[v], state.rows[v + 1]):
        label: int = bands.in_labels[state.ends[e]]
        if label != OUTSIDE and label < lowest:
            lowest = label
    bands.out_arcs[v] = state.rows[v] - 1
    lowest = raised(lowest, row, bands)
    if lowest != DEAD:
        bands.out_counts[first + lowest // 2] += 1
    bands.out_labels[v] = lowest
    bands.out_counts[first + old // 2] -= 1
    return bands.out_counts[first + old // 2] > 0


@pk.function
def path_room(last: int, state: Separations, bands: Bands) -> int:
    """Return the bottleneck capacity of the path from the source to v.out of `last`.

    It is not that of an arc v.out -> v.in: the arc before it returns flow that passes through v.
    """
    amount: int = INT32_MAX
    v: int = last
    while v != AT_SOURCE:
        u: int = bands.out_before[v]
        room: int = state.weights[u] - bands.through[u]
        if u != v:
            room = -bands.flows[bands.in_arcs[u]]
        if room < amount:
            amount = room
        v = bands.in_before[u]
    return amount


@pk.function
def add_flow(e: int, v: int, amount: int, state: Separations, bands: Bands):
    """Add a net flow along the directed edge e of v."""
    bands.flows[e] += amount
    twin: int = state.rows[state.ends[e]]
    while state.ends[twin] != v:
        twin += 1
    bands.flows[twin] -= amount


@pk.function
def augment_flow(last: int, row: int, state: Separations, bands: Bands) -> int:
    """Augment the flow along the path from the source to v.out of `last`.

    Return the vertex of the first v.in on the path whose arc to the next node is saturated.
    """
    amount: int = path_room(last, state, bands)
    bands.bands[row + Band.FLOW] += amount
    node: int = AT_SOURCE
    v: int = last
    while v != AT_SOURCE:
        u: int = bands.out_before[v]
        if u == v:
            bands.through[u] += amount
            if bands.through[u] == state.weights[u]:
                node = u
        else:
            add_flow(bands.in_arcs[u], u, amount, state, bands)
            if bands.flows[bands.in_arcs[u]] == 0:
                node = u
        v = bands.in_before[u]
        if v == u:
            bands.through[u] -= amount
        elif v != AT_SOURCE:
            # Flow from u to v and from v to u cancels.
            both: int = -bands.flows[bands.out_arcs[v]]
            if both > amount:
                both = amount
            if both > 0:
                bands.through[u] -= both
                bands.through[v] -= both
            add_flow(bands.out_arcs[v], v, amount, state, bands)
    return node


@pk.function
def step_from_in(v: int, here: int, row: int, state: Separations, bands: Bands) -> int:
    """Extend the path from v.in by an arc, augment at the sink, or go back if there is no arc.

    Return the next node, or `flipped(AT_SOURCE)` if the flow is maximal.
    """
    u: int = next_out(v, state, bands)
    if u >= 0:
        bands.out_before[u] = v
        if bands.out_labels[u] == NEXT_TO_END:
            return augment_flow(u, row, state, bands)
        return flipped(u)
    if not raise_in(v, here, row, state, bands):
        return flipped(AT_SOURCE)
    if bands.in_before[v] == AT_SOURCE:
        return AT_SOURCE
    return flipped(bands.in_before[v])


@pk.function
def step_from_out(v: int, here: int, row: int, state: Separations, bands: Bands) -> int:
    """Extend the path from v.out, which has no arc to the sink, by an arc, or go back without one.

    Return the next node, or `flipped(AT_SOURCE)` if the flow is maximal.
    """
    u: int = next_in(v, state, bands)
    if u >= 0:
        bands.in_before[u] = v
        return u
    if not raise_out(v, here, row, state, bands):
        return flipped(AT_SOURCE)
    return bands.out_before[v]


@pk.function
def find_flow(here: int, row: int, state: Separations, bands: Bands) -> bool:
    """Augment along shortest paths until the flow is maximal.

    Stop once it reaches the weight of the separator, and return whether it is smaller. Labels rise
    in small steps where no path leads to the sink any more, so all are computed at times.
    """
    bands.bands[row + Band.FLOW] = 0
    most: pk.int64 = bands.bands[row + Band.SIZE] * MAX_RAISES // PER_VERTICES
    bands.bands[row + Band.RAISES] = most + 1
    node: int = AT_SOURCE
    while bands.bands[row + Band.FLOW] < state.numbers[here + Field.CUT]:
        if bands.bands[row + Band.RAISES] > most:
            label_nodes(here, row, state, bands)
            if not label_source(here, row, state, bands):
                return True
            node = AT_SOURCE
        if node == flipped(AT_SOURCE):
            return True
        if node == AT_SOURCE:
            node = next_source(here, row, state, bands)
            if node != AT_SOURCE:
                bands.in_before[node] = AT_SOURCE
            elif not label_source(here, row, state, bands):
                return True
        elif node >= 0:
            node = step_from_in(node, here, row, state, bands)
        else:
            node = step_from_out(flipped(node), here, row, state, bands)
    return False


@pk.function
def find_cuts(here: int, row: int, state: Separations, bands: Bands):
    """Prepare `side_in`, which needs no arc and no flow any more.

    Write the distances to the sink to the labels, those from the source to `in_arcs` and
    `out_arcs`, and the present sides to `through`.
    """
    begin: int = state.numbers[here + Field.BEGIN]
    end: int = begin + bands.bands[row + Band.SIZE]
    search(-1, here, row, state, bands, bands.out_labels, bands.in_labels)
    for index in range(begin, end):
        bands.in_arcs[bands.order[index]] = DEAD
    last: int = begin + bands.bands[row + Band.SOURCES]
    for index in range(begin, last):
        bands.in_arcs[bands.order[index]] = NEXT_TO_END
    search(1, here, row, state, bands, bands.in_arcs, bands.out_arcs)
    for index in range(begin, end):
        bands.through[bands.order[index]] = state.sides[bands.order[index]]


@pk.function
def side_in(cut: int, v: int, bands: Bands) -> int:
    """Return the side of a vertex of the band by a cut."""
    if cut == Cut.PRESENT:
        return bands.through[v]
    if cut == Cut.NEAREST_SOURCE:
        if bands.in_arcs[v] == DEAD:
            return 1
        if bands.out_arcs[v] == DEAD:
            return SEPARATOR
        return 0
    if bands.out_labels[v] == DEAD:
        return 0
    if bands.in_labels[v] == DEAD:
        return SEPARATOR
    return 1


@pk.function
def take_separator(cut: int, here: int, row: int, state: Separations, bands: Bands):
    """Take the sides of the band's vertices from a cut."""
    begin: int = state.numbers[here + Field.BEGIN]
    end: int = begin + bands.bands[row + Band.SIZE]
    for index in range(begin, end):
        v: int = bands.order[index]
        old: int = state.sides[v]
        new: int = side_in(cut, v, bands)
        state.sides[v] = new
        if old == SEPARATOR:
            state.numbers[here + Field.CUT] -= state.weights[v]
        else:
            state.numbers[here + Field.WEIGHTS + old] -= state.weights[v]
        if new == SEPARATOR:
            state.numbers[here + Field.CUT] += state.weights[v]
        else:
            state.numbers[here + Field.WEIGHTS + new] += state.weights[v]


@pk.function
def improve_by_flow(
    hops: int, limit: int, here: int, row: int, state: Separations, bands: Bands
) -> bool:
    """Improve the separator by a maximum flow, and return whether that has succeeded.

    Smaller overload is better, then a smaller score. The band has the vertices within `hops` hops.
    It ends at `limit` vertices or soon after.
    """
    find_band(hops, limit, here, row, state, bands)
    if not find_terminals(here, row, state, bands):
        return False
    if not find_flow(here, row, state, bands):
        return False
    overload: pk.int64 = excess_of(here, state)
    score: pk.int64 = score_of(here, state)
    best: int = Cut.PRESENT
    find_cuts(here, row, state, bands)
    for cut in range(Cut.NEAREST_SOURCE, Cut.NEAREST_SINK + 1):
        take_separator(cut, here, row, state, bands)
        now: pk.int64 = excess_of(here, state)
        new_score: pk.int64 = score_of(here, state)
        if now < overload or (now == overload and new_score < score):
            best = cut
            overload = now
            score = new_score
    take_separator(best, here, row, state, bands)
    return best != Cut.PRESENT
