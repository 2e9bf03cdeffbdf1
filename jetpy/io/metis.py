"""METIS graph files: ``n m [fmt [ncon]]``, then one line of 1-based neighbours per vertex.

`fmt` has up to three binary digits, from the right: edge weights (after each neighbour), vertex
weights (first on the line), vertex sizes (before those). Vertex sizes (the amount of data that a
vertex sends) are read but ignored, and the logger ``jetpy.input`` warns about it. Weights
that are not 32-bit integers are read only if the rules scale or ignore weights. Several weights
per vertex (ncon > 1) are refused. Lines that start with ``%`` are comments; an empty line is a
vertex without neighbours.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import numpy.typing as npt

from jetpy.errors import FileFormatError, GraphError
from jetpy.graph.build import graph_from_csr
from jetpy.graph.csr import INT32_MAX, Graph, IntArray
from jetpy.graph.raw import PLAIN, Rules
from jetpy.graph.scaling import LOGGER
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

_HEADER = re.compile(rb"\s*(\d{1,10})\s+(\d{1,10})(?:\s+([01]{1,3})(?:\s+(\d{1,9}))?)?\s*")


@dataclass(frozen=True)
class Header:
    """Header of a METIS file, which is on line `line` of the file."""

    n: int
    m: int
    sizes: bool
    vertex_weights: bool
    edge_weights: bool
    line: int


class Lines(NamedTuple):
    """Columns of consecutive vertex lines; the neighbours are 0-based.

    Weights are float64 if the lines were read as decimals.
    """

    counts: IntArray
    neighbours: IntArray
    edge_weights: npt.NDArray[Any]
    vertex_weights: npt.NDArray[Any]


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
    if header.sizes:
        LOGGER.warning("jetpy ignores the vertex sizes in %s; every vertex has size 1", name)
    if len(whole.counts) < header.n:
        raise FileFormatError(f"the file ends after {len(whole.counts)} of {header.n} vertex lines")
    entries, expected = len(whole.neighbours), 2 * header.m
    wrong_count = (
        f"line {header.line}: the header announces {header.m} edges, so {expected} neighbours in "
        f"all, but the file lists {entries}"
    )
    try:
        graph = graph_from_csr(
            np.concatenate(([0], np.cumsum(whole.counts, dtype=np.int64))),
            whole.neighbours,
            whole.edge_weights if header.edge_weights else None,
            whole.vertex_weights if header.vertex_weights else None,
            rules=rules,
            name=name,
            naming=_LineNaming(lines),
        )
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
    blocks = [Lines(nothing, nothing, nothing, nothing)]
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
    """Write a graph, with vertex or edge weights only if they are not all 1."""
    with_vertices = bool((graph.vertex_weights != 1).any())
    with_edges = bool((graph.edge_weights != 1).any())
    code = {(False, False): "", (False, True): " 1", (True, False): " 10", (True, True): " 11"}
    stream.write(f"{graph.n} {graph.m}{code[with_vertices, with_edges]}\n".encode())
    for start, stop in graph.row_blocks():
        entries = slice(graph.indptr[start], graph.indptr[stop])
        counts = np.diff(graph.indptr[start : stop + 1])
        values = graph.indices[entries] + np.int32(1)
        if with_edges:
            values = np.column_stack((values, graph.edge_weights[entries])).ravel()
            counts *= 2
        if with_vertices:
            values = np.insert(values, np.cumsum(counts) - counts, graph.vertex_weights[start:stop])
            counts += 1
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
    found = _HEADER.fullmatch(line)
    if found is None:
        raise FileFormatError(
            f"line {number}: the header is {show(line.strip())}; it must be 'n m [fmt [ncon]]', "
            "where fmt has at most three binary digits"
        )
    n, m = int(found[1]), int(found[2])
    if n >= INT32_MAX or 2 * m > INT32_MAX:
        raise FileFormatError(
            f"line {number}: {n} vertices and {m} edges are too many; there must be fewer than "
            "2**31 - 1 vertices and 2**30 edges"
        )
    sizes, vertex_weights, edge_weights = (bit == ord("1") for bit in (found[3] or b"").zfill(3))
    constraints = int(found[4] or b"1")
    if constraints > 1:
        raise FileFormatError(
            f"line {number}: ncon is {constraints}; a graph file may have one weight for each "
            "vertex. Give several by vertex_weights= (--vertex-weights)"
        )
    if found[4] and vertex_weights != (constraints == 1):
        raise FileFormatError(
            f"line {number}: ncon is {constraints}, but fmt says that there are "
            f"{'' if vertex_weights else 'no '}vertex weights"
        )
    return Header(n, m, sizes, vertex_weights, edge_weights, number)


def _remedies(header: Header, error: NumberError) -> str:
    """Return the remedies for a number that is not an integer; a neighbour's id has none."""
    place = error.place - header.sizes - header.vertex_weights
    if place == -1 and header.vertex_weights:
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
    fields = ["a vertex size"] * header.sizes + ["a vertex weight"] * header.vertex_weights
    vertex_weights = edge_weights = values[:0]
    if fields:
        _refuse(rows, counts < len(fields), f"the line must start with {' and '.join(fields)}")
        starts = np.cumsum(counts) - counts
        vertex_weights = values[starts + len(fields) - 1]
        rest = np.ones(len(values), bool)
        for field in range(len(fields)):
            rest[starts + field] = False
        values, counts = values[rest], counts - len(fields)
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
    return Lines(counts.astype(np.int32), neighbours, edge_weights, vertex_weights)


def _refuse(rows: Rows, wrong: npt.NDArray[np.bool_], why: str) -> None:
    if wrong.any():
        raise FileFormatError(f"line {rows.lines[wrong.argmax()]}: {why}")
