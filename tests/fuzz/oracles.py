"""What partitions have to be, by plain NumPy."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

import jetpy
from jetpy.graph import INT32_MAX, Graph
from tests.mapping.oracle import cut_of

Parts = npt.NDArray[np.int32]
Ints = npt.NDArray[np.integer[Any]]


class Finding(NamedTuple):
    """What a check found wrong; nothing where that is empty."""

    check: str
    wrong: str = ""


def ensure(check: str, holds: object, otherwise: str) -> Finding:
    return Finding(check, "" if holds else otherwise)


def limit_of(total: int, k: int, imbalance: float) -> int:
    """Largest weight of a part."""
    return min(math.floor((1 + Fraction(str(imbalance))) * -(-total // k)), INT32_MAX)


def limit_of_pes(total: int, k: int, imbalance: float) -> int:
    """Largest weight of a PE."""
    return min(math.ceil((1 + Fraction(str(imbalance))) * total / k), INT32_MAX)


def packed(weights: Parts, k: int) -> Parts:
    """Parts by greedy packing: heaviest vertices first, each into the lightest part."""
    parts = np.zeros(len(weights), np.int32)
    lightest = [(0, part) for part in range(k)]
    for v in np.argsort(-weights, kind="stable").tolist():
        weight, part = lightest[0]
        parts[v] = part
        heapq.heapreplace(lightest, (weight + int(weights[v]), part))
    return parts


def weights_of(graph: Graph, parts: Parts, k: int) -> npt.NDArray[np.int64]:
    result = np.zeros(k, np.int64)
    np.add.at(result, parts, graph.vertex_weights)
    return result


def balance(
    graph: Graph, found: npt.NDArray[np.int64], k: int, limit: int, feasible: bool
) -> Iterator[Finding]:
    """Check part weights found against the limit and against what greedy packing reaches."""
    heaviest = int(found.max())
    fits = heaviest <= limit
    yield ensure("feasible tells", feasible == fits, f"{feasible}, with {heaviest} of {limit}")
    if not fits:
        packing = int(weights_of(graph, packed(graph.vertex_weights, k), k).max())
        fits = packing > limit
    yield ensure("feasible", fits, f"a part weighs {heaviest}, the limit is {limit}")


def partition(graph: Graph, result: jetpy.Partition, k: int, limit: int) -> Iterator[Finding]:
    """Check all numbers of a result against its parts, and its balance."""
    parts = result.parts
    proper = parts.dtype == np.int32 and parts.shape == (graph.n,)
    proper = proper and result.k == k and bool(((parts >= 0) & (parts < k)).all())
    yield ensure("parts", proper, f"no parts of {graph.n} vertices in 0..{k - 1}: {parts!r}")
    if not proper:
        return
    cut = cut_of(graph, parts)
    yield ensure("cut", result.cut == cut, f"{result.cut} is {cut}")
    weights = weights_of(graph, parts, k)
    yield ensure("part weights", (result.part_weights == weights).all(), "differ")
    empty = int((weights == 0).sum())
    yield ensure("empty parts tell", result.empty_parts == empty, f"{result.empty_parts}: {empty}")
    yield ensure("limit", result.limit == limit, f"{result.limit} is {limit}")
    yield from balance(graph, weights, k, limit, result.feasible)


def equal(check: str, first: Ints, other: Ints) -> Finding:
    same = first.shape == other.shape and (first == other).all()
    return ensure(check, same, f"{first.tolist()[:20]} ... and {other.tolist()[:20]} ...")
