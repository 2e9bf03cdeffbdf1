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
    within_parts : bool
        Whether they must be in the same part.
    parts : int32, shape (n,), on the back end
        Anything if not `within_parts`.
    """

    heaviest: int
    within_parts: bool
    parts: Array


def constrain(
    backend: Backend, graph: DeviceGraph, heaviest: int, parts: Array | None
) -> Constraints:
    """Return the constraints of a limit of weights, and of parts where they are given."""
    if parts is None:
        anything = backend.empty(graph.n) if backend.is_wide else graph.vertex_weights
        return Constraints(heaviest, within_parts=False, parts=anything)
    return Constraints(heaviest, within_parts=True, parts=parts)
