"""Edge lists: ``u v [weight]`` on each line, 0-based, separated by blanks, tabs or a comma.

An edge list is symmetrised. Each edge is listed once, in either direction; some or all edges may
be listed in both directions if the weights agree. Self-loops, an edge listed twice in the same
direction, and contradicting weights are errors unless repaired. Either all lines have a weight or
none has. Weights that are not 32-bit integers are read only if the rules scale or ignore weights.

Lines that start with ``#`` or ``%`` are comments. Empty lines are skipped, and so is a first line
that starts with a letter or a quote (column names). If the first column has no name, it is the
index of a data frame, and refused. The number of vertices is the largest id plus
1, unless the first line gives it, as in the files that jetpy writes: ``# vertices 1000``. Without
this line, an id far larger than the number of edges can justify is refused. If vertex 0 is the
only vertex without edges, the logger ``jetpy.input`` warns that the list may be numbered from 1.
"""

from __future__ import annotations

import re
from typing import BinaryIO

import numpy as np
import scipy.sparse as sp

from jetpy.errors import FileFormatError
from jetpy.graph.build import graph_of
from jetpy.graph.csr import INT32_MAX, Graph, IntArray
from jetpy.graph.raw import Raw, Rules
from jetpy.graph.scaling import LOGGER, weights_of
from jetpy.graph.validate import EDGE_WEIGHTS, Matrix, check_order, check_storable, keys_of
from jetpy.io.limits import check_memory, is_justified
from jetpy.io.pairs import (
    IDS,
    VERTICES_LINE,
    PairNaming,
    check_vertices,
    edge_tables,
    read_edges,
)
from jetpy.io.text import WordError, first_line, format_rows, plain, show

NAMED_VERTICES = "if vertices have names, read the file as a table and pass it to jetpy.from_edges"
LARGEST_ID = INT32_MAX - 2
SMALL_IDS = (
    f"ids must be integers in 0..{LARGEST_ID}; number the vertices from 0, or read the file as a "
    "table and pass it to jetpy.from_edges"
)
_COLUMN_NAMES = re.compile(rb"[A-Za-z\"']")
WITHOUT_INDEX = "write the file without an index (index=False in pandas, row.names=FALSE in R)"
_INDEX_COLUMN = re.compile(rb"\s*(?:\"\"|\"?Unnamed: 0(?:\.\d+)?\"?)?[ \t]*[,\t][ \t]*[A-Za-z\"'_]")
"""Names of columns; that of the first is empty."""
_ENDS_AFTER_INDEX = re.compile(
    rb"[\w\"' ]+[,\t]\s*[\"']?"
    rb"(?:(?:source|src)[\"']?\s*[,\t]\s*[\"']?(?:target|dst|dest)|from[\"']?\s*[,\t]\s*[\"']?to\b)",
    re.IGNORECASE,
)
"""Names of columns; the second and the third contain the ends of edges."""


