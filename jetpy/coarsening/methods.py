"""Coarsening methods by name."""

from __future__ import annotations

from collections.abc import Callable

from jetpy.coarsening.contraction import contract, contract_groups
from jetpy.coarsening.matching import match_vertices
from jetpy.coarsening.union_find import group_vertices
from jetpy.device.device_graph import DeviceGraph
from jetpy.engines.base import Array, Backend
from jetpy.problem.options import CoarsenOptions

Coarsening = Callable[
    [Backend, DeviceGraph, CoarsenOptions, int, int, Array | None], tuple[DeviceGraph, Array]
]
"""Takes a back end, a graph, options, the maximum weight of a coarse vertex, a seed, and parts that
contracted vertices share, or None. Returns the coarse graph, and each vertex's coarse vertex."""


def two_hop(
    backend: Backend,
    graph: DeviceGraph,
    options: CoarsenOptions,
    heaviest: int,
    seed: int,
    parts: Array | None,
) -> tuple[DeviceGraph, Array]:
    """Coarsen by pairs of vertices at distance one or two (Jet, section 3.1)."""
    return contract(backend, graph, match_vertices(backend, graph, options, heaviest, seed, parts))


def by_subsets(
    backend: Backend,
    graph: DeviceGraph,
    options: CoarsenOptions,
    heaviest: int,
    seed: int,
    parts: Array | None,
) -> tuple[DeviceGraph, Array]:
    """Coarsen by subsets of any size (G-kway, 3.1) or of limited size (iG-kway, section IV)."""
    most = options.group_size if options.method == "constrained" else graph.n
    groups = group_vertices(backend, graph, options, heaviest, seed, parts, most)
    return contract_groups(backend, graph, groups)


COARSENINGS: dict[str, Coarsening] = {
    "two-hop": two_hop,
    "union-find": by_subsets,
    "constrained": by_subsets,
}
