"""The metric: the cost of an edge between two parts per unit of weight.

`MetricKind` is the representation of the distances. For `HIERARCHY`, `distances` has two integers
per level, lowest first: the number of parts in a group of that level, and the distance of two parts
that share a group of that level but no group of a lower level.
"""

from enum import IntEnum

import pykokkos as pk

from jetpy.workloads.common.groups import Metric


class MetricKind(IntEnum):
    """Representations of the distances."""

    EDGE_CUT = 0
    """Any two different parts have distance 1."""
    MATRIX = 1
    """`distances` is a k x k matrix, row by row."""
    HIERARCHY = 2


@pk.function
def distance_of(p: int, q: int, metric: Metric) -> int:
    """Return the distance of two parts."""
    if p == q:
        return 0
    if metric.metric_kind == MetricKind.EDGE_CUT:
        return 1
    if metric.metric_kind == MetricKind.MATRIX:
        index: pk.int64 = p
        return metric.distances[index * metric.k + q]
    level: int = 0
    while p // metric.distances[level] != q // metric.distances[level]:
        level += 2
    return metric.distances[level + 1]
