"""Migration of rows to the processes that own their coarse vertices.

The record of a row contains its coarse vertex, weight and length. Each entry of a row contains the
edge weight and an index in a list of the neighbours' coarse vertices.
"""

import pykokkos as pk

from jetpy.workloads.common.groups import Graph, Offset, Weight

RECORD_WORDS = 3
"""Words (int64) of the record of a row."""
LENGTH = RECORD_WORDS - 1
"""Index of the length in a record, after the coarse vertex and the weight."""


class MigratedRows:
    """Rows of owned vertices, and after them rows received from other processes."""

    n_owned: int  # number of rows of owned vertices
    entries: pk.int64  # number of entries of these rows
    indptr: pk.View1D[Offset]
    weights: pk.View1D[Weight]
    coarse_of: pk.View1D[pk.int32]


@pk.workunit
def describe_rows(
    i: int,
    rows: pk.View1D[pk.int32],
    coarse: pk.View1D[pk.int32],
    graph: Graph,
    send_buffer: pk.View1D[pk.int64],
):
    """Write the record of a row to the send buffer."""
    v: int = rows[i]
    send_buffer[RECORD_WORDS * i] = coarse[v]
    send_buffer[RECORD_WORDS * i + 1] = graph.vertex_weights[v]
    send_buffer[RECORD_WORDS * i + LENGTH] = graph.indptr[v + 1] - graph.indptr[v]


@pk.workunit
def place_entries(
    i: int,
    acc: pk.Acc[pk.int64],
    last_pass: bool,
    send_buffer: pk.View1D[pk.int64],
    offsets: pk.View1D[pk.int64],
):
    """Write the end of row i's entries to ``offsets[i + 1]``."""
    acc += send_buffer[RECORD_WORDS * i + LENGTH]
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
    """Copy every `threads_per_row`-th entry of a row; `threads_per_row` indices share a row."""
    v: int = rows[i // threads_per_row]
    first: int = graph.indptr[v] + i % threads_per_row
    target: pk.int64 = offsets[i // threads_per_row] + i % threads_per_row
    for e in range(first, graph.indptr[v + 1], threads_per_row):
        heads[target] = graph.indices[e]
        edge_weights[target] = graph.edge_weights[e]
        target += threads_per_row


@pk.workunit
def count_entries(
    p: int,
    bounds: pk.View1D[pk.int64],
    offsets: pk.View1D[pk.int64],
    counts: pk.View1D[pk.int64],
):
    """Count the entries sent to process p, whose rows are ``bounds[p]..bounds[p + 1] - 1``."""
    counts[p] = offsets[bounds[p + 1]] - offsets[bounds[p]]


@pk.workunit
def place_rows(
    i: int,
    acc: pk.Acc[pk.int64],
    last_pass: bool,
    recv_buffer: pk.View1D[pk.int64],
    first: int,
    gathered: MigratedRows,
):
    """Append a received row to the owned ones.

    Its coarse vertex becomes a local id of the block that begins with global id `first`.
    """
    acc += recv_buffer[RECORD_WORDS * i + LENGTH]
    if last_pass:
        row: int = gathered.n_owned + i
        gathered.coarse_of[row] = recv_buffer[RECORD_WORDS * i] - first
        gathered.weights[row] = recv_buffer[RECORD_WORDS * i + 1]
        gathered.indptr[row + 1] = gathered.entries + acc
