"""Home parts: few vertices leave them, and parts keep their ids."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jetpy
from jetpy.constraints.home import keep_numbers
from jetpy.engines.base import Backend
from jetpy.errors import OptionError
from jetpy.graph.csr import Graph
from jetpy.problem.fixed import check_fixed
from jetpy.problem.metrics import edge_cut
from tests.graphs import from_edges, path
from tests.strategies import weighted_graphs

ENGINE: dict[str, Any] = {"backend": "cpu", "threads": 1}


def price(graph: Graph, parts: np.ndarray, home: np.ndarray, migration: float) -> float:
    away = (home >= 0) & (parts != home)
    return edge_cut(graph, parts) + migration * int(graph.vertex_weights[away].sum())


@settings(max_examples=100)
@given(
    weighted_graphs(most=30),
    st.integers(2, 6),
    st.integers(0, 99),
    st.sampled_from([0.0, 0.25, 1.0, 3.7]),
)
def test_price_never_exceeds_that_of_a_balanced_home(
    graph: Graph, k: int, seed: int, migration: float
) -> None:
    home = np.random.default_rng(seed).integers(0, k, graph.n)
    options: dict[str, Any] = {"imbalance": 0.5, "seed": seed}
    result = jetpy.partition(graph, k, home=home, migration=migration, **options, **ENGINE)
    assert result.cut == edge_cut(graph, result.parts)
    away = result.parts != home
    assert result.moved.tolist() == np.flatnonzero(away).tolist()
    assert result.moved_weight == graph.vertex_weights[away].sum()
    loads = np.bincount(home, graph.vertex_weights, k)
    if (loads <= result.limits).all() and (loads > 0).all():
        assert result.feasible
        assert price(graph, result.parts, home, migration) <= edge_cut(graph, home)


@pytest.mark.slow
def test_price_is_close_to_the_optimum_on_small_graphs() -> None:
    found, best = 0.0, 0.0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        edges = [(u, v) for u in range(8) for v in range(u) if rng.random() < 0.4]
        graph = from_edges(8, edges)
        home = rng.integers(-1, 3, 8)
        result = jetpy.partition(graph, 3, home=home, migration=0.5, imbalance=0.34, **ENGINE)
        least = min(
            price(graph, np.array(parts), home, 0.5)
            for parts in product(range(3), repeat=8)
            if np.bincount(parts, minlength=3).max() <= result.limit and len(set(parts)) == 3
        )
        found, best = found + price(graph, result.parts, home, 0.5), best + least
    assert found <= 1.06 * best


def test_higher_migration_cost_moves_less_weight(backend: Backend) -> None:
    grid = jetpy.generators.grid(40, 40)
    home = jetpy.partition(grid, 8, **ENGINE).parts
    weights = np.where(home == 0, 3, 1).astype(np.int32)
    heavier = jetpy.as_graph((grid.indptr, grid.indices, grid.edge_weights, weights))
    options: dict[str, Any] = {"backend": backend.name, "threads": backend.threads}
    weights_moved, cuts = [], []
    for migration in (0.01, 0.3, 5):
        result = jetpy.partition(heavier, 8, home=home, migration=migration, **options)
        expected = jetpy.partition(heavier, 8, home=home, migration=migration, **ENGINE)
        assert result.parts.tolist() == expected.parts.tolist()
        assert result.feasible
        weights_moved.append(result.moved_weight)
        cuts.append(result.cut)
    assert weights_moved == sorted(weights_moved, reverse=True)
    assert weights_moved[-1] < weights_moved[0]
    assert cuts[0] < cuts[-1]
    least = int(np.maximum(np.bincount(home, weights, 8) - result.limit, 0).sum())
    assert least <= weights_moved[-1] <= 1.1 * least + 3


def test_good_home_is_kept() -> None:
    grid = jetpy.generators.grid(30, 30)
    home = jetpy.partition(grid, 6, preset="ultra", **ENGINE).parts
    result = jetpy.partition(grid, 6, home=home, migration=1, **ENGINE)
    assert len(result.moved) == 0


def test_part_ids_are_kept_with_free_migration() -> None:
    grid = jetpy.generators.grid(30, 30)
    home = jetpy.partition(grid, 6, **ENGINE).parts
    result = jetpy.partition(grid, 6, home=home, migration=0, seed=3, **ENGINE)
    common = np.zeros((6, 6), int)
    np.add.at(common, (home, result.parts), 1)
    largest = common.argmax()
    assert largest // 6 == largest % 6


@pytest.mark.parametrize("migration", [0, 0.5, 7])
@pytest.mark.parametrize("objective", ["cut", "volume"])
def test_no_part_is_empty(objective: str, migration: float) -> None:
    """Parts that nothing has as home are filled, too, within all limits."""
    grid = jetpy.generators.grid(12, 12)
    for used in ([0, 1, 2, 4, 5], [3], [0, 5]):
        home = np.random.default_rng(1).choice(used, 144)
        options: dict[str, Any] = {"objective": objective, "max_weights": 140, **ENGINE}
        result = jetpy.partition(grid, 6, home=home, migration=migration, **options)
        assert result.empty_parts == 0
        assert result.feasible


def test_a_filled_part_keeps_its_limit() -> None:
    """Part 2 may weigh 2, but vertices of weight 3 lose least."""
    weights, home = np.where(np.arange(40) % 10 < 8, 3, 2), 2 * (np.arange(40) < 3)
    options: dict[str, Any] = {"home": home, "migration": 0, "vertex_weights": weights}
    result = jetpy.partition(path(40), 3, max_weights=[200, 200, 2], **options, **ENGINE)
    assert result.empty_parts == 0
    assert result.feasible


def test_fixed_overrides_home() -> None:
    grid = jetpy.generators.grid(12, 12)
    home = np.arange(144) // 36
    fixed = np.full(144, -1)
    fixed[[0, 143]] = [3, 0]
    result = jetpy.partition(grid, 4, home=home, fixed=fixed, **ENGINE)
    assert result.parts[[0, 143]].tolist() == [3, 0]
    assert {0, 143} <= set(result.moved.tolist())
    assert len(result.moved) < 20


@pytest.mark.parametrize(
    ("parts", "home", "ideals", "fixed", "expected"),
    [
        ([0, 0, 1, 1], [1, 1, 0, 0], [2, 2], None, [1, 1, 0, 0]),
        ([0, 0, 1, 1], [1, 1, 0, 0], [2, 2], [-1, -1, -1, 1], [0, 0, 1, 1]),
        ([0, 0, 1, 1], [1, 1, 0, 0], [2, 3], None, [0, 0, 1, 1]),
        ([2, 2, 0, 1], [0, 0, 1, 2], [2, 2, 2], None, [0, 0, 1, 2]),
        ([2, 2, 0, 1], [0, -1, -1, -1], [2, 2, 2], None, [0, 0, 1, 2]),
        ([0, 1, 2, 2], [0, 1, 2, 2], [2, 2, 2], None, [0, 1, 2, 2]),
    ],
)
def test_keep_numbers_relabels_parts(
    parts: Any, home: Any, ideals: Any, fixed: Any, expected: Any
) -> None:
    places = check_fixed(4, len(ideals), fixed, home)
    assert places is not None
    weights = np.ones(4, np.int32)
    found = keep_numbers(np.array(parts, np.int32), places, weights, np.array(ideals))
    assert found.tolist() == expected


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"home": [0] * 8}, "it must have one part for each of 9 vertices"),
        ({"home": [3] * 9}, "home has part 3 for vertex 0; parts must be in 0..2"),
        ({"home": [0] * 9, "migration": -1}, "migration is -1"),
        ({"home": [0] * 9, "migration": float("nan")}, "migration is nan"),
        ({"home": [0] * 9, "migration": 1e13}, "the cost of cut and migration may reach"),
    ],
)
def test_bad_home_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError) as error:
        jetpy.partition(path(9), 3, **options, **ENGINE)
    assert message in str(error.value)
