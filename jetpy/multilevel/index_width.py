"""From a level that takes 64-bit kernels to a graph that does not, whose weights may be rounded."""

from __future__ import annotations

from typing import Any

import numpy as np

from jetpy.device.device_graph import DeviceGraph
from jetpy.device.long_rows import find_long_rows
from jetpy.engines.base import Array, Backend
from jetpy.graph.csr import MAX_NARROW, is_large
from jetpy.problem.problem import Problem, in_units


def is_narrow(graph: DeviceGraph, problem: Problem) -> bool:
    """Whether 32 bits hold a level as it is: its edges, and all sums of weights."""
    return not is_large(graph.global_nnz, graph.edge_weight, problem.total // problem.unit)


def narrow_graph(backend: Backend, graph: DeviceGraph, problem: Problem) -> DeviceGraph:
    """Return a level of a back end as a graph of `backend.narrowed()`.

    Where sums of weights are too large, these are divided by as little as it takes, rounded down,
    to 1 at least: partitions of the result are good ones of the level, but what their parts weigh
    and cut is known only about.
    """
    edge_weights, vertex_weights = narrow_weights(backend, graph, problem)
    indptr = graph.indptr.astype(np.int32)
    return DeviceGraph(
        indptr,
        graph.indices,
        edge_weights,
        vertex_weights,
        int(edge_weights.sum(dtype=np.int64)),
        find_long_rows(backend.narrowed(), indptr, graph.nnz),
    )


def narrow_weights(backend: Backend, graph: DeviceGraph, problem: Problem) -> tuple[Array, Array]:
    """Return the weights of edges and vertices of `narrow_graph` (int32)."""
    unit = _unit(graph.edge_weight, graph.global_nnz)
    edge_weights = _divided(backend, graph.edge_weights, unit)
    return edge_weights, _divided(backend, graph.vertex_weights, _vertex_unit(graph, problem))


def narrow_problem(graph: DeviceGraph, problem: Problem) -> Problem:
    """Return the problem of a level as that of its `narrow_graph`."""
    return in_units(problem, _vertex_unit(graph, problem))


def _vertex_unit(graph: DeviceGraph, problem: Problem) -> int:
    return _unit(problem.total // problem.unit, graph.global_n)


def _unit(total: int, count: int) -> int:
    """Return what to divide `count` weights by: their sum is then what 32 bits hold, or less.

    >>> _unit(2**31 - 1, 10), _unit(2**33, 10)
    (1, 5)
    """
    return 1 if total <= MAX_NARROW else -(-total // max(MAX_NARROW - count, 1))


def _divided(backend: Backend, weights: Array, unit: int) -> Any:
    if unit > 1:
        weights = backend.xp.maximum(weights // unit, 1)
    return weights.astype(np.int32)
