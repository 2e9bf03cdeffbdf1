"""Comparison of two partitions of a graph: their overlay, and their distance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from jetpy.device.device_graph import DeviceGraph
from jetpy.device.halo import WHOLE, Halo
from jetpy.engines.base import Array, Backend
from jetpy.graph.csr import INT32_MAX
from jetpy.multilevel.projection import project_parts
from jetpy.workloads.multilevel import overlay as kernels


@dataclass(frozen=True, eq=False)
class Overlay:
    """The overlay of two partitions.

    Attributes
    ----------
    blocks : int32, shape (n,)
        The pair of parts of each vertex, as one id.
    k : int
        Number of parts.
    firsts : int32 on the host, shape (pairs,), or None
        The first part of each pair that occurs, if ids number these; None: the id is first * k +
        second.
    """

    blocks: Array
    k: int
    firsts: npt.NDArray[np.int32] | None = None

    def first(self, backend: Backend, blocks: Array) -> Array:
        """Return the parts in the first partition, given ids of pairs on a back end."""
        if self.firsts is not None:
            return project_parts(backend, blocks, backend.from_host(self.firsts))
        parts = backend.empty(len(blocks))
        backend.parallel_for(
            len(parts), kernels.first_of_pair, blocks=blocks, k=self.k, parts=parts
        )
        return parts


def overlay(backend: Backend, parts: Array, others: Array, k: int, halo: Halo = WHOLE) -> Overlay:
    """Return the overlay of two partitions. Collective for a piece of a graph, given its halo.

    All arrays are int32, shape (n,). If k * k exceeds 2**31 - 1, only pairs that occur get ids.
    """
    if k * k > INT32_MAX:
        pairs = backend.to_host(parts).astype(np.int64) * k + backend.to_host(others)
        listed = np.unique(np.concatenate(halo.gather_objects(np.unique(pairs))))
        ids = np.searchsorted(listed, pairs)
        return Overlay(backend.from_host(ids.astype(np.int32)), k, (listed // k).astype(np.int32))
    blocks = backend.empty(len(parts))
    backend.parallel_for(
        len(parts), kernels.number_block, parts=parts, others=others, blocks=blocks, k=k
    )
    return Overlay(blocks, k)


def difference(backend: Backend, graph: DeviceGraph, parts: Array, others: Array) -> int:
    """Return the weight of the undirected edges that only one of two partitions cuts.

    Both have the parts of ghosts, too. Collective.
    """
    directed = backend.reduce(
        graph.n, kernels.weigh_difference, graph=graph, parts=parts, others=others
    )
    return graph.halo.total(directed) // 2
