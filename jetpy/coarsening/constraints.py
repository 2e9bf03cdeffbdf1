"""Constraints of coarsening as kernels take them (`jetpy.workloads.coarsening.constraints`)."""

from __future__ import annotations

from dataclasses import dataclass

from jetpy.device.device_graph import DeviceGraph
from jetpy.engines.base import Array, Backend


@dataclass(frozen=True, eq=False)
class Constraints:
    """Which vertices may become one.

    Attributes
    ----------
    heaviest : int
        The most that they may weigh together.
    within_parts : int
        1 if they must be in the same part, else 0.
    parts : int32, shape (n,), on the back end
        Anything if `within_parts` is 0.
    """

    heaviest: int
    within_parts: int
    parts: Array


def constrain(
    backend: Backend, graph: DeviceGraph, heaviest: int, parts: Array | None
) -> Constraints:
    """Return the constraints of a limit of weights, and of parts where they are given."""
    if parts is None:
        anything = backend.empty(graph.n) if backend.is_wide else graph.vertex_weights
        return Constraints(heaviest, 0, anything)
    return Constraints(heaviest, 1, parts)
