"""Coarsening methods by name."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Protocol

import numpy as np

from jetpy.coarsening.constraints import WeightBounds
from jetpy.coarsening.contraction import contract, contract_groups
from jetpy.coarsening.matching import match_vertices
from jetpy.coarsening.union_find import group_vertices
from jetpy.device.device_graph import DeviceGraph
from jetpy.engines.base import Array, Backend
from jetpy.problem.options import CoarsenOptions

Coarsening = Callable[
    [Backend, DeviceGraph, CoarsenOptions, WeightBounds, int, Array | None],
    tuple[DeviceGraph, Array],
]
"""Takes a back end, a graph, options, bounds of vertex weights, a seed, and parts that contracted
vertices share, or None. Returns the coarse graph, and each vertex's coarse vertex."""

MAX_DENSE = 1 << 26
"""Maximum number of vertices and directed edges together of a level that counts as dense, because
contracting groups requires memory for a second graph, and the whole graph in each process."""


def two_hop(
    backend: Backend,
    graph: DeviceGraph,
    options: CoarsenOptions,
    bounds: WeightBounds,
    seed: int,
    parts: Array | None,
) -> tuple[DeviceGraph, Array]:
    """Coarsen by pairs of vertices at distance one or two (Jet, section 3.1)."""
    return contract(backend, graph, match_vertices(backend, graph, options, bounds, seed, parts))


def by_subsets(
    backend: Backend,
    graph: DeviceGraph,
    options: CoarsenOptions,
    bounds: WeightBounds,
    seed: int,
    parts: Array | None,
    *,
    limited: bool,
) -> tuple[DeviceGraph, Array]:
    """Coarsen by subsets of any size (G-kway, 3.1) or of limited size (iG-kway, section IV)."""
    heaviest = bounds.heaviest
    most = options.group_size if limited else _most_vertices(graph, heaviest)
    groups = group_vertices(backend, graph, options, heaviest, seed, parts, most)
    return contract_groups(backend, graph, groups)


def _most_vertices(graph: DeviceGraph, heaviest: int) -> int:
    """Return the maximum number of vertices of a subset, given its maximum weight.

    The weight does not limit subsets of vertices of weight 0. If there are such vertices, no subset
    has more than those of average weight that weigh `heaviest` together.
    """
    weights = graph.vertex_weights
    if not graph.n or weights.all():
        return graph.n
    return max(2, graph.n * heaviest // max(1, int(weights.sum(dtype=np.int64))))


COARSENINGS: dict[str, Coarsening] = {
    "two-hop": two_hop,
    "union-find": partial(by_subsets, limited=False),
    "constrained": partial(by_subsets, limited=True),
}


def coarsening_of(graph: DeviceGraph, options: CoarsenOptions) -> Coarsening:
    """Return the coarsening of a level, which is the same for all pieces of a graph."""
    return COARSENINGS["constrained" if is_dense(graph, options) else options.method]


class Sized(Protocol):
    """A graph whose size is known, whole or in pieces."""

    @property
    def global_n(self) -> int:
        """Number of vertices of the whole graph."""

    @property
    def global_nnz(self) -> int:
        """Number of directed edges of the whole graph."""

    @property
    def global_size(self) -> int:
        """Number of vertices plus directed edges of the whole graph."""


def is_dense(graph: Sized, options: CoarsenOptions) -> bool:
    """Return whether a level is coarsened by subsets instead of pairs, because it is dense."""
    return (
        options.method == "two-hop"
        and options.dense is not None
        and graph.global_nnz >= options.dense * graph.global_n
        and graph.global_size <= MAX_DENSE
    )
