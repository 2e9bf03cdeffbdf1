"""Lanes: how a launch over vertices shares out the long rows of a graph.

The row of a hub, a vertex whose degree is above a limit, is cut into pieces of 1024 entries. A
launch over `count` vertices has 128 more indices, lanes, for each piece. An index below `count`
walks the whole row of its vertex, unless that is a hub's; a lane takes every 128th entry of its
piece. Where there are no hubs there are no lanes. The vertex of a piece stands in `hubs`, its
first entry in `starts`.
"""

import pykokkos as pk


@pk.function
def vertex_of(i: int, count: int, vertices: pk.View1D[pk.int32], hubs: pk.View1D[pk.int32]) -> int:
    """Return the vertex of an index of a launch."""
    if i < count:
        return vertices[i]
    return hubs[(i - count) >> 7]


@pk.function
def first_entry(i: int, count: int, starts: pk.View1D[pk.int32]) -> int:
    """Return the first entry that an index takes of its row."""
    if i < count:
        return 0
    return starts[(i - count) >> 7] + ((i - count) & 127)


@pk.function
def end_of(i: int, count: int, length: int, starts: pk.View1D[pk.int32]) -> int:
    """Return the end of the entries that an index takes of a row of some length."""
    if i < count:
        return length
    end: int = starts[(i - count) >> 7] + 1024
    if end < length:
        return end
    return length


@pk.function
def step_of(i: int, count: int) -> int:
    """Return the distance between the entries that an index takes."""
    if i < count:
        return 1
    return 128


@pk.function
def is_left_to_lanes(i: int, count: int, degree: int, hub_degree: int) -> bool:
    """Whether an index has nothing to do, as lanes walk its vertex's row."""
    return i < count and degree > hub_degree
