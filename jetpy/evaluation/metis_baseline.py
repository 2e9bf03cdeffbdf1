"""METIS on the same problem, to compare with."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from jetpy.graph.csr import Graph

MAX_THOUSANDTHS = 10**6


@dataclass(frozen=True, eq=False)
class Baseline:
    """What METIS found: the part of each vertex, int32, shape (n,), and its wall seconds."""

    parts: npt.NDArray[np.int32]
    seconds: float


def unsupported_reason(graph: Graph, k: int) -> str:
    """Return why METIS cannot be asked for k parts of a graph, or nothing."""
    if graph.is_large:
        return "the graph is too large for METIS"
    if not 1 < k <= graph.n or graph.m == 0:
        return "METIS needs edges, two parts or more, and a vertex for each"
    return ""


def metis(graph: Graph, k: int, limit: int, seed: int) -> Baseline:
    """Partition by METIS alone: k-way, by one thread, with the same limit as near as it takes one.

    METIS has whole thousandths of imbalance, 1 at least: the largest that keeps the limit. It gets
    arrays of 64 bits, which it need not convert.

    Parameters
    ----------
    graph : Graph
        Not empty, for which `unsupported_reason` has nothing to say.
    k : int
    limit : int
        What a part may weigh.
    seed : int
        METIS gets the next one: with its seeds 0 and 1 it does the same, as ``srand`` does.
    """
    import pymetis

    thousandths = math.floor(1000 * (limit * k / graph.total_vertex_weight - 1) + 1e-9)
    options = pymetis.Options(seed=seed + 1, ufactor=min(max(1, thousandths), MAX_THOUSANDTHS))
    indptr, indices, edge_weights, vertex_weights = (
        array.astype(np.int64)
        for array in (graph.indptr, graph.indices, graph.edge_weights, graph.vertex_weights)
    )
    started = time.perf_counter()
    _, parts = pymetis.part_graph(
        k,
        adjacency=pymetis.CSRAdjacency(indptr, indices),
        vweights=vertex_weights,
        eweights=edge_weights,
        options=options,
        recursive=False,
    )
    seconds = time.perf_counter() - started
    return Baseline(np.asarray(parts, np.int32), seconds)
