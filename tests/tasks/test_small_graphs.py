"""Which graphs a task partitions, and what refinement repairs."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import jetpy
from jetpy.api import run
from jetpy.device.backends import get_backend
from jetpy.device.device_graph import upload
from jetpy.engines.base import Backend
from jetpy.graph.csr import Graph
from jetpy.graph.generators import delaunay, grid, rmat
from jetpy.initial.tasks import MAX_PARTS, Batch, Found, Job
from jetpy.multilevel import driver
from jetpy.multilevel.hierarchy import finest_level
from jetpy.multilevel.outcome import Solution
from jetpy.multilevel.small_graphs import (
    small_level,
    solve_many_small,
    solve_small,
)
from jetpy.problem.metrics import edge_cut, part_weights
from jetpy.problem.options import Options, SmallOptions
from jetpy.problem.presets import PRESETS, preset
from jetpy.problem.problem import EDGE_CUT, Metric, Problem, make_problem
from jetpy.progress import no_progress
from tests.device_backend import DeviceBackend
from tests.graphs import clique, from_edges, isolated, random_graph
from tests.tasks.weights import reweighted

FEW = SmallOptions(max_vertices=100, max_degree=6)


def is_small_with(steps: int = 1, **changes: Any) -> bool:
    """Return the rule for a level of 100 vertices of average degree 6, with changes."""
    own = {"small": FEW, "n": 100, "nnz": 600, "k": 4, "groups": 1, "metric": EDGE_CUT}
    own |= {"blocks": None, "pinned": None, "wide": False, "total": 100}
    own |= {"heaviest": 1, **changes}
    problem: Any = SimpleNamespace(
        options=SimpleNamespace(small=own["small"]),
        k=own["k"],
        groups=own["groups"],
        metric=own["metric"],
        total=own["total"],
        unit=1,
    )
    finest: Any = SimpleNamespace(
        graph=SimpleNamespace(global_n=own["n"], global_nnz=own["nnz"], edge_weight=own["nnz"]),
        blocks=own["blocks"],
        pinned=own["pinned"],
        backend=SimpleNamespace(is_wide=own["wide"]),
    )
    weights = np.ones(max(1, own["n"]), np.int32)
    weights[0] = own["heaviest"]
    finest.alone = lambda: SimpleNamespace(graph=SimpleNamespace(vertex_weights=weights))
    return small_level(finest, [problem] * steps) is not None


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"n": 1, "nnz": 0},
        {"wide": True},
        {"heaviest": 8},
        {"n": 99, "nnz": 594},
        {"k": 1},
        {"k": MAX_PARTS},
        {"small": preset("default").small},
        {"small": preset("fast").small, "n": 50_000, "nnz": 600_000},
    ],
    ids=str,
)
def test_small_graphs(changes: dict[str, Any]) -> None:
    assert is_small_with(**changes)


@pytest.mark.parametrize(
    "changes",
    [
        {"n": 101},
        {"nnz": 602},
        {"n": 99},
        {"k": MAX_PARTS + 1},
        {"steps": 2},
        {"groups": 2},
        {"metric": Metric(1, np.zeros(16, np.int32))},
        {"metric": Metric(0, np.zeros(0, np.int32))},
        {"blocks": np.zeros(100, np.int32)},
        {"pinned": np.zeros(100, np.int32)},
        {"wide": True, "total": 2**31},
        {"heaviest": 9},
        {"n": 0, "nnz": 0},
        {"small": replace(FEW, max_vertices=0)},
        {"small": replace(FEW, max_degree=5)},
        {"small": SmallOptions()},
        {"small": preset("fast").small, "n": 50_001, "nnz": 600_000},
        {"small": preset("ultra").small},
    ],
    ids=lambda changes: ", ".join(changes),
)
def test_other_graphs(changes: dict[str, Any]) -> None:
    assert not is_small_with(**changes)


@pytest.mark.parametrize("name", PRESETS)
def test_presets_with_small_graphs(name: str) -> None:
    assert (preset(name).small.max_vertices > 0) == (name in {"default", "fast"})


@pytest.mark.parametrize(
    ("changes", "most"),
    [
        ({}, 50_000),
        ({"small.min_tries": 2}, 50_000),
        ({"small.max_vertices": 70}, 70),
        ({"small.max_vertices": 0}, 0),
        ({"refine.patience": 9}, 0),
        ({"coarsen.method": "union-find"}, 0),
        ({"cycles": 0}, 0),
        ({"generations": 2}, 0),
        ({"small.min_tries": 2, "initial.max_tries": 3}, 0),
        ({"refine.patience": 9, "small.max_vertices": 70}, 70),
    ],
    ids=str,
)
def test_changed_options_switch_small_graphs_off(changes: dict[str, Any], most: int) -> None:
    options = preset("default").changed(changes)
    assert options.small.max_vertices == most
    expected = preset("default").values() | changes | {"small.max_vertices": most}
    assert options.values() == expected


@pytest.fixture
def solved(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of vertices of graphs that tasks have partitioned."""
    sizes: list[int] = []

    def solve(level: Any, *arguments: Any) -> Solution:
        sizes.append(level.graph.n)
        return solve_small(level, *arguments)

    def solve_many(backend: Any, host: Any, graphs: Any, problems: Any) -> Any:
        sizes.extend(graph.n for graph in graphs)
        return solve_many_small(backend, host, graphs, problems)

    monkeypatch.setattr(driver, "solve_small", solve)
    monkeypatch.setattr(run, "solve_many_small", solve_many)
    return sizes


