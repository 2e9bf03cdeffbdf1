"""Tables of edges between named vertices: data frames and Arrow tables, read by narwhals."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import chain
from typing import Any

import numpy as np

from jetpy.errors import GraphError
from jetpy.graph.build import graph_of
from jetpy.graph.convert.lazy_tables import in_memory
from jetpy.graph.convert.networks import both_ways
from jetpy.graph.csr import Graph
from jetpy.graph.raw import Names, Raw, Rules
from jetpy.graph.validate import ROW_WEIGHTS


class _NamesInRows(Names):
    """Names in messages about a table, whose options are those of `from_edges`."""

    edge_weights = ROW_WEIGHTS
    repeated = "is listed more than once, in either direction"
    repair = "repair=True"


def from_edges(
    table: Any,
    source: str,
    target: str,
    *,
    weight: str | None = None,
    nodes: Iterable[Any] | None = None,
    repair: bool = False,
    scale: bool = False,
    name: str = "graph",
) -> Graph:
    """Make a `Graph` from a table of undirected edges, one per row, between named vertices.

    Parameters
    ----------
    table : data frame of pandas, polars, ..., Arrow table, or mapping from name to column
        A table in memory that narwhals accepts.
    source, target : str
        Columns that hold the names of the ends.
    weight : str, optional
        Column of the edge weights; 1 by default.
    nodes : iterable of names, optional
        Distinct names of all vertices, including isolated ones, in the order of the vertex ids. By
        default, the vertices are the ends of the edges, in the order in which they first appear.
    repair, scale, name
        As for `as_graph`; `repair` adds the weights of duplicate edges.

    Returns
    -------
    Graph
        Its `names` are the vertex names, indexed by vertex id. `Partition.as_dict` and
        `Partition.parts_of` map parts back to names.

    Raises
    ------
    GraphError
        If a column or an entry is missing, or the edges break a rule; if an end of an edge is not
        in `nodes`, or `nodes` has duplicates; if narwhals is not installed, except for mappings.

    Examples
    --------
    >>> table = {"from": ["a", "b"], "to": ["b", "c"]}
    >>> from_edges(table, "from", "to").names
    ('a', 'b', 'c')
    >>> from_edges(table, "from", "to", nodes=["d", "c", "b", "a"])  # d has no edge
    Graph('graph', n=4, m=2)
    """
    wanted = [source, target] if weight is None else [source, target, weight]
    columns = _columns(table, wanted)
    try:
        number = _numbered(chain.from_iterable(zip(*columns[:2], strict=True)))
        if nodes is not None:
            number = _numbers_in(listed(nodes), number)
    except TypeError as error:
        raise GraphError(f"names of vertices must be hashable: {error}") from None
    u, v = (
        np.fromiter((number[end] for end in column), np.int32, len(column))
        for column in columns[:2]
    )
    names = tuple(number)
    weights = None if weight is None else np.fromiter(columns[2], object, len(columns[2]))
    u, v, weights = both_ways(u, v, weights)
    raw = Raw(
        v,
        sources=u,
        n=len(names),
        edge_weights=weights,
        naming=_NamesInRows(names, "vertex"),
        names=names,
    )
    return graph_of(raw, Rules(repair=repair, scale=scale), name)


def _numbered(names: Iterable[Any]) -> dict[Any, int]:
    """Number the distinct names from 0, in the order of their first appearance."""
    return {name: i for i, name in enumerate(dict.fromkeys(names))}


def _numbers_in(nodes: list[Any], ends: Iterable[Any]) -> dict[Any, int]:
    """Return the index of each name in `nodes`.

    Raises
    ------
    GraphError
        If `nodes` has duplicates or lacks a name in `ends`.
    """
    number = _numbered(nodes)
    if len(number) < len(nodes):
        twice, _ = Counter(nodes).most_common(1)[0]
        raise GraphError(f"nodes contains {twice!r} more than once; each name must be unique")
    unknown = next((end for end in ends if end not in number), None)
    if unknown is not None:
        raise GraphError(f"an edge ends at {unknown!r}, which is not in nodes")
    return number


def listed(column: Any) -> list[Any]:
    """Return a column of any package, or an array, as a list of Python objects."""
    for way in ("to_pylist", "to_list", "tolist"):
        if hasattr(column, way):
            return list(getattr(column, way)())
    return list(column)


def _columns(table: Any, names: list[str]) -> list[list[Any]]:
    """Return columns of a table as lists of equal length.

    Raises
    ------
    GraphError
        If a column or an entry is missing, the lengths differ, or the object is not a table.
    """
    if isinstance(table, Mapping):
        known, found = list(table), {name: table[name] for name in names if name in table}
    else:
        frame = _frame(table)
        known, found = frame.columns, {name: frame[name] for name in names if name in frame.columns}
    for name in names:
        if name not in found:
            raise GraphError(
                f"the table has no column {name!r}; its columns are {', '.join(map(repr, known))}"
            )
    columns = [listed(found[name]) for name in names]
    for name, column in zip(names, columns, strict=True):
        if len(column) != len(columns[0]):
            raise GraphError(
                f"column {names[0]!r} has {len(columns[0])} rows, but {name!r} has {len(column)}"
            )
        for i, value in enumerate(column):
            if value is None or type(value).__name__ == "NAType" or value != value:
                raise GraphError(f"row {i} has no value in column {name!r}")
    return columns


def _frame(table: Any) -> Any:
    """Return a table as a narwhals data frame."""
    if isinstance(table, str | os.PathLike):
        raise GraphError(
            f"the table is the path {os.fspath(table)!r}; it must be a table in memory: read the "
            "file first, for example with pandas.read_csv"
        )
    reading = in_memory(table)
    if reading:
        raise GraphError(
            f"the table is a {type(table).__name__!r}, which is not in memory; give {reading}"
        )
    if isinstance(table, np.ndarray | list | tuple):
        raise GraphError(
            f"the table is a {type(table).__name__!r}; it must be a dict of columns, or a table in "
            "memory that narwhals supports"
        )
    if hasattr(table, "read_all"):  # a stream of Arrow
        table = table.read_all()
    try:
        import narwhals
    except ImportError:
        raise GraphError(
            "a table that is not a dict of columns needs narwhals: pip install narwhals"
        ) from None
    try:
        return narwhals.from_native(table, eager_only=True)
    except TypeError as error:
        raise GraphError(
            f"the table is a {type(table).__name__!r}; it must be a dict of columns, or a table in "
            f"memory that narwhals supports: {error}"
        ) from None
