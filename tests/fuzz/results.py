"""Methods of results: members, ghosts, subgraphs; their evaluation and refinement."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import jetpy
from jetpy.graph.csr import Graph
from tests.fuzz import oracles
from tests.fuzz.checks import Finding, ensure, equal, same
from tests.fuzz.choices import Choices, Random
from tests.fuzz.draws import Engine, any_goal, any_graph, any_k, any_sizes, spelled, supporting
from tests.fuzz.oracles import Ints, Parts
from tests.mapping.oracle import cut_of

CHOICES: Choices = {"parts of a result": ["found", "random", "few"], "halo": [0, 1]}
MAX_PARTS = 12
"""Maximum number of parts whose subgraphs are checked."""


@dataclass(frozen=True, eq=False)
class Resulting:
    graph: Graph
    k: int
    others: Parts | None
    halo: int
    looked_at: list[int]
    options: dict[str, Any]

    def __str__(self) -> str:
        which = "found" if self.others is None else "other parts"
        options = spelled(self.options)
        return f"result: {self.graph.name}, k={self.k}, {which}, halo={self.halo}, {options}"

    def _solve(self, engine: Engine) -> jetpy.Partition:
        return jetpy.partition(self.graph, self.k, preset="fast", **self.options, **engine)

    def parts(self, engine: Engine) -> Parts:
        parts = self._solve(engine).parts
        return jetpy.refine(self.graph, parts, self.k, **self.options, **engine).parts

    def findings(self, engines: Sequence[Engine]) -> Iterator[Finding]:
        first, *others = (self._solve(engine) for engine in supporting(engines, self.graph))
        for other in others:
            yield equal("engines agree", first.parts, other.parts)
        yield from self._refined(first, engines[0])
        result = first if self.others is None else replace(first, parts=self.others)
        yield from evaluated(self.graph, result)
        yield equal("members", result.order, np.argsort(result.parts, kind="stable"))
        yield equal("members", np.diff(result.offsets), np.bincount(result.parts, minlength=self.k))
        for part in self.looked_at:
            yield from subgraph(result, part, self.halo)

    def _refined(self, found: jetpy.Partition, engine: Engine) -> Iterator[Finding]:
        """Check that refining a result does not worsen it."""
        again = jetpy.refine(self.graph, found.parts, self.k, **self.options, **engine)
        heaviest = [
            int(oracles.weights_of(self.graph, result.parts, self.k).max())
            for result in (found, again)
        ]
        cuts = [cut_of(self.graph, result.parts) for result in (found, again)]
        kept = heaviest[1] <= max(heaviest[0], found.limit)
        better = kept and (cuts[1] <= cuts[0] or heaviest[0] > found.limit)
        yield ensure("refined is no worse", better, f"weights {heaviest}, cuts {cuts}")


def subgraph(result: jetpy.Partition, part: int, halo: int) -> Iterator[Finding]:
    """Check the subgraph of a part."""
    graph, parts = result.graph, result.parts
    members = np.flatnonzero(parts == part)
    yield equal("members", result.members(part), members)
    u, v, n = oracles.sources_of(graph), graph.indices, graph.n
    ghosts = np.unique(v[(parts[u] == part) & (parts[v] != part)])
    ghosts = ghosts[np.argsort(parts[ghosts], kind="stable")]
    yield equal("ghosts", result.ghosts(part), ghosts)
    found = result.subgraph(part, halo)
    ids = np.concatenate([members, ghosts]) if halo else members
    yield equal("subgraph ids", found.global_ids, ids)
    yield same("subgraph ids", (found.part, found.owned), (part, len(members)))
    yield equal("subgraph ids", found.ghost_owner, parts[ids[len(members) :]])
    yield equal("subgraph weights", found.graph.vertex_weights, graph.vertex_weights[ids])
    owned = [parts[ends] == part for ends in (u, v)]
    there = owned[0] | owned[1] if halo else owned[0] & owned[1]
    expected = _edges(u[there], v[there], graph.edge_weights[there], n)
    sub = found.graph
    sources, targets = (ids[ends] for ends in (oracles.sources_of(sub), sub.indices))
    yield equal("subgraph edges", _edges(sources, targets, sub.edge_weights, n), expected)


def _edges(u: Ints, v: Ints, weights: Ints, n: int) -> Ints:
    """Return directed edges in a canonical order, and their weights."""
    keys = u.astype(np.int64) * n + v
    order = np.argsort(keys, kind="stable")
    return np.stack([keys[order], weights[order].astype(np.int64)], axis=1)


def evaluated(graph: Graph, result: jetpy.Partition) -> Iterator[Finding]:
    """Check all values that `evaluate` returns for a result."""
    parts, k = result.parts, result.k
    found = jetpy.evaluate(graph, result)
    u, v = oracles.sources_of(graph), graph.indices
    sent = oracles.sent(graph, parts)
    joined = np.unique(u[parts[u] == parts[v]])
    alone = np.setdiff1d(np.arange(graph.n), joined)
    matrix = np.zeros((k, k), np.int64)
    np.add.at(matrix, (parts[u], parts[v]), graph.edge_weights)
    np.fill_diagonal(matrix, 0)
    adjacent = np.zeros((k, k), np.bool_)
    adjacent[parts[u], parts[v]] = True
    np.fill_diagonal(adjacent, val=False)
    pieces = oracles.pieces_of(graph, parts, k)
    weights = oracles.weights_of(graph, parts, k)
    arrays = {
        "part_weights": weights,
        "part_volumes": oracles.loads_of(oracles.sizes_of(graph)[sent[:, 0]], parts[sent[:, 0]], k),
        "part_boundary_vertices": np.bincount(parts[np.unique(sent[:, 0])], minlength=k),
        "part_isolated_vertices": np.bincount(parts[alone], minlength=k),
        "components": pieces,
        "part_neighbours": adjacent.sum(axis=1),
    }
    for name, expected in arrays.items():
        yield equal("evaluated", getattr(found, name), expected)
    yield equal("evaluated", found.cut_matrix.toarray(), matrix)
    numbers = {
        "k": k,
        "cut": cut_of(graph, parts),
        "communication_volume": oracles.volume_of(graph, parts),
        "boundary_vertices": len(np.unique(sent[:, 0])),
        "isolated_vertices": len(alone),
        "empty_parts": k - len(np.unique(parts)),
        "disconnected_parts": int((pieces > 1).sum()),
    }
    for name, number in numbers.items():
        yield same("evaluated", (name, getattr(found, name)), (name, number))
    ideal = max(-(-graph.total_vertex_weight // k), 1)
    imbalance = int(weights.max()) / ideal - 1 if weights.any() else 0.0
    close = math.isclose(found.imbalance, imbalance, rel_tol=1e-12, abs_tol=1e-12)
    yield ensure("evaluated", close, f"imbalance {found.imbalance} is {imbalance}")


def resulting(rng: Random) -> Resulting:
    graph = any_sizes(rng, any_graph(rng, most=None, largest=1000))
    k = any_k(rng, graph.n)
    kind = rng.pick("parts of a result", CHOICES["parts of a result"])
    used = max(1, k // 3) if kind == "few" else k
    others = None if kind == "found" else rng.integers(used, size=graph.n).astype(np.int32)
    looked_at = rng.permutation(k)[:MAX_PARTS].tolist()
    return Resulting(graph, k, others, rng.pick("halo", CHOICES["halo"]), looked_at, any_goal(rng))
