"""Conversion of a level for 64-bit kernels to one for 32-bit kernels, with rounded weights."""

from __future__ import annotations

from typing import Any

import numpy as np

from jetpy.device.device_graph import DeviceGraph
from jetpy.device.long_rows import find_long_rows
from jetpy.engines.base import Array, Backend
from jetpy.graph.csr import MAX_NARROW, is_large
from jetpy.kernel_language import Width
from jetpy.problem.problem import Problem, in_units


def is_narrow(graph: DeviceGraph, problem: Problem) -> bool:
    """Return whether the edges and weight sums of a level fit into 32 bits."""
    return not is_large(graph.global_nnz, graph.edge_weight, problem.total // problem.unit)


def narrow_graph(backend: Backend, graph: DeviceGraph, problem: Problem) -> DeviceGraph:
    """Copy a level to the 32-bit back end, `backend.with_width(Width.NARROW)`.

    If a weight sum exceeds 2**31 - 1, divide the weights by an integer just large enough, rounding
    down but not below 1; 0 stays 0. Cut and part weights computed on the copy are then approximate.
    """
    edge_weights, vertex_weights = narrow_weights(backend, graph, problem)
    indptr = graph.indptr.astype(np.int32)
    return DeviceGraph(
        indptr,
        graph.indices,
        edge_weights,
        vertex_weights,
        int(edge_weights.sum(dtype=np.int64)),
        find_long_rows(backend.with_width(Width.NARROW), indptr, graph.nnz),
    )


def narrow_weights(backend: Backend, graph: DeviceGraph, problem: Problem) -> tuple[Array, Array]:
    """Return the edge and vertex weights of `narrow_graph`, int32."""
    unit = _unit(graph.edge_weight, graph.global_nnz)
    edge_weights = _divided(backend, graph.edge_weights, unit)
    return edge_weights, _divided(backend, graph.vertex_weights, _vertex_unit(graph, problem))


def narrow_problem(graph: DeviceGraph, problem: Problem) -> Problem:
    """Return the problem of a level for its `narrow_graph`."""
    return in_units(problem, _vertex_unit(graph, problem), graph.global_n)


def _vertex_unit(graph: DeviceGraph, problem: Problem) -> int:
    return _unit(problem.total // problem.unit, graph.global_n)


def _unit(total: int, count: int) -> int:
    """Return the divisor of `count` weights after which their sum fits into 32 bits.

    >>> _unit(2**31 - 1, 10), _unit(2**33, 10)
    (1, 5)
    """
    return 1 if total <= MAX_NARROW else -(-total // max(MAX_NARROW - count, 1))


def _divided(backend: Backend, weights: Array, unit: int) -> Any:
    if unit > 1:
        weights = backend.xp.maximum(weights // unit, weights > 0)
    return weights.astype(np.int32)
