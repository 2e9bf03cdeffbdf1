"""Dissection of a graph by vertex separators, all nodes of a depth of the tree at once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import numpy.typing as npt

from jetpy.device.device_graph import DeviceGraph, upload
from jetpy.engines.base import Array, Backend
from jetpy.errors import GraphError
from jetpy.graph.csr import INT32_MAX, Graph
from jetpy.ordering.separator_tree import SeparatorTree
from jetpy.progress import Progress, no_progress
from jetpy.workloads.common.groups import NO_PART
from jetpy.workloads.common.heaps import Field
from jetpy.workloads.ordering import dissection as kernels
from jetpy.workloads.ordering.dissection import VERTEX_ROOM, Node, Nodes
from jetpy.workloads.ordering.separator_flows import Band, Bands

Vertices = npt.NDArray[np.int32]
Numbers = npt.NDArray[np.int64]

ENTRY_ROOM = 3
"""Capacity of a try for the entries of its levels, per entry of the node."""
LARGE = 2000
"""Nodes with more vertices get the full number of tries."""
FEWEST = 8
"""A node with fewer vertices is not divided."""
MAX_FLOWS = 3
"""Flows for each separator; passes follow each one, and one that fails is the last."""
MAX_BAND = 40_000
"""Number of vertices at which the band of a flow ends."""
NO_NODE = -1


@dataclass(frozen=True)
class Effort:
    """What is spent on the separator of a node.

    Attributes
    ----------
    tries : int
        Separators for each large node; the best one is kept.
    small_tries : int
        Separators for each small node: at most `LARGE` vertices. Never more than `tries`.
    imbalances : tuple of float
        Imbalances up to which the separators of the tries grow, in turn.
    largest_side : float
        Largest share of a node's weight on one side of its separator.
    skew : int
        Penalty of a lopsided separator that is large (`jetpy.workloads.ordering.separators`). Its
        larger side needs another separator about as large, and so on.
    leaf_weight : int
        Nodes of at most this weight are not divided.
    growings : int
        Separators grown on the coarsest level of a try; the best one is refined.
    passes : int
        Maximum number of Fiduccia-Mattheyses passes on a level.
    hops : int
        Hops from a separator to the ends of the band in which a flow improves it; 0 for no flows.
    choice : bool
        Whether minimum degree or multisection replaces the dissection of a subtree where that takes
        fewer operations.
    """

    tries: int
    small_tries: int
    imbalances: tuple[float, ...]
    largest_side: float = 0.75
    skew: int = 160
    leaf_weight: int = 120
    growings: int = 8
    passes: int = 4
    hops: int = 5
    choice: bool = False

    def shares(self, tries: int) -> npt.NDArray[np.int32]:
        """Return the share of a node's weight that a side may grow to in each try, in thousandths.

        int32, shape (tries,).
        """
        own = [self.imbalances[i % len(self.imbalances)] for i in range(tries)]
        return np.array([round(500 * (1 + imbalance)) for imbalance in own], np.int32)


@dataclass(frozen=True, eq=False)
class Queue:
    """Storage for the queues of one side (`jetpy.workloads.common.heaps`)."""

    keys: Array
    heap: Array
    positions: Array
    numbers: Array


@dataclass(frozen=True, eq=False)
class Levels:
    """Storage for the levels of the tries (`jetpy.workloads.ordering.separators`).

    `bands` shares arrays: flows need them neither during passes nor while levels are built.
    """

    rows: Array
    weights: Array
    coarse_of: Array
    sides: Array
    internal: Array
    external: Array
    moved: Array
    pinned: Array
    heap: Array
    positions: Array
    keys: Array
    ends: Array
    edge_weights: Array
    numbers: Array
    other: Queue
    bands: Bands

    @classmethod
    def with_room(cls, backend: Backend, vertices: int, entries: int, rows: int) -> Levels:
        """Allocate levels of `vertices` vertices, `entries` entries and `rows` rows in total."""

        def empty() -> Array:
            return backend.empty(vertices)

        numbers = backend.empty(rows * Field.COUNT, np.int64)
        first = Queue(backend.empty(vertices, np.int64), empty(), empty(), numbers)
        second = Queue(backend.empty(vertices, np.int64), empty(), empty(), numbers)
        internal, external, moved, coarse_of = empty(), empty(), empty(), empty()
        edge_weights = backend.empty(entries)
        bands = Bands(
            bands=backend.full(rows * Band.COUNT, 0, np.int64),
            order=moved,
            flows=edge_weights,
            through=internal,
            in_labels=first.positions,
            out_labels=second.positions,
            in_arcs=first.heap,
            out_arcs=second.heap,
            in_before=external,
            out_before=coarse_of,
            in_counts=first.keys,
            out_counts=second.keys,
        )
        return cls(
            rows=empty(),
            weights=empty(),
            coarse_of=coarse_of,
            sides=empty(),
            internal=internal,
            external=external,
            moved=moved,
            pinned=empty(),
            heap=first.heap,
            positions=first.positions,
            keys=first.keys,
            ends=backend.empty(entries),
            edge_weights=edge_weights,
            numbers=numbers,
            other=second,
            bands=bands,
        )


@dataclass(frozen=True, eq=False)
class Depth:
    """The nodes of one depth: connected sets of vertices that are to be divided.

    Node i has the vertices ``order[starts[i]..starts[i + 1] - 1]``. `parents` has the node of the
    tree above each, and `seeds` the seed of each.
    """

    order: Vertices
    starts: Numbers
    parents: Numbers
    seeds: Numbers

    def __len__(self) -> int:
        return len(self.parents)

    @property
    def sizes(self) -> Numbers:
        """Number of vertices of each node."""
        return np.diff(self.starts)

    def where(self, chosen: npt.NDArray[np.bool_]) -> Depth:
        """Return the chosen nodes."""
        return Depth(
            self.order[np.repeat(chosen, self.sizes)],
            np.append(0, np.cumsum(self.sizes[chosen])),
            self.parents[chosen],
            self.seeds[chosen],
        )


class Dissection:
    """The tree under construction, from the root down: a node has a lower number than its children.

    Attributes
    ----------
    node_of : int64, shape (n,)
        Node of the tree of each vertex.
    parents : list of int64 arrays
        Parents of the nodes, by depth.
    """

    def __init__(self, n: int) -> None:
        self.node_of = np.full(n, NO_NODE, np.int64)
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
        node_of = numbers[self.node_of].astype(np.int32)
        renumbered = np.empty(self.count, np.int32)
        renumbered[numbers] = np.where(parents < 0, NO_NODE, numbers[parents])
        sizes = np.bincount(node_of, minlength=self.count)
        starts = np.concatenate(([0], np.cumsum(sizes))).astype(np.int32)
        return node_of, SeparatorTree(renumbered, starts)


def dissect(
    backend: Backend, graph: Graph, effort: Effort, seed: int, tell: Progress = no_progress
) -> tuple[Vertices, SeparatorTree]:
    """Return the node of each vertex (int32, shape (n,)) in a separator tree, and the tree.

    A node without children is a leaf. `tell` gets the number of vertices that have a node.

    Raises
    ------
    GraphError
        If the graph is too large.
    """
    there = upload(backend, graph)
    found = Dissection(graph.n)
    members = np.arange(graph.n, dtype=np.int32)
    whole = Depth(members, np.array([0, graph.n]), np.array([NO_NODE]), np.array([seed]))
    node_of, places = backend.full(graph.n, NO_PART), backend.empty(graph.n)
    tools = Tools(backend, there, graph, effort, node_of, places)
    depth = tools.children(whole, np.zeros(len(members), np.int32), found)
    while len(depth):
        tell("order", graph.n - len(depth.order), graph.n)
        depth = tools.children(depth, tools.separators(depth), found)
    return found.finished()


@dataclass(frozen=True, eq=False)
class Tools:
    """What the steps of one dissection share; `node_of` and `places` (shape (n,)) are scratch."""

    backend: Backend
    there: DeviceGraph
    graph: Graph
    effort: Effort
    node_of: Array
    places: Array

    @property
    def most_tries(self) -> int:
        """Number of tries of the whole graph whose finest levels 32-bit indices can address.

        Raises
        ------
        GraphError
            If it is 0.
        """
        most: int = INT32_MAX // max(len(self.graph.indices), VERTEX_ROOM * self.graph.n, 1)
        if not most:
            raise GraphError(
                f"{self.graph.name}: nested dissection takes fewer than 2**31 entries off the "
                "diagonal and fewer than 2**29 rows"
            )
        return most

    def separators(self, depth: Depth) -> Vertices:
        """Return the side of each vertex of a depth, by its place in the order."""
        effort = self.effort
        sides = np.empty(len(depth.order), np.int32)
        is_large = depth.sizes > LARGE
        for chosen, tries in (
            (is_large, min(effort.tries, self.most_tries)),
            (~is_large, min(effort.tries, effort.small_tries, self.most_tries)),
        ):
            if chosen.any():
                found = self._separate(depth.where(chosen), tries)
                sides[np.repeat(chosen, depth.sizes)] = found
        return sides

    def _degrees(self, depth: Depth) -> Numbers:
        """Return the sum of the degrees of each node's vertices."""
        indptr, order = self.graph.indptr, depth.order
        degrees = (indptr[order + 1] - indptr[order]).astype(np.int64)
        return np.add.reduceat(degrees, depth.starts[:-1])

    def _separate(self, depth: Depth, tries: int) -> Vertices:
        """Return the sides of the vertices of some nodes of a depth."""
        backend, effort = self.backend, self.effort
        count = len(depth)
        nodes, size = self._nodes(depth)
        n, nnz = len(depth.order), int(size.sum())
        room = max(1, min(ENTRY_ROOM, INT32_MAX // max(nnz * tries, 1)))
        levels = Levels.with_room(
            backend, VERTEX_ROOM * n * tries, room * nnz * tries, count * tries
        )
        sides = backend.empty(n)
        launch = partial(backend.run_tasks, count * tries, levels=levels)
        shares = backend.from_host(effort.shares(tries))
        launch(
            kernels.extract,
            tries=tries,
            room=room,
            skew=effort.skew,
            shares=shares,
            graph=self.there,
            nodes=nodes,
        )
        launch(kernels.coarsen_nodes)
        best = backend.empty(VERTEX_ROOM * n * tries)
        start = {"tries": tries, "growings": effort.growings, "passes": effort.passes}
        launch(kernels.grow_bisections, best=best, **start)
        launch(kernels.refine_bisections, tries=tries, passes=effort.passes)
        launch(kernels.grow_separators, best=best, other=levels.other, **start)
        launch(
            kernels.refine_separators,
            passes=effort.passes,
            share=round(1000 * effort.largest_side),
            other=levels.other,
        )
        if effort.hops:
            self._improve_by_flows(count, tries, levels)
        backend.run_tasks(
            count, kernels.choose_separators, tries=tries, nodes=nodes, levels=levels, sides=sides
        )
        return backend.to_host(sides)

    def _improve_by_flows(self, count: int, tries: int, levels: Levels) -> None:
        """Improve the best separators of `count` nodes by flows and passes, by turns."""
        backend, effort, bands = self.backend, self.effort, levels.bands
        tasks = count * tries
        for _ in range(MAX_FLOWS):
            backend.run_tasks(
                count, kernels.select_tries, tries=tries, levels=levels, bands=bands.bands
            )
            backend.run_tasks(
                tasks,
                kernels.improve_by_flows,
                hops=effort.hops,
                limit=MAX_BAND,
                levels=levels,
                bands=bands,
            )
            backend.run_tasks(
                tasks,
                kernels.refine_after_flows,
                passes=effort.passes,
                levels=levels,
                other=levels.other,
                bands=bands.bands,
            )

    def _nodes(self, depth: Depth) -> tuple[Nodes, Numbers]:
        """Return the nodes of a depth for kernels, and the sum of the degrees of each."""
        size = self._degrees(depth)
        rows = np.empty((len(depth), Node.COUNT), np.int64)
        rows[:, Node.BEGIN], rows[:, Node.END] = depth.starts[:-1], depth.starts[1:]
        rows[:, Node.ENTRY], rows[:, Node.SIZE] = np.cumsum(size) - size, size
        rows[:, Node.SEED] = depth.seeds
        nodes = Nodes(
            self.backend.from_host(rows.ravel()),
            self.backend.from_host(depth.order),
            self.node_of,
            self.places,
        )
        self.backend.run_tasks(len(depth), kernels.place_vertices, nodes=nodes)
        return nodes, size

    def children(self, depth: Depth, sides: Vertices, found: Dissection) -> Depth:
        """Return the nodes of the next depth, given the sides of each vertex of this one.

        The separators become nodes of the tree, and so do the components that are not to be
        divided: all those of one node together.
        """
        if not len(depth.order):
            return replace(depth, starts=depth.starts[:1], parents=depth.parents[:0])
        backend = self.backend
        nodes, _ = self._nodes(depth)
        order, components = backend.empty(len(depth.order)), backend.empty(len(depth.order))
        backend.run_tasks(
            len(depth),
            kernels.find_components,
            graph=self.there,
            nodes=nodes,
            sides=backend.from_host(sides),
            next_order=order,
            components=components,
        )
        order, components = backend.to_host(order), backend.to_host(components)
        node = np.repeat(np.arange(len(depth)), depth.sizes)
        separates = components == kernels.NO_COMPONENT
        above = depth.parents.copy()
        divided = np.unique(node[separates])
        above[divided] = found.add(depth.parents[divided])
        found.node_of[order[separates]] = above[node[separates]]

        places = np.arange(len(order))
        begins = places[components == places]
        own = node[begins]
        inside = ~separates
        number = np.cumsum(components == places)[inside] - 1
        weights = np.bincount(
            number, self.graph.vertex_weights[order[inside]], minlength=len(begins)
        )
        sizes = np.bincount(number, minlength=len(begins))
        large = (weights > self.effort.leaf_weight) & (sizes >= FEWEST)
        with_leaf, leaf_of = np.unique(own[~large], return_inverse=True)
        leaves = found.add(above[with_leaf])
        in_leaf = inside.copy()
        in_leaf[inside] = ~large[number]
        leaf = np.zeros(len(begins), np.int64)
        leaf[~large] = leaves[leaf_of]
        found.node_of[order[in_leaf]] = leaf[number[~large[number]]]
        rank = np.cumsum(large)[large]
        first = np.searchsorted(own[large], own[large])
        seeds = depth.seeds[own[large]] * 31 + (rank - 1 - first) + 1 & INT32_MAX
        return Depth(
            order[inside & ~in_leaf],
            np.concatenate(([0], np.cumsum(sizes[large]))),
            above[own[large]],
            seeds,
        )


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
