"""METIS graph files: ``n m [fmt [ncon]]``, then one line of 1-based neighbours per vertex.

`fmt` has up to three binary digits, from the right: edge weights (after each neighbour), vertex
weights (first on the line), vertex sizes (before those), the amount of data that a vertex sends.
`ncon` is the number of weights of each vertex. Weights that are not 32-bit integers are read only
if the rules scale or ignore weights. Lines that start with ``%`` are comments; an empty line is a
vertex without neighbours.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import numpy.typing as npt

from jetpy.errors import FileFormatError, GraphError
from jetpy.graph.build import graph_of
from jetpy.graph.csr import INT32_MAX, Graph, IntArray
from jetpy.graph.raw import PLAIN, Raw, Rules
from jetpy.graph.validate import SCALED, Naming, how_else
from jetpy.io.text import (
    LONGEST_HEADER,
    LineNumbers,
    NumberError,
    Rows,
    are_no_integers,
    first_line,
    format_rows,
    plain,
    read_rows,
    show,
)
from jetpy.io.weights import MAX_COLUMNS

_HEADER = re.compile(rb"\s*(\d{1,10})\s+(\d{1,10})(?:\s+([01]{1,3})(?:\s+(\d{1,9}))?)?\s*")


@dataclass(frozen=True)
class Header:
    """Header of a METIS file, which is on line `line`; each vertex has `constraints` weights."""

    n: int
    m: int
    sizes: bool
    constraints: int
    edge_weights: bool
    line: int


class Lines(NamedTuple):
    """Columns of consecutive vertex lines; the neighbours are 0-based.

    Vertex weights have a row for each line. They, sizes and edge weights are float64 if the lines
    were read as decimals.
    """

    counts: IntArray
    neighbours: IntArray
    edge_weights: npt.NDArray[Any]
    vertex_weights: npt.NDArray[Any]
    sizes: npt.NDArray[Any]

    def weights_of_graph(self, most: int | None = None) -> npt.NDArray[Any] | None:
        """Return the weights of the first `most` vertices as `Raw` has them."""
        weights = self.vertex_weights[:most]
        kinds = weights.shape[1]
        return None if kinds == 0 else weights[:, 0] if kinds == 1 else weights


class _LineNaming(Naming):
    """Names of 1-based vertices, with their line numbers."""

    base = 1

    def __init__(self, lines: LineNumbers) -> None:
        self.lines = lines

    def vertex(self, v: int) -> str:
        """Return the name of the vertex with 0-based id `v`."""
        return f"{super().vertex(v)} on line {self.lines[v]}"

    def edge(self, u: int, v: int) -> str:
        """Return the name of the edge, with the line of `u`."""
        return f"{super().edge(u, v)} on line {self.lines[u]}"

    def missing(self, u: int, v: int) -> str:
        """Return the name of an edge that the line of `u` lacks."""
        return f"{super().missing(u, v)}, which line {self.lines[u]} lacks"


def read(stream: BinaryIO, *, rules: Rules, name: str) -> Graph:
    """Read a graph; `rules` as for `jetpy.as_graph`.

    Raises
    ------
    GraphError
        If the header is invalid or contradicts the rest, the file is truncated, something is not
        an integer, or the graph breaks a rule; the message names the line.
    """
    header = read_header(stream)
    lines = LineNumbers()
    try:
        whole = read_lines(stream, header, header.n, lines, rules)
    except NumberError as error:
        raise FileFormatError(f"{error}{_remedies(header, error)}") from None
    if len(whole.counts) < header.n:
        raise FileFormatError(f"the file ends after {len(whole.counts)} of {header.n} vertex lines")
    entries, expected = len(whole.neighbours), 2 * header.m
    wrong_count = (
        f"line {header.line}: the header announces {header.m} edges, so {expected} neighbours in "
        f"all, but the file lists {entries}"
    )
    naming = _LineNaming(lines)
    raw = Raw(
        whole.neighbours,
        np.concatenate(([0], np.cumsum(whole.counts, dtype=np.int64))),
        whole.edge_weights if header.edge_weights else None,
        whole.weights_of_graph(),
        naming=naming,
        vertex_sizes=whole.sizes if header.sizes else None,
    )
    try:
        graph = graph_of(raw, rules, name)
    except GraphError as error:
        if entries == expected:
            raise
        raise FileFormatError(f"{wrong_count}; the first problem is: {error}") from error
    if entries != expected and not (rules.repair and header.m in (entries, graph.m)):
        raise FileFormatError(wrong_count)
    return graph


def read_lines(
    stream: BinaryIO,
    header: Header,
    most: int,
    numbers: LineNumbers | None = None,
    rules: Rules = PLAIN,
    *,
    line: int | None = None,
) -> Lines:
    """Read at most `most` vertex lines in the format of `header`.

    `numbers` receives their line numbers. By `rules`, weights may be fractions, or any numbers.
    `line` is the number of the first line, by default that after the header.

    Raises
    ------
    FileFormatError
        If a line is invalid, or there are more nonempty lines; a `NumberError` if other rules
        might help.
    """
    nothing = np.empty(0, np.int32)
    no_rows = nothing.reshape(0, header.constraints)
    blocks = [Lines(nothing, nothing, nothing, no_rows, nothing)]
    for rows in read_rows(
        stream,
        line=header.line + 1 if line is None else line,
        decimals=rules.any_weights,
        any_number=bool(rules.pattern),
        long_lines=True,
    ):
        block = _first_rows(rows, most, header)
        blocks.append(_split(block, header))
        most -= len(block.lines)
        if numbers is not None:
            numbers.extend(block.lines)
    return Lines(*(np.concatenate(column) for column in zip(*blocks, strict=True)))


def write(stream: BinaryIO, graph: Graph) -> None:
    """Write a graph, with vertex or edge weights, or sizes, only if they are not all 1."""
    code, kinds, first = 0, 1, []
    if graph.vertex_sizes is not None and (graph.vertex_sizes != 1).any():
        code, first = 100, [graph.vertex_sizes[:, None]]
    weights = graph.vertex_weights[:, None]
    if graph.constraint_weights is not None:
        weights, kinds = graph.constraint_weights, graph.constraint_weights.shape[1]
    if kinds > 1 or (weights != 1).any():
        code, first = code + 10, [*first, weights]
    with_edges = bool((graph.edge_weights != 1).any())
    code += with_edges
    header = [graph.n, graph.m, *[code] * (code > 0), *[kinds] * (kinds > 1)]
    stream.write(f"{' '.join(map(str, header))}\n".encode())
    for start, stop in graph.row_blocks():
        entries = slice(graph.indptr[start], graph.indptr[stop])
        counts = np.diff(graph.indptr[start : stop + 1])
        values = graph.indices[entries] + np.int32(1)
        if with_edges:
            values = np.column_stack((values, graph.edge_weights[entries])).ravel()
            counts *= 2
        if first:
            table = np.hstack([columns[start:stop] for columns in first])
            starts = np.repeat(np.cumsum(counts) - counts, table.shape[1])
            values = np.insert(values, starts, table.ravel())
            counts += table.shape[1]
        stream.write(format_rows(values, counts))


def read_header(stream: BinaryIO) -> Header:
    """Read the first line that is not a comment.

    Raises
    ------
    FileFormatError
        If it is not a valid header.
    """
    number, line = 1, first_line(stream)
    while line.lstrip().startswith(b"%"):
        number, line = number + 1, stream.readline(LONGEST_HEADER)
    match = _HEADER.fullmatch(line)
    if match is None:
        raise FileFormatError(
            f"line {number}: the header is {show(line.strip())}; it must be 'n m [fmt [ncon]]', "
            "where fmt has at most three binary digits"
        )
    n, m = int(match[1]), int(match[2])
    if n >= INT32_MAX or 2 * m > INT32_MAX:
        raise FileFormatError(
            f"line {number}: {n} vertices and {m} edges are too many; there must be fewer than "
            "2**31 - 1 vertices and 2**30 edges"
        )
    sizes, vertex_weights, edge_weights = (bit == ord("1") for bit in (match[3] or b"").zfill(3))
    constraints = int(match[4] or vertex_weights)
    if constraints > MAX_COLUMNS:
        raise FileFormatError(
            f"line {number}: ncon is {constraints}; a vertex may have at most {MAX_COLUMNS} weights"
        )
    if vertex_weights != (constraints > 0):
        raise FileFormatError(
            f"line {number}: ncon is {constraints}, but fmt says that there are "
            f"{'' if vertex_weights else 'no '}vertex weights"
        )
    return Header(n, m, sizes, constraints, edge_weights, number)


def _remedies(header: Header, error: NumberError) -> str:
    """Return the remedies for a number that is not an integer; a neighbour's id has none.

    Several weights per vertex are not scaled.
    """
    place = error.place - header.sizes - header.constraints
    if place == -1 and header.constraints == 1:
        return f"; {SCALED}" if error.is_scalable else ""
    is_edge_weight = header.edge_weights and place >= 0 and place % 2 == 1
    return f"; {how_else(error.is_scalable)}" if is_edge_weight else ""


def _first_rows(rows: Rows, limit: int, header: Header) -> Rows:
    """Return the first `limit` lines; refuse later lines that are not empty."""
    surplus = np.flatnonzero(rows.counts[limit:])
    if surplus.size:
        raise FileFormatError(
            f"line {rows.lines[limit + surplus[0]]}: the file has more vertex lines than the "
            f"{header.n} that the header on line {header.line} announces"
        )
    return Rows(rows.values, rows.counts[:limit], rows.lines[:limit])


def _split(rows: Rows, header: Header) -> Lines:
    """Split lines into columns."""
    values, counts = rows.values, rows.counts
    kinds = header.constraints
    weights = "a vertex weight" if kinds == 1 else f"{kinds} vertex weights"
    fields = ["a vertex size"] * header.sizes + [weights] * (kinds > 0)
    leading, edge_weights = header.sizes + kinds, values[:0]
    _refuse(rows, counts < leading, f"the line must start with {' and '.join(fields)}")
    places = (np.cumsum(counts) - counts)[:, None] + np.arange(leading)
    table = values[places]
    if fields:
        rest = np.ones(len(values), bool)
        rest[places] = False
        values, counts = values[rest], counts - leading
    if header.edge_weights:
        _refuse(rows, counts % 2 == 1, "the last neighbour has no edge weight")
        values, edge_weights, counts = values[0::2], values[1::2].copy(), counts // 2
    outside = are_no_integers(values, 1, header.n)
    if outside.any():
        i = int(outside.argmax())
        line = Rows(values, counts, rows.lines).line_of(i)
        raise FileFormatError(
            f"line {line}: {plain(values[i])} is not a vertex; vertices must be in 1..{header.n}"
        )
    neighbours = values.astype(np.int32, copy=False) - np.int32(1)
    columns = table[:, header.sizes :], table[:, : header.sizes].ravel()
    return Lines(counts.astype(np.int32), neighbours, edge_weights, *columns)


def _refuse(rows: Rows, wrong: npt.NDArray[np.bool_], why: str) -> None:
    if wrong.any():
        raise FileFormatError(f"line {rows.lines[wrong.argmax()]}: {why}")
