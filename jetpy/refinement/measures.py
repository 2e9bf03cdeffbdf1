"""The cut and the part weights of a partition, and what a metric makes of its edges."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from jetpy.device.device_graph import DeviceGraph
from jetpy.engines.base import Array, Backend
from jetpy.problem.problem import Metric, Problem
from jetpy.workloads.common.groups import Metric as DeviceMetric
from jetpy.workloads.multilevel import projection as kernels

COARSEST_SCALE_BITS = 10
"""Losses are sorted into buckets from the largest distance over 2^10 on."""


@dataclass(frozen=True, eq=False)
class Measures:
    """Cut and part weights (int64, shape (k,), host).

    The cut is the weight of the undirected edges between parts, each times the distance of these.
    Projection to a finer level leaves both as they are.
    """

    cut: int
    part_weights: npt.NDArray[np.int64]

    @property
    def heaviest(self) -> int:
        """Weight of the heaviest part."""
        return int(self.part_weights.max())

    def overload(self, problem: Problem) -> int:
        """Return the most that a part weighs above its limit; not positive where none does."""
        return int((self.part_weights - problem.limits).max())

    def quality(self, problem: Problem) -> tuple[int, int]:
        """Return what is smaller of the better partition: weight above a limit, then the cut."""
        return max(self.overload(problem), 0), self.cut


def upload_metric(backend: Backend, graph: DeviceGraph, metric: Metric, k: int) -> DeviceMetric:
    """Hand a metric over, with the units of gains, and from where on losses are sorted.

    Gains are kept as 32-bit numbers, at most the weight of all edges times the largest distance.
    """
    most = graph.edge_weight * metric.farthest
    return DeviceMetric(
        metric_kind=metric.kind,
        distances=backend.from_host(metric.distances),
        k=k,
        unit=1 << max(most.bit_length() - 31, 0),
        scale=max(metric.farthest >> COARSEST_SCALE_BITS, 1),
    )


def measure(backend: Backend, graph: DeviceGraph, parts: Array, metric: DeviceMetric) -> Measures:
    """Compute the measures of a partition (int32, shape (n,)) from scratch."""
    part_weights = backend.full(metric.k, 0, backend.sum_type)
    backend.parallel_for(
        graph.n,
        kernels.weigh_parts,
        graph=graph,
        parts=parts,
        part_weights=part_weights,
    )
    graph.halo.allreduce(part_weights)
    cut = cost(backend, graph, parts, metric)
    return Measures(cut, backend.to_host(part_weights).astype(np.int64))


def cost_of(backend: Backend, graph: DeviceGraph, parts: Array, metric: Metric, k: int) -> int:
    """Return the weight of the undirected edges, each times the distance of its parts."""
    return cost(backend, graph, parts, upload_metric(backend, graph, metric, k))


def cost(backend: Backend, graph: DeviceGraph, parts: Array, metric: DeviceMetric) -> int:
    """Do what `cost_of` does with a metric that is on the back end."""
    directed = backend.reduce(
        graph.n, kernels.cost_of_vertex, graph=graph, parts=parts, metric=metric
    )
    return graph.halo.total(directed) // 2
