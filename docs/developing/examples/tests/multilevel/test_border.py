from __future__ import annotations

import numpy as np
import pytest

from jetpy.device.device_graph import upload
from jetpy.engines.base import Backend
from jetpy.graph.csr import Graph
from jetpy.multilevel.border import border_weights
from tests.graphs import random_graph


def oracle(graph: Graph, parts: np.ndarray, k: int) -> list[int]:
    weights = [0] * k
    for v in range(graph.n):
        neighbours = graph.indices[graph.indptr[v] : graph.indptr[v + 1]]
        if (parts[neighbours] != parts[v]).any():
            weights[parts[v]] += int(graph.vertex_weights[v])
    return weights


@pytest.mark.parametrize("k", [1, 2, 5])
@pytest.mark.parametrize("seed", range(5))
def test_border_weights(backend: Backend, seed: int, k: int) -> None:
    graph = random_graph(200, 600, seed)
    parts = np.random.default_rng(seed).integers(0, k, graph.n, np.int32)
    found = border_weights(backend, upload(backend, graph), backend.from_host(parts), k)
    assert found.tolist() == oracle(graph, parts, k)
