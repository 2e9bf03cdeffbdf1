"""Filling of empty parts."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from jetpy.device.device_graph import DeviceGraph
from jetpy.engines.base import Array, Backend
from jetpy.graph.csr import IntArray
from jetpy.workloads.refinement import balance as kernels

HELD_FOR_EVER, MAX_HELD = 2**62, 2**61
"""Internal weight of a pinned vertex, and the maximum of any other. All edge weights together are
much less than the difference, so the two stay distinct when edge weights are subtracted."""
FEW = 256
"""Maximum count of empty parts for which the rows of moved vertices are fetched from a GPU one by
one. If there are more, the whole graph is fetched."""


class Held(NamedTuple):
    """A vertex, its part, and the weight of its edges to that part."""

    weight: int
    vertex: int
    part: int


class Filled(NamedTuple):
    """Moved vertices (int32), their new parts (int32), and the increase of the cut."""

    vertices: npt.NDArray[np.int32]
    parts: npt.NDArray[np.int32]
    growth: int


def fill(
    backend: Backend,
    graph: DeviceGraph,
    parts: Array,
    k: int,
    pinned: Array | None = None,
    limits: npt.NDArray[np.int64] | None = None,
    spare: npt.NDArray[np.int64] | None = None,
    placeholders: npt.NDArray[np.int64] | None = None,
) -> Filled:
    """Return the vertices to move into the empty parts of a partition (int32, shape (n,)).

    Each empty part gets one vertex from a part of at least two vertices: the vertex with the least
    internal weight. If there are fewer vertices than parts, some parts stay empty. `pinned` (int32,
    shape (n,)) is -1 for vertices that may move. A part gets only vertices that weigh at most its
    entry of `limits` (int64, shape (k,)), if given, and loses no more weight than its entry of
    `spare` (int64, shape (k,)), if given. A part with no vertices but its pinned `placeholders`
    (their number for each part, int64, shape (k,)) is empty.
    """
    counts = count_vertices(backend, graph, parts, k)
    if placeholders is not None:
        counts -= backend.from_host(placeholders.astype(np.int32))
    sizes = backend.to_host(counts).tolist()
    empty = [p for p, size in enumerate(sizes) if size == 0]
    if not empty:  # a part may have vertices of weight 0
        return Filled(np.empty(0, np.int32), np.empty(0, np.int32), 0)
    internal = internal_weights(backend, graph, parts)
    if pinned is not None:
        internal[pinned >= 0] = HELD_FOR_EVER
    candidates = 2 * len(empty)
    most = np.full(k, HELD_FOR_EVER, np.int64) if limits is None else limits
    left = np.full(k, HELD_FOR_EVER, np.int64) if spare is None else spare.copy()
    weights = np.zeros(graph.n, np.int32)
    if limits is not None or spare is not None:
        candidates, weights = graph.n, backend.to_host(graph.vertex_weights)
        empty.sort(key=lambda p: -most[p])
    heap = _loosest(backend, parts, counts, internal, candidates)
    neighbours = _Neighbours(backend, graph, parts, internal, whole=len(empty) > FEW)
    moved: dict[int, int] = {}
    now: dict[int, int] = {}
    growth = 0
    for p in empty:
        while heap and (
            sizes[heap[0].part] < 2
            or heap[0].vertex in moved
            or heap[0].weight != now.get(heap[0].vertex, heap[0].weight)
            or weights[heap[0].vertex] > min(most[p], left[heap[0].part])
        ):
            heapq.heappop(heap)
        if not heap or heap[0].weight > MAX_HELD:
            break
        loosest = heapq.heappop(heap)
        moved[loosest.vertex] = p
        growth += loosest.weight
        if placeholders is not None:
            growth -= sum(weight for _, _, weight in neighbours.within(p, loosest.vertex))
        left[loosest.part] -= weights[loosest.vertex]
        sizes[loosest.part] -= 1
        for u, before, weight in neighbours.within(loosest.part, loosest.vertex):
            if u not in moved:
                now[u] = now.get(u, before) - weight
                heapq.heappush(heap, Held(now[u], u, loosest.part))
    vertices, new = np.array(list(moved), np.int32), np.array(list(moved.values()), np.int32)
    return Filled(vertices, new, growth)


def count_vertices(backend: Backend, graph: DeviceGraph, parts: Array, k: int) -> Array:
    """Return the number of vertices of each part, int32, shape (k,), over all pieces of a graph."""
    counts = backend.full(k, 0)
    backend.parallel_for(graph.n, kernels.count_vertices, parts=parts, sizes=counts)
    graph.halo.allreduce(counts)
    return counts


def internal_weights(backend: Backend, graph: DeviceGraph, parts: Array) -> Array:
    """Return the weight of each vertex's edges to its own part, int64, shape (n,)."""
    internal = backend.empty(graph.n, np.int64)
    backend.parallel_for(
        graph.n, kernels.weigh_internal, graph=graph, parts=parts, internal=internal
    )
    return internal


def _loosest(
    backend: Backend, parts: Array, sizes: Array, internal: Array, count: int
) -> list[Held]:
    """Return the `count` vertices of least internal weight in parts of at least two vertices."""
    n = len(parts)
    host_sizes = backend.to_host(sizes)
    count = min(count, int(host_sizes[host_sizes > 1].sum()))
    loose = backend.empty(n)
    heaviest, found = 0, -1
    while found < count and heaviest < MAX_HELD:
        heaviest = min(2 * heaviest + 1, MAX_HELD)
        found = backend.scan(
            n,
            kernels.list_loose,
            parts=parts,
            sizes=sizes,
            internal=internal,
            most=heaviest,
            loose=loose,
        )
    listed = loose[:found]
    vertices, weights = backend.to_host(listed), backend.to_host(internal[listed])
    first = _smallest(weights, count)
    within = backend.to_host(parts[listed])[first]
    columns = (weights[first].tolist(), vertices[first].tolist(), within.tolist())
    return sorted(Held(*row) for row in zip(*columns, strict=True))


def _smallest(values: npt.NDArray[np.int64], count: int) -> npt.NDArray[np.intp]:
    """Return the indices of the `count` smallest values; ties go to the lower index."""
    if len(values) <= count:
        return np.arange(len(values))
    most = np.partition(values, count - 1)[count - 1]
    less, last = np.flatnonzero(values < most), np.flatnonzero(values == most)
    places: npt.NDArray[np.intp] = np.concatenate([less, last[: count - len(less)]])
    return places


class _Neighbours:
    """Rows of the graph within parts, read from the back end or, if `whole`, from a host copy."""

    def __init__(
        self, backend: Backend, graph: DeviceGraph, parts: Array, internal: Array, *, whole: bool
    ) -> None:
        arrays = (graph.indptr, graph.indices, graph.edge_weights, parts, internal)
        self._fetch = np.asarray if whole else backend.to_host
        self._arrays = tuple(map(backend.to_host, arrays)) if whole else arrays

    def within(self, part: int, v: int) -> Iterator[tuple[int, int, int]]:
        """Return the neighbours of v in a part, their internal weights and the edge weights."""
        indptr, indices, edge_weights, parts, internal = self._arrays
        begin, end = self._fetch(indptr[v : v + 2]).tolist()
        row = indices[begin:end]
        inside: IntArray = self._fetch(parts[row]) == part
        columns = (
            self._fetch(row),
            self._fetch(internal[row]),
            self._fetch(edge_weights[begin:end]),
        )
        return zip(*(column[inside].tolist() for column in columns), strict=True)
