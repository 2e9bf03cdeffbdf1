"""The core of a graph: the vertices with the most neighbours for their weight.

The density of a vertex is its degree over its weight. Classes of density are those of losses
(`losses`): each is 1.5 times as wide as the one before.
"""

from dataclasses import dataclass

import pykokkos as pk

from jetpy.workloads.common.groups import Graph, LongRows
from jetpy.workloads.common.long_rows import is_left_to_lanes, lane_edges, row_of
from jetpy.workloads.refinement.losses import NO_BUCKET, loss_bucket

SCALE = 1
"""Scale of the classes: the lowest ends at a degree of 1/128 of the weight."""


@dataclass(frozen=True, eq=False)
class Core:
    """The core of a graph, and what a partition does with it."""

    marks: pk.View1D[pk.int32]  # 1 for vertices of the core, 0 for others
    connected: pk.View1D[pk.int64]  # weight of the core's edges, by the part of their end in it
    attached: pk.View1D[pk.int64]  # of these, weight of those to other vertices of the same part
    cut: pk.View1D[pk.int64]  # twice the weight of the cut edges between vertices of the core


@pk.function
def density_class(v: int, least: int, graph: Graph) -> int:
    """Return the class of the density of a vertex; none below `least` neighbours."""
    degree: pk.int64 = graph.indptr[v + 1] - graph.indptr[v]
    if degree < least:
        return NO_BUCKET
    return loss_bucket(degree, graph.vertex_weights[v], SCALE)


@pk.workunit
def weigh_classes(v: int, graph: Graph, least: int, weights: pk.View1D[pk.int64]):
    """Sum the weights of the vertices by class."""
    c: int = density_class(v, least, graph)
    if c != NO_BUCKET:
        weight: pk.int64 = graph.vertex_weights[v]
        pk.atomic_fetch_add(weights, [c], weight)


@pk.workunit
def mark_core(v: int, graph: Graph, least: int, lowest: int, core: Core):
    """Mark the vertices whose class is at least `lowest`."""
    core.marks[v] = density_class(v, least, graph) >= lowest


@pk.workunit
def measure_core(i: int, graph: Graph, long_rows: LongRows, parts: pk.View1D[pk.int32], core: Core):
    """Sum the weights of the edges of a vertex of the core; the sums must be 0 before."""
    v: int = row_of(i, long_rows)
    if core.marks[v] == 0:
        return
    if is_left_to_lanes(i, graph.indptr[v + 1] - graph.indptr[v], long_rows):
        return
    p: int = parts[v]
    connected: pk.int64 = 0
    attached: pk.int64 = 0
    cut: pk.int64 = 0
    for e in lane_edges(i, v, graph, long_rows):
        u: int = graph.indices[e]
        w: int = graph.edge_weights[e]
        connected += w
        if core.marks[u] == 0 and parts[u] == p:
            attached += w
        if core.marks[u] == 1 and parts[u] != p:
            cut += w
    pk.atomic_fetch_add(core.connected, [p], connected)
    pk.atomic_fetch_add(core.attached, [p], attached)
    pk.atomic_fetch_add(core.cut, [0], cut)


@pk.workunit
def move_core(v: int, part: int, parts: pk.View1D[pk.int32], core: Core):
    """Move a vertex of the core to a part."""
    if core.marks[v] == 1:
        parts[v] = part
