"""Rows that one piece of a graph hands over to another, which has their coarse vertices.

Of each row goes its coarse vertex, its weight and its length, and of each entry a place in a list
of the neighbours' coarse vertices, and the weight of the edge.
"""

import pykokkos as pk

from jetpy.workloads.common.groups import Graph, Offset, Weight

TOLD = 3
"""Numbers that are told of a row."""
LENGTH = TOLD - 1
"""Which of them is its length; the others are its coarse vertex and its weight."""


class MigratedRows:
    """Rows of own vertices, and after them those that others have handed over."""

    n_owned: int  # rows of owned vertices
    entries: pk.int64  # of these rows
    indptr: pk.View1D[Offset]
    weights: pk.View1D[Weight]
    coarse_of: pk.View1D[pk.int32]


@pk.workunit
def describe_rows(
    i: int,
    rows: pk.View1D[pk.int32],
    coarse: pk.View1D[pk.int32],
    graph: Graph,
    told: pk.View1D[pk.int64],
):
    """Write what is told of a row."""
    v: int = rows[i]
    told[TOLD * i] = coarse[v]
    told[TOLD * i + 1] = graph.vertex_weights[v]
    told[TOLD * i + LENGTH] = graph.indptr[v + 1] - graph.indptr[v]


@pk.workunit
def place_entries(
    i: int,
    acc: pk.Acc[pk.int64],
    last_pass: bool,
    told: pk.View1D[pk.int64],
    offsets: pk.View1D[pk.int64],
):
    """Find where the entries of a row go; the last of `offsets` is their number."""
    acc += told[TOLD * i + LENGTH]
    if last_pass:
        offsets[i + 1] = acc


@pk.workunit
def copy_entries(
    i: int,
    rows: pk.View1D[pk.int32],
    graph: Graph,
    threads_per_row: int,
    offsets: pk.View1D[pk.int64],
    heads: pk.View1D[pk.int32],
    edge_weights: pk.View1D[Weight],
):
    """Copy every so many-th entry of a row, which so many indices share."""
    v: int = rows[i // threads_per_row]
    e: int = graph.indptr[v] + i % threads_per_row
    place: pk.int64 = offsets[i // threads_per_row] + i % threads_per_row
    while e < graph.indptr[v + 1]:
        heads[place] = graph.indices[e]
        edge_weights[place] = graph.edge_weights[e]
        e += threads_per_row
        place += threads_per_row


@pk.workunit
def count_entries(
    p: int,
    bounds: pk.View1D[pk.int64],
    offsets: pk.View1D[pk.int64],
    counts: pk.View1D[pk.int64],
):
    """Count the entries of the rows between two bounds, those that a process is handed."""
    counts[p] = offsets[bounds[p + 1]] - offsets[bounds[p]]


@pk.workunit
def place_rows(
    i: int,
    acc: pk.Acc[pk.int64],
    last_pass: bool,
    told: pk.View1D[pk.int64],
    first: int,
    gathered: MigratedRows,
):
    """Put a row that was handed over after the own ones.

    Its coarse vertex gets its place in the block that begins with `first`.
    """
    acc += told[TOLD * i + LENGTH]
    if last_pass:
        row: int = gathered.n_owned + i
        gathered.coarse_of[row] = told[TOLD * i] - first
        gathered.weights[row] = told[TOLD * i + 1]
        gathered.indptr[row + 1] = gathered.entries + acc
