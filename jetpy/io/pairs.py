"""Tables with one edge per line, shared by edge lists and Matrix Market files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import numpy.typing as npt

from jetpy.errors import FileFormatError
from jetpy.graph.csr import Graph, IntArray
from jetpy.graph.raw import Rules
from jetpy.graph.validate import Naming, how_else
from jetpy.io.text import LineNumbers, NumberError, Rows, are_no_integers, plain, read_rows

VERTICES_LINE = re.compile(rb"\s*[#%]\s*vertices\s+(\d{1,10})\s*", re.IGNORECASE)
"""A comment that declares the number of vertices."""
IDS = 2
"""Number of ids on each line; what follows is a weight."""


class Table(NamedTuple):
    """Edges in the order of a file.

    Attributes
    ----------
    columns : numbers, shape (e, 2) or (e, 3)
        Ids of the two vertices, and the weight.
    lines : LineNumbers
        Line of each edge.
    """

    columns: npt.NDArray[Any]
    lines: LineNumbers


class PairNaming(Naming):
    """Names of edges, with the lines that list them.

    Parameters
    ----------
    u, v : int32, shape (e,), 0-based ends of the edges
    lines : LineNumbers
    base : int
        Id of the first vertex in the file.
    both_ways : bool
        Whether each line lists both directions of an edge.
    """

    def __init__(
        self,
        u: IntArray,
        v: IntArray,
        lines: LineNumbers,
        base: int = 0,
        *,
        both_ways: bool = False,
    ) -> None:
        self.u, self.v, self.lines, self.base = u, v, lines, base
        self.both_ways = both_ways

    def edge(self, u: int, v: int) -> str:
        """Return the name of the edge from `u` to `v`, which a line lists in either direction."""
        here, reverse = ((self.u == a) & (self.v == b) for a, b in ((u, v), (v, u)))
        if self.both_ways or not here.any():
            here |= reverse
        numbers = [self.lines[i] for i in np.flatnonzero(here)[:3].tolist()]
        where = " and ".join(map(str, numbers))
        return f"{super().edge(u, v)} on line{'s' * (len(numbers) > 1)} {where}"


def read_edges(
    stream: BinaryIO, widths: tuple[int, ...], rules: Rules, ids: str, **options: Any
) -> Table:
    """Read edges up to the end of the stream.

    Parameters
    ----------
    stream, options
        As for `read_rows`.
    widths : tuple of int
        As for `read_table`.
    rules : Rules
        With `pattern`, any number is a weight; with `scale`, any decimal.
    ids : str
        The rule for ids and its remedy, in messages.

    Raises
    ------
    FileFormatError
        Under the conditions of `read_rows` and `read_table`.
    """
    options = {"decimals": rules.any_weights, "any_number": bool(rules.pattern), **options}
    try:
        return read_table(read_rows(stream, **options), widths)
    except NumberError as error:
        remedy = ids if error.place < IDS else how_else(error.is_scalable)
        raise FileFormatError(f"{error}; {remedy}") from None


def read_table(blocks: Iterable[Rows], widths: tuple[int, ...]) -> Table:
    """Collect lines that all have the same number of values, which must be in `widths`.

    Empty lines are skipped.

    Raises
    ------
    FileFormatError
        If a line has another number of values; the message names the line.
    """
    tables: list[npt.NDArray[Any]] = []
    lines = LineNumbers()
    width = None
    for rows in blocks:
        filled = rows.counts > 0
        counts, numbers = rows.counts[filled], rows.lines[filled]
        if not len(counts):
            continue
        if width is None:
            width = int(counts[0])
            if width not in widths:
                expected = " or ".join(map(str, widths))
                raise FileFormatError(
                    f"line {numbers[0]}: the line has {width} numbers; it must have {expected}"
                )
        if (counts != width).any():
            i = int((counts != width).argmax())
            raise FileFormatError(
                f"line {numbers[i]}: the line has {counts[i]} numbers, but the lines before it "
                f"have {width}"
            )
        tables.append(rows.values.reshape(-1, width))
        lines.extend(numbers)
    if not tables:
        return Table(np.empty((0, widths[0]), np.int32), lines)
    return Table(np.concatenate(tables), lines)


def check_vertices(table: Table, first: int, last: int) -> None:
    """Check that all ids are integers in first..last.

    Raises
    ------
    FileFormatError
        If one is not; the message names the first offending line.
    """
    ids = table.columns[:, :IDS]
    wrong = are_no_integers(ids, first, last)
    if wrong.any():
        i, j = np.argwhere(wrong)[0]
        raise FileFormatError(
            f"line {table.lines[i]}: {plain(ids[i, j])} is not a vertex; ids must be in "
            f"{first}..{last}"
        )


def edge_tables(graph: Graph) -> Iterator[IntArray]:
    """Yield blocks of the undirected edges, each edge once.

    Yields
    ------
    int32, shape (e, 2) or (e, 3)
        Columns u < v, and the weight unless all edge weights of the graph are 1.
    """
    with_weights = bool((graph.edge_weights != 1).any())
    for start, stop in graph.row_blocks():
        entries = slice(graph.indptr[start], graph.indptr[stop])
        sources, targets = graph.sources(start, stop), graph.indices[entries]
        columns = (sources, targets, graph.edge_weights[entries])[: 2 + with_weights]
        yield np.column_stack(columns)[sources < targets]
