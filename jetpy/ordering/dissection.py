"""Dissection of a graph by vertex separators, all nodes of a depth of the tree at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from jetpy.device.device_graph import DeviceGraph, carry, carry_graph, upload
from jetpy.engines.base import Array, Backend
from jetpy.errors import GraphError
from jetpy.graph.csr import INT32_MAX, Graph
from jetpy.multilevel.projection import project_parts
from jetpy.ordering.component_search import find_components
from jetpy.ordering.depth import Depth, Nodes, Numbers, Vertices
from jetpy.ordering.effort import Effort
from jetpy.ordering.induced_subgraphs import joined
from jetpy.ordering.large_nodes import LARGEST_NODE, LargeNodes
from jetpy.ordering.small_nodes import separate_small
from jetpy.ordering.tries import most_tries
from jetpy.progress import Progress, no_progress
from jetpy.result.separator_tree import SeparatorTree
from jetpy.workloads.ordering import dissection as kernels
from jetpy.workloads.ordering.dissection import NO_COMPONENT, Assignment
from jetpy.workloads.ordering.separators import SEPARATOR

FEWEST = 8
"""A node with fewer vertices is not divided."""
NO_NODE = -1
Separate = Callable[[LargeNodes, Depth], Array]
"""Returns the side of each vertex of the nodes of a depth (int32, shape (n,), on the host)."""
NO_PARENT = np.array([NO_NODE])
"""Parents of the whole graph."""


class Dissection:
    """The tree under construction, from the root down: a node has a lower number than its children.

    Attributes
    ----------
    node_of : int32, shape (n,)
        Node of the tree of each vertex, on the host.
    parents : list of int64 arrays
        Parents of the nodes, by depth.
    """

    def __init__(self, host: Backend, n: int) -> None:
        self.host = host
        self.node_of = host.full(n, NO_NODE)
        self.parents: list[Numbers] = []
        self.count = 0

    def add(self, parents: Numbers) -> Numbers:
        """Add nodes to the tree, and return their numbers."""
        self.parents.append(parents)
        first, self.count = self.count, self.count + len(parents)
        return np.arange(first, self.count)

    def finished(self) -> tuple[Vertices, SeparatorTree]:
        """Return the node of each vertex and the tree, with its nodes in postorder."""
        parents = np.concatenate([np.empty(0, np.int64), *self.parents])
        numbers = _postorder(parents)
        node_of = numbers[self.host.to_host(self.node_of)].astype(np.int32)
        renumbered = np.empty(self.count, np.int32)
        renumbered[numbers] = np.where(parents < 0, NO_NODE, numbers[parents])
        sizes = np.bincount(node_of, minlength=self.count)
        starts = np.concatenate(([0], np.cumsum(sizes))).astype(np.int32)
        return node_of, SeparatorTree(renumbered, starts)


def dissect(
    backend: Backend,
    host: Backend,
    graph: Graph,
    effort: Effort,
    seed: int,
    tell: Progress = no_progress,
    is_last: npt.NDArray[np.bool_] | None = None,
    separate: Separate | None = None,
) -> tuple[Vertices, SeparatorTree]:
    """Return the node of each vertex (int32, shape (n,)) in a separator tree, and the tree.

    The root has the vertices that `is_last` (bool, shape (n,)) selects, if any. A node without
    children is a leaf. `host` is a back end on CPUs, `backend` itself or another one; the result is
    the same. `tell` gets the number of vertices that have a node. `separate` finds the separators;
    by default, it makes several tries.

    Raises
    ------
    GraphError
        If the graph is too large.
    """
    effort = within_limits(effort, graph)
    large = LargeNodes(backend, host, effort)
    found = Dissection(host, graph.n)
    everything = host.from_host(np.arange(graph.n, dtype=np.int32))
    depth = Depth(whole_graph(backend, host, graph, seed), everything, NO_PARENT)
    sides = host.full(graph.n, 0)
    if is_last is not None:
        sides[is_last] = SEPARATOR
    while len(depth.nodes):
        depth = children(large, depth, sides, found)
        tell("order", graph.n - len(depth.vertices), graph.n)
        sides = separate(large, depth) if separate else separators(large, depth.nodes)
    return found.finished()


def whole_graph(backend: Backend, host: Backend, graph: Graph, seed: int) -> Nodes:
    """Return a graph as the only node."""
    on_host = upload(host, graph)
    on_backend = on_host if backend is host else None
    if on_backend is None and graph.n > LARGEST_NODE:
        on_backend = upload(backend, graph)
    weight = np.array([graph.total_vertex_weight])
    return Nodes(on_host, np.array([0, graph.n]), weight, np.array([seed]), on_backend)


def subgraphs(
    large: LargeNodes, nodes: Nodes, order: Array, has_large: bool
) -> tuple[DeviceGraph, DeviceGraph | None]:
    """Return the subgraph that the vertices in `order` induce, on the host and on the back end.

    The back end computes it if it `has_large` nodes.
    """
    backend, host = large.backend, large.host
    if backend is host or not has_large:
        on_host = joined(host, nodes.graph, order)
        return on_host, on_host if backend is host else None
    assert nodes.on_backend is not None
    on_backend = joined(backend, nodes.on_backend, carry(order, host, backend))
    return carry_graph(on_backend, backend, host), on_backend


def within_limits(effort: Effort, graph: Graph) -> Effort:
    """Return the effort with so few tries that 32-bit indices can address their finest levels.

    Raises
    ------
    GraphError
        If even one try is too many.
    """
    most = most_tries(graph.n, len(graph.indices))
    if not most:
        raise GraphError(
            f"{graph.name}: nested dissection takes fewer than 2**31 entries off the diagonal and "
            "fewer than 2**29 rows"
        )
    few = min(effort.tries, effort.small_tries, most)
    return replace(effort, tries=min(effort.tries, most), small_tries=few)


def separators(large: LargeNodes, nodes: Nodes) -> Array:
    """Return the side of each vertex of some nodes (int32, shape (n,)) by several tries."""
    host, sizes = large.host, nodes.sizes
    sides = host.empty(nodes.graph.n)
    is_large = sizes > LARGEST_NODE
    separate_small(large.backend, host, nodes, large.effort, np.flatnonzero(~is_large), sides)
    if is_large.any():
        large.separate(nodes, np.flatnonzero(is_large), sides)
    return sides


def children(large: LargeNodes, depth: Depth, sides: Array, found: Dissection) -> Depth:
    """Return the nodes of the next depth, given the side of each vertex of this one.

    The separators become nodes of the tree, and so do the components that are not to be
    divided: all those of one node together.
    """
    host, effort = large.host, large.effort
    nodes, n = depth.nodes, depth.nodes.graph.n
    components, firsts, sizes, weights, node = find_components(host, nodes, sides)
    separates = node < 0
    node = np.where(separates, -1 - node, node)
    above = depth.parents.copy()
    above[node[separates]] = found.add(above[node[separates]])
    is_node = ~separates & (weights > effort.leaf_weight) & (sizes >= FEWEST)
    is_leaf = ~separates & ~is_node
    with_leaf, leaf_of = np.unique(node[is_leaf], return_inverse=True)
    tree_nodes = np.empty(n, np.int32)
    tree_nodes[firsts] = NO_COMPONENT
    tree_nodes[firsts[separates]] = above[node[separates]]
    tree_nodes[firsts[is_leaf]] = found.add(above[with_leaf])[leaf_of]

    kept = host.empty(n)
    assignment = Assignment(host.from_host(tree_nodes), depth.vertices, found.node_of, kept)
    passed = {"components": components, "assignment": assignment}
    count = host.scan(n, kernels.assign_vertices, **passed)
    own = node[is_node]
    rank = np.arange(len(own)) - np.searchsorted(own, own)
    seeds = nodes.seeds[own] * 31 + rank + 1 & INT32_MAX
    starts = np.append(0, np.cumsum(sizes[is_node], dtype=np.int64))
    has_large = bool((sizes[is_node] > LARGEST_NODE).any())
    on_host, on_backend = subgraphs(large, nodes, kept[:count], has_large)
    vertices = project_parts(host, kept[:count], depth.vertices)
    own_weights = weights[is_node].astype(np.int64)
    return Depth(Nodes(on_host, starts, own_weights, seeds, on_backend), vertices, above[own])


def _postorder(parents: Numbers) -> Numbers:
    """Return each node's number in postorder, given parents with lower numbers (-1 for roots)."""
    sizes = np.ones(len(parents), np.int64)
    for node in range(len(parents) - 1, -1, -1):
        if parents[node] >= 0:
            sizes[parents[node]] += sizes[node]
    numbers = np.empty(len(parents), np.int64)
    # The next free number below each node, and at the top.
    free = np.zeros(len(parents) + 1, np.int64)
    for node, parent in enumerate(parents):
        first = free[parent]
        free[parent] = first + sizes[node]
        free[node] = first
        numbers[node] = first + sizes[node] - 1
    return numbers
