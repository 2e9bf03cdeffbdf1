"""Coarse levels that tasks partition like small graphs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import jetpy
from jetpy.device.backends import get_backend
from jetpy.device.device_graph import download, upload
from jetpy.graph.csr import Graph
from jetpy.initial import coarsest
from jetpy.initial.tasks import MAX_PARTS
from jetpy.multilevel.hierarchy import HierarchyLevel, coarsen, finest_level
from jetpy.multilevel.hierarchy_portfolio import add_hierarchies, partition_best
from jetpy.problem.metrics import edge_cut, part_weights
from jetpy.problem.presets import preset
from jetpy.problem.problem import Problem, make_problem
from jetpy.progress import no_progress
from tests.graphs import from_edges

CPU: dict[str, Any] = {"backend": "cpu", "threads": 1}
LARGE = {"small.max_vertices": 0}
MESH = jetpy.generators.delaunay(12_000, seed=4)


def levels_of(
    graph: Graph, k: int = 6, changes: dict[str, Any] = LARGE
) -> tuple[list[HierarchyLevel], Problem]:
    backend = get_backend("cpu", 1)
    problem = make_problem(
        graph.total_vertex_weight, k, 0.03, 1, preset("default").changed(changes)
    )
    levels = coarsen(finest_level(backend, upload(backend, graph)), [problem], no_progress)
    return levels, problem


def test_coarsening_ends_at_the_first_coarse_level_for_tasks() -> None:
    levels, problem = levels_of(MESH)
    size = problem.options.initial.task_size
    assert levels[-1].graph.size <= size < levels[-2].graph.size
    assert [level.is_for_tasks(problem) for level in levels] == [False] * (len(levels) - 1) + [True]
    small = jetpy.generators.delaunay(2000)
    assert small.n + len(small.indices) <= size
    assert len(levels_of(small)[0]) == 2


@pytest.mark.parametrize(
    ("k", "changes"),
    [
        (6, {"initial.task_size": 0}),
        (6, {"initial.method": "metis"}),
        (MAX_PARTS + 1, {}),
    ],
    ids=["no size", "another method", "many parts"],
)
def test_other_problems_are_coarsened_further(k: int, changes: dict[str, Any]) -> None:
    levels, problem = levels_of(jetpy.generators.delaunay(30_000), k, LARGE | changes)
    assert not any(level.is_for_tasks(problem) for level in levels)
    assert levels[-1].graph.n <= max(512, 32 * k)


def test_groups_and_pinned_vertices_are_not_for_tasks() -> None:
    levels, problem = levels_of(MESH)
    level = levels[-1]
    zeros = np.zeros(level.graph.n, np.int32)
    assert not replace(level, blocks=zeros).is_for_tasks(problem)
    assert not replace(level, pinned=zeros - 1).is_for_tasks(problem)


def test_dense_levels_are_not_for_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    levels, problem = levels_of(MESH)
    level = levels[-1]
    for most, expected in ((level.graph.nnz // level.graph.n, False), (48, True)):
        monkeypatch.setattr(coarsest, "MAX_DEGREE", most)
        assert level.is_for_tasks(problem) == expected


def test_the_best_try_within_its_limits_is_kept() -> None:
    """Every try is a run of its own with one seed; the first with the smallest cut is the best."""
    levels, problem = levels_of(MESH)
    level = levels[-1]
    refinement = level.refinement(problem)
    own = refinement.problem
    _, start = partition_best([levels], problem)
    cuts = []
    for seed in coarsest.seeds_of(problem, 10):
        one = replace(problem, seed=seed)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(coarsest, "seeds_of", lambda *_, seed=seed: [seed])
            cuts.append(partition_best([levels], one)[1].measures.cut)
    assert len(set(cuts)) > 3
    assert start.measures.cut == min(cuts)
    parts = level.backend.to_host(start.parts)
    graph = download(level.backend, level.graph)
    assert edge_cut(graph, parts) == start.measures.cut
    weights = part_weights(graph, parts, problem.k)
    assert weights.tolist() == start.measures.part_weights.tolist()
    assert weights.max() <= own.limit


def test_bisections_replace_tries_outside_the_limits() -> None:
    """A vertex heavier than a part may be has no partition within the limits."""
    weights = np.ones(MESH.n, np.int64)
    weights[7] = 4 * MESH.n
    levels, problem = levels_of(replace(MESH, vertex_weights=weights))
    assert levels[-1].is_for_tasks(problem)
    _, start = partition_best([levels], problem)
    heaviest = start.measures.part_weights.max()
    assert heaviest == weights[7]
    assert (start.measures.part_weights > 0).all()


def test_no_further_hierarchy_where_tasks_find_more() -> None:
    changes = LARGE | {"branches": ("union-find",), "branch_shrink": 0.0}
    levels, problem = levels_of(MESH, changes=changes)
    assert add_hierarchies(levels, [problem]) == []
    levels, problem = levels_of(MESH, changes=changes | {"initial.task_size": 0})
    assert len(add_hierarchies(levels, [problem])) == 1


@pytest.mark.parametrize("k", [2, 5, 40])
def test_the_level_is_not_refined_again(k: int) -> None:
    result = jetpy.partition(MESH, k, options=LARGE, **CPU)
    *finer, coarsest_level = result.levels
    assert coarsest_level.iterations == 0
    assert coarsest_level.cut_before == coarsest_level.cut_after
    assert finer[0].iterations > 0
    assert result.feasible
    assert result.empty_parts == 0


def test_parts_do_not_depend_on_threads() -> None:
    one, two = (
        jetpy.partition(MESH, 9, options=LARGE, backend="cpu", threads=threads)
        for threads in (1, 2)
    )
    assert np.array_equal(one.parts, two.parts)


def test_a_graph_without_edges() -> None:
    graph = from_edges(1000, [])
    assert jetpy.partition(graph, 7, options=LARGE, **CPU).feasible
