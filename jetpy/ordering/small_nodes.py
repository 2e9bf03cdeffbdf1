"""Separators of small nodes: a GPU and the threads of its host each take some of the nodes."""

from __future__ import annotations

import numpy as np

from jetpy.device.device_graph import carry_graph
from jetpy.engines.base import Array, Backend
from jetpy.ordering.depth import Nodes, Numbers
from jetpy.ordering.effort import Effort
from jetpy.ordering.sharing import is_there
from jetpy.ordering.tries import Tries

SMALL_NODE = 2000
"""Maximum number of vertices of a node with `Effort.small_tries` tries."""


def separate_small(
    backend: Backend, host: Backend, nodes: Nodes, effort: Effort, chosen: Numbers, sides: Array
) -> None:
    """Write the sides of the vertices of the chosen nodes, on the host."""
    sizes = nodes.sizes[chosen]
    counts = np.where(sizes <= SMALL_NODE, effort.small_tries, effort.tries)
    # On a GPU, tries run at the same time, but their flows do not.
    there = is_there(backend, host, sizes * (5 + counts) // 6, sizes * (1 + counts) // 2)
    own = Tries(host, nodes.graph, nodes, effort, chosen[~there], counts[~there])
    if not there.any():
        own.separate(sides)
        return
    graph = nodes.there or carry_graph(nodes.graph, host, backend)
    found = backend.empty(graph.n)
    Tries(backend, graph, nodes, effort, chosen[there], counts[there]).separate(found)
    own.separate(sides)
    np.copyto(sides, backend.to_host(found), where=nodes.members(chosen[there]))
