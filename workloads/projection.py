"""Projection: a fine vertex starts in its coarse vertex's part."""

import pykokkos as pk

from jetpy.workloads.distance import distance_of


@pk.workunit
def project(
    v: int,
    coarse_of: pk.View1D[pk.int32],
    coarse_parts: pk.View1D[pk.int32],
    parts: pk.View1D[pk.int32],
):
    """Copy a part from the coarse to the fine level."""
    parts[v] = coarse_parts[coarse_of[v]]


@pk.workunit
def inject(
    v: int,
    coarse_of: pk.View1D[pk.int32],
    parts: pk.View1D[pk.int32],
    coarse_parts: pk.View1D[pk.int32],
):
    """Copy a part from the fine to the coarse level (vertices of a pair share it)."""
    coarse_parts[coarse_of[v]] = parts[v]


@pk.workunit
def cost_of_vertex(
    v: int,
    acc: pk.Acc[pk.int64],
    indptr: pk.View1D[pk.int32],
    indices: pk.View1D[pk.int32],
    edge_weights: pk.View1D[pk.int32],
    parts: pk.View1D[pk.int32],
    distances: pk.View1D[pk.int32],
    metric: int,
    k: int,
):
    """Sum up what directed edges that leave their part cost."""
    e: int = indptr[v]
    end: int = indptr[v + 1]
    while e < end:
        w: pk.int64 = edge_weights[e]
        acc += w * distance_of(parts[v], parts[indices[e]], metric, distances, k)
        e += 1


@pk.workunit
def weigh_parts(
    v: int,
    parts: pk.View1D[pk.int32],
    vertex_weights: pk.View1D[pk.int32],
    part_weights: pk.View1D[pk.int32],
):
    """Add each vertex's weight to its part."""
    pk.atomic_fetch_add(part_weights, [parts[v]], vertex_weights[v])
