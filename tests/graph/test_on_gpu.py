"""CuPy arrays on a real GPU; skipped without one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jetpy
from jetpy.errors import GraphError
from jetpy.graph.on_gpu import GraphOnGpu

GRAPH = jetpy.generators.delaunay(20_000, seed=1)
K = 8


def forms(cupy: Any) -> dict[str, Any]:
    """Return the same graph in all forms; some keep the order of edges in `GRAPH`."""
    sparse = pytest.importorskip("cupyx.scipy.sparse")
    weights = cupy.asarray(GRAPH.edge_weights)
    indptr, indices = cupy.asarray(GRAPH.indptr), cupy.asarray(GRAPH.indices)
    sources = cupy.asarray(GRAPH.sources(0, GRAPH.n))
    shape = (GRAPH.n, GRAPH.n)
    return {
        "rows": (indptr, indices),
        "wide rows": (indptr.astype(np.int64), indices.astype(np.int64), weights, None),
        "edge list": cupy.stack([sources, indices]).astype(np.int64),
        "matrix": sparse.csr_matrix((weights.astype(np.float32), indices, indptr), shape),
        "coordinates": sparse.coo_matrix((weights.astype(np.float64), (sources, indices)), shape),
    }


@pytest.mark.parametrize("form", ["rows", "wide rows", "edge list", "matrix", "coordinates"])
def test_parts_equal_those_of_host_arrays(cupy: Any, form: str) -> None:
    graph = jetpy.as_graph(forms(cupy)[form])
    assert isinstance(graph, GraphOnGpu)
    result = jetpy.partition(graph, K, device=True)
    assert result.backend == "cuda"
    assert "indices" not in vars(graph)
    assert isinstance(result.device_parts, cupy.ndarray)
    assert np.array_equal(result.device_parts.get(), result.parts)
    expected = jetpy.partition(jetpy.as_graph(GRAPH), K, backend="cpu")
    assert np.array_equal(result.parts, expected.parts)
    assert jetpy.evaluate(graph, result.device_parts, K).cut == result.cut
    again = jetpy.refine(graph, result.device_parts, K, device=True)
    assert again.cut <= result.cut


def test_repair_happens_on_the_host(cupy: Any) -> None:
    one_way = cupy.asarray([[0, 1, 1], [1, 2, 1]])
    with pytest.raises(GraphError, match="self-loop; repair=True"):
        jetpy.as_graph(one_way)
    repaired = jetpy.as_graph(one_way, repair=True)
    assert not isinstance(repaired, GraphOnGpu)
    assert repaired.m == 2


def test_weights_may_be_on_host_or_gpu(cupy: Any) -> None:
    rows = forms(cupy)["rows"]
    weights = 1 + np.arange(GRAPH.n) % 3
    for given in (weights, cupy.asarray(weights)):
        graph = jetpy.as_graph(rows, vertex_weights=given)
        assert isinstance(graph, GraphOnGpu)
        assert graph.total_vertex_weight == weights.sum()
        assert jetpy.partition(graph, K).feasible


def test_graph_on_the_gpu_can_be_partitioned_on_cpus(cupy: Any) -> None:
    graph = jetpy.as_graph(forms(cupy)["rows"])
    result = jetpy.partition(graph, K, backend="cpu", threads=2)
    assert np.array_equal(result.parts, jetpy.partition(graph, K, backend="cuda").parts)


@pytest.mark.parametrize("non_blocking", [False, True])
def test_work_on_the_callers_stream_is_finished_first(cupy: Any, non_blocking: bool) -> None:
    indptr, indices = cupy.asarray(GRAPH.indptr), cupy.asarray(GRAPH.indices)
    expected = jetpy.partition(jetpy.as_graph(GRAPH), K, backend="cpu")
    with cupy.cuda.Stream(non_blocking=non_blocking):
        late = cupy.zeros_like(indices)
        for _ in range(200):
            late[:] = indices[::-1]
        late[:] = indices
        result = jetpy.partition((indptr, late), K, device=True)
        assert np.array_equal(result.device_parts.get(), expected.parts)
