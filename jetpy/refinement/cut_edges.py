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

Counts = npt.NDArray[np.int64]


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

    def pairs(self, backend: Backend, k: int) -> CutPairs:
        """Return the pairs of parts that the edges connect."""
        weights = backend.to_host(self.weights).astype(np.int64)
        named, edges, sums = sum_by_pair(backend.to_host(self.keys), weights, k)
        return CutPairs.of_keys(named, edges, sums, k)


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

    @classmethod
    def of_keys(cls, keys: Counts, edges: Counts, weights: Counts, k: int) -> CutPairs:
        """Return pairs, given k times the lower part of each, plus the other part."""
        parts = np.stack([keys // k, keys % k], axis=1).astype(np.int32)
        return cls(parts, edges, weights)

    @classmethod
    def joined(cls, every: list[CutPairs], k: int) -> CutPairs:
        """Return the pairs of all edges of a graph, given those of disjoint sets of edges."""
        keys = np.concatenate([pairs.keys(k) for pairs in every])
        named, numbers = np.unique(keys, return_inverse=True)
        sums = np.zeros((2, len(named)), np.int64)
        for own, field in zip(sums, ("edges", "weights"), strict=True):
            np.add.at(own, numbers, np.concatenate([getattr(pairs, field) for pairs in every]))
        return cls.of_keys(named, sums[0], sums[1], k)

    def keys(self, k: int) -> Counts:
        """Return k times the lower part of each pair, plus the other part: int64, ascending."""
        return self.parts[:, 0].astype(np.int64) * k + self.parts[:, 1]
