"""Separators of small nodes: a GPU and the threads of its host each take some of the nodes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from jetpy.device.device_graph import carry_graph
from jetpy.engines.base import Array, Backend
from jetpy.initial.sharing import SIZE_OF_VERTEX, gpu_tasks
from jetpy.initial.workers import MAX_ROOM_ON_GPU
from jetpy.ordering.depth import Nodes, Numbers, Vertices
from jetpy.ordering.effort import Effort
from jetpy.ordering.tries import Tries
from jetpy.workloads.ordering.separators import SEPARATOR

SMALL_NODE = 2000
"""Maximum number of vertices of a node with `Effort.small_tries` tries."""
RETRIED_NODE, HEAVY_PERCENT = 300, 10
"""A node of more than RETRIED_NODE vertices gets `Effort.tries` tries if its separator has more
than HEAVY_PERCENT of its weight."""


def tries_of(sizes: Numbers, effort: Effort) -> Numbers:
    """Return the number of tries for nodes with some numbers of vertices."""
    return np.where(sizes <= SMALL_NODE, effort.small_tries, effort.tries)


def separate_small(
    backend: Backend, host: Backend, nodes: Nodes, effort: Effort, chosen: Numbers, sides: Array
) -> None:
    """Write the sides of the vertices of the chosen nodes, on the host."""
    tries = Tries(host, nodes.graph, nodes, effort, chosen, tries_of(nodes.sizes[chosen], effort))
    _separate(backend, tries, sides)
    is_retried = _are_retried(tries, host.to_host(sides))
    if is_retried.any():
        again = tries.some(is_retried)
        _separate(backend, replace(again, counts=np.full_like(again.counts, effort.tries)), sides)


def _are_retried(tries: Tries, sides: Vertices) -> npt.NDArray[np.bool_]:
    """Return which nodes get more tries, given the sides of the vertices by the first ones."""
    nodes, chosen = tries.nodes, tries.chosen
    weights = np.where(sides == SEPARATOR, tries.backend.to_host(nodes.graph.vertex_weights), 0)
    before = np.append(0, np.cumsum(weights, dtype=np.int64))[nodes.starts]
    is_heavy = 100 * np.diff(before) > HEAVY_PERCENT * nodes.weights
    has_few = tries.counts < tries.effort.tries
    return has_few & (nodes.sizes[chosen] > RETRIED_NODE) & is_heavy[chosen]


def _separate(backend: Backend, tries: Tries, sides: Array) -> None:
    """Write the sides of the vertices of nodes by the best of some tries, on the host."""
    nodes, chosen = tries.nodes, tries.chosen
    on_gpu = _gpu_nodes(backend, tries)
    gpu_sides = _separate_on_gpu(backend, tries.some(on_gpu)) if on_gpu.any() else None
    if gpu_sides is None:
        tries.separate(sides)
        return
    tries.some(~on_gpu).separate(sides)
    np.copyto(sides, backend.to_host(gpu_sides), where=nodes.members(chosen[on_gpu]))


def _gpu_nodes(backend: Backend, tries: Tries) -> npt.NDArray[np.bool_]:
    """Return which nodes a GPU takes."""
    vertices, entries = tries.sizes
    sizes = (vertices + entries) // SIZE_OF_VERTEX
    graph = tries.graph
    return gpu_tasks(
        backend,
        tries.backend,
        costs=sizes * (1 + tries.counts) // 2,
        lengths=sizes * (5 + tries.counts) // 6,  # tries run at the same time, their flows do not
        most_at_once=np.maximum(1, MAX_ROOM_ON_GPU // np.maximum(*tries.rooms)),
        copied=graph.n if tries.nodes.on_backend else graph.n + graph.size,
    )


def _separate_on_gpu(backend: Backend, tries: Tries) -> Array | None:
    """Begin to separate nodes on a GPU; return the sides there, or None if its memory is full."""
    try:
        graph = tries.nodes.on_backend or carry_graph(tries.graph, tries.backend, backend)
        sides = backend.empty(graph.n)
        tries.on(backend, graph).separate(sides)
    except MemoryError:
        return None
    return sides
