"""Portfolios of hierarchies: branches from a common hierarchy, and the choice among them."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import jetpy
from jetpy.choices import Coarsening
from jetpy.device.backends import get_backend
from jetpy.device.device_graph import upload
from jetpy.graph.csr import Graph
from jetpy.multilevel import hierarchy_portfolio
from jetpy.multilevel.driver import partition_multilevel
from jetpy.multilevel.hierarchy import HierarchyLevel, coarsen, finest_level
from jetpy.multilevel.hierarchy_portfolio import add_hierarchies, partition_best
from jetpy.problem.options import Options
from jetpy.problem.presets import preset
from jetpy.problem.problem import Problem, make_problem
from jetpy.progress import no_progress
from tests.graphs import MULTILEVEL, from_edges, star

UNTIL_THE_COARSEST = preset("default").changed(MULTILEVEL)
METHODS: tuple[Coarsening, ...] = ("union-find", "two-hop", "constrained")


def first_hierarchy(
    graph: Graph, options: Options, k: int = 4, blocks: np.ndarray | None = None
) -> tuple[list[HierarchyLevel], Problem]:
    backend = get_backend("cpu", 1)
    problem = make_problem(graph.n, k, 0.03, 1, options)
    finest = finest_level(backend, upload(backend, graph), blocks)
    return coarsen(finest, [problem], no_progress), problem


@pytest.mark.parametrize("limit", [10_000_000, 30_000, 10_000])
def test_branches_share_finer_levels(limit: int) -> None:
    """Levels up to the finest one within the limit are shared; coarser ones differ."""
    graph = jetpy.generators.delaunay(8000)
    options = replace(
        UNTIL_THE_COARSEST, branches=METHODS, branch_shrink=0.0, portfolio_limit=limit
    )
    hierarchy, problem = first_hierarchy(graph, options)
    found = add_hierarchies(hierarchy, [problem])
    shared = sum(level.graph.size > limit for level in hierarchy) + 1
    assert len(found) == len(METHODS)
    for branch in found:
        assert all(a is b for a, b in zip(branch[:shared], hierarchy[:shared], strict=True))
        weights = [int(level.graph.vertex_weights.sum()) for level in branch]
        assert weights == [graph.n] * len(branch)
        coarse_of = [branch[shared].coarse_of, hierarchy[shared].coarse_of]
        assert not np.array_equal(*coarse_of)


def test_no_branch_without_methods_or_within_the_limit() -> None:
    graph = jetpy.generators.delaunay(8000)
    wanted = replace(UNTIL_THE_COARSEST, branches=METHODS, branch_shrink=0.0)
    for options in (replace(wanted, branches=()), replace(wanted, portfolio_limit=100)):
        hierarchy, problem = first_hierarchy(graph, options)
        assert add_hierarchies(hierarchy, [problem]) == []
    hierarchy, problem = first_hierarchy(star(900), wanted)
    coarsest = replace(problem, options=replace(wanted, portfolio_limit=hierarchy[-1].graph.size))
    assert add_hierarchies(hierarchy, [coarsest]) == []


def test_no_branch_where_levels_shrink_fast() -> None:
    """The bound is the geometric mean of the ratios of consecutive levels that are not shared."""
    graph = jetpy.generators.delaunay(8000)
    hierarchy, problem = first_hierarchy(graph, replace(UNTIL_THE_COARSEST, portfolio_limit=30_000))
    sizes = [level.graph.n for level in hierarchy if level.graph.size <= 30_000]
    mean = (sizes[-1] / sizes[0]) ** (1 / (len(sizes) - 1))
    assert len(sizes) < len(hierarchy)
    assert 0.5 < mean < 0.57

    def branches(shrink: float) -> int:
        options = replace(problem.options, branch_shrink=shrink)
        return len(add_hierarchies(hierarchy, [replace(problem, options=options)]))

    assert [branches(shrink) for shrink in (0.0, mean - 1e-6, mean + 1e-6, 0.57, 1.0)] == [
        *(1, 1, 0, 0, 0)
    ]


@pytest.mark.parametrize("method", METHODS)
def test_branches_keep_blocks(method: Coarsening) -> None:
    graph = jetpy.generators.delaunay(4000)
    options = replace(UNTIL_THE_COARSEST, branches=(method,), branch_shrink=0.0)
    blocks = (np.arange(graph.n) % 3 == 0).astype(np.int32)
    hierarchy, problem = first_hierarchy(graph, options, blocks=blocks)
    (branch,) = add_hierarchies(hierarchy, [problem])
    coarse_of = np.arange(graph.n)
    for level in branch[1:]:
        coarse_of = level.coarse_of[coarse_of]
    assert (branch[-1].blocks[coarse_of] == blocks).all()


@pytest.mark.parametrize(
    ("cuts", "chosen"),
    [([100, 95], 0), ([100, 89], 1), ([100, 85, 84], 2), ([100, 84, 85], 1), ([0, 0], 0)],
)
def test_hierarchy_with_the_smallest_cut_continues(
    monkeypatch: pytest.MonkeyPatch, cuts: list[int], chosen: int
) -> None:
    """The first hierarchy continues unless another cut is smaller by a tenth."""
    found = [SimpleNamespace(measures=SimpleNamespace(cut=cut)) for cut in cuts]
    monkeypatch.setattr(
        hierarchy_portfolio, "_partition", lambda hierarchy, *_: found[hierarchy[0]]
    )
    hierarchies: list = [[number] for number in range(len(cuts))]
    best, start = partition_best(hierarchies, make_problem(10, 2, 0.1, 1, UNTIL_THE_COARSEST))
    assert best is hierarchies[chosen]
    assert start is found[chosen]


def test_branch_finds_a_cut_that_matching_hides() -> None:
    """A random tree has a cut of one edge."""
    random = np.random.default_rng(1)
    n = 3000
    tree = from_edges(n, [(int(random.integers(0, v)), v) for v in range(1, n)])
    backend = get_backend("cpu", 1)

    def cuts(options: Options) -> list[int]:
        problems = [make_problem(n, 2, 0.03, seed, options) for seed in range(6)]
        return [partition_multilevel(backend, tree, [problem]).cut for problem in problems]

    options = preset("default").changed(MULTILEVEL)
    assert cuts(options) == [1] * 6
    assert max(cuts(replace(options, branches=()))) > 1
