"""Long rows: launches over vertices share the rows of high-degree vertices among several indices.

The row of a vertex whose degree is above a limit is cut into chunks of `CHUNK` entries. The first
indices of a launch are lanes: `LANES` per chunk on a GPU, one on CPUs. A lane takes every
`LANES`-th entry of its chunk. Each other index walks one whole row, but skips long rows. Without
long rows there are no lanes.
"""

import pykokkos as pk

from jetpy.workloads.common.groups import Graph, LongRows

LANE_BITS = 7
LANES = 1 << LANE_BITS
CHUNK = 1024


@pk.function
def is_lane(i: int, long_rows: LongRows) -> bool:
    """Whether an index is a lane."""
    return i < long_rows.lanes


@pk.function
def row_of(i: int, long_rows: LongRows) -> int:
    """Return the row that an index of a launch over all rows works on."""
    if i < long_rows.lanes:
        return long_rows.vertices[i >> long_rows.lane_bits]
    return i - long_rows.lanes


@pk.function
def vertex_of(i: int, vertices: pk.View1D[pk.int32], long_rows: LongRows) -> int:
    """Return the vertex that an index of a launch over listed vertices works on."""
    if i < long_rows.lanes:
        return long_rows.vertices[i >> long_rows.lane_bits]
    return vertices[i - long_rows.lanes]


@pk.function
def step_of(i: int, long_rows: LongRows) -> int:
    """Return the distance between consecutive entries that an index takes."""
    if i < long_rows.lanes:
        return 1 << long_rows.lane_bits
    return 1


@pk.function
def first_entry(i: int, long_rows: LongRows) -> int:
    """Return the first entry of its row that an index takes."""
    if i < long_rows.lanes:
        lane: int = i & (1 << long_rows.lane_bits) - 1
        return long_rows.starts[i >> long_rows.lane_bits] + lane
    return 0


@pk.function
def end_of(i: int, length: int, long_rows: LongRows) -> int:
    """Return the end of the entries that an index takes of a row with `length` entries."""
    if i < long_rows.lanes:
        end: int = long_rows.starts[i >> long_rows.lane_bits] + CHUNK
        if end < length:
            return end
    return length


@pk.function
def edges_from(i: int, v: int, graph: Graph, long_rows: LongRows) -> int:
    """Return the first directed edge of its vertex that an index takes."""
    return graph.indptr[v] + first_entry(i, long_rows)


@pk.function
def edges_to(i: int, v: int, graph: Graph, long_rows: LongRows) -> int:
    """Return the end of the directed edges of its vertex that an index takes."""
    return graph.indptr[v] + end_of(i, graph.indptr[v + 1] - graph.indptr[v], long_rows)


@pk.function
def lane_entries(i: int, length: int, long_rows: LongRows) -> range:
    """Return the entries that an index takes of its row of `length` entries."""
    return range(first_entry(i, long_rows), end_of(i, length, long_rows), step_of(i, long_rows))


@pk.function
def lane_edges(i: int, v: int, graph: Graph, long_rows: LongRows) -> range:
    """Return the directed edges of its vertex that an index takes."""
    return range(
        edges_from(i, v, graph, long_rows),
        edges_to(i, v, graph, long_rows),
        step_of(i, long_rows),
    )


@pk.function
def is_left_to_lanes(i: int, length: int, long_rows: LongRows) -> bool:
    """Whether an index skips its row, because lanes walk it."""
    return i >= long_rows.lanes and length > long_rows.longest


@pk.workunit
def list_long_rows(
    v: int,
    acc: pk.Acc[pk.int64],
    last_pass: bool,
    graph: Graph,
    longest: int,
    listed: pk.View1D[pk.int32],
):
    """List the vertices whose degree is above the limit."""
    if graph.indptr[v + 1] - graph.indptr[v] > longest:
        if last_pass:
            listed[acc] = v
        acc += 1


@pk.workunit
def list_chunks(
    r: int,
    acc: pk.Acc[pk.int64],
    last_pass: bool,
    graph: Graph,
    listed: pk.View1D[pk.int32],
    long_rows: LongRows,
):
    """List the chunks of each long row: its vertex and its first entry."""
    v: int = listed[r]
    degree: int = graph.indptr[v + 1] - graph.indptr[v]
    for start in range(0, degree, CHUNK):
        if last_pass:
            long_rows.vertices[acc] = v
            long_rows.starts[acc] = start
        acc += 1
