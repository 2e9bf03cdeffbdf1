"""Conditions that graphs are partitioned under: other weights, other k, other graphs of a kind."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.sparse import csgraph

from bench.tools import IMBALANCE
from jetpy import Graph, as_graph

K = 16
"""Number of parts, unless the condition is about it."""
SHARE = 0.03
"""Of the edges that are dropped or contracted."""

Random = np.random.Generator
Ints = npt.NDArray[np.int64]


def _same(graph: Graph, rng: Random) -> Graph:
    return graph


def _vertex(graph: Graph, rng: Random) -> Graph:
    return _weighted(graph, vertex_weights=rng.integers(1, 101, graph.n))


def _heavy(graph: Graph, rng: Random) -> Graph:
    """Pareto weights, none of which is more than a part may weigh."""
    weights = np.floor(1 + rng.pareto(1.3, graph.n))
    return _weighted(graph, vertex_weights=np.minimum(weights, min(2000, graph.n // K)))


def _edge(graph: Graph, rng: Random) -> Graph:
    u, v, _ = _edges(graph)
    return _assembled(graph, u, v, rng.integers(1, 98, len(u)), graph.vertex_weights)


def _both(graph: Graph, rng: Random) -> Graph:
    return _edge(_vertex(graph, rng), rng)


def _degree(graph: Graph, rng: Random) -> Graph:
    return _weighted(graph, vertex_weights=np.maximum(graph.degrees, 1))


def _relabelled(graph: Graph, rng: Random) -> Graph:
    number = rng.permutation(graph.n)
    weights = np.empty_like(graph.vertex_weights)
    weights[number] = graph.vertex_weights
    u, v, edge_weights = _edges(graph)
    return _assembled(graph, number[u], number[v], edge_weights, weights)


def _dropped(graph: Graph, rng: Random) -> Graph:
    u, v, weights = _edges(graph)
    kept = rng.random(len(u)) >= SHARE
    return _assembled(graph, u[kept], v[kept], weights[kept], graph.vertex_weights)


def _contracted(graph: Graph, rng: Random) -> Graph:
    u, v, weights = _edges(graph)
    chosen = rng.random(len(u)) < SHARE
    joined = sp.coo_array((chosen[chosen], (u[chosen], v[chosen])), shape=(graph.n, graph.n))
    coarse = csgraph.connected_components(joined, directed=False)[1]
    masses = np.bincount(coarse, graph.vertex_weights)
    return _assembled(graph, coarse[u], coarse[v], weights, masses)


@dataclass(frozen=True)
class Condition:
    """How a graph is altered before it is partitioned, and into how many parts how evenly.

    `k` None stands for all that the user asks for.
    """

    k: int | None = K
    imbalance: float = IMBALANCE
    alter: Callable[[Graph, Random], Graph] = _same

    def apply(self, graph: Graph, name: str) -> Graph:
        """Return the altered graph; what is random depends on the name of the graph alone."""
        return self.alter(graph, np.random.default_rng(zlib.crc32(name.encode())))


CONDITIONS = {
    "plain": Condition(k=None),
    "vertex": Condition(alter=_vertex),
    "heavy": Condition(alter=_heavy),
    "edge": Condition(alter=_edge),
    "both": Condition(alter=_both),
    "degree": Condition(alter=_degree),
    "k2": Condition(k=2),
    "k7": Condition(k=7),
    "k1000": Condition(k=1000),
    "imbalance-0": Condition(imbalance=0.0),
    "imbalance-0.001": Condition(imbalance=0.001),
    "imbalance-0.1": Condition(imbalance=0.1),
    "relabelled": Condition(alter=_relabelled),
    "dropped": Condition(alter=_dropped),
    "contracted": Condition(alter=_contracted),
}


def _weighted(graph: Graph, vertex_weights: npt.NDArray[np.generic]) -> Graph:
    arrays = (graph.indptr, graph.indices, graph.edge_weights, vertex_weights.astype(np.int32))
    return as_graph(arrays, name=graph.name)


def _edges(graph: Graph) -> tuple[Ints, Ints, Ints]:
    """Ends and weights of the edges, each of them once."""
    u, v = graph.sources(0, graph.n).astype(np.int64), graph.indices.astype(np.int64)
    once = u < v
    return u[once], v[once], graph.edge_weights[once].astype(np.int64)


def _assembled(
    graph: Graph, u: Ints, v: Ints, weights: Ints, vertex_weights: npt.NDArray[np.generic]
) -> Graph:
    """Return a graph of the name of another; loops are left out, parallel edges added up."""
    n, proper = len(vertex_weights), u != v
    half = sp.coo_array((weights[proper], (u[proper], v[proper])), shape=(n, n)).tocsr()
    matrix = half + half.T.tocsr()
    matrix.sort_indices()
    arrays = (matrix.indptr, matrix.indices, matrix.data, vertex_weights.astype(np.int32))
    return as_graph(arrays, name=graph.name)
