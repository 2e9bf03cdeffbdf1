"""Graphs of networkx, igraph and NetworKit, whose packages are never imported here."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from jetpy.convert.raw import Names, Raw
from jetpy.errors import GraphError


def is_from(package: str, kind: str, data: Any) -> bool:
    """Whether something is of a class of a package, if that has been imported."""
    module = sys.modules.get(package)
    return module is not None and isinstance(data, getattr(module, kind))


def from_networkx(graph: Any, weight: str | None, node_weight: str | None) -> Raw:
    """Return a graph of networkx; the attributes named are weights, 1 where they are missing."""
    nodes = list(graph)
    index = {node: i for i, node in enumerate(nodes)}
    edges = list(graph.edges(data=weight, default=1)) if weight else list(graph.edges())
    u = np.fromiter((index[edge[0]] for edge in edges), np.int32, len(edges))
    v = np.fromiter((index[edge[1]] for edge in edges), np.int32, len(edges))
    naming = Names(nodes)
    weights = masses = None
    if weight:
        values = [edge[-1] for edge in edges]
        weights = _numbers(values, lambda i: naming.edge(int(u[i]), int(v[i])))
    if node_weight:
        own = [value for _, value in graph.nodes(data=node_weight, default=1)]
        masses = _numbers(own, naming.vertex)
    if not graph.is_directed():
        u, v, weights = both_ways(u, v, weights)
    return Raw(
        v,
        sources=u,
        n=len(nodes),
        edge_weights=weights,
        vertex_weights=masses,
        naming=naming,
        names=nodes,
    )


def from_igraph(graph: Any, weight: str | None, node_weight: str | None) -> Raw:
    """Return a graph of igraph; attributes that it lacks count as 1 everywhere."""
    pairs = np.array(graph.get_edgelist(), np.int64).reshape(-1, 2)
    weights = graph.es[weight] if weight in graph.es.attributes() else None
    masses = graph.vs[node_weight] if node_weight in graph.vs.attributes() else None
    names = list(graph.vs["name"]) if "name" in graph.vs.attributes() else None
    naming = None if names is None else Names(names, "vertex")
    u, v = pairs[:, 0], pairs[:, 1]
    values = None if weights is None else np.asarray(weights)
    if not graph.is_directed():
        u, v, values = both_ways(u, v, values)
    return Raw(
        v,
        sources=u,
        n=graph.vcount(),
        edge_weights=values,
        vertex_weights=masses,
        naming=naming,
        names=names,
    )


def from_networkit(graph: Any, weight: str | None) -> Raw:
    """Return a graph of NetworKit, with its weights unless `weight` is None."""
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
    """Return undirected edges in both directions; a self-loop has one only."""
    other = u != v
    if weights is not None:
        weights = np.concatenate((weights, weights[other]))
    return np.concatenate((u, v[other])), np.concatenate((v, u[other])), weights


def _numbers(values: list[Any], source: Callable[[int], str]) -> npt.NDArray[Any]:
    """Return `values` as an array of numbers; what is no number (None, a text) is refused."""
    for i, value in enumerate(values):
        if not isinstance(value, int | float | np.integer | np.floating):
            raise GraphError(f"{source(i)} has weight {value!r}, which is not a whole number")
    return np.asarray(values, dtype=None if values else np.int32)
