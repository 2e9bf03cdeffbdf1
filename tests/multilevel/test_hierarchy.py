"""The problem of each level: loose limits on coarse levels, the exact limit on the finest."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp

import jetpy
from jetpy import generators
from jetpy.device.backends import get_backend
from jetpy.device.device_graph import upload
from jetpy.graph.csr import Graph
from jetpy.multilevel import hierarchy
from jetpy.multilevel.driver import is_passed
from jetpy.multilevel.hierarchy import coarsen, finest_level
from jetpy.multilevel.vcycle import is_cycled
from jetpy.problem.presets import preset
from jetpy.problem.problem import divided, in_units, loosened, make_problem
from jetpy.progress import no_progress


@pytest.mark.parametrize(("name", "slack"), [("default", 0.5), ("gkway", 0.0)])
def test_limits_are_looser_on_coarser_levels(name: str, slack: float) -> None:
    """Parts of 5000 / 7 vertices may exceed their limit by a share of an average vertex."""
    graph = generators.delaunay(5000, seed=1)
    backend = get_backend("cpu", 1)
    problem = make_problem(graph.n, 7, 0.03, 1, preset(name))
    finest = finest_level(backend, upload(backend, graph))
    levels = coarsen(finest, [problem], no_progress)
    assert len(levels) > 1
    assert levels[0].refinement(problem).problem is problem
    assert problem.limit == 736
    for level in levels[1:]:
        own = level.refinement(problem)
        assert own is level.refinement(problem)
        average = level.graph.vertex_weights.mean()
        assert abs(own.problem.limit - 736 - slack * average) < 1
        assert own.problem.limit > 736 or not slack or average < 2
        assert (own.problem.limits == own.problem.limit).all()


def stencil(side: int, reach: int) -> Graph:
    """Return a grid whose vertices are joined up to a distance along each axis."""
    x, y = np.divmod(np.arange(side * side), side)
    steps = range(-reach, reach + 1)
    edges = []
    for dx, dy in [(dx, dy) for dx in steps for dy in steps if (dx, dy) > (0, 0)]:
        inside = (x + dx < side) & (y + dy >= 0) & (y + dy < side)
        tails = np.flatnonzero(inside)
        edges.append(np.stack([tails, tails + dx * side + dy], axis=1))
    tails, heads = np.concatenate(edges).T
    matrix = sp.coo_array((np.ones(len(tails)), (tails, heads)), (side * side,) * 2)
    return jetpy.as_graph(matrix + matrix.T)


def test_dense_meshes_are_coarsened_by_pairs() -> None:
    """Networks of the same density, which have hubs, are coarsened by groups of up to six."""
    engine, problem = get_backend("cpu", 1), make_problem(6400, 2, 0.03, 0, preset("default"))
    for graph, shrinks_by_pairs in ((stencil(80, 5), True), (generators.rmat(12, 64), False)):
        assert len(graph.indices) >= 64 * graph.n
        finest = finest_level(engine, upload(engine, graph))
        sizes = [level.graph.n for level in coarsen(finest, [problem], no_progress)]
        assert (2 * sizes[1] >= sizes[0]) == shrinks_by_pairs


def test_looser_limits_with_groups_and_units() -> None:
    problem = replace(
        in_units(make_problem(6000, 4, 0.03, 1, preset("default")), 10, 600),
        groups=2,
        part_limits=np.array([150, 150, 170, 170]),
    )
    own = loosened(problem, 20)  # an average vertex weighs 30 units
    assert own.limit == problem.limit + 15
    assert own.limits.tolist() == [165, 165, 185, 185]


def test_common_factor_of_weights_does_not_change_looser_limits() -> None:
    """An average part weighs 94.7 units, rounded up to 95 before and after the division."""
    options = preset("default")
    whole = make_problem(3031, 32, 0.03, 1, options)
    divided = in_units(make_problem(3031 * 1000, 32, 0.03, 1, options), 1000, 3031)
    assert divided.limit == whole.limit
    assert loosened(divided, 20).limit == loosened(whole, 20).limit


def test_average_weight_is_that_of_the_given_graph() -> None:
    """Units divide it; neither later units nor coarse levels change it."""
    problem = make_problem(6090, 4, 0.03, 1, preset("default"))
    given = in_units(problem, 10, 200)
    assert (problem.average, given.average) == (None, 3)
    assert in_units(given, 3, 50).average == 1
    assert in_units(make_problem(0, 4, 0.03, 1, preset("default")), 0, 200).average == 1
    graph = generators.grid(20, 10)
    for weight in (1, 7):
        weights = np.full(graph.n, weight, np.int32)
        own, found = divided(replace(graph, vertex_weights=weights), problem)
        assert own.vertex_weights.tolist() == [1] * graph.n
        assert found.average == 6090 // graph.n // weight


def test_vertices_with_random_weights_find_partners() -> None:
    """They would prefer the same light neighbours if all weights counted in ratings."""
    graph = generators.random_geometric(4000, radius=0.05)
    weights = np.random.default_rng(1).integers(1, 20, graph.n).astype(np.int32)
    graph, backend = replace(graph, vertex_weights=weights), get_backend("cpu", 1)
    options = preset("fast")
    options = replace(options, coarsen=replace(options.coarsen, two_hop_share=1.0))
    problem = in_units(make_problem(int(weights.sum()), 4, 0.03, 1, options), 1, graph.n)
    sizes = [
        coarsen(finest_level(backend, upload(backend, graph)), [own], no_progress)[1].graph.n
        for own in (problem, replace(problem, average=1))
    ]
    assert sizes[0] < 0.9 * sizes[1]


def test_small_levels_share_their_refinement() -> None:
    graph = generators.delaunay(5000, seed=1)
    backend = get_backend("cpu", 1)
    problem = make_problem(graph.n, 7, 0.03, 1, preset("default"))
    levels = coarsen(finest_level(backend, upload(backend, graph)), [problem], no_progress)
    refinement = levels[-1].refinement(problem)
    assert refinement.state.room == graph.n
    for level in [*levels[::-1], levels[-1]]:
        assert level.refinement(problem) is refinement
        assert refinement.state.graph is level.graph
    other = replace(problem, k=8)
    assert levels[0].refinement(other) is not refinement
    assert levels[0].refinement(other).state.partition.k == 8


@pytest.mark.parametrize("name", ["default", "ultra", "gkway"])
@pytest.mark.parametrize(
    "options", [{}, {"targets": [3, 1, 1, 2, 2]}, {"threads": 2}], ids=["plain", "targets", "two"]
)
def test_shared_refinement_does_not_change_parts(
    monkeypatch: pytest.MonkeyPatch, name: str, options: dict[str, object]
) -> None:
    graphs = [generators.delaunay(3000, seed=3), generators.rmat(10, 8, seed=2)]

    def partition() -> list[list[int]]:
        return [
            jetpy.partition(graph, 5, preset=name, backend="cpu", **options).parts.tolist()
            for graph in graphs
        ]

    shared = partition()
    monkeypatch.setattr(hierarchy, "SMALL", 0)
    assert partition() == shared


@pytest.mark.parametrize(("step", "cycle_limit"), [(2, 3000), (3, 3000), (2, None), (1, 3000)])
def test_levels_that_parts_only_pass_keep_no_edges(step: int, cycle_limit: int | None) -> None:
    """All numbers of a level stay as they are, and so do the parts of a run."""
    graph, usual = generators.grid(90, 100), preset("default")
    options = replace(
        usual,
        refine=replace(usual.refine, level_step=step),
        portfolio_limit=1000,
        cycle_limit=cycle_limit,
        cycle_step=3,
    )
    problem = make_problem(graph.n, 4, 0.03, 1, options)
    finest = finest_level(get_backend("cpu", 1), upload(get_backend("cpu", 1), graph))
    whole = coarsen(finest, [problem], no_progress)
    levels = coarsen(finest, [problem], no_progress, is_passed=partial(is_passed, [problem]))
    for depth, (one, other) in enumerate(zip(levels, whole, strict=True)):
        kept, passed = other.graph, one.graph
        assert (passed.n, passed.nnz, passed.size) == (kept.n, kept.nnz, kept.size)
        assert passed.edge_weight == kept.edge_weight
        has_cycles = is_cycled(other, whole[:depth], options)
        is_needed = depth % step == 0 or has_cycles or kept.size <= 1000
        is_needed |= depth == len(levels) - 1
        assert len(passed.indices) == (kept.nnz if is_needed else 0)
    assert (step == 1) == all(len(level.graph.indices) == level.graph.nnz for level in levels)
