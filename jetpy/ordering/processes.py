"""The processes that order one matrix together. Each of them has the whole graph."""

from __future__ import annotations

from jetpy.coarsening.constraints import WeightBounds
from jetpy.coarsening.methods import coarsening_of
from jetpy.device.device_graph import DeviceGraph
from jetpy.device.processes import Processes
from jetpy.engines.base import Array, Backend
from jetpy.problem.options import CoarsenOptions


class OrderingProcesses(Processes):
    """A single process; `jetpy.distributed.ordering` has several."""

    def coarsen(
        self,
        backend: Backend,
        graph: DeviceGraph,
        options: CoarsenOptions,
        bounds: WeightBounds,
        salt: int,
        labels: Array,
    ) -> tuple[DeviceGraph, Array]:
        """Return the coarse graph, and the coarse vertex of each vertex (int32, shape (n,)).

        Only vertices with the same label (int32, shape (n,)) are contracted. Collective.
        """
        coarsen = coarsening_of(graph, options)
        return coarsen(backend, graph, options, bounds, salt, labels)


ALONE = OrderingProcesses()
