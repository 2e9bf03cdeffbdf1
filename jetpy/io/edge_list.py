"""Edge lists: ``u v [weight]`` on each line, 0-based, separated by blanks, tabs or a comma.

An edge list is symmetrised. Each edge is listed once, in either direction; some or all edges may
be listed in both directions if the weights agree. Self-loops, an edge listed twice in the same
direction, and contradicting weights are errors unless repaired. Either all lines have a weight or
none has. Weights that are not 32-bit integers are read only if the rules scale or ignore weights.

Lines that start with ``#`` or ``%`` are comments. Empty lines are skipped, and so is a first line
that starts with a letter or a quote (column names). The number of vertices is the largest id plus
1, unless the first line gives it, as in the files that jetpy writes: ``# vertices 1000``. Without
this line, an id far larger than the number of edges can justify is refused. If vertex 0 is the
only vertex without edges, the logger ``jetpy.input`` warns that the list may be numbered from 1.
"""

from __future__ import annotations

import re
from typing import BinaryIO

import numpy as np
import scipy.sparse as sp

from jetpy.errors import FileFormatError, GraphError
from jetpy.graph.build import graph_from_csr, graph_from_pairs
from jetpy.graph.csr import Graph, IntArray
from jetpy.graph.raw import Rules
from jetpy.graph.scaling import LOGGER, weights_of
from jetpy.graph.validate import EDGE_WEIGHTS, check_order, check_storable
from jetpy.io.limits import check_memory, is_justified
from jetpy.io.pairs import VERTICES_LINE, PairNaming, check_vertices, edge_tables, read_edges
from jetpy.io.text import WordError, first_line, format_rows

NAMED_VERTICES = "if vertices have names, read the file as a table and pass it to jetpy.from_edges"
_COLUMN_NAMES = re.compile(rb"[A-Za-z\"']")


def read(stream: BinaryIO, *, rules: Rules, name: str) -> Graph:
    """Read a graph; `rules` as for `jetpy.as_graph`.

    Raises
    ------
    GraphError
        If a line does not hold two or three numbers or breaks a rule; the message names the line.
    """
    first = first_line(stream)
    declared = VERTICES_LINE.fullmatch(first)
    head = b"\n" if _COLUMN_NAMES.match(first) else first
    try:
        table = read_edges(
            stream, (2, 3), head=head, comments=b"#%", comma=True, decimals=rules.any_weights
        )
    except WordError as error:
        raise FileFormatError(f"{error}; {NAMED_VERTICES}") from None
    columns = table.columns
    largest = int(columns[:, :2].max(initial=-1))
    n = int(declared[1]) if declared else largest + 1 if rules.n is None else rules.n
    is_told = declared is not None or rules.n is not None
    check_order(n)
    if not is_told and not is_justified(n, len(columns)):
        row = int(columns[:, :2].max(axis=1).argmax())
        raise FileFormatError(
            f"line {table.lines[row]}: vertex {largest} is too large for a graph with "
            f"{len(columns)} edges; if it is intended, the first line must be '# vertices {n}'"
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
    naming = PairNaming(u, v, table.lines)
    weights = weights_of(
        columns[:, 2] if columns.shape[1] == 3 and not rules.pattern else None,
        len(u),
        EDGE_WEIGHTS,
        lambda i: naming.edge(int(u[i]), int(v[i])),
        scale=rules.scale,
    )
    listed = sp.coo_array((weights, (u, v)), shape=(n, n)).tocsr()  # adds duplicates
    reverse = listed.T.tocsr()
    missing = reverse - reverse.multiply(listed.astype(bool))
    if listed.nnz < len(u):  # duplicates: to be refused, or merged
        more = missing.tocoo()
        u, v = np.concatenate((u, more.row)), np.concatenate((v, more.col))
        weights = np.concatenate((weights, more.data))
        return graph_from_pairs(n, u, v, weights, rules=rules, name=name, naming=naming)
    matrix = listed + missing
    del weights, listed, reverse, missing
    return graph_from_csr(
        matrix.indptr, matrix.indices, matrix.data, rules=rules, name=name, naming=naming
    )


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
    if (graph.vertex_weights != 1).any():
        raise GraphError("an edge list cannot store vertex weights; write .graph or .npz")
    stream.write(f"# vertices {graph.n}\n".encode())
    for table in edge_tables(graph):
        stream.write(format_rows(table.ravel(), np.full(len(table), table.shape[1])))
