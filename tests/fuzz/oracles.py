"""The definitions of limits, weights and components, in plain NumPy."""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from jetpy.graph.csr import INT32_MAX, Graph

Parts = npt.NDArray[np.int32]
Ints = npt.NDArray[np.integer[Any]]
Numbers = npt.NDArray[np.int64]


def limits_of(
    total: int, k: int, imbalance: float, targets: Sequence[int] | None = None
) -> tuple[Numbers, Numbers]:
    """Return the ideal weight and the limit of each part, int64, shape (k,) each."""
    shares = [1] * k if targets is None else list(targets)
    ideals = [-(-total * share // sum(shares)) for share in shares]
    factor, most = 1 + Fraction(str(imbalance)), max(INT32_MAX, total)
    limits = [min(math.floor(factor * ideal), most) for ideal in ideals]
    return np.array(ideals, np.int64), np.array(limits, np.int64)


def limit_of(total: int, k: int, imbalance: float) -> int:
    """Return the limit of a part."""
    return int(limits_of(total, k, imbalance)[1].max())


def limit_of_pes(total: int, k: int, imbalance: float) -> int:
    """Return the limit of a PE."""
    return min(math.ceil((1 + Fraction(str(imbalance))) * total / k), INT32_MAX)


def packed(weights: Parts, k: int) -> Parts:
    """Return parts by greedy packing: heaviest vertices first, each into the lightest part."""
    parts = np.zeros(len(weights), np.int32)
    lightest = [(0, part) for part in range(k)]
    for v in np.argsort(-weights, kind="stable").tolist():
        weight, part = lightest[0]
        parts[v] = part
        heapq.heapreplace(lightest, (weight + int(weights[v]), part))
    return parts


def packs(weights: Parts, spare: Numbers) -> bool:
    """Return whether greedy packing into the part with most spare weight keeps all limits."""
    most = [-weight for weight in spare.tolist()]
    heapq.heapify(most)
    for weight in sorted(weights.tolist(), reverse=True):
        heapq.heapreplace(most, most[0] + weight)
    return max(most) <= 0


def packs_between(weights: Ints, lower: Numbers, upper: Numbers) -> bool:
    """Return whether a greedy rule packs vertices so that all parts keep both limits.

    The heaviest vertex first, each goes to the part with most room below its upper limit, or to
    the part that lacks most of its lower limit, or to the one furthest below the middle of both.
    Weights and limits are divided by the common divisor of the weights.
    """
    unit = max(1, int(np.gcd.reduce(weights, initial=0)))
    low, high = (-(-lower // unit)).tolist(), (upper // unit).tolist()
    for wanted in (high, low, [(a + b) // 2 for a, b in zip(low, high, strict=True)]):
        rooms = [(-room, p) for p, room in enumerate(wanted)]
        heapq.heapify(rooms)
        loads = [0] * len(low)
        for weight in sorted((weights // unit).tolist(), reverse=True):
            room, p = rooms[0]
            loads[p] += weight
            heapq.heapreplace(rooms, (room + weight, p))
        if all(a <= load <= b for a, load, b in zip(low, loads, high, strict=True)):
            return True
    return False


def weights_of(graph: Graph, parts: Parts, k: int) -> Numbers:
    """Return the weight of each part, int64, shape (k,)."""
    return loads_of(graph.vertex_weights, parts, k)


def loads_of(weights: Ints, parts: Parts, k: int) -> Numbers:
    """Return the sums by part of weights (n,) or (n, c): int64, shape (k,) or (k, c)."""
    result = np.zeros((k, *weights.shape[1:]), np.int64)
    np.add.at(result, parts, weights)
    return result


def sources_of(graph: Graph) -> Ints:
    """Return the source of each directed edge."""
    return np.repeat(np.arange(graph.n), np.diff(graph.indptr))


def sent(graph: Graph, parts: Parts) -> Ints:
    """Return the distinct pairs of a vertex and another part adjacent to it, shape (v, 2)."""
    u, p = sources_of(graph), parts[graph.indices]
    return np.unique(np.stack([u, p], axis=1)[p != parts[u]], axis=0)


def sizes_of(graph: Graph) -> Ints:
    """Return the size of each vertex, 1 by default."""
    return np.ones(graph.n, np.int64) if graph.vertex_sizes is None else graph.vertex_sizes


def volume_of(graph: Graph, parts: Parts) -> int:
    """Return the communication volume."""
    return int(sizes_of(graph)[sent(graph, parts)[:, 0]].sum(dtype=np.int64))


def components_of(graph: Graph, parts: Parts) -> Ints:
    """Return for each vertex the lowest vertex of its connected component within its part."""
    u, v = sources_of(graph), graph.indices
    inside = parts[u] == parts[v]
    u, v, lowest = u[inside], v[inside], np.arange(graph.n)
    while True:
        found = lowest.copy()
        np.minimum.at(found, lowest[u], lowest[v])
        while (found[found] != found).any():
            found = found[found]
        if (found == lowest).all():
            return lowest
        lowest = found


def pieces_of(graph: Graph, parts: Parts, k: int) -> Numbers:
    """Return the number of connected components of each part, int64, shape (k,)."""
    return np.bincount(parts[np.unique(components_of(graph, parts))], minlength=k)