def read(stream: BinaryIO, *, rules: Rules, name: str) -> Graph:
    """Read a graph; `rules` as for `jetpy.as_graph`.

    Raises
    ------
    GraphError
        If a line does not hold two or three numbers or breaks a rule; the message names the line.
    """
    first = first_line(stream)
    declared = VERTICES_LINE.fullmatch(first)
    if _INDEX_COLUMN.match(first):
        raise FileFormatError(
            "line 1: the first column has no name: it is the index of a data frame, not of "
            f"vertices; {WITHOUT_INDEX}"
        )
    if _ENDS_AFTER_INDEX.match(first):
        raise FileFormatError(
            f"line 1: the ends of edges are not in the first two of the columns "
            f"{show(first.strip())}; reorder the columns, or {WITHOUT_INDEX}"
        )
    head = b"\n" if _COLUMN_NAMES.match(first) else first
    try:
        table = read_edges(stream, (2, 3), rules, SMALL_IDS, head=head, comments=b"#%", comma=True)
    except WordError as error:
        if b";" in error.token:
            raise FileFormatError(f"{error}; separate numbers by blanks, tabs or commas") from None
        raise FileFormatError(f"{error}{f'; {NAMED_VERTICES}' * (error.place < IDS)}") from None
    columns = table.columns
    too_large = columns[:, :IDS] > LARGEST_ID
    if too_large.any():
        i, j = np.argwhere(too_large)[0]
        raise FileFormatError(
            f"line {table.lines[i]}: {plain(columns[i, j])} is too large for an id; {SMALL_IDS}"
        )
    largest = int(columns[:, :2].max(initial=-1))
    n = int(declared[1]) if declared else largest + 1 if rules.n is None else rules.n
    is_told = declared is not None or rules.n is not None
    check_order(n)
    if not is_told and not is_justified(n, len(columns)):
        row = int(columns[:, :2].max(axis=1).argmax())
        raise FileFormatError(
            f"line {table.lines[row]}: vertex {largest} is too large for a graph with "
            f"{len(columns)} edges; number the vertices from 0, or read the file as a table and "
            "pass it to jetpy.from_edges. If it is intended, the first line must be "
            f"'# vertices {n}'"
        )
    check_memory(n)
    check_vertices(table, 0, n - 1)
    u, v = columns[:, :2].astype(np.int32, copy=False).T
    if not is_told and _seems_to_begin_with_1(u, v, n):
        LOGGER.warning(
            "jetpy numbers the vertices of edge lists from 0. In %s, vertex 0 has no edge and "
            "all others have: if the file is numbered from 1, subtract 1 from each id",
            name,
        )
    if columns.shape[1] > IDS and _seems_to_count_lines(u, v):
        LOGGER.warning(
            "the first column of %s counts the lines, and there are self-loops: if it is the index "
            "of a data frame, %s",
            name,
            WITHOUT_INDEX,
        )
    naming = PairNaming(u, v, table.lines)
    weights = weights_of(
        columns[:, 2] if columns.shape[1] == 3 and not rules.pattern else None,
        len(u),
        EDGE_WEIGHTS,
        lambda i: naming.edge(int(u[i]), int(v[i])),
        scale=rules.scale,
    )
    listed = sp.coo_array((weights, (u, v)), shape=(n, n)).tocsr()  # adds duplicates
    has_duplicates = listed.nnz < len(u)
    if has_duplicates or not weights.all():  # to be refused or merged, or sums would drop them
        if rules.repair or rules.pattern or not has_duplicates:
            wide = weights.astype(np.result_type(weights, np.int64))
            more = _missing_entries(sp.coo_array((wide, (u, v)), shape=(n, n)).tocsr())
            u, v = np.concatenate((u, more.row)), np.concatenate((v, more.col))
            weights = np.concatenate((weights, more.data))
        raw = Raw(v, edge_weights=weights, sources=u, n=n, naming=naming)
        return graph_of(raw, rules, name)
    missing = _missing(listed)
    matrix = listed + missing
    del weights, listed, missing
    raw = Raw(matrix.indices, matrix.indptr, matrix.data, naming=naming)
    return graph_of(raw, rules, name)


def _missing(listed: Matrix) -> Matrix:
    """Return the reverses of the edges that are listed in one direction only."""
    reverse = listed.T.tocsr()
    return reverse - reverse.multiply(listed.astype(bool))


def _missing_entries(listed: Matrix) -> Matrix:
    """Return what `_missing` does, entries of value 0 included, as a COO matrix."""
    reverse = listed.T.tocsr()
    missing = ~np.isin(keys_of(reverse), keys_of(listed), assume_unique=True)
    entries = reverse.tocoo()
    reverses = entries.data[missing], (entries.row[missing], entries.col[missing])
    return sp.coo_array(reverses, shape=listed.shape)


def _seems_to_count_lines(u: IntArray, v: IntArray) -> bool:
    """Return whether `u` counts from 0 or 1 on, and equals `v` somewhere."""
    lines = np.arange(len(u)) + u[:1]
    return bool((u[:1] <= 1).all() and np.array_equal(u, lines) and (u == v).any())


def _seems_to_begin_with_1(u: IntArray, v: IntArray, n: int) -> bool:
    """Return whether vertex 0 is the only one of n vertices that no edge from `u` to `v` has."""
    is_end = np.zeros(n, bool)
    is_end[u] = is_end[v] = True
    return n > 1 and not is_end[0] and bool(is_end[1:].all())


def write(stream: BinaryIO, graph: Graph) -> None:
    """Write the line ``# vertices n``, then each edge once, with weights unless all are 1.

    Raises
    ------
    GraphError
        If the graph has vertex weights or sizes, which would be lost.
    """
    check_storable(graph, "an edge list")
    stream.write(f"# vertices {graph.n}\n".encode())
    for table in edge_tables(graph):
        stream.write(format_rows(table.ravel(), np.full(len(table), table.shape[1])))
