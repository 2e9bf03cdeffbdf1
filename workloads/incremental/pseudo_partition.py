"""The pseudo-partition: vertices that are in no part, as a separate problem (iG-kway, V-C).

A vertex is its index in the list of these vertices. An edge stores the index of the neighbour, or
only its part if the neighbour stays there. So placement (`placement`) reads nothing else.
"""

import pykokkos as pk

from jetpy.workloads.common.groups import Connectivity
from jetpy.workloads.incremental.buckets import NO_NUMBER, BucketList, row_start
from jetpy.workloads.refinement.connectivity import add_to_row


class PseudoPartition:
    """The vertices of the pseudo-partition and their edges in CSR form."""

    indptr: pk.View1D[pk.int32]
    ends: pk.View1D[pk.int32]  # of each edge: an index, or `end_in` of a part
    edge_weights: pk.View1D[pk.int32]
    vertex_weights: pk.View1D[pk.int32]
    waits: pk.View1D[pk.int32]  # number of unplaced neighbours of lower index
    lanes: int  # number of indices that share a row


@pk.function
def end_in(p: int) -> int:
    """Return the end of an edge whose neighbour stays in part p: a negative integer."""
    return -1 - p


@pk.function
def part_of_end(end: int) -> int:
    """Return the part of a neighbour that stays in it."""
    return -1 - end


@pk.workunit
def number_vertices(j: int, vertices: pk.View1D[pk.int32], numbers: pk.View1D[pk.int32]):
    """Write the index of each vertex of the pseudo-partition."""
    numbers[vertices[j]] = j


@pk.workunit
def gather_rows(
    i: int,
    vertices: pk.View1D[pk.int32],
    numbers: pk.View1D[pk.int32],
    graph: BucketList,
    pseudo: PseudoPartition,
):
    """Copy the rows of the pseudo-partition out of the buckets."""
    j: int = i // graph.lanes
    row: int = row_start(vertices[j], graph)
    begin: int = pseudo.indptr[j]
    degree: int = pseudo.indptr[j + 1] - begin
    for s in range(i % graph.lanes, degree, graph.lanes):
        u: int = graph.slots[row + s]
        end: int = numbers[u]
        if end == NO_NUMBER:
            end = end_in(graph.parts[u])
        pseudo.ends[begin + s] = end
        pseudo.edge_weights[begin + s] = graph.edge_weights[row + s]


@pk.workunit
def connect(i: int, pseudo: PseudoPartition, table: Connectivity):
    """Sum the edge weight into each part, and count the neighbours of lower index."""
    j: int = i // pseudo.lanes
    degree: int = pseudo.indptr[j + 1] - pseudo.indptr[j]
    lower: int = 0
    for e in range(pseudo.indptr[j] + i % pseudo.lanes, pseudo.indptr[j + 1], pseudo.lanes):
        u: int = pseudo.ends[e]
        if u < 0:
            add_to_row(j, degree, part_of_end(u), pseudo.edge_weights[e], table)
        elif u < j:
            lower += 1
    if lower > 0:
        pk.atomic_fetch_add(pseudo.waits, [j], lower)
