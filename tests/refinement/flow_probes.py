"""Kernels that call functions of `jetpy.workloads.flows` one at a time."""

import pykokkos as pk

from jetpy.workloads.common.groups import Graph
from jetpy.workloads.flows.flow_networks import Arcs, connect_region
from jetpy.workloads.flows.regions import Pair, Pairs


@pk.workunit
def build_network(i: int, graph: Graph, pairs: Pairs, parts: pk.View1D[pk.int32], arcs: Arcs):
    """Build the network of the region of a pair."""
    row: int = i * Pair.COUNT
    connect_region(pairs.rows[row + Pair.NEXT_ARC], row, graph, pairs, parts, arcs)
