"""A bisection tree with one node, for tests of its kernels."""

from __future__ import annotations

import numpy as np

from jetpy.device.device_graph import upload
from jetpy.engines.base import Backend
from jetpy.graph.csr import Graph
from jetpy.initial.bisection import ENTRY_ROOM, Levels, Tree, plant
from jetpy.initial.roots import Root
from jetpy.workloads.initial import bisection as kernels
from jetpy.workloads.initial.bisection import VERTEX_ROOM


def one_node(backend: Backend, graph: Graph, parts: int, limit: int) -> tuple[Tree, Levels]:
    """Return a tree whose only node has all vertices, in the order of their ids."""
    device = upload(backend, graph)
    none, shares = np.zeros(parts, np.int64), np.ones(parts, np.int64)
    root = Root(np.arange(graph.n), 0, parts, shares, np.full(parts, limit), none)
    tree = plant(backend, device, np.zeros(graph.n, np.int32), [root], 1)
    nnz = len(graph.indices)
    levels = Levels.with_room(backend, VERTEX_ROOM * graph.n, ENTRY_ROOM * nnz, 1)
    backend.parallel_for(
        1,
        kernels.extract,
        tries=1,
        count=1,
        n=graph.n,
        room=ENTRY_ROOM,
        graph=device,
        tree=tree,
        levels=levels,
    )
    return tree, levels
