"""Tables of edges between named vertices: data frames and Arrow tables, through narwhals."""

from __future__ import annotations

from typing import Any

import numpy as np

from jetpy.build import graph_of
from jetpy.convert.networks import both_ways
from jetpy.convert.raw import Names, Raw, Rules
from jetpy.errors import GraphError
from jetpy.graph import Graph


def from_edges(
    table: Any,
    source: str,
    target: str,
    *,
    weight: str | None = None,
    repair: bool = False,
    scale: bool = False,
    name: str = "graph",
) -> Graph:
    """Make a `Graph` of a table of undirected edges, a row each, between vertices of any names.

    Parameters
    ----------
    table : data frame of pandas, polars, ..., or Arrow table
        Whatever narwhals takes.
    source, target : str
        Columns that hold the names of the ends.
    weight : str, optional
        Column of the edge weights; 1 by default.
    repair, scale, name
        As for `as_graph`: `repair` adds up the weights of an edge that is listed several times.

    Returns
    -------
    Graph
        Its `names` are those of the vertices, as they first appear; `Partition.as_dict` and
        `Partition.parts_of` go back to them.

    Raises
    ------
    GraphError
        If a column is missing, a name is, or the edges break a rule; or without narwhals.

    Examples
    --------
    >>> table = {"from": ["a", "b"], "to": ["b", "c"]}
    >>> from_edges(table, "from", "to").names
    ('a', 'b', 'c')
    """
    columns = _columns(table, [source, target] + ([weight] if weight is not None else []))
    number: dict[Any, int] = {}
    for name_of_end in (one for row in zip(columns[0], columns[1], strict=True) for one in row):
        number.setdefault(name_of_end, len(number))
    missing = [one for one in number if one is None or one != one]
    if missing:
        raise GraphError(f"a name in {source!r} or {target!r} is missing")
    u, v = (
        np.fromiter((number[one] for one in column), np.int32, len(column))
        for column in columns[:2]
    )
    names = tuple(number)
    weights = np.asarray(columns[2]) if weight is not None else None
    u, v, weights = both_ways(u, v, weights)
    raw = Raw(
        v,
        sources=u,
        n=len(names),
        edge_weights=weights,
        naming=Names(names, "vertex"),
        names=names,
    )
    return graph_of(raw, Rules(repair=repair, scale=scale), name)


def _columns(table: Any, names: list[str]) -> list[list[Any]]:
    """Return columns of a table as lists."""
    if not isinstance(table, dict):
        try:
            import narwhals
        except ImportError:
            raise GraphError("tables of edges need narwhals: pip install narwhals") from None
        try:
            frame = narwhals.from_native(table, eager_only=True)
        except TypeError as error:
            raise GraphError(f"this is no table that narwhals takes: {error}") from None
        table = {name: frame[name].to_list() for name in names if name in frame.columns}
    for name in names:
        if name not in table:
            raise GraphError(f"the table has no column {name!r}")
    return [list(table[name]) for name in names]
