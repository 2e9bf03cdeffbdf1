"""Bands: the vertices near the cut between the pairs of parts that a process improves by flows.

A mark has one bit for each process. In rounds, marks spread from the ends of cut edges to all
vertices that the process needs.
"""

import pykokkos as pk

from jetpy.workloads.common.ghosts import degree_of
from jetpy.workloads.common.groups import Graph, Offset, Weight, edges
from jetpy.workloads.common.lists import count_keys_below


@pk.workunit
def mark_ends(
    v: int,
    graph: Graph,
    parts: pk.View1D[pk.int32],
    k: int,
    keys: pk.View1D[pk.int64],
    bits: pk.View1D[pk.int32],
    count: int,
    marks: pk.View1D[pk.int32],
):
    """Mark a vertex for the processes that improve the pairs of its cut edges.

    `keys` are k times the lower part, plus the other one, of all `count` adjacent pairs, and `bits`
    the bit of the process of each pair, 0 for none.
    """
    mark: int = 0
    for e in edges(v, graph):
        lower: pk.int64 = parts[v]
        other: pk.int64 = parts[graph.indices[e]]
        if lower != other:
            if other < lower:
                lower = other
                other = parts[v]
            key: pk.int64 = lower * k + other
            mark = mark | bits[count_keys_below(key, keys, count)]
    marks[v] = mark


@pk.workunit
def spread_marks(
    v: int,
    max_degree: int,
    graph: Graph,
    marks: pk.View1D[pk.int32],
    spread: pk.View1D[pk.int32],
):
    """Add the marks of neighbours. Vertices of more than `max_degree` edges get and give none."""
    mark: int = marks[v]
    if degree_of(v, graph) <= max_degree:
        for e in edges(v, graph):
            u: int = graph.indices[e]
            if degree_of(u, graph) <= max_degree:
                mark = mark | marks[u]
    spread[v] = mark


@pk.workunit
def list_marked(
    v: int,
    acc: pk.Acc[pk.int64],
    last_pass: bool,
    bit: int,
    marks: pk.View1D[pk.int32],
    listed: pk.View1D[pk.int32],
):
    """List the vertices whose marks have a bit."""
    if (marks[v] & bit) != 0:
        if last_pass:
            listed[acc] = v
        acc += 1


@pk.workunit
def describe_vertices(
    i: int,
    rows: pk.View1D[pk.int32],
    bits: pk.View1D[pk.int32],
    marks: pk.View1D[pk.int32],
    graph: Graph,
    weights: pk.View1D[Weight],
    lengths: pk.View1D[Offset],
):
    """Write the weight of a vertex and the length of its row, 0 unless its mark has its bit."""
    v: int = rows[i]
    weights[i] = graph.vertex_weights[v]
    lengths[i] = 0
    if (marks[v] & bits[i]) != 0:
        lengths[i] = graph.indptr[v + 1] - graph.indptr[v]


@pk.workunit
def number_rows(i: int, rows: pk.View1D[pk.int32], first: int, numbers: pk.View1D[pk.int32]):
    """Number the vertices of a band in the order of their rows."""
    numbers[rows[i]] = first + i


@pk.workunit
def copy_row(
    i: int,
    rows: pk.View1D[pk.int32],
    offsets: pk.View1D[Offset],
    numbers: pk.View1D[pk.int32],
    graph: Graph,
    heads: pk.View1D[pk.int32],
    edge_weights: pk.View1D[Weight],
):
    """Copy the row of a vertex, with its neighbours' numbers in the band, unless it has no room."""
    e: Offset = graph.indptr[rows[i]]
    for target in range(offsets[i], offsets[i + 1]):
        heads[target] = numbers[graph.indices[e]]
        edge_weights[target] = graph.edge_weights[e]
        e += 1
