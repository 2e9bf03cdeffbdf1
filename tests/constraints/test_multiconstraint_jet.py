"""Jet with several weights: its moves, compared with plain Python, and what refinement promises."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jetpy
from jetpy.constraints import multiconstraint
from jetpy.constraints.level_weights import carried
from jetpy.constraints.multiconstraint_jet import SeveralRefinement
from jetpy.device.device_graph import upload
from jetpy.engines.base import Backend
from jetpy.graph.csr import INT32_MAX, Graph
from jetpy.graph.generators import cube, delaunay, rmat
from jetpy.multilevel.hierarchy import finest_level
from jetpy.problem.metrics import edge_cut
from jetpy.problem.multiconstraint import WHOLE, MultiConstraint, in_one, loads
from jetpy.problem.presets import preset
from jetpy.problem.problem import Problem, make_problem
from jetpy.result.partition import Partition
from jetpy.workloads.common.control_block import Control, Task, Tasks
from jetpy.workloads.constraints.multiconstraint_jet import CARRIED_ON, DIGITS, WORSE
from jetpy.workloads.refinement.active import TIE_SCALE
from jetpy.workloads.refinement.jetlp import ALL
from jetpy.workloads.refinement.losses import (
    BUCKETS,
    FACTOR,
    GAINS,
    NO_CHANGE,
    PARTS_OF_SCALE,
    SMALLEST_LOSSES,
)
from tests.hashing import mix
from tests.refinement.oracle import connections
from tests.strategies import weighted_graphs

SEED = 7


def index_of(h: int, count: int) -> int:
    """Return the index below `count` that a hash stands for."""
    return h * count >> 32


def bucket_of(loss: int, weight: int) -> int:
    """Return the loss bucket: bounds grow from weight / 128 by factors of 1.5."""
    if loss < 0:
        return GAINS
    if loss == 0:
        return NO_CHANGE
    bounds = (float(weight) * FACTOR**i for i in range(BUCKETS - SMALLEST_LOSSES - 1))
    return SMALLEST_LOSSES + sum(bound < loss * PARTS_OF_SCALE for bound in bounds)


@dataclass
class Level:
    """A partition with several weights, and the moves that rebalancing makes."""

    graph: Graph
    parts: np.ndarray
    several: MultiConstraint
    tie_limit: int = 0

    def __post_init__(self) -> None:
        self.k, self.kinds = self.several.limits.shape
        self.held = loads(self.several.weights, self.parts, self.k)
        self.above = (self.held - self.several.limits).clip(0)
        self.rows = connections(self.graph, self.parts)
        self.seed = (SEED + 1) & INT32_MAX

    def relief(self, v: int) -> int:
        """Return what vertex v takes off the excess of its part; 0 if it is too heavy."""
        p, own = int(self.parts[v]), self.several.weights[v].astype(np.int64)
        over = self.above[p] > 0
        if (2 * own > 3 * (self.held[p] - self.several.ideals[p]))[over].any():
            return 0
        return min(int((np.minimum(own, self.above[p]) * self.several.factors).sum()), INT32_MAX)

    def growth(self, v: int, q: int) -> int:
        """Return what vertex v adds to the excess of part q."""
        room = (self.several.limits[q] - self.held[q]).clip(0)
        added = (self.several.weights[v] - room).clip(0) * self.several.factors
        return int(added.sum())

    def destination(self, v: int) -> int | None:
        """Return the part to which vertex v would move, if any."""
        p, row = int(self.parts[v]), self.rows[v]
        near = [
            (self.growth(v, q), -w, -mix((v ^ self.seed) + (q << 16)), q)
            for q, w in row.items()
            if q != p
        ]
        tie = row.get(p, 0) * TIE_SCALE > self.graph.vertex_weights[v] * self.tie_limit
        if not near and tie:
            return None
        if near and min(near)[0] == 0:
            return min(near)[3]
        first = index_of(mix(v ^ self.seed), self.k)
        searched = [(first + i) % self.k for i in range(self.k)]
        others = [q for q in searched if q != p]
        best = min(others, key=lambda q: self.growth(v, q))
        return min(near)[3] if near and min(near)[0] <= self.growth(v, best) else best

    def bucket(self, v: int, q: int) -> int:
        """Return the loss bucket of a move to part q."""
        relief, growth = self.relief(v), self.growth(v, q)
        net = relief - growth if growth < relief else relief // WORSE + 1
        loss = self.rows[v].get(int(self.parts[v]), 0) - self.rows[v].get(q, 0)
        return bucket_of(loss * max(1, self.kinds * WHOLE // self.graph.n), net)

    def leaving(self) -> dict[int, tuple[int, int]]:
        """Return destination and bucket of the vertices that leave parts above a limit.

        By bucket, and in the last one by digit, they suffice for each of the weights.
        """
        candidates: dict[int, dict[int, tuple[int, int, int]]] = defaultdict(dict)
        for v in range(self.graph.n):
            q = self.destination(v) if self.relief(v) > 0 else None
            if q is not None:
                digit = index_of(mix(mix(v ^ self.seed)), DIGITS)
                candidates[int(self.parts[v])][v] = q, self.bucket(v, q), digit
        chosen = {}
        for p, own in candidates.items():
            keys = sorted({(bucket, digit) for _, bucket, digit in own.values()})
            last = keys[-1]
            for key in reversed(keys):
                before = [v for v, (_, bucket, digit) in own.items() if (bucket, digit) < key]
                last = key
                if (self.several.weights[before].sum(axis=0) < self.above[p]).any():
                    break
            chosen |= {v: own[v][:2] for v in own if own[v][1:] <= last}
        return chosen

    def carried_on(self) -> np.ndarray:
        """Return by how much rebalancing may exceed a limit of each weight."""
        return self.several.excess(self.parts) // self.several.factors // CARRIED_ON

    def moves(self) -> dict[int, int]:
        """Return the destinations of the vertices that their destinations admit."""
        wanted = {v: (q, BUCKETS - 1 - bucket) for v, (q, bucket) in self.leaving().items()}
        most = self.several.limits + self.carried_on()
        return admitted(wanted, self.several.weights, (most - self.held).clip(0), self.seed)


def admitted(
    wanted: dict[int, tuple[int, int]], weights: np.ndarray, room: np.ndarray, seed: int
) -> dict[int, int]:
    """Return the moves for which parts have room, given destination and rank of each vertex.

    Of the first rank for which a part lacks room, the share that fits moves, by hash.
    """
    moves = {}
    for v, (q, rank) in wanted.items():
        share = ALL
        for j, most in enumerate(room[q].tolist()):
            own = [(r, int(weights[u, j])) for u, (p, r) in wanted.items() if p == q]
            above = sum(w for r, w in own if r > rank)
            equal = sum(w for r, w in own if r == rank)
            if above > most:
                share = 0
            elif above + equal > most:
                share = min(share, (most - above) * ALL // equal)
        if index_of(mix(v ^ seed), ALL) < share:
            moves[v] = q
    return moves


def refinement_of(backend: Backend, level: Level, *, overfill: int | None = 5) -> SeveralRefinement:
    options = preset("default")
    options = replace(options, refine=replace(options.refine, overfill=overfill))
    problem = problem_of(level.graph, level.k, options=options)
    finest = finest_level(backend, upload(backend, level.graph))
    own = carried(level.several, backend.host, backend)
    return SeveralRefinement(finest, problem, own)


def problem_of(graph: Graph, k: int, **other: object) -> Problem:
    problem = make_problem(graph.total_vertex_weight, k, float(k), SEED, preset("default"))
    return replace(problem, **other)


@st.composite
def levels(draw: st.DrawFn) -> Level:
    """Draw few different weights, so that growths and losses tie, and parts with little room."""
    graph = draw(weighted_graphs(least=2, most=40))
    k, kinds = draw(st.sampled_from([2, 3, 6, 12])), draw(st.integers(1, 3))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    parts = np.minimum(rng.integers(0, 2 * k, graph.n), k - 1).astype(np.int32)
    heaviest = draw(st.sampled_from([1, 2, 9]))
    weights = rng.integers(0, heaviest + 1, (graph.n, kinds)).astype(np.int32)
    ideals = np.tile(-(-weights.sum(axis=0, dtype=np.int64) // k), (k, 1))
    limits = ideals + draw(st.sampled_from([0, 1, 5]))
    several = MultiConstraint.of(weights, ideals, limits, np.zeros_like(limits))
    graph = replace(graph, vertex_weights=in_one(weights, several.totals, graph.n))
    return Level(graph, parts, several)


@settings(max_examples=150)
@given(level=levels())
def test_rebalancing_equals_the_oracle(backend: Backend, level: Level) -> None:
    refinement = refinement_of(backend, level)
    state = refinement.state
    refinement.start(backend.from_host(level.parts), 25, 0.999, None)
    excess = level.several.excess(level.parts)
    control = state.dual.control
    assert refinement.excess == excess
    level.tie_limit = int(control.host[Control.TIE_LIMIT])
    if backend.is_asynchronous:
        refinement.iterate(Tasks.REBALANCING)
    else:
        refinement.launch(Tasks.REBALANCING)
    backend.sync_host(control)
    backend.synchronize()
    assert control.host[Control.LAST_TASK] == (Task.REBALANCE_WEAKLY if excess else Task.NOTHING)
    expected = level.parts.copy()
    for v, q in level.moves().items():
        expected[v] = q
    assert backend.to_host(state.partition.parts).tolist() == expected.tolist()
    changes = backend.to_host(refinement.admission.inflow.changes)
    held = backend.to_host(refinement.loads.loads) + changes
    assert held.tolist() == loads(level.several.weights, expected, level.k).ravel().tolist()


@settings(max_examples=100)
@given(level=levels(), overfill=st.sampled_from([0, 5, 60]), propagates=st.booleans())
def test_admission_equals_the_oracle(
    backend: Backend, level: Level, overfill: int, propagates: bool
) -> None:
    """Some vertices have a rank and a destination; all may leave their parts."""
    rng = np.random.default_rng(level.graph.n)
    refinement = refinement_of(backend, level, overfill=overfill)
    state, n = refinement.state, level.graph.n
    refinement.start(backend.from_host(level.parts), 25, 0.999, None)
    ranks = rng.integers(-1, 4, n).astype(np.int32)
    destinations = (level.parts + rng.integers(1, level.k, n)).astype(np.int32) % level.k
    admission = refinement.admission
    admission.inflow.ranks[:n] = backend.from_host(ranks)
    state.partition.destinations[:n] = backend.from_host(destinations)
    control = state.dual.control
    control.host[Control.TASK] = Task.PROPAGATE if propagates else Task.REBALANCE_WEAKLY
    control.host[Control.ITERATION_SEED] = SEED
    control.host[Control.EXCESS] = level.several.excess(level.parts)
    backend.sync_device(control)
    admission.launch(n, backend.from_host(np.arange(n, dtype=np.int32)))
    wanted = {v: (int(destinations[v]), int(ranks[v])) for v in range(n) if ranks[v] >= 0}
    most = level.several.limits + level.carried_on()
    if propagates:
        leaving = np.where(ranks >= 0, level.parts, level.k)
        outgoing = loads(level.several.weights, leaving, level.k + 1)[: level.k]
        most = level.several.limits * (100 + overfill) // 100 + outgoing
    expected = level.parts.copy()
    for v, q in admitted(wanted, level.several.weights, (most - level.held).clip(0), SEED).items():
        expected[v] = q
    assert backend.to_host(state.partition.parts).tolist() == expected.tolist()


@settings(max_examples=60)
@given(level=levels())
def test_refinement_worsens_neither_excess_nor_cut(backend: Backend, level: Level) -> None:
    refinement = refinement_of(backend, level)
    found = refinement.refine(backend.from_host(level.parts), finest=True)
    parts = backend.to_host(found.parts)
    cut = edge_cut(level.graph, parts)
    assert (found.measures.cut, refinement.excess) == (cut, level.several.excess(parts))
    before = level.several.excess(level.parts), edge_cut(level.graph, level.parts)
    assert (refinement.excess, cut) <= before
    last = refinement.last()
    if last is not None:
        own = backend.to_host(last)
        assert level.several.excess(own) > 0
        assert edge_cut(level.graph, own) < cut or refinement.excess > 0


def weights_of(graph: Graph, kind: str) -> np.ndarray:
    """Return two weights for each vertex."""
    rng, ids = np.random.default_rng(2), np.arange(graph.n)
    if kind == "regions":  # as in Karypis, Kumar, SC 1998
        return rng.integers(0, 20, (16, 2))[ids * 16 // graph.n]
    second = rng.integers(1, 10, graph.n) if kind == "random" else (ids < graph.n // 4) * 1
    return np.column_stack([np.ones(graph.n, int), second])


GRAPHS = {"cube": cube(9, 9, 9), "mesh": delaunay(1500), "network": rmat(10, 6)}
KINDS = "regions", "quarter", "random"


@cache
def partitioned(
    name: str, kind: str, k: int, backend: str = "cpu", threads: int | None = 1
) -> Partition:
    own = jetpy.as_graph(GRAPHS[name], vertex_weights=weights_of(GRAPHS[name], kind))
    return jetpy.partition(own, k, backend=backend, threads=threads, seed=k)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", GRAPHS)
def test_partitions_are_balanced(monkeypatch: pytest.MonkeyPatch, name: str, kind: str) -> None:
    monkeypatch.setattr(multiconstraint, "JET_VERTICES", 100)
    assert all(partitioned(name, kind, k).feasible for k in (2, 16))


@pytest.mark.parametrize(("name", "kind"), list(zip(GRAPHS, KINDS, strict=True)))
def test_partitions_are_equal(
    monkeypatch: pytest.MonkeyPatch, backend: Backend, name: str, kind: str
) -> None:
    monkeypatch.setattr(multiconstraint, "JET_VERTICES", 100)
    for k in (2, 5):
        found = partitioned(name, kind, k, backend=backend.name, threads=None)
        assert np.array_equal(found.parts, partitioned(name, kind, k).parts)


def test_large_graphs_are_cut_as_well_as_by_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = delaunay(25_000)
    weights, cuts = weights_of(graph, "random"), []
    for most in (20_000, 10**9):
        monkeypatch.setattr(multiconstraint, "JET_VERTICES", most)
        own = jetpy.as_graph(graph, vertex_weights=weights)
        result = jetpy.partition(own, 16, backend="cpu", preset="fast", threads=2)
        assert result.feasible
        cuts.append(result.cut)
    assert cuts[0] < 1.05 * cuts[1]
