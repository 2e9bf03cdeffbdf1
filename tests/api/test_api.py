"""`jetpy.partition` and `jetpy.refine`: invariants of every result, and refused arguments."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp

import jetpy
from jetpy.coarsening.methods import COARSENINGS
from jetpy.graph.csr import Graph
from jetpy.problem.metrics import edge_cut, part_weights
from jetpy.problem.presets import PRESETS
from jetpy.refinement.methods import REFINEMENTS
from jetpy.result.partition import Partition
from tests.graphs import (
    MULTILEVEL,
    SMALL_GRAPHS,
    clique,
    from_edges,
    heavy_vertex,
    isolated,
    path,
    random_graph,
    star,
    two_cliques,
)
from tests.limits import check_limit

ENGINE: dict[str, Any] = {"backend": "cpu", "threads": 2}


def partition(graph: Any, k: int, **options: Any) -> Partition:
    return jetpy.partition(graph, k, **ENGINE, **options)


def refine(graph: Any, parts: Any, k: int | None = None, **options: Any) -> Partition:
    return jetpy.refine(graph, parts, k, **ENGINE, **options)


def check(result: Partition, graph: Graph, k: int, imbalance: float = 0.03) -> None:
    """Check the invariants of a result against values computed from scratch."""
    assert result.parts.dtype == np.int32
    assert result.parts.shape == (graph.n,)
    assert ((result.parts >= 0) & (result.parts < k)).all()
    sources = np.repeat(np.arange(graph.n), np.diff(graph.indptr))
    is_cut = result.parts[sources] != result.parts[graph.indices]
    assert 2 * result.cut == sum(graph.edge_weights[is_cut].tolist())
    weights = [0] * k
    for p, weight in zip(result.parts.tolist(), graph.vertex_weights.tolist(), strict=True):
        weights[p] += weight
    assert result.k == k
    assert result.part_weights.tolist() == weights
    ideal = math.ceil(Fraction(graph.total_vertex_weight, k))
    if result.limit < 2**31 - 1:
        check_limit(result.limit, ideal, imbalance)
    assert result.feasible == all(weight <= result.limit for weight in weights)
    assert result.imbalance == pytest.approx(max(weights) / ideal - 1 if ideal else 0)
    if (graph.vertex_weights == 1).all():
        assert result.feasible


@pytest.mark.parametrize(
    ("n", "k", "imbalance", "limit"),
    [
        (10, 2, 0, 5),
        (10, 2, 0.1, 5),  # 5.5
        (10, 2, 0.2, 6),
        (11, 2, 0.1, 6),  # 6.6
        (7, 7, 0.03, 1),
        (7, 9, 0.03, 1),
        (100, 3, 0.03, 35),  # 34 * 1.03 = 35.02
        (1000, 3, 0.05, 350),  # 334 * 1.05 = 350.7
        (100, 1, 0.15, 115),  # 114.99... in floating point
        (200, 2, 0.29, 129),
        (10, 1, 1 - 0.9, 11),  # a little less than 0.1
        (10, 1, 0.1 + 0.2, 13),
        (100, 1, 0.0099, 100),
        (100, 1, 0.01, 101),
    ],
)
def test_limits_follow_from_n_k_and_imbalance(n: int, k: int, imbalance: float, limit: int) -> None:
    result = partition(path(n), k, imbalance=imbalance)
    assert result.limits.tolist() == [limit] * k


@pytest.mark.parametrize(
    ("weights", "parts", "imbalance", "is_feasible"),
    [
        ([1, 1, 1, 1], [0, 0, 1, 1], 0.0, True),
        ([3, 1, 1, 1], [0, 1, 1, 1], 0.0, True),
        ([4, 1, 1, 1], [0, 1, 1, 1], 0.0, True),  # 4 of ceil(7 / 2)
        ([5, 1, 1, 1], [0, 1, 1, 1], 0.0, False),
        ([5, 1, 1, 1], [0, 1, 1, 1], 0.25, True),
        ([5, 1, 1, 1], [0, 1, 1, 1], 0.2, False),
        ([5, 2, 1, 1], [0, 1, 1, 1], 0.0, True),
    ],
)
def test_feasible_compares_with_the_limit(
    weights: list[int], parts: list[int], imbalance: float, is_feasible: bool
) -> None:
    """No partition is more balanced than the given parts."""
    result = refine(path(4), parts, 2, imbalance=imbalance, vertex_weights=weights)
    assert sorted(result.part_weights.tolist()) == sorted(np.bincount(parts, weights).tolist())
    assert result.feasible is is_feasible


def weighted_torus(size: int) -> Graph:
    """More vertices than the coarsest graph has, and weights on vertices and edges."""
    edges = [(r * size + c, r * size + (c + 1) % size) for r in range(size) for c in range(size)]
    edges += [(r * size + c, (r + 1) % size * size + c) for r in range(size) for c in range(size)]
    rng = np.random.default_rng(1)
    return from_edges(
        size * size, edges, rng.integers(1, 10, len(edges)), rng.integers(1, 6, size * size)
    )


# partition


@pytest.mark.parametrize("preset", ["default", "fast", "gkway"])
@pytest.mark.parametrize("k", [1, 2, 3, 7])
@pytest.mark.parametrize("name", SMALL_GRAPHS)
def test_small_graphs_are_partitioned(name: str, k: int, preset: str) -> None:
    graph = SMALL_GRAPHS[name]()
    check(partition(graph, k, preset=preset), graph, k)


@pytest.mark.parametrize("name", ["empty", "two_cliques", "heavy_vertex", "weighted_random"])
def test_small_graphs_are_partitioned_by_ultra(name: str) -> None:
    graph = SMALL_GRAPHS[name]()
    check(partition(graph, 3, preset="ultra"), graph, 3)


@pytest.mark.parametrize("preset", ["default", "fast", "ultra"])
@pytest.mark.parametrize("k", [2, 5, 64])
def test_hierarchies_of_several_levels_give_feasible_parts(k: int, preset: str) -> None:
    graph = weighted_torus(60)
    result = partition(graph, k, preset=preset, options=MULTILEVEL)
    check(result, graph, k)
    assert result.feasible
    assert result.empty_parts == 0
    assert len(result.levels) > 1


@pytest.mark.parametrize("refinement", REFINEMENTS)
@pytest.mark.parametrize("coarsening", COARSENINGS)
@pytest.mark.parametrize("preset", ["default", "gkway"])
@pytest.mark.parametrize("k", [2, 5])
def test_every_combination_of_methods_gives_feasible_parts(
    preset: str, coarsening: str, refinement: str, k: int
) -> None:
    graph = weighted_torus(60)
    methods = {"coarsening": coarsening, "refinement": refinement}
    result = partition(graph, k, preset=preset, **methods)
    check(result, graph, k)
    assert result.feasible
    assert (result.coarsening, result.refinement) == (coarsening, refinement)
    assert len(result.levels) > 1
    finest, *_, coarsest = result.levels  # a finer level has tighter limits, so its cut may grow
    assert finest.cut_after <= coarsest.cut_before


AWKWARD = {
    "isolated": isolated(3000),
    "star": star(3000),
    "path": path(3000),
    "mostly_isolated": from_edges(3000, [(v, v + 1) for v in range(900)]),
}


@pytest.mark.parametrize("name", AWKWARD)
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"preset": "gkway", "coarsening": "union-find"},
        {"preset": "gkway", "coarsening": "constrained"},
    ],
    ids=str,
)
@pytest.mark.parametrize("k", [2, 30])
def test_awkward_graphs_are_partitioned(name: str, options: dict[str, Any], k: int) -> None:
    check(partition(AWKWARD[name], k, **options), AWKWARD[name], k)


def test_obvious_cuts_are_found() -> None:
    assert partition(two_cliques(6), 2).cut == 0
    assert partition(path(1000), 2).cut == 1
    assert partition(path(1000), 2, imbalance=0).cut == 1
    assert partition(clique(8), 2, imbalance=0).cut == 16
    assert partition(isolated(100), 10).cut == 0
    assert partition(jetpy.generators.grid(64, 64), 2, imbalance=0).cut <= 80  # best: 64


@pytest.mark.parametrize("name", SMALL_GRAPHS)
def test_k_of_at_least_n_puts_each_vertex_into_its_own_part(name: str) -> None:
    graph = SMALL_GRAPHS[name]()
    for k in (max(graph.n, 1), graph.n + 1, graph.n + 5):
        result = partition(graph, k)
        check(result, graph, k)
        assert len(set(result.parts.tolist())) == graph.n
        assert result.empty_parts == k - graph.n
        assert result.cut == graph.total_edge_weight


@pytest.mark.parametrize("k", [1, 2, 5])
def test_empty_graph_has_only_empty_parts(k: int) -> None:
    result = partition(isolated(0), k)
    assert result.parts.tolist() == []
    assert (result.cut, result.imbalance, result.feasible, result.empty_parts) == (0, 0, True, k)


@pytest.mark.parametrize("preset", PRESETS)
def test_vertex_heavier_than_the_limit_is_infeasible(preset: str) -> None:
    graph = heavy_vertex()
    result = partition(graph, 2, preset=preset)
    check(result, graph, 2)
    assert not result.feasible
    assert result.part_weights.max() < graph.total_vertex_weight


def test_vertex_heavier_than_the_limit_is_infeasible_on_several_levels() -> None:
    torus = weighted_torus(50)
    weights = torus.vertex_weights.copy()
    weights[1234] = weights.sum()
    graph = replace(torus, vertex_weights=weights)
    result = partition(graph, 4)
    check(result, graph, 4)
    assert not result.feasible
    assert result.part_weights.max() < 1.1 * weights[1234]


def test_balance_counts_vertex_weights() -> None:
    """The cut of a path with ten heavy vertices at one end lies among these."""
    graph = from_edges(30, [(v, v + 1) for v in range(29)], None, [100] * 10 + [1] * 20)
    result = partition(graph, 2)
    assert result.feasible
    assert result.cut == 1
    assert sorted(np.bincount(result.parts, minlength=2)) == [5, 25]


def test_cut_minimises_edge_weights() -> None:
    """A cycle is cut at its two light edges if balance allows it."""
    edges = [(v, (v + 1) % 100) for v in range(100)]
    graph = from_edges(100, edges, [1 if v in (20, 70) else 50 for v in range(100)])
    assert partition(graph, 2).cut == 2


@pytest.mark.parametrize("which", ["edge_weights", "vertex_weights"])
def test_multiplied_weights_multiply_the_cut(which: str) -> None:
    graph = random_graph(200, 600, 4, weighted=True)
    scaled = replace(graph, **{which: 8 * getattr(graph, which)})
    once, eight = partition(graph, 4), partition(scaled, 4)
    check(eight, scaled, 4)
    assert eight.feasible
    if which == "edge_weights":
        assert eight.cut % 8 == 0
        assert eight.cut <= 8 * 1.2 * once.cut
    else:
        assert eight.cut <= 1.2 * once.cut


@pytest.mark.parametrize("k", [2, 3, 7, 32])
def test_imbalance_of_zero_gives_perfect_balance(k: int) -> None:
    graph = jetpy.generators.delaunay(2000)
    result = partition(graph, k, imbalance=0)
    check(result, graph, k, 0)
    assert result.part_weights.max() == math.ceil(graph.n / k)


def test_larger_imbalance_allows_a_smaller_cut() -> None:
    """Two cliques of different sizes share one edge: only a loose limit allows that cut."""
    pairs = [(u, v) for u in range(60) for v in range(u)]
    pairs += [(u, v) for u in range(60, 100) for v in range(60, u)]
    graph = from_edges(100, [*pairs, (0, 60)])
    assert partition(graph, 2, imbalance=0.2).cut == 1
    strict = partition(graph, 2, imbalance=0.1)
    assert strict.cut > 1
    assert strict.feasible


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"k": 0}, "k is 0"),
        ({"k": -1}, "k is -1"),
        ({"k": 2**24}, "k is 16777216"),
        ({"imbalance": -0.1}, "imbalance is -0.1"),
        ({"imbalance": math.nan}, "imbalance is nan"),
        ({"imbalance": math.inf}, "imbalance is inf"),
        ({"imbalance": 10**400}, "imbalance is 1000"),
        ({"imbalance": "0.03"}, "imbalance is '0.03'"),
        (
            {"imbalance": 1},
            r"imbalance is 1 \(100 %\); it must be below 1 unless large_imbalance=True",
        ),
        ({"imbalance": 3.0}, r"imbalance is 3.0 .300 %.; .* unless large_imbalance=True"),
        ({"imbalance": -1, "large_imbalance": True}, "imbalance is -1"),
        ({"seed": -1}, "seed is -1"),
        ({"seed": 2**31}, "seed is 2147483648"),
        ({"preset": "x"}, "unknown preset 'x'.*default, fast, ultra, max, jet"),
        ({"backend": "x"}, "unknown backend 'x'.*auto.*cpu"),
        ({"threads": 0}, "threads is 0"),
        ({"threads": -3}, "threads is -3"),
        ({"coarsening": "x"}, "unknown coarsening 'x'.*two-hop, union-find, constrained"),
        ({"coarsening": ""}, "unknown coarsening ''"),
        ({"refinement": "x"}, "unknown refinement 'x'.*jet, independent-set"),
        ({"refinement": "two-hop"}, "unknown refinement 'two-hop'"),
        ({"generations": 0}, "generations is 0; it must be an integer in 1.."),
        ({"generations": -2}, "generations is -2"),
        ({"generations": 2**31}, "generations is 2147483648"),
        ({"generations": 2.0}, "generations is 2.0"),
        ({"generations": True}, "generations is True"),
        ({"generations": "3"}, "generations is '3'"),
        ({"generations": 0, "preset": "max"}, "generations is 0"),
        ({"time_limit": 0}, "time_limit is 0; it must be a positive number of seconds"),
        ({"time_limit": -1.0}, "time_limit is -1.0"),
        ({"time_limit": math.nan}, "time_limit is nan"),
        ({"time_limit": math.inf}, "time_limit is inf"),
        ({"time_limit": 10**400}, "time_limit is 1000"),
        ({"time_limit": "60"}, "time_limit is '60'"),
        ({"time_limit": True}, "time_limit is True"),
        ({"time_limit": 0, "preset": "max"}, "time_limit is 0"),
        ({"time_limit": 1.0, "generations": 0}, "generations is 0"),
        ({"k": 2.5}, "k is 2.5; it must be an integer"),
        ({"k": "2"}, "k is '2'; it must be an integer"),
        ({"seed": 1.5}, "seed is 1.5; it must be an integer"),
        ({"imbalance": "much"}, "imbalance is 'much'; it must be a finite number"),
        ({"threads": "1"}, "threads is '1'; it must be an integer"),
        ({"threads": 1.0}, "threads is 1.0; it must be an integer"),
        ({"device": [0]}, "device is \\[0\\]; it must be an integer"),
        ({"backend": None}, "unknown backend None; choose one of auto, cpu"),
        ({"preset": ["fast"]}, "unknown preset \\['fast'\\]"),
        ({"objective": np.zeros(2)}, "unknown objective array"),
    ],
    ids=str,
)
def test_bad_option_is_refused(options: dict[str, Any], words: str) -> None:
    for n in (0, 10):
        with pytest.raises(jetpy.OptionError, match=words):
            jetpy.partition(path(n), **{"k": 2, **ENGINE, **options})
    if not options.keys() & {"k", "coarsening", "refinement", "generations", "time_limit"}:
        with pytest.raises(jetpy.OptionError, match=words):
            jetpy.refine(path(10), [0, 1] * 5, **{**ENGINE, **options})


def test_extreme_options_are_accepted() -> None:
    graph = path(10)
    imbalances: list[Any] = [1, 1e6, 1e9, 1e308, 10**300]
    for options in (
        {"seed": 2**31 - 1},
        {"threads": 500},
        *({"imbalance": imbalance} for imbalance in imbalances),
    ):
        result = jetpy.partition(graph, 2, large_imbalance=True, **{**ENGINE, **options})
        assert result.cut == edge_cut(graph, result.parts)
        assert result.feasible
    assert partition(graph, 2**24 - 1).empty_parts == 2**24 - 11


@pytest.mark.parametrize("graph", [3, "path", None, [[0, 1], [1, 0]]], ids=str)
def test_input_that_is_not_a_graph_is_refused(graph: Any) -> None:
    with pytest.raises(jetpy.GraphError):
        partition(graph, 2)


def test_repair_applies_to_partition_and_refine() -> None:
    one_way = ([0, 1, 2, 2], [1, 2])
    with pytest.raises(jetpy.GraphError):
        partition(one_way, 2)
    with pytest.raises(jetpy.GraphError):
        refine(one_way, [0, 0, 1])
    assert partition(one_way, 2, repair=True).cut == 1
    assert refine(one_way, [0, 0, 1], repair=True).cut == 1


def test_every_input_type_gives_the_same_parts() -> None:
    graph = random_graph(300, 1200, 6, weighted=True)
    unit = np.ones_like(graph.vertex_weights)
    csr = (graph.indptr, graph.indices, graph.edge_weights)
    matrix = sp.csr_array((csr[2], csr[1], csr[0]), shape=(300, 300))
    network = nx.Graph()
    network.add_nodes_from(range(300))
    network.add_weighted_edges_from((u, v, int(w)) for (u, v), w in matrix.todok().items())
    same = [replace(graph, vertex_weights=unit), matrix, matrix.tocoo(), csr, (*csr, unit), network]
    results = [partition(data, 5).parts.tolist() for data in same]
    assert all(parts == results[0] for parts in results)
    lists = tuple(a.tolist() for a in (*csr, graph.vertex_weights))
    assert partition(lists, 5).parts.tolist() == partition(graph, 5).parts.tolist()


@pytest.mark.parametrize("writeable", [True, False])
@pytest.mark.parametrize("size", [20, 60])
def test_input_arrays_are_unchanged(size: int, writeable: bool) -> None:
    graph = weighted_torus(size)
    parts = (np.arange(graph.n, dtype=np.int32) // 7) % 3
    arrays = (graph.indptr, graph.indices, graph.edge_weights, graph.vertex_weights)
    for array in (*arrays, parts):
        array.flags.writeable = writeable
    before = [a.copy() for a in (*arrays, parts)]
    results = [partition(graph, 3), partition(arrays, 3), refine(graph, parts, 3)]
    results.append(refine(arrays, parts, 3))
    for result in results:
        check(result, graph, 3)
        assert result.parts.flags.writeable
        assert not np.shares_memory(result.parts, parts)
    for array, old in zip((*arrays, parts), before, strict=True):
        assert array.tolist() == old.tolist()


@pytest.mark.parametrize("preset", ["default", "ultra"])
def test_levels_describe_the_hierarchy(preset: str) -> None:
    graph = jetpy.generators.delaunay(6000)
    result = partition(graph, 4, preset=preset, options=MULTILEVEL)
    levels = result.levels
    assert [level.level for level in levels] == list(range(len(levels)))
    assert (levels[0].n, levels[0].m) == (graph.n, graph.m)
    for fine, coarse in pairwise(levels):
        assert coarse.n < fine.n
        assert coarse.m <= fine.m
        assert fine.cut_before == coarse.cut_after  # a projection cuts the same edges
    for level in levels:
        assert level.cut_after <= level.cut_before
        assert level.iterations > 0 or not result.options.refine.is_refined(level.level)
        assert min(level.coarsen_seconds, level.refine_seconds) >= 0
    assert levels[0].cut_after == result.cut
    assert levels[0].imbalance == pytest.approx(result.imbalance)


def test_result_reports_seconds_and_launches() -> None:
    for k in (1, 4, 5000):
        result = partition(jetpy.generators.grid(50, 50), k)
        assert set(result.seconds) == {"compile", "coarsen", "initial", "refine", "total"}
        assert min(result.seconds.values()) >= 0
        parts = sum(result.seconds[stage] for stage in ("coarsen", "initial", "refine"))
        assert result.seconds["total"] == pytest.approx(parts)
        trivial = k != 4
        assert (result.launches == 0) == trivial
        assert (len(result.levels) == 0) == trivial
        assert (result.backend, result.threads, result.preset, result.seed) == (
            "cpu",
            2,
            "default",
            0,
        )


def test_progress_is_called_with_rising_counts() -> None:
    calls: list[tuple[str, int, int]] = []
    graph = jetpy.generators.grid(60, 60)
    partition(graph, 2, progress=lambda *call: calls.append(call))
    assert {stage for stage, _, _ in calls} <= {"compile", "coarsen", "refine"}
    for stage in ("coarsen", "refine"):
        done = [d for s, d, _ in calls if s == stage]
        assert done == sorted(done)
    assert calls[-1][0] == "refine"
    assert calls[-1][1] == calls[-1][2]


def test_result_prints_as_one_line() -> None:
    assert repr(partition(path(10), 2)) == "Partition(k=2, cut=1, imbalance=0.0000, feasible)"
    assert "NOT feasible" in repr(partition(heavy_vertex(), 2))
    assert repr(partition(path(10), 1).levels) == "no levels"
    table = repr(
        partition(jetpy.generators.grid(60, 60), 4, options=MULTILEVEL).levels
    ).splitlines()
    assert len(table) > 2
    assert [row.split()[0] for row in table] == ["level", *map(str, range(len(table) - 1))]
    assert table[1].split()[1:3] == ["3,600", "7,080"]
    assert len({len(row) for row in table}) == 1


# refine


@pytest.mark.parametrize("preset", ["default", "fast", "gkway"])
@pytest.mark.parametrize("k", [1, 2, 3, 7])
@pytest.mark.parametrize("name", SMALL_GRAPHS)
def test_refine_keeps_invariants_on_small_graphs(name: str, k: int, preset: str) -> None:
    graph = SMALL_GRAPHS[name]()
    check(refine(graph, np.arange(graph.n) % k, k, preset=preset), graph, k)
    check(refine(graph, np.zeros(graph.n, np.int64), k, preset=preset), graph, k)


@pytest.mark.parametrize("preset", ["default", "gkway"])
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("k", [2, 5, 16])
def test_refine_never_increases_the_cut_or_the_overload(k: int, seed: int, preset: str) -> None:
    graph = random_graph(150, 500, seed, weighted=True)
    rng = np.random.default_rng(seed)
    for start in (rng.integers(0, k, graph.n), partition(graph, k).parts):
        before = part_weights(graph, start, k).max()
        result = refine(graph, start, k, seed=seed, preset=preset)
        check(result, graph, k)
        if before <= result.limit:
            assert result.feasible
            assert result.cut <= edge_cut(graph, start)
        else:
            assert result.part_weights.max() <= before


def test_refine_improves_a_bad_partition() -> None:
    graph = jetpy.generators.grid(40, 40)
    start = np.random.default_rng(0).permutation(np.arange(graph.n) % 4)
    result = refine(graph, start)
    assert result.k == 4
    assert result.feasible
    assert result.cut < edge_cut(graph, start) / 2


@pytest.mark.parametrize("preset", ["default", "gkway"])
@pytest.mark.parametrize("imbalance", [0, 0.03])
@pytest.mark.parametrize("k", [2, 4, 40])
def test_refine_restores_balance(k: int, imbalance: float, preset: str) -> None:
    graph = jetpy.generators.delaunay(3000)
    for start in (np.zeros(graph.n, int), np.minimum(np.arange(graph.n) // 3, k - 1)):
        result = refine(graph, start, k, imbalance=imbalance, preset=preset)
        check(result, graph, k, imbalance)
        assert result.feasible


def test_refine_accepts_k_above_the_number_of_given_parts() -> None:
    assert refine(path(9), [0, 0, 0, 1, 1, 1, 2, 2, 2]).k == 3
    assert refine(path(9), [0] * 9).k == 1
    result = refine(path(9), [0, 0, 0, 1, 1, 1, 2, 2, 2], 5)
    check(result, path(9), 5)
    result = refine(path(3), [0, 1, 2], 6)
    assert result.feasible
    check(refine(isolated(0), [], 3), isolated(0), 3)


@pytest.mark.parametrize(
    ("parts", "k", "words"),
    [
        ([0, 1], None, "the part ids have shape .* one for each of 10 vertices"),
        ([0] * 11, None, "the part ids have shape .* one for each of 10 vertices"),
        ([[0] * 10], None, "the part ids have shape .* one for each of 10 vertices"),
        ([0] * 9 + [-1], None, "vertex 9 is in part -1"),
        ([0] * 9 + [2], 2, "vertex 9 is in part 2"),
        ([0.5] * 10, None, "integers"),
        (["a"] * 10, None, "integers"),
        ([0] * 10, 0, "k must be at least 1|k is 0"),
        ([0] * 10, 2**24, "k is 16777216"),
        ([0] * 9 + [2**24], None, "k is 16777217"),
    ],
    ids=str,
)
def test_parts_of_wrong_shape_or_range_are_refused(parts: Any, k: int | None, words: str) -> None:
    with pytest.raises(jetpy.JetpyError, match=words):
        refine(path(10), parts, k)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: jetpy.as_graph(np.zeros((2, 2), int), n="3"), "n is '3'; it must be an integer"),
        (lambda: jetpy.evaluate(path(3), [0, 0, 0], "1"), "k is '1'; it must be an integer"),
        (lambda: jetpy.refine(path(3), [0, 0, 0], 1.5), "k is 1.5; it must be an integer"),
        (lambda: jetpy.map_processes(path(3), "2:2", "1:10", method=["im"]), "unknown method"),
        (
            lambda: jetpy.partition(path(3), 1, backend="cpu", threads=1).members(None),
            "part is None; it must be an integer",
        ),
    ],
)
def test_argument_of_wrong_type_is_refused(call: Callable[[], Any], words: str) -> None:
    with pytest.raises(jetpy.OptionError, match=words):
        call()
