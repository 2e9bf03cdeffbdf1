"""Hubs: vertices of far more than the average degree, as in circuits and social networks."""

from __future__ import annotations

from jetpy.device.device_graph import DeviceGraph
from jetpy.engines.base import Backend
from jetpy.workloads.common import hubs as kernels
from jetpy.workloads.common.hubs import IRREGULAR


def count_hubs(backend: Backend, graph: DeviceGraph) -> int:
    """Return the number of hubs of a graph, or among the owned vertices of a piece of one."""
    most = IRREGULAR * graph.global_nnz // max(graph.global_n, 1)
    return backend.reduce(graph.n, kernels.count_hubs, graph=graph, most=most)
