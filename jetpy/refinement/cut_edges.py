"""The edges between parts, and the pairs of parts that they connect."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

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
        """Return the edges between the parts of a partition.

        With long rows on a GPU, there is an index for each entry: a row would take a thread long.
        """
        given: dict[str, Any] = {"graph": graph, "parts": parts}
        size, counting, listing = graph.n, regions.count_cut_edges, regions.list_cut_edges
        if backend.warp_size > 1 and graph.long_rows.count > 0:
            given["n"] = graph.n
            size, counting, listing = graph.nnz, regions.count_cut_entries, regions.list_cut_entries
        count = backend.reduce(size, counting, **given)
        edges = cls(
            backend.empty(count),
            backend.empty(count),
            backend.empty(count, np.int64),
            backend.empty(count, backend.sum_type),
        )
        backend.scan(size, listing, k=k, cut=edges, **given)
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
