"""The pseudo-partition: vertices that are in no part for now, as a problem of their own.

They are numbered, and each knows its neighbours by number or, where these stay in their part, by
part alone. So placement (`placement`) looks at nothing else of the graph.
"""

import pykokkos as pk

from jetpy.workloads.common.groups import Connectivity
from jetpy.workloads.incremental.buckets import NO_NUMBER, BucketList, row_start
from jetpy.workloads.refinement.connectivity import add_to_row


class PseudoPartition:
    """The vertices of the pseudo-partition and their edges, by number."""

    indptr: pk.View1D[pk.int32]
    ends: pk.View1D[pk.int32]  # of edges: a number, or `end_in` of a part
    edge_weights: pk.View1D[pk.int32]
    vertex_weights: pk.View1D[pk.int32]
    waits: pk.View1D[pk.int32]  # neighbours of lower number that are not placed yet
    lanes: int  # indices that share a row


@pk.function
def end_in(p: int) -> int:
    """Return the end of an edge to a vertex that stays in part p: a negative number."""
    return -1 - p


@pk.function
def part_of_end(end: int) -> int:
    """Return the part in which a vertex stays that is the end of an edge."""
    return -1 - end


@pk.workunit
def number_vertices(j: int, vertices: pk.View1D[pk.int32], numbers: pk.View1D[pk.int32]):
    """Number the vertices of the pseudo-partition."""
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
        number: int = numbers[u]
        if number == NO_NUMBER:
            number = end_in(graph.parts[u])
        pseudo.ends[begin + s] = number
        pseudo.edge_weights[begin + s] = graph.edge_weights[row + s]


@pk.workunit
def connect(i: int, pseudo: PseudoPartition, table: Connectivity):
    """Sum up the edges into each part, and count the neighbours of lower number."""
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
