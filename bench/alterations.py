"""Conditions of `bench.conditions`: other weights, numbers of parts, limits and altered graphs."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from jetpy import Graph, as_graph
from jetpy.study.tools import IMBALANCE

K = 16
"""Number of parts, unless the condition sets it."""

Random = np.random.Generator


def _unchanged(graph: Graph, rng: Random) -> Graph:
    return graph


def _vertex(graph: Graph, rng: Random) -> Graph:
    return _weighted(graph, vertex_weights=rng.integers(1, 101, graph.n))


def _heavy(graph: Graph, rng: Random) -> Graph:
    """Assign Pareto weights, limited so that a part can hold the heaviest vertex."""
    weights = np.floor(1 + rng.pareto(1.3, graph.n))
    return _weighted(graph, vertex_weights=np.minimum(weights, min(2000, graph.n // K)))


def _few_heavy(graph: Graph, rng: Random) -> Graph:
    """Let one vertex in 20 weigh 50, as in simulations of several kinds of physics."""
    return _weighted(graph, vertex_weights=np.where(rng.random(graph.n) < 0.05, 50, 1))


def _edge(graph: Graph, rng: Random) -> Graph:
    """Assign a weight to each undirected edge."""
    u, v = graph.sources(0, graph.n), graph.indices
    is_first = u < v
    weights = rng.integers(1, 98, int(is_first.sum()))
    ends = u[is_first], v[is_first]
    half = sp.coo_array((weights, ends), shape=(graph.n, graph.n)).tocsr()
    matrix = half + half.T.tocsr()
    matrix.sort_indices()
    arrays = (matrix.indptr, matrix.indices, matrix.data, graph.vertex_weights)
    return as_graph(arrays, name=graph.name)


def _both(graph: Graph, rng: Random) -> Graph:
    return _edge(_vertex(graph, rng), rng)


def _degree(graph: Graph, rng: Random) -> Graph:
    return _weighted(graph, vertex_weights=np.maximum(graph.degrees, 1))


@dataclass(frozen=True)
class Condition:
    """The number of parts, the imbalance, and the alteration of the graph.

    If `k` is None, the graph is partitioned into each number of parts that the user gives.
    """

    k: int | None = K
    imbalance: float = IMBALANCE
    alter: Callable[[Graph, Random], Graph] = _unchanged

    def apply(self, graph: Graph, name: str) -> Graph:
        """Return the altered graph. Random choices depend only on the name of the graph."""
        return self.alter(graph, np.random.default_rng(zlib.crc32(name.encode())))


CONDITIONS = {
    "plain": Condition(k=None),
    "vertex": Condition(alter=_vertex),
    "heavy": Condition(alter=_heavy),
    "few-heavy": Condition(k=100, alter=_few_heavy),
    "edge": Condition(alter=_edge),
    "both": Condition(alter=_both),
    "degree": Condition(alter=_degree),
    "k7": Condition(k=7),
    "imbalance-0.001": Condition(imbalance=0.001),
    "imbalance-0.1": Condition(imbalance=0.1),
}


def _weighted(graph: Graph, vertex_weights: npt.NDArray[np.generic]) -> Graph:
    arrays = (graph.indptr, graph.indices, graph.edge_weights, vertex_weights.astype(np.int32))
    return as_graph(arrays, name=graph.name)
