"""Fixed vertices: they stay in their parts, and the cut is close to the optimum."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jetpy
from jetpy.engines.base import Backend
from jetpy.errors import OptionError
from jetpy.graph.csr import Graph
from jetpy.problem.metrics import edge_cut, part_weights
from tests.graphs import from_edges, path
from tests.strategies import weighted_graphs

ENGINE: dict[str, Any] = {"backend": "cpu", "threads": 1}


def some_fixed(n: int, k: int, seed: int, share: float) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.where(rng.random(n) < share, rng.integers(0, k, n), -1)


def smallest_cut(graph: Graph, k: int, fixed: np.ndarray, limits: np.ndarray) -> int | None:
    """Return the smallest cut of all feasible partitions with the fixed vertices, or None."""
    choices = [range(k) if p < 0 else [p] for p in fixed.tolist()]
    cuts = [
        edge_cut(graph, np.array(parts))
        for parts in product(*choices)
        if (part_weights(graph, np.array(parts), k) <= limits).all()
    ]
    return min(cuts, default=None)


@settings(max_examples=60)
@given(weighted_graphs(most=7), st.integers(2, 3), st.integers(0, 99), st.sampled_from([0.2, 0.6]))
def test_cut_is_at_least_the_optimum(graph: Graph, k: int, seed: int, share: float) -> None:
    fixed = some_fixed(graph.n, k, seed, share)
    result = jetpy.partition(graph, k, fixed=fixed, imbalance=0.5, seed=seed, **ENGINE)
    kept = fixed >= 0
    assert (result.parts[kept] == fixed[kept]).all()
    assert result.cut == edge_cut(graph, result.parts)
    best = smallest_cut(graph, k, fixed, result.limits)
    if best is not None and result.feasible:
        assert result.cut >= best
    if best is None:
        assert not result.feasible


@settings(max_examples=150)
@given(
    weighted_graphs(most=40),
    st.integers(1, 9),
    st.integers(0, 99),
    st.sampled_from([0.0, 0.1, 0.5, 1.0]),
    st.sampled_from(["default", "ultra", "gkway"]),
    st.booleans(),
)
def test_fixed_vertices_stay_in_their_parts(
    graph: Graph, k: int, seed: int, share: float, preset: Any, with_targets: bool
) -> None:
    fixed = some_fixed(graph.n, k, seed, share)
    targets = np.arange(1, k + 1) if with_targets else None
    options: dict[str, Any] = {"preset": preset, "targets": targets, "seed": seed}
    result = jetpy.partition(graph, k, fixed=fixed, **options, **ENGINE)
    kept = fixed >= 0
    assert (result.parts[kept] == fixed[kept]).all()
    assert ((result.parts >= 0) & (result.parts < k)).all()
    held = np.bincount(fixed[kept], graph.vertex_weights[kept], k)
    heaviest = graph.vertex_weights.max(initial=0)
    excess = result.part_weights - np.maximum(result.limits, held)
    assert (excess <= heaviest).all()


@pytest.mark.slow
def test_cut_is_close_to_the_optimum_on_small_graphs() -> None:
    found, best = 0, 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        edges = [(u, v) for u in range(9) for v in range(u) if rng.random() < 0.35]
        graph = from_edges(9, edges)
        fixed = some_fixed(9, 3, seed, 0.3)
        result = jetpy.partition(graph, 3, fixed=fixed, imbalance=0.34, seed=seed, **ENGINE)
        least = smallest_cut(graph, 3, fixed, result.limits)
        if least is not None:
            assert result.feasible
            found, best = found + result.cut, best + least
    assert best > 100
    assert found <= 1.06 * best


def test_fixed_corners_of_a_grid_determine_the_parts(backend: Backend) -> None:
    grid = jetpy.generators.grid(24, 24)
    fixed = np.full(grid.n, -1)
    fixed[[0, 23, 24 * 23, 24 * 24 - 1]] = [3, 1, 0, 2]
    options: dict[str, Any] = {"backend": backend.name, "threads": backend.threads}
    result = jetpy.partition(grid, 4, fixed=fixed, **options)
    assert result.parts[[0, 23, 24 * 23, 24 * 24 - 1]].tolist() == [3, 1, 0, 2]
    assert result.feasible
    assert result.cut <= 52
    expected = jetpy.partition(grid, 4, fixed=fixed, **ENGINE)
    assert result.parts.tolist() == expected.parts.tolist()


def test_parts_overweight_by_fixed_vertices_get_no_more() -> None:
    grid = jetpy.generators.grid(30, 30)
    fixed = np.full(grid.n, -1)
    fixed[:400] = 0
    result = jetpy.partition(grid, 4, fixed=fixed, **ENGINE)
    assert not result.feasible
    assert result.part_weights[0] == 400
    assert result.part_weights[1:].max() <= result.limit


def test_all_or_no_vertices_fixed() -> None:
    grid = jetpy.generators.grid(10, 10)
    parts = np.arange(100) % 5
    result = jetpy.partition(grid, 5, fixed=parts, **ENGINE)
    assert result.parts.tolist() == parts.tolist()
    assert result.cut == edge_cut(grid, parts)
    free = jetpy.partition(grid, 5, fixed=np.full(100, -1), **ENGINE)
    assert free.parts.tolist() == jetpy.partition(grid, 5, **ENGINE).parts.tolist()


def test_fixed_vertices_with_more_parts_than_vertices() -> None:
    result = jetpy.partition(path(3), 7, fixed=[-1, 5, -1], **ENGINE)
    assert result.parts[1] == 5
    assert len(set(result.parts.tolist())) == 3


@pytest.mark.parametrize("start", ["random", "as fixed"])
def test_refine_keeps_fixed_vertices(start: str) -> None:
    grid = jetpy.generators.grid(20, 20)
    fixed = some_fixed(grid.n, 4, 1, 0.05)
    given_parts = np.random.default_rng(2).integers(0, 4, grid.n)
    if start == "as fixed":
        given_parts = np.where(fixed < 0, given_parts, fixed)
    result = jetpy.refine(grid, given_parts, 4, fixed=fixed, **ENGINE)
    kept = fixed >= 0
    assert (result.parts[kept] == fixed[kept]).all()
    assert result.feasible
    assert result.cut < edge_cut(grid, given_parts)


@pytest.mark.parametrize(
    ("fixed", "message"),
    [
        ([0, 1], "fixed has shape (2,); it must have one part for each of 9 vertices"),
        ([[0] * 9], "fixed has shape (1, 9)"),
        ([0.0] * 9, "fixed must contain integers, not float64"),
        ([0] * 8 + [3], "fixed has part 3 for vertex 8; parts must be in 0..2, or -1 for none"),
        ([-2] + [0] * 8, "fixed has part -2 for vertex 0"),
        ([None] * 9, "fixed must contain integers, not object"),
    ],
)
def test_bad_fixed_parts_are_refused(fixed: Any, message: str) -> None:
    for call in (
        lambda: jetpy.partition(path(9), 3, fixed=fixed, **ENGINE),
        lambda: jetpy.refine(path(9), [0, 1, 2] * 3, 3, fixed=fixed, **ENGINE),
    ):
        with pytest.raises(OptionError) as error:
            call()
        assert message in str(error.value)
