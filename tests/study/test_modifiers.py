"""Random batches, and the graph that is built again after each."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.sparse import csr_array

import jetpy
from jetpy.study.modifiers import steps


def test_rebuilt_graph_is_the_sessions() -> None:
    mesh = jetpy.generators.delaunay(500)
    u, v = mesh.sources(0, mesh.n), mesh.indices
    edge_weights = (1 + np.minimum(u, v) % 3).astype(np.int32)
    vertex_weights = (1 + np.arange(mesh.n) % 5).astype(np.int32)
    graph = replace(mesh, edge_weights=edge_weights, vertex_weights=vertex_weights)
    live = jetpy.IncrementalPartitioner(graph, 4, preset="igkway", backend="cpu", threads=1)
    for batch, rebuilt, vertices, seconds in steps(graph, 100, 5):
        live.update(batch)
        np.testing.assert_array_equal(vertices, live.vertices)
        for ours, theirs in zip(_arrays(rebuilt), _arrays(live.graph), strict=True):
            np.testing.assert_array_equal(ours, theirs)
        assert seconds > 0


def test_batches_are_the_same_in_each_call_and_need_no_edges() -> None:
    graph = jetpy.as_graph(csr_array((12, 12), dtype=np.int32))
    assert graph.m == 0
    first, again = (list(steps(graph, 50, 3)) for _ in range(2))
    assert [step.graph.n for step in first] == [12] * 3
    for one, other in zip(first, again, strict=True):
        np.testing.assert_array_equal(one.graph.indices, other.graph.indices)
        np.testing.assert_array_equal(one.vertices, other.vertices)


def _arrays(graph: jetpy.Graph) -> list[np.ndarray]:
    order = np.lexsort([graph.indices, graph.sources(0, graph.n)])
    return [graph.indptr, graph.indices[order], graph.edge_weights[order], graph.vertex_weights]
