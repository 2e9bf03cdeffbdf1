"""Graphs of rustworkx, whose nodes and edges carry any Python object."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np

from jetpy.graph.convert.networks import MISSING, USUAL, attribute, is_from, of_nodes_by_name
from jetpy.graph.raw import Raw


def is_rustworkx(data: Any) -> bool:
    """Return whether `data` is a `PyGraph` or a `PyDiGraph`."""
    return any(is_from("rustworkx", kind, data) for kind in ("PyGraph", "PyDiGraph"))


def from_rustworkx(graph: Any, weight: str | None, node_weight: str | None) -> Raw:
    """Convert a rustworkx graph; the indices of its nodes become vertex names.

    An edge weighs what it carries: a number, or the entry `weight` of a mapping. A node weighs the
    entry `node_weight` of the mapping that it carries. What carries neither weighs 1.

    Raises
    ------
    GraphError
        If no edge or node has the named entry, unless the name is `USUAL`.
    """
    nodes = list(graph.node_indices())
    rows = graph.weighted_edge_list()
    place = np.full(max(nodes, default=-1) + 1, -1, np.int64)
    place[nodes] = np.arange(len(nodes))
    u, v = (place[np.fromiter((row[i] for row in rows), np.int64, len(rows))] for i in (0, 1))
    weights = attribute(weight, [_weight(row[2], weight) for row in rows], "edge")
    masses = attribute(node_weight, [_entry(node, node_weight) for node in graph.nodes()], "node")
    is_directed = not is_from("rustworkx", "PyGraph", graph)
    return of_nodes_by_name(nodes, u, v, weights, masses, is_directed=is_directed)


def _weight(carried: Any, name: str | None) -> Any:
    """Return the weight of an edge from what it carries."""
    if name == USUAL and isinstance(carried, Real | Decimal):
        return carried
    return _entry(carried, name)


def _entry(carried: Any, name: str | None) -> Any:
    return carried.get(name, MISSING) if isinstance(carried, Mapping) else MISSING
