"""The bucket list: a graph that supports edge modifiers (iG-kway, V-A and V-B).

The row of a vertex is a range of buckets. Its neighbours fill the first slots, in any order. The
other slots are spare. The paper leaves empty slots between neighbours and searches for one. Here
the last neighbour takes the slot of a deleted one instead. `lanes` indices share the row of a
vertex, and each takes every `lanes`-th slot.
"""

from dataclasses import dataclass

import pykokkos as pk

from jetpy.workloads.common.groups import NO_PART, Graph

BUCKET_SLOTS = 32
"""Number of slots of a bucket."""
WARP = 32
"""Number of indices that share a row on a GPU: the threads of a warp."""
NO_PLACE = -1
"""Position of an edge that is not in the row."""
NO_NUMBER = -1
"""Index of a vertex that is not listed."""


@dataclass(frozen=True, eq=False)
class BucketList:
    """A graph in buckets and its partition."""

    bucket_ptr: pk.View1D[pk.int32]  # by vertex: first bucket of its row
    degrees: pk.View1D[pk.int32]  # by vertex: number of filled slots of its row
    slots: pk.View1D[pk.int32]  # by slot: a neighbour
    edge_weights: pk.View1D[pk.int32]  # by slot
    vertex_weights: pk.View1D[pk.int32]  # by vertex
    parts: pk.View1D[pk.int32]  # by vertex; NO_PART if it is deleted
    lanes: int  # number of indices that share a row


@dataclass(frozen=True, eq=False)
class SoughtEdges:
    """Edges to look up."""

    sources: pk.View1D[pk.int32]
    targets: pk.View1D[pk.int32]
    places: pk.View1D[pk.int32]  # position in the row of the source; NO_PLACE if it is not there
    weights: pk.View1D[pk.int32]


@dataclass(frozen=True, eq=False)
class EdgeModifiers:
    """Edges to delete and to insert, in the rows of both of their ends.

    The modifiers of ``vertices[j]`` begin at ``starts[j]``. Deletions come first, by decreasing
    position, so that the last neighbour can take the free slot.
    """

    vertices: pk.View1D[pk.int32]
    starts: pk.View1D[pk.int32]
    places: pk.View1D[pk.int32]  # position of an edge to delete; NO_PLACE for one to insert
    targets: pk.View1D[pk.int32]
    weights: pk.View1D[pk.int32]  # weight of an edge to insert


@pk.function
def row_start(v: int, graph: BucketList) -> int:
    """Return the first slot of the row of a vertex."""
    return graph.bucket_ptr[v] * BUCKET_SLOTS


@pk.workunit
def lay_rows(i: int, graph: Graph, laid: BucketList):
    """Copy the rows of a graph into buckets."""
    v: int = i // laid.lanes
    row: int = row_start(v, laid)
    begin: int = graph.indptr[v]
    degree: int = graph.indptr[v + 1] - begin
    for s in range(i % laid.lanes, degree, laid.lanes):
        laid.slots[row + s] = graph.indices[begin + s]
        laid.edge_weights[row + s] = graph.edge_weights[begin + s]


@pk.workunit
def move_rows(i: int, vertices: pk.View1D[pk.int32], graph: BucketList, moved: BucketList):
    """Copy the row of ``vertices[j]`` to row j of other buckets."""
    j: int = i // graph.lanes
    v: int = vertices[j]
    source: int = row_start(v, graph)
    target: int = row_start(j, moved)
    for s in range(i % graph.lanes, graph.degrees[v], graph.lanes):
        moved.slots[target + s] = graph.slots[source + s]
        moved.edge_weights[target + s] = graph.edge_weights[source + s]


@pk.workunit
def assign(
    j: int,
    vertices: pk.View1D[pk.int32],
    values: pk.View1D[pk.int32],
    array: pk.View1D[pk.int32],
):
    """Set ``array[vertices[j]]`` to ``values[j]``."""
    array[vertices[j]] = values[j]


@pk.workunit
def assign_one(j: int, vertices: pk.View1D[pk.int32], value: int, array: pk.View1D[pk.int32]):
    """Set ``array[vertices[j]]`` to `value`."""
    array[vertices[j]] = value


