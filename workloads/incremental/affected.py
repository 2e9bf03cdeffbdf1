"""Affected vertices, and their entry into the pseudo-partition (iG-kway, Algorithm 3).

A vertex is affected if it is new, its edges have changed, or a neighbour has entered the
pseudo-partition. It enters if it is new, or if its external weight exceeds its internal weight. The
paper compares numbers of edges instead of weights.
"""

from dataclasses import dataclass
from enum import IntEnum

import pykokkos as pk

from jetpy.workloads.incremental.buckets import BucketList, row_start


class Mark(IntEnum):
    """The state of a vertex of the graph."""

    NONE = 0
    STAYS = 1
    """Affected, but stays in its part."""
    ENTERS = 2
    """Enters the pseudo-partition."""
    FOUND = 3
    """Affected, but not examined yet."""


@dataclass(frozen=True, eq=False)
class Affected:
    """The list of affected vertices."""

    vertices: pk.View1D[pk.int32]
    surplus: pk.View1D[pk.int32]  # of each listed vertex: external minus internal weight
    marks: pk.View1D[pk.int32]  # Mark of each vertex of the graph


@pk.workunit
def weigh_rows(i: int, affected: Affected, max_degree: int, graph: BucketList):
    """Sum the external minus the internal weight of an affected vertex.

    Edges to neighbours that enter the pseudo-partition are external. A vertex whose degree is above
    `max_degree` gets 0.
    """
    j: int = i // graph.lanes
    v: int = affected.vertices[j]
    if graph.degrees[v] > max_degree:
        return
    row: int = row_start(v, graph)
    surplus: int = 0
    for s in range(i % graph.lanes, graph.degrees[v], graph.lanes):
        u: int = graph.slots[row + s]
        if graph.parts[u] == graph.parts[v] and affected.marks[u] != Mark.ENTERS:
            surplus -= graph.edge_weights[row + s]
        else:
            surplus += graph.edge_weights[row + s]
    pk.atomic_fetch_add(affected.surplus, [j], surplus)


@pk.workunit
def mark_weighed(j: int, affected: Affected, graph: BucketList, k: int):
    """Mark whether a vertex enters the pseudo-partition; a new one, in part k, does."""
    v: int = affected.vertices[j]
    affected.marks[v] = Mark.STAYS
    if affected.surplus[j] > 0 or graph.parts[v] == k:
        affected.marks[v] = Mark.ENTERS


@pk.workunit
def find_neighbours(
    i: int,
    affected: Affected,
    graph: BucketList,
    found: pk.View1D[pk.int32],
    length: pk.View1D[pk.int32],
):
    """Append the unmarked neighbours of entering vertices to a list, in any order.

    `length[0]` is the length of the list, and grows.
    """
    v: int = affected.vertices[i // graph.lanes]
    if affected.marks[v] != Mark.ENTERS:
        return
    row: int = row_start(v, graph)
    for s in range(i % graph.lanes, graph.degrees[v], graph.lanes):
        u: int = graph.slots[row + s]
        if affected.marks[u] == Mark.NONE:
            before: int = pk.atomic_fetch_max(affected.marks, [u], Mark.FOUND)
            if before == Mark.NONE:
                index: int = pk.atomic_fetch_add(length, [0], 1)
                found[index] = u


@pk.workunit
def list_entering(
    j: int,
    acc: pk.Acc[pk.int64],
    last_pass: bool,
    vertices: pk.View1D[pk.int32],
    marks: pk.View1D[pk.int32],
    entering: pk.View1D[pk.int32],
):
    """List the affected vertices that enter the pseudo-partition."""
    if marks[vertices[j]] == Mark.ENTERS:
        if last_pass:
            entering[acc] = vertices[j]
        acc += 1
