"""Regions of all pairs of a turn and their flow networks, one index per vertex or cut edge.

A GPU builds them; `regions` and `flow_networks` build the same ones with one index per pair, except
that nodes and arcs have another order, which has no effect on cuts. While a region grows, the place
of a vertex is the hop in which it was proposed.
"""

from dataclasses import dataclass

import pykokkos as pk

from jetpy.workloads.common.groups import NO_PART, Graph, edges
from jetpy.workloads.flows.flow_networks import TERMINALS, Arcs, write_arcs
from jetpy.workloads.flows.regions import (
    OUTSIDE,
    CutEdges,
    Pair,
    Regions,
    may_enter,
    settle_room,
    side_in_pair,
)

NO_PAIR = -1
"""Stands for the missing pair of a part that is in none."""


@dataclass(frozen=True, eq=False)
class Turn(Regions):
    """The pairs of a turn, which have no part in common, and their regions, one after the other."""

    pair_of: pk.View1D[pk.int32]  # the pair of each part; NO_PAIR
    places: pk.View1D[pk.int32]  # hop, then index in its region; OUTSIDE, KEPT_OUTSIDE


@pk.function
def mark(v: int, hop: int, row: int, graph: Graph, parts: pk.View1D[pk.int32], turn: Turn):
    """Propose a vertex for a hop of a region."""
    if not may_enter(v, row, graph, turn, parts):
        return
    if pk.atomic_compare_exchange(turn.places, [v], OUTSIDE, hop) == OUTSIDE:
        side: int = side_in_pair(v, row, turn, parts)
        weight: pk.int64 = graph.vertex_weights[v]
        degree: pk.int64 = graph.indptr[v + 1] - graph.indptr[v]
        pk.atomic_fetch_add(turn.rows, [row + Pair.HOP_WEIGHTS + side], weight)
        pk.atomic_fetch_add(turn.rows, [row + Pair.HOP_SIZES + side], 1)
        pk.atomic_fetch_add(turn.rows, [row + Pair.HOP_DEGREES + side], degree)


@pk.workunit
def mark_borders(
    j: int,
    graph: Graph,
    k: int,
    cut: CutEdges,
    parts: pk.View1D[pk.int32],
    turn: Turn,
):
    """Propose the ends of a listed edge for hop 0 if it is still between the parts of its pair."""
    tail: int = cut.tails[j]
    head: int = cut.heads[j]
    pair: int = turn.pair_of[parts[tail]]
    if pair == NO_PAIR or turn.pair_of[parts[head]] != pair or parts[tail] == parts[head]:
        return
    lower: pk.int64 = cut.keys[j]
    lower //= k
    if turn.pair_of[lower] == pair and turn.pair_of[cut.keys[j] % k] == pair:
        mark(tail, 0, pair * Pair.COUNT, graph, parts, turn)
        mark(head, 0, pair * Pair.COUNT, graph, parts, turn)


@pk.workunit
def mark_neighbours(v: int, hop: int, graph: Graph, parts: pk.View1D[pk.int32], turn: Turn):
    """Propose a vertex that has a neighbour in its part that was proposed in the hop before."""
    pair: int = turn.pair_of[parts[v]]
    if pair == NO_PAIR or turn.places[v] != OUTSIDE:
        return
    row: int = pair * Pair.COUNT
    if not may_enter(v, row, graph, turn, parts):
        return
    for e in edges(v, graph):
        u: int = graph.indices[e]
        if turn.places[u] == hop - 1 and parts[u] == parts[v]:
            mark(v, hop, row, graph, parts, turn)
            return


@pk.workunit
def settle_hops(i: int, turn: Turn):
    """Add a hop to a region, in each of the two parts for which it is not too heavy."""
    row: int = i * Pair.COUNT
    for side in range(2):
        if settle_room(row, side, turn):
            turn.rows[row + Pair.HOPS + side] += 1
            turn.rows[row + Pair.SIZE] += turn.rows[row + Pair.HOP_SIZES + side]
            turn.rows[row + Pair.NEXT_ARC] += turn.rows[row + Pair.HOP_DEGREES + side]
        turn.rows[row + Pair.HOP_SIZES + side] = 0
        turn.rows[row + Pair.HOP_DEGREES + side] = 0


@pk.workunit
def begin_networks(i: int, turn: Turn, arcs: Arcs):
    """Reserve the arcs of the source and the sink of a network."""
    row: int = i * Pair.COUNT
    source: int = turn.rows[row + Pair.NODE]
    for node in range(source, source + TERMINALS):
        arcs.rows[node] = turn.rows[row + Pair.NEXT_ARC]
        arcs.ends[node] = turn.rows[row + Pair.NEXT_ARC]
        arcs.node_weights[node] = 0
        turn.rows[row + Pair.NEXT_ARC] += turn.rows[row + Pair.SIZE]


