"""Comparison of two partitions of a graph: their overlay, and their distance."""

from __future__ import annotations

import numpy as np

from jetpy.device.device_graph import DeviceGraph
from jetpy.engines.base import Array, Backend
from jetpy.graph.csr import INT32_MAX
from jetpy.workloads.multilevel import overlay as kernels


def overlay(backend: Backend, parts: Array, others: Array, k: int) -> Array:
    """Return the overlay of two partitions: the pair of parts of each vertex, as one id.

    All arrays are int32, shape (n,). If k * k exceeds 2**31 - 1, only pairs that occur get ids.
    """
    if k * k > INT32_MAX:
        pairs = backend.to_host(parts).astype(np.int64) * k + backend.to_host(others)
        return backend.from_host(np.unique(pairs, return_inverse=True)[1].astype(np.int32))
    blocks = backend.empty(len(parts))
    backend.parallel_for(
        len(parts), kernels.number_block, parts=parts, others=others, blocks=blocks, k=k
    )
    return blocks


def difference(backend: Backend, graph: DeviceGraph, parts: Array, others: Array) -> int:
    """Return the weight of the undirected edges that only one of two partitions cuts."""
    directed = backend.reduce(
        graph.n, kernels.weigh_difference, graph=graph, parts=parts, others=others
    )
    return directed // 2
