"""Hubs: vertices of more than five times the average degree, counted exactly."""

from __future__ import annotations

import numpy as np
from hypothesis import given

from jetpy.coarsening.hubs import count_hubs
from jetpy.device.device_graph import upload
from jetpy.engines.base import Backend
from jetpy.graph.csr import Graph
from jetpy.graph.generators import rmat
from jetpy.workloads.common.hubs import IRREGULAR
from tests.strategies import weighted_graphs


def expected(graph: Graph) -> int:
    return int((np.diff(graph.indptr) * graph.n > IRREGULAR * len(graph.indices)).sum())


def test_hubs_of_a_network(backend: Backend) -> None:
    graph = rmat(8, 4)
    assert 0 < expected(graph) == count_hubs(backend, upload(backend, graph))


@given(weighted_graphs())
def test_hubs_of_random_graphs(backend: Backend, graph: Graph) -> None:
    assert count_hubs(backend, upload(backend, graph)) == expected(graph)
