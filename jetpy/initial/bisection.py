"""Recursive bisection on the back end; each launch covers all partitions, nodes and tries."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import numpy.typing as npt

from jetpy.device.device_graph import DeviceGraph
from jetpy.engines.base import Array, Backend
from jetpy.graph.csr import INT32_MAX
from jetpy.initial.roots import Root
from jetpy.workloads.common.groups import NO_PART
from jetpy.workloads.common.heaps import Field
from jetpy.workloads.initial import bisection as kernels
from jetpy.workloads.initial.bisection import Node, Tree
from jetpy.workloads.initial.inner_levels import ENTRY_ROOM, VERTEX_ROOM

GROWINGS = 3
"""Bisections grown on the coarsest level of a try; the best one is kept."""
PASSES = 8
"""Maximum number of Fiduccia-Mattheyses passes on a level."""


@dataclass(frozen=True, eq=False)
class Levels:
    """Storage for the levels of all tries of a depth (`jetpy.workloads.initial.inner_levels`)."""

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
    ends: Array
    edge_weights: Array
    keys: Array
    numbers: Array

    @classmethod
    def with_room(cls, backend: Backend, vertices: int, entries: int, rows: int) -> Levels:
        """Allocate levels of `vertices` vertices, `entries` entries and `rows` rows in total."""
        return cls(
            rows=backend.empty(vertices),
            weights=backend.empty(vertices),
            coarse_of=backend.empty(vertices),
            sides=backend.empty(vertices),
            internal=backend.empty(vertices),
            external=backend.empty(vertices),
            moved=backend.empty(vertices),
            pinned=backend.empty(vertices),
            heap=backend.empty(vertices),
            positions=backend.empty(vertices),
            keys=backend.empty(vertices, np.int64),
            ends=backend.empty(entries),
            edge_weights=backend.empty(entries),
            numbers=backend.empty(rows * Field.COUNT, np.int64),
        )


def bisect(
    backend: Backend,
    graph: DeviceGraph,
    parts: npt.NDArray[np.int32],
    roots: list[Root],
    partitions: int,
    tries: int,
    seed: int,
    pinned: npt.NDArray[np.int32] | None = None,
) -> list[npt.NDArray[np.int32]]:
    """Return `partitions` partitions (int32, shape (n,)) in which each root is divided into parts.

    Bisections of the last depth are tried `tries` times, and bisections of each earlier depth one
    time less, because a small cut predicts less if more bisections follow. `parts` (int32, shape
    (n,)) has the parts of vertices outside all roots, and `pinned` (int32, shape (n,)) the required
    parts, -1 for other vertices.
    """
    if not roots or not partitions:
        return [parts] * partitions
    n, nnz = graph.n, graph.nnz
    most = partitions * tries
    room = max(1, min(ENTRY_ROOM, INT32_MAX // max(most * nnz, 1)))
    tree = plant(backend, graph, parts, roots, partitions, pinned)
    depth = max((root.parts - 1).bit_length() for root in roots)
    count = len(roots)
    widest = most * (count << max(depth - 1, 0))
    levels = Levels.with_room(backend, VERTEX_ROOM * n * most, room * nnz * most, widest)
    best = backend.empty(VERTEX_ROOM * n * most)
    for number in range(depth):
        every = partitions * count
        each = max(1, tries - (depth - 1 - number))
        size, both = {"count": count, "n": n, "tries": each}, {"tree": tree, "levels": levels}
        children = backend.empty(2 * every * Node.COUNT, np.int64)
        order = backend.empty(partitions * n)
        chosen = backend.empty(every)
        salt = (seed + number) & INT32_MAX
        launch = partial(backend.run_tasks, every * each)
        launch(kernels.extract, graph=graph, room=room, **size, **both)
        launch(kernels.coarsen_nodes, tries=each, seed=salt, **both)
        launch(kernels.grow_nodes, tries=each, best=best, growings=GROWINGS, **both)
        launch(kernels.refine_nodes, tries=each, passes=PASSES, **both)
        launch = partial(backend.run_tasks, every, chosen=chosen, **both)
        launch(kernels.choose_tries, tries=each)
        launch(kernels.fill_sides)
        launch(kernels.divide, graph=graph, children=children, next_order=order, **size)
        tree = replace(tree, nodes=children, order=order)
        count *= 2
    found = backend.to_host(tree.parts)
    return [found[number * n : (number + 1) * n] for number in range(partitions)]


def plant(
    backend: Backend,
    graph: DeviceGraph,
    parts: npt.NDArray[np.int32],
    roots: list[Root],
    partitions: int,
    pinned: npt.NDArray[np.int32] | None = None,
) -> Tree:
    """Return the tree whose nodes are the roots, in each partition."""
    degrees = np.diff(backend.to_host(graph.indptr)).astype(np.int64)
    starts, places = parts.copy(), np.zeros(graph.n, np.int32)
    rows = np.zeros((partitions, len(roots), Node.COUNT), np.int64)
    begin = entry = 0
    for number, root in enumerate(roots):
        starts[root.members] = root.first
        places[root.members] = np.arange(len(root.members))
        end, size = begin + len(root.members), int(degrees[root.members].sum())
        rows[:, number] = begin, end, entry, root.first, root.parts, size
        begin, entry = end, entry + size
    numbers = np.arange(partitions)[:, None]
    rows[:, :, Node.BEGIN] += numbers * graph.n
    rows[:, :, Node.END] += numbers * graph.n
    rows[:, :, Node.ENTRY] += numbers * graph.nnz
    order = np.zeros((partitions, graph.n), np.int32)
    order[:, :begin] = np.concatenate([root.members for root in roots])
    return Tree(
        backend.from_host(rows.ravel()),
        backend.from_host(order.ravel()),
        backend.from_host(np.tile(starts, partitions)),
        backend.from_host(np.tile(places, partitions)),
        shares=backend.from_host(_sums(roots, [root.shares for root in roots])),
        rooms=backend.from_host(_sums(roots, [root.limits for root in roots])),
        floors=backend.from_host(_sums(roots, [root.lower_limits for root in roots])),
        pinned=backend.full(graph.n, NO_PART) if pinned is None else backend.from_host(pinned),
    )


def _sums(roots: list[Root], numbers: list[npt.NDArray[np.int64]]) -> npt.NDArray[np.int64]:
    """Return the sums over the parts before each part, given a value for each part of each root."""
    sums = np.zeros(1 + max(root.first + root.parts for root in roots), np.int64)
    for root, own in zip(roots, numbers, strict=True):
        sums[root.first + 1 : root.first + root.parts + 1] = own
    return sums.cumsum()
