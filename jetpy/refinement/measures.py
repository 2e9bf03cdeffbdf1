"""The cut and part weights of a partition, and metrics on the back end."""

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
"""Loss buckets distinguish losses down to the largest distance divided by 2^10."""


@dataclass(frozen=True, eq=False)
class Measures:
    """Cut and part weights (int64, shape (k,), on the host).

    The cut is the weight of the undirected edges between parts, each times the distance of the two
    parts. Projection to a finer level changes neither.
    """

    cut: int
    part_weights: npt.NDArray[np.int64]

    @property
    def heaviest(self) -> int:
        """Weight of the heaviest part."""
        return int(self.part_weights.max())

    def overload(self, problem: Problem) -> int:
        """Return the largest weight of a part outside its limits; at most 0 if all keep them."""
        above = int((self.part_weights - problem.limits).max())
        if problem.part_lower_limits is None:
            return above
        return max(above, int((problem.lower_limits - self.part_weights).max()))

    def quality(self, problem: Problem) -> tuple[int, int]:
        """Return a sort key, smaller for better partitions: weight outside a limit, then cut."""
        return max(self.overload(problem), 0), self.cut

    def quality_and_evenness(self, problem: Problem) -> tuple[int, int, float, int]:
        """Return `quality`, then the largest weight over its limit, then minus the least weight."""
        fullest = float((self.part_weights / problem.limits.clip(1)).max())
        return *self.quality(problem), fullest, -int(self.part_weights.min())


def upload_metric(backend: Backend, graph: DeviceGraph, metric: Metric, k: int) -> DeviceMetric:
    """Copy a metric to a back end, with the unit of gains and the scale of the loss buckets.

    Gains are 32-bit numbers of this unit; none exceeds the edge weight times the largest distance.
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
    """Compute `cost_of` with a metric that is on the back end already."""
    directed = backend.reduce(
        graph.n, kernels.cost_of_vertex, graph=graph, parts=parts, metric=metric
    )
    return graph.halo.total(directed) // 2
