"""The pairs of a turn: one index finds the region of a pair, then improves the pair."""

import pykokkos as pk

from jetpy.workloads.common.groups import Graph
from jetpy.workloads.common.loads import Loads
from jetpy.workloads.flows.flow_cuts import find_new_parts, take_new_parts
from jetpy.workloads.flows.flow_networks import connect_region, count_arcs
from jetpy.workloads.flows.max_flow import Trees
from jetpy.workloads.flows.regions import Pair, Pairs, Regions, grow_region


@pk.workunit
def find_region(i: int, graph: Graph, pairs: Pairs, parts: pk.View1D[pk.int32], max_hops: int):
    """Find the region of a pair, and count the arcs that its network could have."""
    row: int = i * Pair.COUNT
    grow_region(row, graph, pairs, parts, max_hops)
    pairs.rows[row + Pair.NEXT_ARC] = count_arcs(row, graph, pairs)


@pk.workunit
def find_cut_of_pair(
    i: int, pairs: Regions, new_parts: pk.View1D[pk.int32], trees: Trees, several: Loads
):
    """Search for a smaller balanced cut in the network of a pair."""
    find_new_parts(i * Pair.COUNT, pairs, new_parts, trees, several)


@pk.workunit
def improve_pair(
    i: int,
    graph: Graph,
    pairs: Pairs,
    parts: pk.View1D[pk.int32],
    new_parts: pk.View1D[pk.int32],
    trees: Trees,
    several: Loads,
):
    """Search for a smaller balanced cut in the region of a pair, and move vertices to it."""
    row: int = i * Pair.COUNT
    connect_region(pairs.rows[row + Pair.NEXT_ARC], row, graph, pairs, parts, trees)
    find_new_parts(row, pairs, new_parts, trees, several)
    take_new_parts(row, pairs, new_parts, parts)