@pk.workunit
def number_nodes(
    v: int,
    graph: Graph,
    parts: pk.View1D[pk.int32],
    turn: Turn,
    arcs: Arcs,
):
    """Make a node of a vertex of a region, and reserve its arcs.

    A vertex of a hop that was too heavy is outside again.
    """
    hop: int = turn.places[v]
    if hop < 0:
        return
    row: int = turn.pair_of[parts[v]] * Pair.COUNT
    side: int = side_in_pair(v, row, turn, parts)
    if hop >= turn.rows[row + Pair.HOPS + side]:
        turn.places[v] = OUTSIDE
        return
    place: int = pk.atomic_fetch_add(turn.rows, [row + Pair.NEXT_PLACE], 1)
    degree: pk.int64 = graph.indptr[v + 1] - graph.indptr[v]
    arc: int = pk.atomic_fetch_add(turn.rows, [row + Pair.NEXT_ARC], degree + TERMINALS)
    node: int = turn.rows[row + Pair.NODE] + TERMINALS + place
    index: int = turn.rows[row + Pair.FIRST] + place
    weight: pk.int64 = graph.vertex_weights[v]
    turn.places[v] = place
    arcs.rows[node] = arc
    arcs.node_weights[node] = weight
    turn.order[index] = v
    if side == 0:
        turn.hops[index] = hop
        pk.atomic_fetch_add(turn.rows, [row + Pair.NEARER], weight)
    else:
        turn.hops[index] = -1 - hop
        pk.atomic_fetch_add(turn.rows, [row + Pair.FARTHER], -weight)


@pk.function
def connect_terminal(node: int, arc: int, terminal: int, weight: int, arcs: Arcs):
    """Add the two arcs between a node and a terminal."""
    twin: int = pk.atomic_fetch_add(arcs.ends, [terminal], 1)
    write_arcs(arc, twin, node, terminal, weight, arcs)


@pk.workunit
def connect_nodes(
    index: int,
    graph: Graph,
    parts: pk.View1D[pk.int32],
    turn: Turn,
    arcs: Arcs,
):
    """Add the arcs of a node, without the twins of those to other nodes.

    Add the weight of its edges between the two parts to the cut of its pair.
    """
    v: int = turn.order[index]
    pair: int = turn.pair_of[parts[v]]
    row: int = pair * Pair.COUNT
    source: int = turn.rows[row + Pair.NODE]
    node: int = source + TERMINALS + turn.places[v]
    arc: int = arcs.rows[node]
    cut: pk.int64 = 0
    to_source: int = 0
    to_sink: int = 0
    for e in edges(v, graph):
        u: int = graph.indices[e]
        weight: int = graph.edge_weights[e]
        if weight > 0 and turn.pair_of[parts[u]] == pair:
            other: int = turn.places[u]
            if parts[u] != parts[v] and (other < 0 or v < u):
                cut += weight
            if other >= 0:
                arcs.heads[arc] = source + TERMINALS + other
                arcs.capacities[arc] = weight
                arc += 1
            elif side_in_pair(u, row, turn, parts) == 0:
                to_source += weight
            else:
                to_sink += weight
    count: pk.int64 = arc - arcs.rows[node]
    if to_source > 0:
        connect_terminal(node, arc, source, to_source, arcs)
        arc += 1
        count += 2
    if to_sink > 0:
        connect_terminal(node, arc, source + 1, to_sink, arcs)
        arc += 1
        count += 2
    arcs.ends[node] = arc
    pk.atomic_fetch_add(turn.rows, [row + Pair.CUT], cut)
    pk.atomic_fetch_add(turn.rows, [row + Pair.ARCS], count)


@pk.workunit
def find_twins(index: int, parts: pk.View1D[pk.int32], turn: Turn, arcs: Arcs):
    """Find the reverse of each arc from a node to another one."""
    v: int = turn.order[index]
    source: int = turn.rows[turn.pair_of[parts[v]] * Pair.COUNT + Pair.NODE]
    node: int = source + TERMINALS + turn.places[v]
    for arc in range(arcs.rows[node], arcs.ends[node]):
        head: int = arcs.heads[arc]
        if head >= source + TERMINALS:
            twin: int = arcs.rows[head]
            while arcs.heads[twin] != node:
                twin += 1
            arcs.twins[arc] = twin


@pk.workunit
def take_parts(
    index: int,
    new_parts: pk.View1D[pk.int32],
    parts: pk.View1D[pk.int32],
    turn: Turn,
):
    """Move a vertex of a region to its new part, if there is one; it is outside again."""
    v: int = turn.order[index]
    turn.places[v] = OUTSIDE
    if new_parts[index] != NO_PART:
        parts[v] = new_parts[index]