@pk.workunit
def delete_vertices(j: int, vertices: pk.View1D[pk.int32], graph: BucketList):
    """Delete vertices without edges."""
    graph.vertex_weights[vertices[j]] = 0
    graph.parts[vertices[j]] = NO_PART


@pk.workunit
def find_edges(i: int, edges: SoughtEdges, graph: BucketList):
    """Search for edges in the rows of their sources; an absent edge keeps the place NO_PLACE."""
    j: int = i // graph.lanes
    v: int = edges.sources[j]
    row: int = row_start(v, graph)
    for s in range(i % graph.lanes, graph.degrees[v], graph.lanes):
        if graph.slots[row + s] == edges.targets[j]:
            edges.places[j] = s
            edges.weights[j] = graph.edge_weights[row + s]
            return


@pk.workunit
def modify_rows(j: int, acc: pk.Acc[pk.int64], modifiers: EdgeModifiers, graph: BucketList):
    """Delete edges from the row of a vertex, then insert others, and sum the change of the cut.

    Each edge counts twice, because it is in the rows of both of its ends.
    """
    v: int = modifiers.vertices[j]
    row: int = row_start(v, graph)
    degree: int = graph.degrees[v]
    for c in range(modifiers.starts[j], modifiers.starts[j + 1]):
        u: int = modifiers.targets[c]
        index: int = modifiers.places[c]
        change: int = modifiers.weights[c]
        if index == NO_PLACE:
            graph.slots[row + degree] = u
            graph.edge_weights[row + degree] = change
            degree += 1
        else:
            degree -= 1
            change = -graph.edge_weights[row + index]
            graph.slots[row + index] = graph.slots[row + degree]
            graph.edge_weights[row + index] = graph.edge_weights[row + degree]
        if graph.parts[v] != graph.parts[u]:
            acc += change
    graph.degrees[v] = degree


@pk.workunit
def copy_neighbours(
    i: int,
    vertices: pk.View1D[pk.int32],
    indptr: pk.View1D[pk.int32],
    neighbours: pk.View1D[pk.int32],
    graph: BucketList,
):
    """Copy the neighbours of listed vertices; those of ``vertices[j]`` begin at ``indptr[j]``."""
    j: int = i // graph.lanes
    row: int = row_start(vertices[j], graph)
    begin: int = indptr[j]
    degree: int = indptr[j + 1] - begin
    for s in range(i % graph.lanes, degree, graph.lanes):
        neighbours[begin + s] = graph.slots[row + s]


@pk.workunit
def number_present(
    v: int,
    acc: pk.Acc[pk.int64],
    last_pass: bool,
    graph: BucketList,
    vertices: pk.View1D[pk.int32],
    numbers: pk.View1D[pk.int32],
):
    """List the vertices that are not deleted, and write their indices in the list."""
    if graph.parts[v] != NO_PART:
        if last_pass:
            vertices[acc] = v
            numbers[v] = acc
        acc += 1


@pk.workunit
def size_rows_listed(
    j: int,
    acc: pk.Acc[pk.int64],
    last_pass: bool,
    vertices: pk.View1D[pk.int32],
    graph: BucketList,
    indptr: pk.View1D[pk.int32],
):
    """Write the row offsets of listed vertices in CSR form, with the end at the last index."""
    if last_pass:
        indptr[j] = acc
    acc += graph.degrees[vertices[j]]
    if last_pass:
        indptr[j + 1] = acc


@pk.workunit
def copy_rows(
    i: int,
    vertices: pk.View1D[pk.int32],
    numbers: pk.View1D[pk.int32],
    graph: BucketList,
    copy: Graph,
):
    """Copy the rows of listed vertices to CSR form, with indices in the list as neighbours."""
    j: int = i // graph.lanes
    row: int = row_start(vertices[j], graph)
    begin: int = copy.indptr[j]
    degree: int = copy.indptr[j + 1] - begin
    for s in range(i % graph.lanes, degree, graph.lanes):
        copy.indices[begin + s] = numbers[graph.slots[row + s]]
        copy.edge_weights[begin + s] = graph.edge_weights[row + s]
