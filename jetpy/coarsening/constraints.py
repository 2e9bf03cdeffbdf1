"""Constraints of coarsening (`jetpy.workloads.coarsening.constraints`)."""

from __future__ import annotations

from dataclasses import dataclass

from jetpy.device.device_graph import DeviceGraph
from jetpy.engines.base import Array, Backend
from jetpy.workloads.common.groups import Constraints


@dataclass(frozen=True)
class WeightBounds:
    """Bounds of vertex weights in coarsening.

    Attributes
    ----------
    heaviest : int
        Maximum weight of a coarse vertex.
    lightest : int
        Weight as which lighter vertices are rated, at least 1.
    """

    heaviest: int
    lightest: int = 1


def constrain(
    backend: Backend, graph: DeviceGraph, bounds: WeightBounds, parts: Array | None
) -> Constraints:
    """Return the constraints: bounds of weights and, if `parts` is given, equal parts."""
    if parts is None:
        anything = backend.empty(graph.n) if backend.is_wide else graph.vertex_weights
        return Constraints(bounds.heaviest, bounds.lightest, within_parts=False, parts=anything)
    return Constraints(bounds.heaviest, bounds.lightest, within_parts=True, parts=parts)
