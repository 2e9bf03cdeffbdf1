"""Matrix Market files: the entries of the adjacency matrix are the edge weights.

Supported are coordinate matrices of field pattern (unit weights), integer, unsigned-integer, or
real with integer values, stored as symmetric (one triangle) or general (both). The rule `pattern`
accepts all other coordinate matrices, whatever their values. As in SciPy, blanks may precede the
banner and comments, and double is another word for real. The format cannot hold vertex weights.
More rows than the number of entries can justify are refused, unless a comment before the sizes
declares them: ``% vertices 1000``.
(SciPy's reader crashes the interpreter on some damaged files, and does not report line numbers.)
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from jetpy.errors import FileFormatError
from jetpy.graph.build import graph_of
from jetpy.graph.csr import INT32_MAX, Graph
from jetpy.graph.raw import Raw, Rules
from jetpy.graph.validate import check_storable
from jetpy.io.limits import check_memory, is_justified
from jetpy.io.pairs import VERTICES_LINE, PairNaming, check_vertices, edge_tables, read_edges
from jetpy.io.text import LONGEST_HEADER, first_line, format_rows, show

_BANNER = re.compile(
    rb"\s*%%?matrixmarket\s+matrix\s+coordinate\s+"
    rb"(pattern|integer|unsigned-integer|real|double|complex)\s+"
    rb"(general|symmetric|skew-symmetric|hermitian)\s*",
    re.IGNORECASE,
)
COLUMNS = {
    b"pattern": 2,
    b"integer": 3,
    b"unsigned-integer": 3,
    b"real": 3,
    b"double": 3,
    b"complex": 4,
}
"""Numbers on each line, for each field."""
_SIZES = re.compile(rb"\s*(\d{1,18})\s+(\d{1,18})\s+(\d{1,18})\s*")


def read(stream: BinaryIO, *, rules: Rules, name: str) -> Graph:
    """Read a graph; `rules` as for `jetpy.as_graph`.

    Raises
    ------
    GraphError
        If the file is of another kind, damaged or truncated, the matrix is not square, or the
        graph breaks a rule; the message names the line.
    """
    banner = first_line(stream)
    match = _BANNER.fullmatch(banner)
    if match is None:
        raise FileFormatError(
            "line 1: must be '%%MatrixMarket matrix coordinate', then pattern, integer, "
            "unsigned-integer, real or complex, then general, symmetric, skew-symmetric or "
            f"hermitian, not {show(banner.strip())}"
        )
    field, symmetry = match[1].lower(), match[2].lower()
    if not rules.pattern and (field == b"complex" or symmetry in (b"skew-symmetric", b"hermitian")):
        raise FileFormatError(
            f"line 1: entries of a {(match[1] + b' ' + match[2]).decode()} matrix are not "
            "weights; pattern=True (--pattern) ignores them"
        )
    n, entries, line = _read_sizes(stream)
    check_memory(n)
    is_real = field in (b"real", b"double", b"complex")
    table = read_edges(
        stream,
        (COLUMNS[field],),
        rules,
        f"ids must be in 1..{n}",
        line=line + 1,
        decimals=is_real or rules.any_weights,
    )
    if len(table.columns) != entries:
        raise FileFormatError(
            f"line {line}: the header announces {entries} entries, but the file lists "
            f"{len(table.columns)}"
        )
    check_vertices(table, 1, n)
    u, v = table.columns[:, :2].astype(np.int32, copy=False).T
    u -= 1
    v -= 1
    naming = PairNaming(u, v, table.lines, base=1, both_ways=symmetry != b"general")
    is_plain = field == b"pattern" or rules.pattern
    weights = np.ones(entries, np.int32) if is_plain else table.columns[:, 2]
    if symmetry != b"general":
        other = u != v
        u, v = np.concatenate((u, v[other])), np.concatenate((v, u[other]))
        weights = np.concatenate((weights, weights[other]))
    return graph_of(Raw(v, edge_weights=weights, sources=u, n=n, naming=naming), rules, name)


def write(stream: BinaryIO, graph: Graph) -> None:
    """Write a graph as a symmetric matrix, of field pattern if all edge weights are 1.

    Raises
    ------
    GraphError
        If the graph has vertex weights or sizes, which would be lost.
    """
    check_storable(graph, "a Matrix Market file")
    field = "integer" if (graph.edge_weights != 1).any() else "pattern"
    write_symmetric(stream, graph.n, graph.m, field, edge_tables(graph))


def write_symmetric(
    stream: BinaryIO, n: int, entries: int, field: str, tables: Iterable[npt.NDArray[Any]]
) -> None:
    """Write a symmetric matrix without a diagonal.

    Parameters
    ----------
    stream : binary stream
    n : int
        Number of rows.
    entries : int
        Number of entries above the diagonal.
    field : {'pattern', 'integer'}
    tables : iterable of int32 or int64, shape (e, 2) or (e, 3)
        Row < column, 0-based, and the value of each entry; changed in place.
    """
    banner = f"%%MatrixMarket matrix coordinate {field} symmetric\n"
    stream.write(f"{banner}{n} {n} {entries}\n".encode())
    for table in tables:
        table[:, :2] = table[:, 1::-1] + 1  # the lower triangle, 1-based
        stream.write(format_rows(table.ravel(), np.full(len(table), table.shape[1])))


def _read_sizes(stream: BinaryIO) -> tuple[int, int, int]:
    """Return the number of vertices, the number of entries, and the line of the sizes."""
    number, meant = 2, -1
    while (line := stream.readline(LONGEST_HEADER)).lstrip().startswith(b"%") or line.isspace():
        declared = VERTICES_LINE.fullmatch(line)
        meant = int(declared[1]) if declared else meant
        number += 1
    match = _SIZES.fullmatch(line)
    if not line:
        raise FileFormatError("the file ends before the line 'rows columns entries'")
    if match is None:
        raise FileFormatError(
            f"line {number}: must be 'rows columns entries', not {show(line.strip())}"
        )
    rows, columns, entries = (int(size) for size in match.groups())
    if rows != columns:
        raise FileFormatError(f"line {number}: the matrix must be square, not {rows} by {columns}")
    if rows >= INT32_MAX or entries > INT32_MAX:
        raise FileFormatError(
            f"line {number}: {rows} rows and {entries} entries are too many; there must be fewer "
            "than 2**31 - 1 rows and 2**31 entries"
        )
    if rows != meant and not is_justified(rows, entries):
        raise FileFormatError(
            f"line {number}: {rows} rows are too many for {entries} entries; if this is intended, "
            f"put a line '% vertices {rows}' before it"
        )
    return rows, entries, number
