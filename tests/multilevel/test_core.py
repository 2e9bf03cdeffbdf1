"""Cores: which vertices they have, when they are gathered, and what remains of a partition."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jetpy
from jetpy.coarsening import hubs as rule
from jetpy.device.backends import get_backend
from jetpy.device.device_graph import upload
from jetpy.engines.base import Backend
from jetpy.graph.csr import Graph
from jetpy.graph.generators import delaunay, rmat
from jetpy.multilevel import core as module
from jetpy.multilevel.core import gather_core, with_core_in_one_part
from jetpy.multilevel.hierarchy import finest_level
from jetpy.problem.metrics import edge_cut, part_weights
from jetpy.problem.presets import preset
from jetpy.problem.problem import Problem, make_problem
from jetpy.refinement.jet import Refined
from jetpy.refinement.measures import Measures
from jetpy.workloads.refinement.core import SCALE
from jetpy.workloads.refinement.losses import loss_bucket
from tests.strategies import weighted_graphs

ENGINE: dict[str, Any] = {"backend": "cpu", "threads": 1}
WITHOUT = {"gathers_core": False, "small.max_vertices": 50_000}


def problem_of(graph: Graph, k: int) -> Problem:
    total = graph.total_vertex_weight
    return make_problem(total, k, 0.03, 0, preset("default"))


def refined_from(backend: Backend, graph: Graph, parts: np.ndarray, k: int) -> Refined:
    measures = Measures(edge_cut(graph, parts), part_weights(graph, parts, k))
    return Refined(backend.from_host(parts.copy()), measures, measures.cut, 0)


def core_of(graph: Graph, k: int) -> list[int]:
    """Return the vertices of the core: whole classes from the densest down, half a part at most."""
    degrees = np.diff(graph.indptr)
    least = len(graph.indices) // graph.n + 1
    if degrees.max() * graph.n <= rule.IRREGULAR * len(graph.indices):
        return []
    weights = graph.vertex_weights
    classes = [loss_bucket(int(d), int(w), SCALE) for d, w in zip(degrees, weights, strict=True)]
    core: list[int] = []
    for lowest in sorted(set(classes), reverse=True):
        wider = [v for v in range(graph.n) if degrees[v] >= least and classes[v] >= lowest]
        if weights[wider].sum() > weights.sum() // (2 * k):
            break
        core = wider
    return core


def start_of(graph: Graph, parts: np.ndarray, k: int) -> list[int] | None:
    """Return the parts with the core in one of them; None if that is not promising."""
    core = core_of(graph, k)
    connected, attached, gained = np.zeros(k, int), np.zeros(k, int), 0
    for v in core:
        for e in range(graph.indptr[v], graph.indptr[v + 1]):
            u, w = int(graph.indices[e]), int(graph.edge_weights[e])
            connected[parts[v]] += w
            if u not in core and parts[u] == parts[v]:
                attached[parts[v]] += w
            if u in core and u < v and parts[u] != parts[v]:
                gained += w
    part = int(connected.argmax())
    lost = attached.sum() - attached[part]
    if not gained or 50 * gained < edge_cut(graph, parts) or 3 * gained < lost:
        return None
    moved = parts.copy()
    moved[core] = part
    return moved.tolist()


@settings(max_examples=150)
@given(
    graph=weighted_graphs(2, 40),
    k=st.integers(2, 5),
    seed=st.integers(0, 10**6),
    hubs=st.booleans(),
)
def test_starts_equal_the_oracle(
    backend: Backend, graph: Graph, k: int, seed: int, hubs: bool
) -> None:
    parts = np.random.default_rng(seed).integers(0, k, graph.n).astype(np.int32)
    level = finest_level(backend, upload(backend, graph))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "MIN_VERTICES", 1)
        if hubs:
            patch.setattr(rule, "IRREGULAR", 0)
        refined = refined_from(backend, graph, parts, k)
        found = with_core_in_one_part(level, problem_of(graph, k), refined)
        expected = start_of(graph, parts, k)
    assert (None if found is None else backend.to_host(found).tolist()) == expected
    assert backend.to_host(refined.parts).tolist() == parts.tolist()


def test_oracle_finds_cores() -> None:
    graph = rmat(11, 6, seed=1)
    parts = np.arange(graph.n, dtype=np.int32) % 4
    assert len(core_of(graph, 4)) > 20
    assert start_of(graph, parts, 4) is not None
    assert core_of(delaunay(500), 4) == []


@pytest.mark.parametrize("k", [2, 8])
@pytest.mark.parametrize("seed", range(3))
def test_gathering_never_worsens_a_partition(k: int, seed: int) -> None:
    graph, backend = rmat(11, 3, seed=seed), get_backend("cpu", 1)
    problem = problem_of(graph, k)
    level = finest_level(backend, upload(backend, graph))
    random = np.random.default_rng(seed).integers(0, k, graph.n).astype(np.int32)
    start = level.refinement(problem).refine(backend.from_host(random), finest=True)
    start = replace(start, parts=start.parts.copy())
    found = gather_core(level, problem, start)
    assert found.measures.quality(problem) <= start.measures.quality(problem)
    parts = backend.to_host(found.parts)
    assert edge_cut(graph, parts) == found.measures.cut
    assert part_weights(graph, parts, k).tolist() == found.measures.part_weights.tolist()
    assert found.cut_before == start.cut_before


def test_a_spread_core_is_gathered() -> None:
    """Without, one of three partitions of such a sparse graph has the core in one part."""
    graph = rmat(14, 2, seed=25)
    without = [jetpy.partition(graph, 8, seed=s, options=WITHOUT, **ENGINE).cut for s in range(2)]
    found = [jetpy.partition(graph, 8, seed=s, **ENGINE).cut for s in range(2)]
    assert all(cut < 0.85 * before for cut, before in zip(found, without, strict=True))
    many = jetpy.partition_many([graph, graph], 8, **ENGINE)
    assert [one.cut for one in many] == [found[0]] * 2


def test_other_presets_and_pinned_vertices_leave_the_core() -> None:
    graph, backend = rmat(11, 6, seed=1), get_backend("cpu", 1)
    parts = np.arange(graph.n, dtype=np.int32) % 4
    level = finest_level(backend, upload(backend, graph))
    refined = refined_from(backend, graph, parts, 4)
    problem = problem_of(graph, 4)
    assert with_core_in_one_part(level, problem, refined) is not None
    jet = replace(problem, options=preset("jet"))
    assert with_core_in_one_part(level, jet, refined) is None
    pinned = replace(level, pinned=backend.full(graph.n, -1))
    assert with_core_in_one_part(pinned, problem, refined) is None
