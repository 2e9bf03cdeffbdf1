"""Filling empty parts."""

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
"""Internal weight of a vertex that is pinned to its part, and most of another one. Weights of edges
may be subtracted from either, and are together much less than the difference."""
FEW = 256
"""Up to so many empty parts, a GPU's host fetches the rows of vertices that it moves, one by one;
if there are more, it fetches all."""


class Held(NamedTuple):
    """What holds a vertex in a part: the weight of its edges there."""

    weight: int
    vertex: int
    part: int


class Filled(NamedTuple):
    """Vertices (int32), the empty parts that they go to (int32), and by how much the cut grows."""

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
) -> Filled:
    """Return which vertices the empty parts of a partition (int32, shape (n,)) get.

    Each gets a vertex of a part of two or more: the one that has least edges to its own part, by
    weight. With fewer vertices than parts, some stay empty. `pinned` (int32, shape (n,)) is not
    negative for vertices that stay. Where `limits` are given (int64, shape (k,)), vertices that
    weigh more do not go to a part.
    """
    counts = backend.full(k, 0)
    backend.parallel_for(graph.n, kernels.count_vertices, parts=parts, sizes=counts)
    sizes = backend.to_host(counts).tolist()
    empty = [p for p, size in enumerate(sizes) if size == 0]
    internal = internal_weights(backend, graph, parts)
    if pinned is not None:
        internal[pinned >= 0] = HELD_FOR_EVER
    candidates = 2 * len(empty)
    most = np.full(k, HELD_FOR_EVER, np.int64) if limits is None else limits
    weights = np.zeros(graph.n, np.int32)
    if limits is not None:
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
            or weights[heap[0].vertex] > most[p]
        ):
            heapq.heappop(heap)
        if not heap or heap[0].weight > MAX_HELD:
            break
        loosest = heapq.heappop(heap)
        moved[loosest.vertex] = p
        growth += loosest.weight
        sizes[loosest.part] -= 1
        for u, before, weight in neighbours.inside(loosest):
            if u not in moved:
                now[u] = now.get(u, before) - weight
                heapq.heappush(heap, Held(now[u], u, loosest.part))
    vertices, new = np.array(list(moved), np.int32), np.array(list(moved.values()), np.int32)
    return Filled(vertices, new, growth)


def internal_weights(backend: Backend, graph: DeviceGraph, parts: Array) -> Array:
    """Return the weight of the edges of each vertex to its own part, int64, shape (n,)."""
    internal = backend.empty(graph.n, np.int64)
    backend.parallel_for(
        graph.n, kernels.weigh_internal, graph=graph, parts=parts, internal=internal
    )
    return internal


def _loosest(
    backend: Backend, parts: Array, sizes: Array, internal: Array, count: int
) -> list[Held]:
    """Return the first `count` vertices of parts of two or more, as they are held, or all."""
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
    """Return the places of the first `count` by value, then place."""
    if len(values) <= count:
        return np.arange(len(values))
    most = np.partition(values, count - 1)[count - 1]
    less, last = np.flatnonzero(values < most), np.flatnonzero(values == most)
    places: npt.NDArray[np.intp] = np.concatenate([less, last[: count - len(less)]])
    return places


class _Neighbours:
    """The neighbours of a vertex within its part, from the back end or, `whole`, from the host."""

    def __init__(
        self, backend: Backend, graph: DeviceGraph, parts: Array, internal: Array, *, whole: bool
    ) -> None:
        arrays = (graph.indptr, graph.indices, graph.edge_weights, parts, internal)
        self._fetch = np.asarray if whole else backend.to_host
        self._arrays = tuple(map(backend.to_host, arrays)) if whole else arrays

    def inside(self, held: Held) -> Iterator[tuple[int, int, int]]:
        """Return those neighbours, their internal weights, and the weights of the edges."""
        indptr, indices, edge_weights, parts, internal = self._arrays
        begin, end = self._fetch(indptr[held.vertex : held.vertex + 2]).tolist()
        row = indices[begin:end]
        inside: IntArray = self._fetch(parts[row]) == held.part
        columns = (
            self._fetch(row),
            self._fetch(internal[row]),
            self._fetch(edge_weights[begin:end]),
        )
        return zip(*(column[inside].tolist() for column in columns), strict=True)
