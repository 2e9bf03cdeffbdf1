"""Halo exchange: kernels that pack values of border vertices, and unpack values of ghosts.

A process lists its border vertices: those that other processes have as ghosts. An exchange copies
`count` arrays at once. The values of a vertex are adjacent in the buffers; `index` is the array.
"""

import pykokkos as pk

from jetpy.workloads.common.ghosts import global_id
from jetpy.workloads.common.groups import NO_VERTEX, Graph, Weight


@pk.workunit
def pack_values(
    i: int,
    values: pk.View1D[pk.int32],
    vertices: pk.View1D[pk.int32],
    send_buffer: pk.View1D[pk.int32],
    count: int,
    index: int,
):
    """Copy the value of border vertex ``vertices[i]`` to the send buffer."""
    send_buffer[i * count + index] = values[vertices[i]]


@pk.workunit
def unpack_values(
    g: int,
    values: pk.View1D[pk.int32],
    n_owned: int,
    recv_buffer: pk.View1D[pk.int32],
    count: int,
    index: int,
):
    """Copy the value of ghost g from the receive buffer."""
    values[n_owned + g] = recv_buffer[g * count + index]


@pk.workunit
def take_back(
    i: int,
    values: pk.View1D[pk.int32],
    vertices: pk.View1D[pk.int32],
    recv_buffer: pk.View1D[pk.int32],
):
    """Copy the value that a ghost of border vertex ``vertices[i]`` has, if any."""
    if recv_buffer[i] >= 0:
        values[vertices[i]] = recv_buffer[i]


@pk.workunit
def pack_weights(
    i: int,
    values: pk.View1D[Weight],
    vertices: pk.View1D[pk.int32],
    send_buffer: pk.View1D[Weight],
    count: int,
    index: int,
):
    """Copy the value of border vertex ``vertices[i]``, a sum of weights, to the send buffer."""
    send_buffer[i * count + index] = values[vertices[i]]


@pk.workunit
def unpack_weights(
    g: int,
    values: pk.View1D[Weight],
    n_owned: int,
    recv_buffer: pk.View1D[Weight],
    count: int,
    index: int,
):
    """Copy the value of ghost g, a sum of weights, from the receive buffer."""
    values[n_owned + g] = recv_buffer[g * count + index]


@pk.workunit
def pack_vertices(
    i: int,
    values: pk.View1D[pk.int32],
    vertices: pk.View1D[pk.int32],
    send_buffer: pk.View1D[pk.int32],
    graph: Graph,
):
    """Copy the value of a border vertex, a local id, to the send buffer as a global id.

    Negative values are copied unchanged.
    """
    v: int = values[vertices[i]]
    if v >= 0:
        v = global_id(v, graph)
    send_buffer[i] = v


@pk.workunit
def unpack_vertices(
    g: int, values: pk.View1D[pk.int32], recv_buffer: pk.View1D[pk.int32], graph: Graph
):
    """Copy the value of ghost g from the receive buffer as a local id; NO_VERTEX if not owned."""
    v: int = recv_buffer[g] - graph.first_global_id
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
    """Sum count i over the pieces of lower rank, and set the count of this piece to 0.

    `all_counts` has `size` counts for each piece, in order of their ranks.
    """
    total: pk.int64 = 0
    for r in range(rank):
        total += all_counts[r * size + i]
    before[i] = total
    counts[i] = 0
