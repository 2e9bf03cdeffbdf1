"""The metric: what an edge between two parts costs, per weight.

The distances of parts are given in one of three ways (`MetricKind`). For `HIERARCHY`, `distances`
has two numbers for each level of a hierarchy, lowest first: how many parts a group of that level
has, and the distance of two parts that have that group in common but none of a lower level.
"""

from enum import IntEnum

import pykokkos as pk

from jetpy.workloads.common.groups import Metric


class MetricKind(IntEnum):
    """How distances are given."""

    EDGE_CUT = 0
    """Every two parts have distance 1."""
    MATRIX = 1
    """`distances` is a matrix of k rows."""
    HIERARCHY = 2


@pk.function
def distance_of(p: int, q: int, metric: Metric) -> int:
    """Return the distance of two parts."""
    if p == q:
        return 0
    if metric.metric_kind == MetricKind.EDGE_CUT:
        return 1
    if metric.metric_kind == MetricKind.MATRIX:
        place: pk.int64 = p
        return metric.distances[place * metric.k + q]
    level: int = 0
    while p // metric.distances[level] != q // metric.distances[level]:
        level += 2
    return metric.distances[level + 1]