@pytest.mark.parametrize(
    ("graph", "k", "options", "count"),
    [
        (grid(20, 20), 3, {}, 1),
        (grid(20, 20), MAX_PARTS, {}, 1),
        (grid(20, 20), MAX_PARTS + 1, {}, 0),
        (grid(20, 20), 3, {"preset": "ultra"}, 0),
        (grid(20, 20), 3, {"refinement": "independent-set"}, 0),
        (grid(20, 20), 3, {"coarsening": "union-find"}, 0),
        (grid(20, 20), 3, {"options": {"refine.patience": 3}}, 0),
        (grid(20, 20), 3, {"options": {"small.cycles": 3}}, 1),
        (grid(20, 20), 3, {"options": {"small.max_vertices": 399}}, 0),
        (rmat(8, 16), 3, {}, 0),
        (rmat(8, 16), 3, {"options": {"small.max_degree": 40}}, 1),
        (reweighted(delaunay(300), 1), 5, {"targets": [1, 2, 3, 4, 5]}, 1),
    ],
)
def test_runs_with_small_graphs(
    solved: list[int], graph: Graph, k: int, options: dict[str, Any], count: int
) -> None:
    result = jetpy.partition(graph, k, backend="cpu", threads=1, **options)
    assert solved == [graph.n] * count
    assert result.cut == edge_cut(graph, result.parts)


def problem_of(graph: Graph, k: int, imbalance: float = 0.03, **options: Any) -> Problem:
    return make_problem(graph.total_vertex_weight, k, imbalance, 1, preset("fast"), **options)


def solution(
    graph: Graph, problem: Problem, backend: Backend | None = None, progress: Any = no_progress
) -> Solution:
    backend = backend or get_backend("cpu", 1)
    return solve_small(finest_level(backend, upload(backend, graph)), problem, progress)


def raw(graph: Graph, problem: Problem) -> Found:
    """Return what a task finds."""
    backend = get_backend("cpu", 1)
    [found] = Batch.of([Job.of_problem(graph, problem)], backend).run(
        backend, problem.options.small
    )
    return found


def check_solution(found: Solution, graph: Graph, problem: Problem) -> np.ndarray:
    """Compare the measures with recounted ones, and return the parts."""
    parts = found.refined.parts
    assert found.refined.measures.cut == edge_cut(graph, parts)
    weights = part_weights(graph, parts, problem.k)
    assert found.refined.measures.part_weights.tolist() == weights.tolist()
    [level] = found.levels
    assert (level.level, level.n, level.m) == (0, graph.n, graph.m)
    assert level.cut_after == found.refined.measures.cut
    return np.asarray(parts)


