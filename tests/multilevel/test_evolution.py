"""Populations of partitions: recombination, replacement, and time limits."""

from __future__ import annotations

import time
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import jetpy
from jetpy import generators
from jetpy.device.backends import get_backend
from jetpy.device.device_graph import upload
from jetpy.engines.base import Backend
from jetpy.graph.csr import Graph
from jetpy.multilevel import evolution
from jetpy.multilevel.driver import partition_multilevel, recombine, solve
from jetpy.multilevel.evolution import (
    GenerationBudget,
    by_quality,
    choose_parents,
    evolve,
    is_new,
    replace_similar,
)
from jetpy.multilevel.hierarchy import coarsen, finest_level
from jetpy.multilevel.outcome import Solution
from jetpy.multilevel.overlay import overlay
from jetpy.problem.metrics import edge_cut, part_weights
from jetpy.problem.options import Effort, Options, choose_effort
from jetpy.problem.presets import preset
from jetpy.problem.problem import Problem, make_problem
from jetpy.progress import no_progress
from jetpy.refinement.jet import Refined
from jetpy.refinement.measures import Measures
from tests.api.test_api import check, weighted_torus
from tests.device_backend import DeviceBackend
from tests.graphs import MULTILEVEL

ENGINE: dict[str, Any] = {"backend": "cpu", "threads": 2}


def fast_problem(graph: Graph, k: int, seed: int = 0, options: Options | None = None) -> Problem:
    options = options or preset("fast")
    problem = make_problem(graph.total_vertex_weight, k, 0.03, seed, options)
    return replace(problem, fill=True)


def two_solutions(backend: Backend, graph: Graph, problem: Problem) -> list[Solution]:
    """Return two solutions, the better one first."""
    device = upload(backend, graph)
    found = [
        solve(backend, device, [replace(problem, seed=seed)], None, no_progress) for seed in (1, 2)
    ]
    return sorted(found, key=lambda one: one.refined.measures.quality(problem))


# recombination


@pytest.mark.parametrize("method", ["two-hop", "union-find", "constrained"])
def test_recombination_contracts_only_within_common_parts(method: Any) -> None:
    graph, backend = jetpy.generators.delaunay(3000, seed=1), get_backend("cpu", 2)
    options = preset("fast")
    options = replace(options, coarsen=replace(options.coarsen, method=method))
    problem = fast_problem(graph, 5, options=options)
    better, other = (s.refined.parts for s in two_solutions(backend, graph, problem))
    blocks = overlay(backend, better, other, 5).blocks
    finest = finest_level(backend, upload(backend, graph), blocks)
    levels = coarsen(finest, [problem], no_progress)
    assert len(levels) > 1
    coarse_of = np.arange(graph.n)
    for level in levels[1:]:
        coarse_of = level.coarse_of[coarse_of]
    for parts in (better, other, blocks):
        pairs = set(zip(coarse_of.tolist(), parts.tolist(), strict=True))
        assert len(pairs) == levels[-1].graph.n
    assert (levels[-1].blocks[coarse_of] == blocks).all()


@pytest.mark.parametrize("k", [2, 9, 40])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", ["fast", "gkway"])
def test_child_is_never_worse_than_the_better_parent(seed: int, k: int, name: str) -> None:
    graph, backend = weighted_torus(40), get_backend("cpu", 1)
    problem = fast_problem(graph, k, seed, preset(name))
    better, other = two_solutions(backend, graph, problem)
    before = better.refined.parts.copy(), other.refined.parts.copy()
    child = recombine(finest_level(backend, upload(backend, graph)), problem, better, other).refined
    assert child.measures.quality(problem) <= better.refined.measures.quality(problem)
    parts = backend.to_host(child.parts)
    assert edge_cut(graph, parts) == child.measures.cut
    assert part_weights(graph, parts, k).tolist() == child.measures.part_weights.tolist()
    assert child.measures.heaviest <= problem.limit
    assert child.measures.part_weights.all()
    assert (before[0] == better.refined.parts).all()
    assert (before[1] == other.refined.parts).all()


