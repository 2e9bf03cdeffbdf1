"""All numbers of a result, recounted from its parts."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Protocol

import numpy as np

import jetpy
from jetpy.graph.csr import Graph
from tests.fuzz import oracles
from tests.fuzz.checks import Finding, ensure, equal, same
from tests.fuzz.oracles import Ints, Numbers
from tests.mapping.oracle import cut_of


class Balance(Protocol):
    """The numbers that results of one process and of several processes have in common."""

    @property
    def part_weights(self) -> Numbers: ...
    @property
    def limits(self) -> Numbers: ...
    @property
    def lower_limits(self) -> Numbers: ...
    @property
    def limit(self) -> int: ...
    @property
    def imbalance(self) -> float: ...
    @property
    def feasible(self) -> bool: ...


def partition(
    graph: Graph,
    result: jetpy.Partition,
    k: int,
    ideals: Numbers,
    limits: Numbers,
    weights: Ints | None = None,
    lower_limits: Numbers | None = None,
) -> Iterator[Finding]:
    """Check all numbers of a result; `weights` replace the vertex weights of the graph.

    Lower limits are 0 unless given.
    """
    parts = result.parts
    proper = parts.dtype == np.int32 and parts.shape == (graph.n,)
    proper = proper and result.k == k and bool(((parts >= 0) & (parts < k)).all())
    yield ensure("parts", proper, f"no parts of {graph.n} vertices in 0..{k - 1}: {parts!r}")
    if not proper:
        return
    yield same("cut", result.cut, cut_of(graph, parts))
    loads = oracles.loads_of(graph.vertex_weights if weights is None else weights, parts, k)
    lower = np.zeros_like(limits) if lower_limits is None else lower_limits
    yield from balance(result, loads, ideals, limits, lower)
    yield equal("ideals", result.ideals, ideals)
    yield same("empty parts", result.empty_parts, k - len(np.unique(parts)))
    yield same("volume", result.communication_volume, oracles.volume_of(graph, parts))
    pieces = oracles.pieces_of(graph, parts, k)
    yield equal("pieces", result.pieces, pieces)
    yield same("disconnected", result.disconnected_parts, int((pieces > 1).sum()))
    u = oracles.sources_of(graph)
    joined = np.unique(u[parts[u] == parts[graph.indices]])
    yield same("isolated", result.isolated_vertices, graph.n - len(joined))


def balance(
    result: Balance, loads: Numbers, ideals: Numbers, limits: Numbers, lower: Numbers
) -> Iterator[Finding]:
    """Check the balance that a result reports, given the weights of its parts."""
    yield equal("part weights", result.part_weights, loads)
    yield equal("limits", result.limits, limits)
    yield same("limit", result.limit, int(limits.max()))
    yield equal("lower limits", result.lower_limits, lower)
    kept = bool(((lower <= loads) & (loads <= limits)).all())
    yield same("feasible is correct", result.feasible, kept)
    worst = max((w / max(i, 1) for w, i in zip(loads.flat, ideals.flat, strict=True)), default=1)
    expected = float(worst) - 1 if loads.any() else 0.0
    close = math.isclose(result.imbalance, expected, rel_tol=1e-12, abs_tol=1e-12)
    yield ensure("imbalance", close, f"{result.imbalance} is {expected}")


def kept(graph: Graph, loads: Numbers, limit: int) -> Finding:
    """Check that no part exceeds the limit unless greedy packing exceeds it, too."""
    heaviest, k = int(loads.max()), len(loads)
    fits = heaviest <= limit
    if not fits:
        packing = oracles.weights_of(graph, oracles.packed(graph.vertex_weights, k), k)
        fits = int(packing.max()) > limit
    return ensure("feasible", fits, f"a part weighs {heaviest}, the limit is {limit}")


def disconnected(result: jetpy.Partition) -> Finding:
    """Check that a result gives reasons for exactly the disconnected parts."""
    pieces = oracles.pieces_of(result.graph, result.parts, result.k)
    several = np.flatnonzero(pieces > 1).tolist()
    named = sorted(result.disconnected)
    reasons = all(result.disconnected.values())
    return ensure("disconnected", named == several and reasons, f"{named} are {several}")