def test_a_balanced_partition_is_not_refined() -> None:
    graph = delaunay(500)
    problem = problem_of(graph, 4)
    found, expected = solution(graph, problem), raw(graph, problem)
    assert (check_solution(found, graph, problem) == expected.parts).all()
    assert (found.refined.cut_before, found.refined.iterations) == (expected.cut, 0)


def test_refinement_repairs_parts_that_are_too_heavy() -> None:
    """Some of these graphs have few partitions within the limits, which single moves miss."""
    repaired = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        plain = random_graph(24, 60, seed)
        k, each = 3, 8
        weights = np.concatenate([[20 - each + 1, *[1] * (each - 1)]] * k).astype(np.int32)
        graph = replace(plain, vertex_weights=rng.permutation(weights))
        problem = problem_of(graph, k, 0.0)
        expected, found = raw(graph, problem), solution(graph, problem)
        parts = check_solution(found, graph, problem)
        before = problem.excess_of(part_weights(graph, expected.parts, k)).sum()
        after = problem.excess_of(part_weights(graph, parts, k)).sum()
        assert before == expected.excess
        assert after <= before
        assert after == 0
        repaired += before > 0
    assert repaired > 0


def test_refinement_raises_parts_that_are_too_light() -> None:
    repaired = 0
    for seed in range(20):
        graph = reweighted(random_graph(30, 70, seed), seed, most=9, least=1)
        share = graph.total_vertex_weight // 3
        lower = np.full(3, share - 1, np.int64)
        problem = replace(problem_of(graph, 3, 0.01), part_lower_limits=lower)
        expected, found = raw(graph, problem), solution(graph, problem)
        parts = check_solution(found, graph, problem)
        after = problem.excess_of(part_weights(graph, parts, 3)).sum()
        assert after <= expected.excess
        repaired += bool(after < expected.excess)
    assert repaired > 0


def test_no_part_is_empty() -> None:
    """The coarsest levels of these graphs have fewer vertices than parts."""
    small = SmallOptions(max_vertices=1000, coarsest=2, per_part=1)
    options = replace(preset("fast"), small=small)
    empty = 0
    for seed in range(40):
        graph = reweighted(random_graph(30, 50, seed), seed, most=200, least=1)
        problem = make_problem(graph.total_vertex_weight, 9, 0.9, seed, options, fill=True)
        expected, found = raw(graph, problem), solution(graph, problem)
        parts = check_solution(found, graph, problem)
        assert len(np.unique(parts)) == 9
        empty += len(np.unique(expected.parts)) < 9
    assert empty > 0


def test_more_parts_than_vertices() -> None:
    graph = clique(4)
    problem = problem_of(graph, 6, 0.0, fill=True)
    parts = check_solution(solution(graph, problem), graph, problem)
    assert len(np.unique(parts)) == 4


def test_a_heavy_vertex_stays_in_a_part_of_its_own() -> None:
    graph = from_edges(6, [(0, v) for v in range(1, 6)], None, [1000, 1, 2, 3, 4, 5])
    problem = problem_of(graph, 3, fill=True)
    parts = check_solution(solution(graph, problem), graph, problem)
    assert (parts == parts[0]).sum() == 1
    assert len(np.unique(parts)) == 3


def test_progress_is_reported() -> None:
    graph, calls = grid(9, 9), []
    solution(graph, problem_of(graph, 3), progress=lambda *call: calls.append(call))
    assert calls == [("refine", 0, 1), ("refine", 1, 1)]


@pytest.mark.parametrize("graph", [delaunay(400), isolated(30)], ids=["delaunay", "isolated"])
def test_a_back_end_with_its_own_memory_gives_the_same_parts(graph: Graph) -> None:
    problem = problem_of(graph, 5)
    backend = DeviceBackend(2)
    with backend.using():
        found = solution(graph, problem, backend)
        parts = backend.to_host(found.refined.parts)
    assert parts.tolist() == solution(graph, problem).refined.parts.tolist()


def test_options_are_for_any_graph() -> None:
    """`Options` has no small graphs; values of all options make them again."""
    assert Options().small == SmallOptions()
    assert Options().small.max_vertices == 0
    fast = preset("fast")
    assert Options().changed(fast.values()) == fast
