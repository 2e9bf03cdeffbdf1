"""METIS on the same problem, for comparison."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from jetpy.graph.csr import Graph, without_free_edges

MAX_THOUSANDTHS = 10**6


@dataclass(frozen=True, eq=False)
class Baseline:
    """A partition by METIS: the part of each vertex, int32, shape (n,), and its wall seconds."""

    parts: npt.NDArray[np.int32]
    seconds: float


def unsupported_order_reason(graph: Graph) -> str:
    """Return the reason why METIS cannot order a matrix; empty if it can."""
    if graph.is_large:
        return "the matrix is too large for METIS"
    return "" if graph.n else "METIS needs at least one row"


def metis_order(graph: Graph, seed: int) -> tuple[npt.NDArray[np.int32], float]:
    """Order a matrix by METIS's nested dissection on one thread.

    Parameters
    ----------
    graph : Graph
        Supported according to `unsupported_order_reason`.
    seed : int
        METIS gets `seed` + 1, as in `metis`.

    Returns
    -------
    int32, shape (n,)
        The rows in order of elimination.
    float
        Wall seconds.
    """
    from jetpy.metis import CSRAdjacency, Options, nested_dissection

    indptr, indices = (array.astype(np.int64) for array in (graph.indptr, graph.indices))
    adjacency = CSRAdjacency(indptr, indices)
    started = time.perf_counter()
    perm, _ = nested_dissection(adjacency, options=Options(seed=seed + 1))
    seconds = time.perf_counter() - started
    return np.asarray(perm, np.int32), seconds


def unsupported_reason(graph: Graph, k: int) -> str:
    """Return the reason why METIS cannot partition a graph into k parts; empty if it can."""
    if graph.is_large:
        return "the graph is too large for METIS"
    if not 1 < k <= graph.n or graph.total_edge_weight == 0:
        return "METIS needs at least one edge, at least two parts, and a vertex for each part"
    return ""


def metis(graph: Graph, k: int, limit: int, seed: int) -> Baseline:
    """Partition by METIS's k-way method on one thread, with nearly the same limit.

    METIS's imbalance is a positive integer in thousandths: the largest one that keeps the limit, or
    1. The arrays are 64-bit, so METIS need not convert them.

    Parameters
    ----------
    graph : Graph
        Not empty, and supported according to `unsupported_reason`.
    k : int
    limit : int
        Maximum part weight.
    seed : int
        METIS gets `seed` + 1, because its seeds 0 and 1 give the same result, as in ``srand``.
    """
    from jetpy.metis import CSRAdjacency, Options, part_graph

    given = without_free_edges(graph)
    thousandths = math.floor(1000 * (limit * k / max(graph.total_vertex_weight, 1) - 1) + 1e-9)
    options = Options(seed=seed + 1, ufactor=min(max(1, thousandths), MAX_THOUSANDTHS))
    indptr, indices, edge_weights, vertex_weights = (
        array.astype(np.int64)
        for array in (given.indptr, given.indices, given.edge_weights, given.vertex_weights)
    )
    started = time.perf_counter()
    _, parts = part_graph(
        k,
        adjacency=CSRAdjacency(indptr, indices),
        vweights=vertex_weights,
        eweights=edge_weights,
        options=options,
        recursive=False,
    )
    seconds = time.perf_counter() - started
    return Baseline(np.asarray(parts, np.int32), seconds)
