"""Ghosts: vertices of other processes that are adjacent to vertices of a piece of a graph.

A kernel works on the vertices that its process owns, and reads the owners' values for ghosts.
Kernels break ties by hashes and global ids. The row of a ghost contains only its edges to owned
vertices.
"""

import pykokkos as pk

from jetpy.workloads.common.control_block import Counter
from jetpy.workloads.common.groups import Graph, LongRows, Offset, Refinement
from jetpy.workloads.common.long_rows import (
    is_left_to_lanes,
    lane_edges,
    row_of,
)
from jetpy.workloads.common.striped_counters import copy_of, stripe_of


@pk.function
def is_ghost(v: int, graph: Graph) -> bool:
    """Whether another process owns a vertex."""
    return v >= graph.n_owned


@pk.function
def global_id(v: int, graph: Graph) -> int:
    """Return the global id of a vertex.

    `ghost_ids` is read for every vertex, because a branch here would be unpredictable.
    """
    g: int = v - graph.n_owned
    if g < 0:
        g = 0
    v_id: int = graph.ghost_ids[g]
    if v < graph.n_owned:
        v_id = graph.first_global_id + v
    return v_id


@pk.function
def owned_global_id(v: int, graph: Graph) -> int:
    """Return the global id of an owned vertex."""
    return graph.first_global_id + v


@pk.function
def comes_before(u: int, v: int, ghosts: int, higher_ghosts: int) -> bool:
    """Whether vertex u has a lower global id than the owned vertex v.

    `ghosts` is the first ghost, `higher_ghosts` the first whose global id is above the owned ones.
    """
    return u < v or (u >= ghosts and u < higher_ghosts)


@pk.function
def degree_of(v: int, graph: Graph) -> int:
    """Return the degree of a vertex in the whole graph."""
    if v < graph.n_owned:
        return graph.indptr[v + 1] - graph.indptr[v]
    return graph.ghost_degrees[v - graph.n_owned]


@pk.workunit
def count_outward(i: int, graph: Graph, long_rows: LongRows, lengths: pk.View1D[Offset]):
    """Count the edges from owned vertices to each ghost."""
    v: int = row_of(i, long_rows)
    if is_left_to_lanes(i, graph.indptr[v + 1] - graph.indptr[v], long_rows):
        return
    one: Offset = 1
    for e in lane_edges(i, v, graph, long_rows):
        u: int = graph.indices[e]
        if is_ghost(u, graph):
            pk.atomic_fetch_add(lengths, [u - graph.n_owned], one)


@pk.workunit
def place_outward(
    g: int,
    acc: pk.Acc[pk.int64],
    last_pass: bool,
    n_owned: int,
    entries: pk.int64,
    lengths: pk.View1D[Offset],
    indptr: pk.View1D[Offset],
    places: pk.View1D[Offset],
):
    """Place the row of a ghost after the rows of owned vertices, which have `entries` entries."""
    if last_pass:
        places[g] = entries + acc
    acc += lengths[g]
    if last_pass:
        indptr[n_owned + g + 1] = entries + acc


@pk.workunit
def turn_outward(i: int, graph: Graph, long_rows: LongRows, places: pk.View1D[Offset]):
    """Copy the edges to ghosts into their rows, from index ``places[g]`` on.

    The order of entries within a row varies between runs, so no result may depend on it.
    """
    v: int = row_of(i, long_rows)
    if is_left_to_lanes(i, graph.indptr[v + 1] - graph.indptr[v], long_rows):
        return
    one: Offset = 1
    for e in lane_edges(i, v, graph, long_rows):
        u: int = graph.indices[e]
        if is_ghost(u, graph):
            index: int = pk.atomic_fetch_add(places, [u - graph.n_owned], one)
            graph.indices[index] = v
            graph.edge_weights[index] = graph.edge_weights[e]


@pk.workunit
def find_degrees(v: int, graph: Graph, degrees: pk.View1D[Offset]):
    """Write the number of neighbours of an owned vertex."""
    degrees[v] = graph.indptr[v + 1] - graph.indptr[v]


@pk.workunit
def list_moved_ghosts(g: int, graph: Graph, state: Refinement):
    """Append a ghost that has moved to the list of moved vertices of its stripe."""
    v: int = graph.n_owned + g
    if state.parts[v] != state.previous[v]:
        one: pk.int64 = 1
        stripe: int = stripe_of(v, state)
        index: pk.int64 = pk.atomic_fetch_add(state.counters, [copy_of(Counter.MOVED, stripe)], one)
        state.moved[stripe * state.list_size + index] = v
