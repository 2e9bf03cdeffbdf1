"""Contraction of pairs over pieces of a graph: ids of coarse vertices, then merged rows.

The two vertices of a pair may be in different pieces. The piece of the lower vertex assigns the id
of the coarse vertex, in the order of the lower vertices. The owner of the coarse vertex merges both
rows.
"""

from dataclasses import dataclass

import pykokkos as pk

from jetpy.workloads.coarsening.contraction import slots_for
from jetpy.workloads.common.ghosts import owned_global_id
from jetpy.workloads.common.groups import NO_VERTEX, Graph, Offset, Weight


@dataclass(frozen=True, eq=False)
class Numbering:
    """The ids of the coarse vertices of a piece."""

    partners: pk.View1D[pk.int32]  # global id of each owned vertex's partner, or NO_VERTEX
    places: pk.View1D[pk.int32]  # index of each lower vertex among the lower ones of the piece
    coarse: pk.View1D[pk.int32]  # global id of each vertex's coarse vertex


@dataclass(frozen=True, eq=False)
class Meeting:
    """The one or two rows that merge into the row of each coarse vertex.

    Rows of owned vertices come first, then rows received from other processes.
    """

    lower: pk.View1D[pk.int32]  # lower row of each coarse vertex
    upper: pk.View1D[pk.int32]  # upper row, or the same row if there is only one
    match: pk.View1D[pk.int32]  # by row: the upper row of a lower one, otherwise NO_VERTEX


@pk.function
def is_lower(v: int, graph: Graph, numbering: Numbering) -> bool:
    """Whether an owned vertex is the lower one of its pair, or unmatched."""
    partner: int = numbering.partners[v]
    return partner == NO_VERTEX or owned_global_id(v, graph) < partner


@pk.function
def numbered_here(v: int, graph: Graph, numbering: Numbering) -> int:
    """Return the lower vertex of the pair of v; NO_VERTEX if another process owns it."""
    if is_lower(v, graph, numbering):
        return v
    u: int = numbering.partners[v] - graph.first_global_id
    if u < 0:
        return NO_VERTEX
    return u


@pk.workunit
def place_lower(v: int, acc: pk.Acc[pk.int64], last_pass: bool, graph: Graph, numbering: Numbering):
    """Write the index of each lower vertex among the lower ones of the piece."""
    if is_lower(v, graph, numbering):
        if last_pass:
            numbering.places[v] = acc
        acc += 1


@pk.workunit
def add_work(v: int, acc: pk.Acc[pk.int64], graph: Graph, numbering: Numbering):
    """Sum the sizes of the rows whose coarse vertices this piece numbers."""
    if numbered_here(v, graph, numbering) != NO_VERTEX:
        acc += graph.indptr[v + 1] - graph.indptr[v] + 1


@pk.workunit
def tally_work(v: int, before: int, graph: Graph, numbering: Numbering, work: pk.View1D[pk.int64]):
    """Sum the sizes of these rows by coarse vertex."""
    if numbered_here(v, graph, numbering) != NO_VERTEX:
        size: pk.int64 = graph.indptr[v + 1] - graph.indptr[v] + 1
        pk.atomic_fetch_add(work, [numbering.coarse[v] - before], size)


@pk.workunit
def number_pairs_here(v: int, before: int, graph: Graph, numbering: Numbering):
    """Write the global ids of coarse vertices that this piece numbers.

    Pieces of lower rank number `before` coarse vertices.
    """
    u: int = numbered_here(v, graph, numbering)
    if u != NO_VERTEX:
        numbering.coarse[v] = before + numbering.places[u]


@pk.workunit
def list_numbered_elsewhere(
    v: int,
    acc: pk.Acc[pk.int64],
    last_pass: bool,
    graph: Graph,
    numbering: Numbering,
    listed: pk.View1D[pk.int32],
):
    """List the vertices whose coarse vertices another piece numbers."""
    if numbered_here(v, graph, numbering) == NO_VERTEX:
        if last_pass:
            listed[acc] = v
        acc += 1


@pk.workunit
def meet(row: int, count: int, coarse_of: pk.View1D[pk.int32], meeting: Meeting):
    """Find the lowest and highest row of each of the `count` owned coarse vertices.

    `lower` starts at INT32_MAX, `upper` at NO_VERTEX.
    """
    c: int = coarse_of[row]
    if c < count:
        pk.atomic_fetch_min(meeting.lower, [c], row)
        pk.atomic_fetch_max(meeting.upper, [c], row)


@pk.workunit
def join_rows(
    c: int,
    meeting: Meeting,
    indptr: pk.View1D[Offset],
    weights: pk.View1D[Weight],
    room: pk.View1D[Offset],
    coarse_weights: pk.View1D[Weight],
    longest: int,
):
    """Match the rows of a coarse vertex, sum their weights, and reserve slots for their entries."""
    row: int = meeting.lower[c]
    other: int = meeting.upper[c]
    length: Offset = indptr[row + 1] - indptr[row]
    weight: Weight = weights[row]
    if other != row:
        meeting.match[row] = other
        length += indptr[other + 1] - indptr[other]
        weight += weights[other]
    room[c] = slots_for(length, longest)
    coarse_weights[c] = weight
