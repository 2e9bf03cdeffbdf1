"""Constraints of coarsening (`jetpy.workloads.coarsening.constraints`)."""

from __future__ import annotations

from jetpy.device.device_graph import DeviceGraph
from jetpy.engines.base import Array, Backend
from jetpy.workloads.common.groups import Constraints


def constrain(
    backend: Backend, graph: DeviceGraph, heaviest: int, parts: Array | None
) -> Constraints:
    """Return the constraints: a maximum weight and, if `parts` is given, equal parts."""
    if parts is None:
        anything = backend.empty(graph.n) if backend.is_wide else graph.vertex_weights
        return Constraints(heaviest, within_parts=False, parts=anything)
    return Constraints(heaviest, within_parts=True, parts=parts)
