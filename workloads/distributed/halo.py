"""What pieces of a graph show each other: values of the vertices around their borders.

A process lists the vertices that others have as ghosts, and hands over what they have in some
arrays, the values of a vertex side by side; `count` says how many these are, `place` which one.
"""

import pykokkos as pk

from jetpy.workloads.common.ghosts import global_id
from jetpy.workloads.common.groups import NO_VERTEX, Graph, Weight


@pk.workunit
def pack_numbers(
    i: int,
    values: pk.View1D[pk.int32],
    vertices: pk.View1D[pk.int32],
    shown: pk.View1D[pk.int32],
    count: int,
    place: int,
):
    """Copy what vertices have to what others are shown."""
    shown[i * count + place] = values[vertices[i]]


@pk.workunit
def unpack_numbers(
    g: int,
    values: pk.View1D[pk.int32],
    n_owned: int,
    seen: pk.View1D[pk.int32],
    count: int,
    place: int,
):
    """Let ghosts have what others have shown."""
    values[n_owned + g] = seen[g * count + place]


@pk.workunit
def pack_weights(
    i: int,
    values: pk.View1D[Weight],
    vertices: pk.View1D[pk.int32],
    shown: pk.View1D[Weight],
    count: int,
    place: int,
):
    """Do what `pack_numbers` does with sums of weights."""
    shown[i * count + place] = values[vertices[i]]


@pk.workunit
def unpack_weights(
    g: int,
    values: pk.View1D[Weight],
    n_owned: int,
    seen: pk.View1D[Weight],
    count: int,
    place: int,
):
    """Do what `unpack_numbers` does with sums of weights."""
    values[n_owned + g] = seen[g * count + place]


@pk.workunit
def pack_vertices(
    i: int,
    values: pk.View1D[pk.int32],
    vertices: pk.View1D[pk.int32],
    shown: pk.View1D[pk.int32],
    graph: Graph,
):
    """Do what `pack_numbers` does where values are vertices, by their numbers in the whole graph.

    What is negative stays as it is.
    """
    v: int = values[vertices[i]]
    if v >= 0:
        v = global_id(v, graph)
    shown[i] = v


@pk.workunit
def unpack_vertices(g: int, values: pk.View1D[pk.int32], seen: pk.View1D[pk.int32], graph: Graph):
    """Let ghosts have the vertices that others have shown; none in place of those of others."""
    v: int = seen[g] - graph.first_global_id
    if v < 0 or v >= graph.n_owned:
        v = NO_VERTEX
    values[graph.n_owned + g] = v


@pk.workunit
def exscan(
    i: int,
    counts: pk.View1D[pk.int64],
    all_counts: pk.View1D[pk.int64],
    size: int,
    rank: int,
    before: pk.View1D[pk.int64],
):
    """Sum up a count over the pieces before this one, and forget its own.

    `all_counts` are `size` counts of each piece, one piece after the other.
    """
    total: pk.int64 = 0
    for r in range(rank):
        total += all_counts[r * size + i]
    before[i] = total
    counts[i] = 0
