"""Graphs of networkx, igraph and NetworKit; jetpy never imports these packages."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import numpy.typing as npt

from jetpy.errors import GraphError
from jetpy.graph.raw import Names, Raw

USUAL = "weight"
"""Default name of the weight attribute; a graph may lack this attribute."""
MISSING = object()
"""Value of an attribute that an edge or a node lacks."""


def is_from(package: str, kind: str, data: Any) -> bool:
    """Return whether `data` is an instance of a class of a package that is already imported."""
    module = sys.modules.get(package)
    return module is not None and isinstance(data, getattr(module, kind, ()))


def from_networkx(graph: Any, weight: str | None, node_weight: str | None) -> Raw:
    """Convert a networkx graph; the named attributes are weights, 1 where they are missing.

    Raises
    ------
    GraphError
        If no edge or node has the named attribute, unless the name is `USUAL`.
    """
    nodes = list(graph)
    index = {node: i for i, node in enumerate(nodes)}
    ends = list(graph.edges())
    u = np.fromiter((index[edge[0]] for edge in ends), np.int32, len(ends))
    v = np.fromiter((index[edge[1]] for edge in ends), np.int32, len(ends))
    of_edges = [edge[-1] for edge in graph.edges(data=weight, default=MISSING)]
    of_nodes = [value for _, value in graph.nodes(data=node_weight, default=MISSING)]
    weights = attribute(weight, of_edges, "edge")
    masses = attribute(node_weight, of_nodes, "node")
    return of_nodes_by_name(nodes, u, v, weights, masses, is_directed=graph.is_directed())


def of_nodes_by_name(
    nodes: list[Any],
    u: npt.NDArray[Any],
    v: npt.NDArray[Any],
    edge_weights: npt.NDArray[Any] | None,
    vertex_weights: npt.NDArray[Any] | None,
    *,
    is_directed: bool,
) -> Raw:
    """Return a graph of named nodes; undirected edges (u, v) are listed once."""
    if not is_directed:
        u, v, edge_weights = both_ways(u, v, edge_weights)
    weights = edge_weights, vertex_weights
    return Raw(v, None, *weights, sources=u, n=len(nodes), naming=Names(nodes), names=nodes)


def from_igraph(graph: Any, weight: str | None, node_weight: str | None) -> Raw:
    """Convert an igraph graph; distinct values of its attribute "name" become vertex names.

    Raises
    ------
    GraphError
        If the graph lacks the named attribute, unless the name is `USUAL`.
    """
    u, v = np.array(graph.get_edgelist(), np.int64).reshape(-1, 2).T
    weights = attribute(weight, _values(graph.es, weight), "edge")
    masses = attribute(node_weight, _values(graph.vs, node_weight), "node")
    called = _values(graph.vs, "name")
    names = called if MISSING not in called and len(set(called)) == len(called) else None
    if not graph.is_directed():
        u, v, weights = both_ways(u, v, weights)
    return Raw(
        v,
        sources=u,
        n=graph.vcount(),
        edge_weights=weights,
        vertex_weights=masses,
        naming=None if names is None else Names(names, "vertex"),
        names=names,
    )


def from_networkit(graph: Any, weight: str | None) -> Raw:
    """Convert a NetworKit graph; ignore its edge weights if `weight` is None."""
    rows = list(graph.iterEdgesWeights())
    u = np.array([row[0] for row in rows], np.int64)
    v = np.array([row[1] for row in rows], np.int64)
    weights = np.array([row[2] for row in rows]) if weight and graph.isWeighted() else None
    if not graph.isDirected():
        u, v, weights = both_ways(u, v, weights)
    return Raw(v, sources=u, n=graph.upperNodeIdBound(), edge_weights=weights)


def both_ways(
    u: npt.NDArray[Any], v: npt.NDArray[Any], weights: npt.NDArray[Any] | None
) -> tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any] | None]:
    """Return undirected edges in both directions; a self-loop appears once."""
    other = u != v
    if weights is not None:
        weights = np.concatenate((weights, weights[other]))
    return np.concatenate((u, v[other])), np.concatenate((v, u[other])), weights


def _values(sequence: Any, name: str | None) -> list[Any]:
    """Return an attribute of all edges or vertices of an igraph graph; `MISSING` if absent."""
    if name in sequence.attributes():
        return list(sequence[name])
    return [MISSING] * len(sequence)


def attribute(name: str | None, values: list[Any], kind: str) -> npt.NDArray[Any] | None:
    """Return the values of an attribute as weights, 1 where missing; None means all ones."""
    if name is None or not values:
        return None
    if all(value is MISSING for value in values):
        if name != USUAL:
            raise GraphError(f"no {kind} has the attribute {name!r}")
        return None
    filled = (1 if value is MISSING else value for value in values)
    return np.fromiter(filled, object, len(values))