def test_child_combines_the_better_halves() -> None:
    """Each parent is good at one end of a long grid; the child is good at both."""
    graph, backend = jetpy.generators.grid(8, 300), get_backend("cpu", 1)
    columns, rows = np.arange(graph.n) % 300, np.arange(graph.n) // 300
    straight = (columns * 6 // 300).astype(np.int32)
    bent = ((columns + (rows % 2) * 4).clip(max=299) * 6 // 300).astype(np.int32)
    starts = [np.where(columns < 150, a, b) for a, b in ((straight, bent), (bent, straight))]
    problem = fast_problem(graph, 6)
    solutions = []
    for start in starts:
        measures = Measures(edge_cut(graph, start), part_weights(graph, start, 6))
        refined = Refined(backend.from_host(start), measures, measures.cut, 0)
        solutions.append(Solution(refined))
    child = recombine(finest_level(backend, upload(backend, graph)), problem, *solutions)
    assert child.refined.measures.cut == 5 * 8


# the population


def test_new_partitions_are_made_in_square_generations() -> None:
    new = [generation for generation in range(1000) if is_new(generation)]
    assert new == [root * root for root in range(32)]


def solution(cut: int, parts: list[int], overload: int = 0) -> Solution:
    weights = np.array([10 + overload, 10])
    measures = Measures(cut, weights)
    return Solution(Refined(np.array(parts, np.int32), measures, cut, 0))


def test_better_partitions_are_chosen_more_often() -> None:
    problem = make_problem(20, 2, 0.0, 0, preset("fast"))
    population = [solution(cut, []) for cut in range(8)] + [solution(0, [], overload=1)]
    wins = np.zeros(9, int)
    for seed in range(300):
        better, other = choose_parents(population, replace(problem, seed=seed))
        assert better is not other
        places = [population.index(one) for one in (better, other)]
        assert places == sorted(places)
        wins[places] += 1
    assert wins[0] > 1.5 * wins[4] > 2 * wins[8]


def test_first_of_two_equal_solutions_is_better() -> None:
    problem = make_problem(20, 2, 0.0, 0, preset("fast"))
    one, two, worse = solution(3, []), solution(3, []), solution(2, [], overload=1)
    assert by_quality(one, two, problem) == (one, two)
    assert by_quality(two, one, problem) == (two, one)
    assert by_quality(worse, two, problem) == (two, worse)


def test_most_similar_solution_that_is_not_better_is_replaced() -> None:
    graph = jetpy.generators.grid(1, 20)
    backend, problem = get_backend("cpu", 1), make_problem(20, 2, 0.0, 0, preset("fast"))

    def cut_at(*places: int) -> Solution:
        parts = np.searchsorted(places, np.arange(20), side="right") % 2
        return solution(len(places), parts.tolist())

    worst, similar, better = cut_at(3, 6, 12, 15), cut_at(2, 5, 9), cut_at(2)
    population = [worst, similar, better]
    child = cut_at(2, 5)
    replace_similar(finest_level(backend, upload(backend, graph)), problem, population, child)
    assert population == [worst, child, better]


@pytest.mark.parametrize("name", ["fast", "gkway"])
def test_more_generations_are_never_worse(name: Any) -> None:
    graph = weighted_torus(40)
    cuts = []
    for generations in (1, 2, 4, 7, 12, 20):
        found = jetpy.partition(graph, 7, preset=name, generations=generations, **ENGINE)
        check(found, graph, 7)
        assert found.feasible
        assert found.generations == generations
        assert found.levels[0].cut_after == found.cut
        cuts.append(found.cut)
    assert cuts == sorted(cuts, reverse=True)
    assert cuts[-1] < cuts[0]


def test_one_generation_equals_a_multilevel_run() -> None:
    graph, backend = weighted_torus(40), get_backend("cpu", 2)
    problem = fast_problem(graph, 7, 3)
    one = evolve(backend, graph, problem, Effort(1))
    alone = partition_multilevel(backend, graph, [problem])
    assert (one.parts == alone.parts).all()
    assert (one.cut, one.cost, one.generations) == (alone.cut, alone.cost, 1)


def test_parts_do_not_depend_on_threads() -> None:
    graph = jetpy.generators.delaunay(3000, seed=4)
    found = {
        jetpy.partition(
            graph, 6, preset="fast", generations=8, backend="cpu", threads=threads
        ).parts.tobytes()
        for threads in (1, 2, 3)
    }
    assert len(found) == 1


def test_parts_do_not_depend_on_the_back_end(backend: Backend) -> None:
    graph = weighted_torus(30)
    problem = fast_problem(graph, 4, 1)
    expected = evolve(get_backend("cpu", 1), graph, problem, Effort(7))
    found = evolve(backend, graph, problem, Effort(7))
    assert (found.parts == expected.parts).all()
    assert found.cut == expected.cut == edge_cut(graph, found.parts)


def test_weights_with_a_common_factor_are_feasible() -> None:
    graph = weighted_torus(30)
    scaled = replace(graph, vertex_weights=6 * graph.vertex_weights)
    found = jetpy.partition(scaled, 4, preset="fast", generations=6, **ENGINE)
    check(found, scaled, 4)
    assert found.feasible


# how long


def test_time_limit_equals_its_number_of_generations() -> None:
    graph = jetpy.generators.delaunay(2000)
    jetpy.partition(graph, 4, preset="fast", **ENGINE)
    started = time.perf_counter()
    timed = jetpy.partition(graph, 4, preset="fast", time_limit=0.5, **ENGINE)
    assert 0.2 < time.perf_counter() - started < 5
    assert timed.generations > 3
    same = jetpy.partition(graph, 4, preset="fast", generations=timed.generations, **ENGINE)
    assert (same.parts == timed.parts).all()


def test_shortest_time_limit_runs_one_generation() -> None:
    graph = jetpy.generators.delaunay(1000)
    found = jetpy.partition(graph, 4, time_limit=1e-9, **ENGINE)
    assert found.generations == 1
    assert (found.parts == jetpy.partition(graph, 4, **ENGINE).parts).all()


def test_first_limit_reached_ends_the_run() -> None:
    graph = jetpy.generators.delaunay(1000)
    assert jetpy.partition(graph, 4, time_limit=60, generations=3, **ENGINE).generations == 3
    assert jetpy.partition(graph, 4, time_limit=1e-9, generations=3, **ENGINE).generations == 1


def test_generation_that_exceeds_the_time_is_not_started(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = 0.0
    monkeypatch.setattr(evolution.time, "perf_counter", lambda: now)
    pace = GenerationBudget(Effort(None, 10.0))
    for generation, (new, seconds) in enumerate([(True, 3), (True, 2), (False, 1), (False, 1)]):
        assert pace.allows(generation, new)
        now += seconds
        pace.end(new)
    assert pace.share(4) == 0.7
    assert pace.allows(4, new=True)
    now += 1.5
    assert not pace.allows(4, new=True)
    assert pace.allows(4, new=False)


def test_effort_follows_from_preset_and_options() -> None:
    assert choose_effort(preset("max"), None, None) == Effort(16)
    assert choose_effort(preset("max"), None, 2) == Effort(None, 2.0)
    assert choose_effort(preset("max"), 3, None) == Effort(3)
    assert choose_effort(preset("ultra"), None, None) == Effort(1)
    assert choose_effort(preset("fast"), 2, 0.5) == Effort(2, 0.5)


def test_max_improves_on_ultra() -> None:
    graph = jetpy.generators.delaunay(2000, seed=6)
    found = jetpy.partition(graph, 12, preset="max", **ENGINE)
    check(found, graph, 12)
    assert (found.preset, found.generations) == ("max", 16)
    ultra = jetpy.partition(graph, 12, preset="ultra", **ENGINE)
    assert found.cut < ultra.cut
    assert ultra.generations == 1


def test_progress_reports_generations() -> None:
    calls: list[tuple[str, int, int]] = []
    graph = jetpy.generators.grid(60, 60)
    jetpy.partition(graph, 2, generations=5, progress=lambda *call: calls.append(call), **ENGINE)
    evolving = [call for call in calls if call[0] == "evolve"]
    assert [done for _, done, _ in evolving] == [200, 400, 600, 800, 1000]
    assert calls[-5:] == evolving
    assert {stage for stage, _, _ in calls} <= {"compile", "coarsen", "refine", "evolve"}


def test_trivial_k_runs_one_generation() -> None:
    graph = jetpy.generators.grid(3, 3)
    for k in (1, 9, 12):
        found = jetpy.partition(graph, k, preset="max", time_limit=5.0, **ENGINE)
        assert found.generations == 1


@pytest.mark.parametrize(("n", "on_host"), [(1000, True), (3000, False)])
def test_a_graph_for_the_host_engine_runs_there_only(n: int, on_host: bool) -> None:
    graph = generators.delaunay(n, seed=1)
    device = DeviceBackend(1)
    assert (graph.n + 2 * graph.m <= device.host_size) == on_host
    problem = make_problem(graph.n, 4, 0.03, 1, preset("fast"))
    found = evolve(device, graph, problem, Effort(1))
    assert (device.launches == 0) == on_host
    assert device.host.launches > 0
    expected = evolve(get_backend("cpu", 1), graph, problem, Effort(1))
    assert np.array_equal(found.parts, expected.parts)


@pytest.mark.parametrize("step", [1, 2, 3])
@pytest.mark.parametrize("cycles", [0, 1])
def test_every_second_or_third_level_is_refined(step: int, cycles: int) -> None:
    graph = generators.delaunay(8000, seed=2)
    options = {"refine.level_step": step, "cycles": cycles, "cycle_limit": 12_000} | MULTILEVEL
    levels = jetpy.partition(graph, 6, options=options, backend="cpu", threads=1).levels
    cycled = next(level.level for level in levels if level.n + 2 * level.m <= 12_000)
    assert len(levels) > cycled + 2
    for level in levels[:-1]:
        is_refined = level.level % step == 0 or (cycles > 0 and level.level == cycled)
        assert (level.iterations > 0) == is_refined
        assert is_refined or level.cut_before == level.cut_after
    for finer, coarser in pairwise(levels):
        assert finer.cut_before == coarser.cut_after
