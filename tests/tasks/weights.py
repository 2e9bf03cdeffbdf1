"""Graphs with other weights, and with their entries in another order."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from jetpy.graph.csr import Graph


def reweighted(graph: Graph, seed: int, most: int = 5, least: int = 0) -> Graph:
    """Return a graph with random weights from `least` to `most`."""
    rng = np.random.default_rng(seed)
    starts = np.repeat(np.arange(graph.n), np.diff(graph.indptr))
    low, high = np.minimum(starts, graph.indices), np.maximum(starts, graph.indices)
    edges, places = np.unique(low.astype(np.int64) * graph.n + high, return_inverse=True)
    weights = rng.integers(least, most + 1, len(edges), np.int32)[places]
    own = rng.integers(least, most + 1, graph.n, np.int32)
    return replace(graph, edge_weights=weights, vertex_weights=own)


def permuted(graph: Graph, seed: int) -> Graph:
    """Return the same graph with the entries of each row in random order."""
    rng = np.random.default_rng(seed)
    starts = np.repeat(np.arange(graph.n), np.diff(graph.indptr))
    order = np.lexsort((rng.random(len(starts)), starts))
    return replace(graph, indices=graph.indices[order], edge_weights=graph.edge_weights[order])
