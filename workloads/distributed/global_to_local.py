"""Conversion between global ids and local ids of a piece.

Owned vertices have the first local ids. Ghosts follow, in ascending order of their global ids. If
few global ids are outside the block, they are listed and sorted. Otherwise they are marked in an
array over all vertices.
"""

import pykokkos as pk

from jetpy.workloads.common.ghosts import global_id
from jetpy.workloads.common.groups import NO_VERTEX, Graph
from jetpy.workloads.common.lists import count_below


@pk.function
def is_in(u: int, first: int, end: int) -> bool:
    """Whether a global id is in the block ``first..end - 1``."""
    return first <= u and u < end


@pk.workunit
def local_to_global(
    i: int, vertices: pk.View1D[pk.int32], global_ids: pk.View1D[pk.int32], graph: Graph
):
    """Write the global ids of local ids; negative ids are copied."""
    v: int = vertices[i]
    if v >= 0:
        v = global_id(v, graph)
    global_ids[i] = v


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
    """List the indices of global ids that are not in the block ``first..end - 1``."""
    if not is_in(ids[i], first, end):
        if last_pass:
            listed[acc] = i
        acc += 1


@pk.workunit
def mark_outside(
    i: int, ids: pk.View1D[pk.int32], first: int, end: int, marks: pk.View1D[pk.int32]
):
    """Mark global ids that are not in the block ``first..end - 1``."""
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
    """List the marked global ids, and assign them local ids after the owned vertices."""
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
    local_ids: pk.View1D[pk.int32],
    local: pk.View1D[pk.int32],
):
    """Write the local ids of global ids; ``local_ids[u]`` is the one of u outside the block."""
    u: int = ids[i]
    if is_in(u, first, end):
        local[i] = u - first
    else:
        local[i] = local_ids[u]


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
    """Write the local ids of global ids; `ghosts` are the `count` ids outside the block, sorted."""
    u: int = ids[i]
    if is_in(u, first, end):
        local[i] = u - first
    else:
        local[i] = end - first + count_below(u, ghosts, count)
