"""Projection of parts between levels, and cost and weights of the result."""

import pykokkos as pk

from jetpy.workloads.common.groups import (
    Graph,
    Metric,
    Weight,
    edges,
)
from jetpy.workloads.common.metric import distance_of


@pk.workunit
def project(
    v: int,
    coarse_of: pk.View1D[pk.int32],
    coarse_parts: pk.View1D[pk.int32],
    parts: pk.View1D[pk.int32],
):
    """Copy the part of a coarse vertex to its fine vertices."""
    parts[v] = coarse_parts[coarse_of[v]]


@pk.workunit
def inject(
    v: int,
    coarse_of: pk.View1D[pk.int32],
    parts: pk.View1D[pk.int32],
    coarse_parts: pk.View1D[pk.int32],
):
    """Copy the part of a fine vertex to its coarse vertex; fine vertices of a pair share it."""
    coarse_parts[coarse_of[v]] = parts[v]


@pk.workunit
def label_pinned(v: int, pinned: pk.View1D[pk.int32], labels: pk.View1D[pk.int32]):
    """Label a vertex that is pinned to part p with -1 - p, below all other labels."""
    if pinned[v] >= 0:
        labels[v] = -1 - pinned[v]


@pk.workunit
def cost_of_vertex(
    v: int, acc: pk.Acc[pk.int64], graph: Graph, parts: pk.View1D[pk.int32], metric: Metric
):
    """Sum the cost of the directed edges between parts."""
    for e in edges(v, graph):
        w: pk.int64 = graph.edge_weights[e]
        acc += w * distance_of(parts[v], parts[graph.indices[e]], metric)


@pk.workunit
def weigh_parts(v: int, graph: Graph, parts: pk.View1D[pk.int32], part_weights: pk.View1D[Weight]):
    """Add the weight of each vertex to its part."""
    pk.atomic_fetch_add(part_weights, [parts[v]], graph.vertex_weights[v])
