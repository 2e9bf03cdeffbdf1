"""Numbers in the whole graph, and in a piece: own vertices, then ghosts in ascending order.

Some numbers of vertices become those of a piece in one of two ways: those outside its block are
listed and sorted, if they are few, or marked in an array of all vertices.
"""

import pykokkos as pk

from jetpy.workloads.common.ghosts import global_id
from jetpy.workloads.common.groups import NO_VERTEX, Graph
from jetpy.workloads.common.lists import place_in


@pk.function
def is_in(u: int, first: int, end: int) -> bool:
    """Whether a number is one of a block."""
    return first <= u and u < end


@pk.workunit
def local_to_global(
    i: int, vertices: pk.View1D[pk.int32], names: pk.View1D[pk.int32], graph: Graph
):
    """Write the global ids of vertices; none stays none."""
    v: int = vertices[i]
    if v >= 0:
        v = global_id(v, graph)
    names[i] = v


@pk.workunit
def list_outside(
    i: int,
    acc: pk.Acc[pk.int64],
    last_pass: bool,
    ids: pk.View1D[pk.int32],
    first: int,
    end: int,
    listed: pk.View1D[pk.int32],
):
    """List the indices of numbers that are not in a block."""
    if not is_in(ids[i], first, end):
        if last_pass:
            listed[acc] = i
        acc += 1


@pk.workunit
def mark_outside(
    i: int, ids: pk.View1D[pk.int32], first: int, end: int, marks: pk.View1D[pk.int32]
):
    """Mark numbers that are not in a block, by what is no place yet."""
    if not is_in(ids[i], first, end):
        marks[ids[i]] = NO_VERTEX


@pk.workunit
def place_marked(
    u: int,
    acc: pk.Acc[pk.int64],
    last_pass: bool,
    n_owned: int,
    marks: pk.View1D[pk.int32],
    listed: pk.View1D[pk.int32],
):
    """List the marked numbers, and give them places after the own vertices."""
    if marks[u] != 0:
        if last_pass:
            listed[acc] = u
            marks[u] = n_owned + acc
        acc += 1


@pk.workunit
def global_to_local_marked(
    i: int,
    ids: pk.View1D[pk.int32],
    first: int,
    end: int,
    places: pk.View1D[pk.int32],
    local: pk.View1D[pk.int32],
):
    """Write the vertices of the piece that numbers are, those outside by their places."""
    u: int = ids[i]
    if is_in(u, first, end):
        local[i] = u - first
    else:
        local[i] = places[u]


@pk.workunit
def global_to_local_listed(
    i: int,
    ids: pk.View1D[pk.int32],
    first: int,
    end: int,
    ghosts: pk.View1D[pk.int32],
    count: int,
    local: pk.View1D[pk.int32],
):
    """Write the vertices of the piece that numbers are, those outside by `count` ghosts."""
    u: int = ids[i]
    if is_in(u, first, end):
        local[i] = u - first
    else:
        local[i] = end - first + place_in(u, ghosts, count)
