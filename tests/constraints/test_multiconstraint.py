"""Several weights per vertex, with a limit for each."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jetpy
from jetpy.constraints import multiconstraint
from jetpy.engines.base import Backend
from jetpy.errors import GraphError, JetpyError, OptionError
from jetpy.graph.csr import Graph
from jetpy.problem.metrics import edge_cut
from jetpy.problem.multiconstraint import loads, pose_several
from tests.graphs import from_edges, path
from tests.limits import check_limit
from tests.strategies import weighted_graphs

ENGINE: dict[str, Any] = {"backend": "cpu", "threads": 1}


def two_weights(n: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 9, (n, 2))


@settings(max_examples=80)
@given(
    weighted_graphs(most=60),
    st.integers(1, 9),
    st.integers(1, 4),
    st.integers(0, 99),
    st.sampled_from(["fast", "default", "ultra", "gkway"]),
)
def test_result_agrees_with_its_parts(
    graph: Graph, k: int, kinds: int, seed: int, preset: Any
) -> None:
    weights = np.random.default_rng(seed).integers(kinds == 1, 9, (graph.n, kinds))
    imbalance = [0.1 * (j + 1) for j in range(kinds)]
    options: dict[str, Any] = {"imbalance": imbalance, "preset": preset, "seed": seed}
    result = jetpy.partition(graph, k, vertex_weights=weights, **options, **ENGINE)
    assert ((result.parts >= 0) & (result.parts < k)).all()
    assert result.cut == edge_cut(graph, result.parts)
    expected = np.zeros((k, kinds), int)
    np.add.at(expected, result.parts, weights)
    assert result.part_weights.tolist() == expected.tolist()
    assert (result.limits == result.limits[0]).all()
    for limit, total, own in zip(
        result.limits[0].tolist(), weights.sum(axis=0).tolist(), imbalance, strict=True
    ):
        check_limit(limit, math.ceil(Fraction(total, k)), own)
    assert result.feasible == (expected <= result.limits).all()


@settings(max_examples=60)
@given(weighted_graphs(least=2, most=60), st.integers(2, 6), st.integers(0, 99))
def test_fixed_vertices_stay_in_their_parts(graph: Graph, k: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    weights, parts = rng.integers(0, 9, (graph.n, 2)), rng.integers(0, k, graph.n)
    fixed = np.where(rng.random(graph.n) < 0.3, parts, -1)
    options: dict[str, Any] = {"imbalance": [0.2, 0.3], "seed": seed, "fixed": fixed}
    result = jetpy.partition(graph, k, vertex_weights=weights, **options, **ENGINE)
    assert np.array_equal(result.parts[fixed >= 0], fixed[fixed >= 0])
    assert result.cut == edge_cut(graph, result.parts)
    again = jetpy.partition(graph, k, vertex_weights=weights, **options, backend="cpu", threads=2)
    assert np.array_equal(again.parts, result.parts)


def test_bisections_without_free_vertices() -> None:
    """All vertices, or all but one, are fixed in one part."""
    for free in (0, 1):
        fixed = np.where(np.arange(20) < free, -1, 0)
        result = jetpy.partition(
            path(20), 10, vertex_weights=np.ones((20, 1)), fixed=fixed, **ENGINE
        )
        assert not result.parts[free:].any()
        assert not result.feasible


def test_if_all_vertices_are_fixed_nothing_is_searched() -> None:
    rng = np.random.default_rng(3)
    weights, fixed = rng.integers(1, 9, (300, 2)), rng.integers(0, 4, 300)
    graph = jetpy.generators.delaunay(300, seed=3)
    found = jetpy.partition(
        graph, 4, vertex_weights=weights, fixed=fixed, generations=5, preset="max", **ENGINE
    )
    assert np.array_equal(found.parts, fixed)
    assert found.cut == jetpy.evaluate(graph, fixed, 4).cut
    assert found.generations == 1


def test_cut_with_fixed_vertices_is_at_least_the_optimum() -> None:
    found, best, feasible, possible = 0, 0, 0, 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        edges = [(u, v) for u in range(9) for v in range(u) if rng.random() < 0.4]
        graph, weights = from_edges(9, edges), rng.integers(0, 5, (9, 2))
        fixed = np.where(np.arange(9) < 3, rng.integers(0, 2, 9), -1)
        options: dict[str, Any] = {"imbalance": 0.3, "preset": "ultra", "fixed": fixed}
        result = jetpy.partition(graph, 2, vertex_weights=weights, **options, **ENGINE)
        cuts = [
            edge_cut(graph, parts)
            for parts in map(np.array, product(range(2), repeat=9))
            if (parts[:3] == fixed[:3]).all() and (loads(weights, parts, 2) <= result.limits).all()
        ]
        possible += bool(cuts)
        feasible += result.feasible
        if cuts and result.feasible:
            found, best = found + result.cut, best + min(cuts)
    assert feasible >= 0.9 * possible > 0
    assert found <= 1.1 * best


def test_result_is_feasible_and_close_to_the_optimum_on_small_graphs() -> None:
    found, best, feasible, possible = 0, 0, 0, 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        edges = [(u, v) for u in range(9) for v in range(u) if rng.random() < 0.4]
        graph, weights = from_edges(9, edges), rng.integers(0, 5, (9, 2))
        options: dict[str, Any] = {"imbalance": 0.2, "preset": "ultra"}
        result = jetpy.partition(graph, 2, vertex_weights=weights, **options, **ENGINE)
        cuts = [
            edge_cut(graph, np.array(parts))
            for parts in product(range(2), repeat=9)
            if (loads(weights, np.array(parts), 2) <= result.limits).all()
        ]
        possible += bool(cuts)
        feasible += result.feasible
        if cuts and result.feasible:
            found, best = found + result.cut, best + min(cuts)
    assert possible > 40
    assert feasible >= 0.9 * possible
    assert best <= found <= 1.15 * best


@pytest.mark.parametrize("k", [4, 20])
def test_two_phases_are_balanced_separately(k: int) -> None:
    grid = jetpy.generators.grid(50, 50)
    weights = np.ones((grid.n, 2), int)
    weights[:, 1] = np.arange(grid.n) < 700  # work of a second phase, in one region
    result = jetpy.partition(grid, k, vertex_weights=weights, **ENGINE)
    assert result.feasible
    assert (result.part_weights <= np.floor(1.03 * np.ceil([2500 / k, 700 / k]))).all()
    plain = jetpy.partition(grid, k, **ENGINE)
    assert (loads(weights, plain.parts, k)[:, 1] > 700 / k * 1.5).any()
    assert result.cut < 2.5 * plain.cut


def test_parts_are_equal_on_every_back_end(backend: Backend) -> None:
    grid = jetpy.generators.grid(40, 30)
    options: dict[str, Any] = {"vertex_weights": two_weights(grid.n, 3), "imbalance": [0.05, 0.1]}
    found = jetpy.partition(grid, 7, **options, backend=backend.name, threads=backend.threads)
    expected = jetpy.partition(grid, 7, **options, **ENGINE)
    assert found.parts.tolist() == expected.parts.tolist()
    assert expected.feasible


def test_targets_and_generations_are_respected() -> None:
    grid = jetpy.generators.grid(30, 30)
    options: dict[str, Any] = {"vertex_weights": two_weights(900, 1), "targets": [3, 1, 1]}
    one = jetpy.partition(grid, 3, **options, **ENGINE)
    more = jetpy.partition(grid, 3, **options, generations=4, **ENGINE)
    assert one.feasible
    assert more.feasible
    assert (one.part_weights[0] > 2.5 * one.part_weights[1]).all()
    assert more.cut <= one.cut
    assert more.generations == 4


def test_one_dimensional_weights_equal_weights_of_the_graph() -> None:
    grid = jetpy.generators.grid(20, 20)
    weights = np.random.default_rng(0).integers(1, 9, 400)
    weighted = jetpy.as_graph((grid.indptr, grid.indices, grid.edge_weights, weights))
    found = jetpy.partition(grid, 5, vertex_weights=weights, **ENGINE)
    assert found.parts.tolist() == jetpy.partition(weighted, 5, **ENGINE).parts.tolist()
    assert found.part_weights.sum() == weights.sum()


def test_paths_with_few_vertices_fill_the_parts() -> None:
    for n, k in ((1, 1), (3, 1), (3, 5), (4, 4), (5, 4)):
        weights = two_weights(n, n)
        result = jetpy.partition(path(n), k, vertex_weights=weights, **ENGINE)
        assert len(set(result.parts.tolist())) == min(n, k)
        assert result.part_weights.sum(axis=0).tolist() == weights.sum(axis=0).tolist()


def test_few_vertices_keep_the_limits_of_each_weight() -> None:
    """Only one partition does. Without given limits, each vertex keeps a separate part."""
    options: dict[str, Any] = {"vertex_weights": [[1, 4], [2, 4]], **ENGINE}
    most = [[1, 5], [1, 0], [3, 5], [1, 2]]
    found = jetpy.partition(path(2), 4, max_weights=most, **options)
    assert found.parts.tolist() == [0, 2]
    assert found.feasible
    assert jetpy.partition(path(2), 4, **options).parts.tolist() == [0, 1]


@pytest.mark.parametrize("k", [20, 64, 143])
def test_no_part_is_empty(k: int) -> None:
    """Each part can have a vertex within the limits, but there is little room."""
    grid = jetpy.generators.grid(12, 12)
    result = jetpy.partition(grid, k, vertex_weights=np.ones((144, 2), int), **ENGINE)
    assert result.empty_parts == 0
    assert result.feasible
    assert result.cut == edge_cut(grid, result.parts)


@settings(max_examples=80)
@given(weighted_graphs(least=2, most=40), st.integers(2, 12), st.integers(0, 99))
def test_refinement_is_not_worse_and_fills_parts(graph: Graph, k: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    weights, given = rng.integers(0, 9, (graph.n, 2)), rng.integers(0, (k + 1) // 2, graph.n)
    options: dict[str, Any] = {"vertex_weights": weights, "imbalance": [0.5, 1], "seed": seed}
    options |= {"large_imbalance": True, **ENGINE}
    found = jetpy.refine(graph, given, k, **options)
    several = pose_several(
        weights.astype(np.int32), weights.sum(axis=0), options["imbalance"], np.ones(k, np.int64)
    )
    assert found.part_weights.tolist() == loads(weights, found.parts, k).tolist()
    assert found.limits.tolist() == several.limits.tolist()
    excess = several.excess(given.astype(np.int32)), several.excess(found.parts)
    assert excess[1] < excess[0] or (excess[1] == excess[0] and found.cut <= edge_cut(graph, given))
    filled = jetpy.refine(graph, given, k, fill_empty=True, **options)
    assert filled.feasible or not found.feasible
    if found.feasible and weights.max() <= several.limits.min():
        assert filled.empty_parts == max(0, k - graph.n)


def test_refinement_with_several_weights_improves_a_partition() -> None:
    grid = jetpy.generators.grid(30, 30)
    weights, given = two_weights(900, 4), np.arange(900) % 3
    fixed = np.where(np.arange(900) < 30, given, -1)
    found = jetpy.refine(grid, given, vertex_weights=weights, fixed=fixed, **ENGINE)
    assert found.feasible
    assert found.cut < 0.5 * edge_cut(grid, given)
    assert np.array_equal(found.parts[:30], given[:30])
    assert jetpy.refine(grid, np.zeros(900, int), vertex_weights=weights, **ENGINE).cut == 0


COLUMNS: dict[str, dict[str, Any]] = {
    "plain": {},
    "targets": {"targets": [3, 2, 2, 1, 1]},
    "fixed": {"fixed": np.where(np.arange(400) % 9 == 0, np.arange(400) % 5, -1)},
    "home": {"home": np.arange(400) % 5, "migration": 0.1},
    "connected": {"connected": True},
    "volume": {"objective": "volume"},
    "scaled": {"scale": True},
}


@pytest.mark.parametrize("case", COLUMNS)
def test_one_column_is_the_same_as_one_weight(case: str) -> None:
    grid = jetpy.generators.grid(20, 20)
    weights = np.random.default_rng(0).integers(1, 9, 400) / (2 if case == "scaled" else 1)
    plain = jetpy.partition(grid, 5, vertex_weights=weights, **COLUMNS[case], **ENGINE)
    found = jetpy.partition(grid, 5, vertex_weights=weights[:, None], **COLUMNS[case], **ENGINE)
    assert np.array_equal(found.parts, plain.parts)
    for name in ("part_weights", "limits", "ideals"):
        assert np.array_equal(getattr(found, name), getattr(plain, name)[:, None])
    assert (found.imbalance, found.feasible) == (plain.imbalance, plain.feasible)
    assert found.moved_weight == plain.moved_weight


def test_one_column_is_refined_as_one_weight() -> None:
    grid, given = jetpy.generators.grid(20, 20), np.arange(400) % 5
    weights = np.random.default_rng(0).integers(1, 9, 400)
    options: dict[str, Any] = {"connected": True, "fill_empty": True, **ENGINE}
    plain = jetpy.refine(grid, given, vertex_weights=weights, **options)
    found = jetpy.refine(grid, given, vertex_weights=weights[:, None], **options)
    assert np.array_equal(found.parts, plain.parts)
    many = jetpy.partition_many([grid], 5, vertex_weights=[weights[:, None]])
    assert np.array_equal(
        many[0].parts, jetpy.partition(grid, 5, vertex_weights=weights, **ENGINE).parts
    )


@pytest.mark.parametrize(
    ("weights", "options", "kind", "message"),
    [
        (np.ones((8, 2)), {}, GraphError, "it must have shape (9, c)"),
        (np.ones((9, 0)), {}, GraphError, "vertex_weights has shape (9, 0)"),
        (np.ones((9, 2, 2)), {}, GraphError, "vertex_weights has shape (9, 2, 2)"),
        (-np.ones((9, 2)), {}, GraphError, "weight 0 of vertex 0 is -1.0; it must be an integer"),
        (np.full((9, 2), 0.5), {}, GraphError, "weight 0 of vertex 0 is 0.5"),
        (np.full((9, 2), np.nan), {}, GraphError, "weight 0 of vertex 0 is nan"),
        (
            np.full((9, 2), 2**30),
            {},
            GraphError,
            "the vertex weights overflow: the sum of weight 0 over all",
        ),
        (np.full((9, 2), "a"), {}, GraphError, "vertex weights must be integers"),
        (
            np.ones((9, 2)),
            {"imbalance": [0.1] * 3},
            OptionError,
            "imbalance has 3 numbers; give one number",
        ),
        (np.ones((9, 2)), {"imbalance": [0.1, -1]}, OptionError, "imbalance is -1"),
        (
            np.ones((9, 2)),
            {"home": [0] * 9},
            OptionError,
            "cannot be combined with home or connected",
        ),
        (
            np.ones((9, 2)),
            {"connected": True},
            OptionError,
            "cannot be combined with home or connected",
        ),
        (np.ones(8), {}, GraphError, "there must be 9 of them"),
        (None, {"imbalance": [0.1, 0.2]}, OptionError, "imbalance has 2 numbers; give one number"),
    ],
)
def test_bad_weights_are_refused(
    weights: Any, options: dict[str, Any], kind: type[JetpyError], message: str
) -> None:
    with pytest.raises(kind) as error:
        jetpy.partition(path(9), 3, vertex_weights=weights, **options, **ENGINE)
    assert message in str(error.value)


@pytest.mark.parametrize(("excess", "cycles", "made"), [(0, 0, 0), (0, 1, 3), (5, 0, 3), (5, 2, 6)])
def test_v_cycles_repair_a_broken_limit(
    monkeypatch: pytest.MonkeyPatch, excess: int, cycles: int, made: int
) -> None:
    """Without success, a preset without V-cycles makes three, and others make their own."""
    graph, made_cycles = jetpy.generators.grid(12, 12), []
    weights = np.stack([np.ones(graph.n), np.arange(graph.n) % 2], axis=1).astype(np.int32)
    monkeypatch.setattr(multiconstraint.Levels, "quality", lambda *_: (excess, 10))

    def cycle(levels: multiconstraint.Levels, parts: np.ndarray, number: int) -> Any:
        made_cycles.append(number)
        return multiconstraint.Found(parts, (excess, 10))

    monkeypatch.setattr(multiconstraint, "_cycle", cycle)
    jetpy.partition(graph, 2, vertex_weights=weights, options={"cycles": cycles}, **ENGINE)
    assert made_cycles == list(range(1, made + 1))


@pytest.mark.parametrize(
    ("quality", "is_bisected"), [((0, 110), False), ((0, 111), True), ((1, 100), True)]
)
def test_bisection_competes_if_other_partitions_lose(
    monkeypatch: pytest.MonkeyPatch, quality: tuple[int, int], is_bisected: bool
) -> None:
    """The least cut by one weight is 100, and the best refined partition has `quality`."""
    graph, calls = jetpy.generators.grid(20, 20), []
    weights = np.stack([np.ones(graph.n), np.arange(graph.n) % 2], axis=1).astype(np.int32)
    best, bisected = multiconstraint._best_refined, multiconstraint._bisected
    monkeypatch.setattr(multiconstraint.Levels, "quality", lambda *_: (0, 100))

    def best_refined(*arguments: Any) -> Any:
        return best(*arguments)._replace(quality=quality)

    def by_bisection(*arguments: Any) -> Any:
        calls.append(arguments)
        return bisected(*arguments)

    monkeypatch.setattr(multiconstraint, "_best_refined", best_refined)
    monkeypatch.setattr(multiconstraint, "_bisected", by_bisection)
    jetpy.partition(graph, 4, vertex_weights=weights, **ENGINE)
    assert bool(calls) is is_bisected


def test_v_cycles_and_flows_lower_the_cut() -> None:
    graph = jetpy.generators.delaunay(3000, seed=7)
    weights = np.stack([np.ones(graph.n, np.int64), 1 + np.arange(graph.n) % 5], axis=1)
    graph = replace(graph, constraint_weights=weights.astype(np.int32))

    def cut(**options: int) -> int:
        own: dict[str, Any] = {key.replace("flow", "refine.flow"): v for key, v in options.items()}
        return sum(
            jetpy.partition(graph, 8, seed=seed, options=own, backend="cpu", threads=1).cut
            for seed in range(3)
        )

    assert cut(cycles=1) < cut() < cut(flow_sweeps=0)
