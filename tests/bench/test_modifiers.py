"""Random batches, and the graph that is built again after each."""

from __future__ import annotations

import numpy as np

import jetpy
from bench.modifiers import random_batch, rebuilt


def test_rebuilt_graph_is_the_sessions() -> None:
    graph = jetpy.generators.delaunay(500)
    live = jetpy.IncrementalPartitioner(graph, 4, preset="igkway", backend="cpu", threads=1)
    rng = np.random.default_rng(0)
    for _ in range(5):
        batch = random_batch(rng, live, graph, 100, near=False)
        graph = rebuilt(graph, live.vertices, len(live.partition), batch)
        live.update(batch)
        for ours, theirs in zip(_arrays(graph), _arrays(live.graph), strict=True):
            np.testing.assert_array_equal(ours, theirs)


def _arrays(graph: jetpy.Graph) -> list[np.ndarray]:
    order = np.lexsort([graph.indices, graph.sources(0, graph.n)])
    return [graph.indptr, graph.indices[order], graph.edge_weights[order], graph.vertex_weights]
