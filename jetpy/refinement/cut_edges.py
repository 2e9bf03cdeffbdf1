"""The edges between parts, and the pairs of parts that they connect."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from jetpy.device.device_graph import DeviceGraph
from jetpy.engines.base import Array, Backend
from jetpy.problem.metrics import sum_by_pair
from jetpy.workloads.flows import regions


@dataclass(frozen=True, eq=False)
class CutEdges:
    """The edges between parts, on the back end. The part of the tail is the lower one.

    Attributes
    ----------
    tails, heads : int32, shape (edges,)
    keys : int64, shape (edges,)
        k times the part of the tail, plus the part of the head.
    weights : sum_type, shape (edges,)
    """

    tails: Array
    heads: Array
    keys: Array
    weights: Array

    @classmethod
    def find(cls, backend: Backend, graph: DeviceGraph, parts: Array, k: int) -> CutEdges:
        """Return the edges between the parts of a partition."""
        count = backend.reduce(graph.n, regions.count_cut_edges, graph=graph, parts=parts)
        edges = cls(
            backend.empty(count),
            backend.empty(count),
            backend.empty(count, np.int64),
            backend.empty(count, backend.sum_type),
        )
        backend.scan(graph.n, regions.list_cut_edges, k=k, graph=graph, parts=parts, cut=edges)
        return edges


@dataclass(frozen=True, eq=False)
class CutPairs:
    """The adjacent pairs of parts.

    Attributes
    ----------
    parts : int32, shape (pairs, 2)
        The lower part first, in ascending order.
    edges : int64, shape (pairs,)
        Number of edges between both parts.
    weights : int64, shape (pairs,)
        Weight of these edges.
    """

    parts: npt.NDArray[np.int32]
    edges: npt.NDArray[np.int64]
    weights: npt.NDArray[np.int64]


def pair_up(keys: npt.NDArray[np.int64], weights: npt.NDArray[np.int64], k: int) -> CutPairs:
    """Return the pairs of parts, given the keys and weights of all edges between parts."""
    named, edges, sums = sum_by_pair(keys, weights, k)
    parts = np.stack([named // k, named % k], axis=1).astype(np.int32)
    return CutPairs(parts, edges, sums)
