"""The components that the separators of a depth leave, with neighbours close to each other."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from jetpy.device.device_graph import DeviceGraph
from jetpy.engines.base import Array, Backend
from jetpy.ordering.depth import Nodes, Numbers, Vertices
from jetpy.workloads.ordering import component_search as kernels
from jetpy.workloads.ordering.component_search import OPEN, Components, Progress

WIDE = 1000
"""Minimum number of vertices of a level that all threads visit, if a depth has only one search."""


class Found(NamedTuple):
    """The components of some nodes, and after those of each node its separator.

    Attributes
    ----------
    components : Components
        On the host.
    firsts, sizes, weights : int32, shape (components,)
        First place of each, number of vertices, and weight.
    nodes : int32, shape (components,)
        The node of each, or -1 - node for its separator.
    """

    components: Components
    firsts: Vertices
    sizes: Vertices
    weights: Vertices
    nodes: Vertices


def find_components(host: Backend, nodes: Nodes, sides: Array) -> Found:
    """Find the components of the sides of some nodes; sides are int32, shape (n,)."""
    graph, n, count = nodes.graph, nodes.graph.n, len(nodes)
    arrays = (host.empty(n) for _ in range(5))
    components = Components(*arrays, weights=host.full(n + 1, 0))
    host.parallel_for(n, kernels.begin_searches, sides=sides, components=components)
    progress = host.from_host(np.repeat(nodes.starts[:-1], Progress.COUNT))
    search = {"starts": host.from_host(nodes.starts), "sides": sides, "progress": progress}
    search |= {"graph": graph, "components": components}
    wide = WIDE if count == 1 and host.threads > 1 else n + 1
    host.run_tasks(count, kernels.find_components, wide=wide, **search)
    rows = host.to_host(progress)
    while wide <= n and rows[Progress.HEAD] < rows[Progress.LAST]:
        _visit_wide_levels(host, graph, sides, rows, components)
        host.run_tasks(1, kernels.find_components, wide=wide, **search)
    host.scan(n, kernels.sum_weights, graph=graph, components=components)
    places = host.empty(n)
    found = host.scan(n, kernels.list_components, components=components, places=places)
    firsts, sums = host.to_host(places)[:found], host.to_host(components.weights)
    sizes, node = (host.to_host(a)[firsts] for a in (components.sizes, components.nodes))
    return Found(components, firsts, sizes, sums[firsts + sizes] - sums[firsts], node)


def _visit_wide_levels(
    host: Backend, graph: DeviceGraph, sides: Array, rows: Numbers, components: Components
) -> None:
    """Visit the levels of a paused search by all threads while they are wide."""
    first, head, last = rows[[Progress.FIRST, Progress.HEAD, Progress.LAST]].tolist()
    own = OPEN - int(host.to_host(sides)[host.to_host(components.order)[first]])
    level = {"own": own, "graph": graph, "components": components}
    host.parallel_for(last - head, kernels.claim_from_level, head=head, **level)
    while last - head >= WIDE:
        passed = {"head": head, "last": last, "first": first}
        count = host.scan(last - head, kernels.visit_level, **passed, **level)
        head, last = last, last + count
    rows[[Progress.HEAD, Progress.LAST]] = head, last
