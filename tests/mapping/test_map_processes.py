"""`jetpy.map_processes`: invariants of every mapping, its quality, and refused arguments."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import cache
from statistics import geometric_mean
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import jetpy
from jetpy.graph.csr import Graph
from jetpy.graph.generators import delaunay, grid, random_geometric, rmat
from jetpy.mapping.problem import make_mapping_problem
from jetpy.problem.machine import machine
from jetpy.problem.presets import MAPPING_METHODS
from jetpy.problem.problem import EDGE_CUT, within
from jetpy.result.mapping import Mapping
from tests.graphs import (
    SMALL_GRAPHS,
    from_edges,
    heavy_vertex,
    isolated,
    path,
    random_graph,
    some_isolated,
    star,
    two_cliques,
)
from tests.mapping.oracle import cost_of, cut_of, dense, entries, numbers

ENGINE: dict[str, Any] = {"backend": "cpu", "threads": 1}

GRAPHS: dict[str, Callable[[], Graph]] = {
    "delaunay": lambda: delaunay(3000),
    "grid": lambda: grid(30, 30),
    "rmat": lambda: rmat(11, 8),
    "weighted": lambda: random_graph(800, 3000, 3, weighted=True),
    "some_isolated": some_isolated,
    "two_cliques": lambda: two_cliques(20),
    "star": lambda: star(500),
}
MACHINES = {"2:3:2": "1:10:100", "4:8:2": "1:5:7", "6": "3", "1:4:1": "2:30:4", "3:1:2": "1:50:9"}
RUNS = [
    (h, method)
    for h in MACHINES
    for method in MAPPING_METHODS
    if method != "hm-ultra" or h == "2:3:2"
]


@cache
def graph_of(name: str) -> Graph:
    return GRAPHS[name]()


def map_processes(graph: Any, hierarchy: Any, distances: Any, **options: Any) -> Mapping:
    return jetpy.map_processes(graph, hierarchy, distances, **{**ENGINE, **options})


def matrix_of(hierarchy: str, distances: str) -> np.ndarray:
    return dense(numbers(hierarchy), numbers(distances))


def ring(n: int) -> np.ndarray:
    steps = np.abs(np.subtract.outer(np.arange(n), np.arange(n)))
    return np.array(np.minimum(steps, n - steps))


def check(result: Mapping, graph: Graph, matrix: np.ndarray, imbalance: float = 0.03) -> None:
    """Check the invariants of a result against values computed from scratch."""
    k, pe = len(matrix), result.pe
    assert pe.dtype == np.int32
    assert pe.shape == (graph.n,)
    assert ((pe >= 0) & (pe < k)).all()
    assert result.cost == cost_of(graph, pe, matrix)
    assert result.cut == result.partition.cut == cut_of(graph, pe)
    assert (result.machine.k, result.partition.k) == (k, k)
    weights = np.bincount(pe, graph.vertex_weights, k).astype(int)
    assert result.partition.part_weights.tolist() == weights.tolist()
    total = int(graph.vertex_weights.sum())
    limit = math.ceil((1 + Fraction(str(imbalance))) * total / k)
    if graph.n <= k:
        limit = max(limit, int(graph.vertex_weights.max(initial=0)))
        assert len(set(pe.tolist())) == graph.n
    assert result.limit == limit
    assert result.empty_pes == k - len(set(pe.tolist()))
    assert result.feasible == (weights.max() <= result.limit)
    share = math.ceil(total / k)
    assert result.imbalance == pytest.approx(weights.max() / share - 1 if share else 0)
    if (graph.vertex_weights == 1).all():
        assert result.feasible
    hierarchy = result.machine.hierarchy
    if hierarchy:
        p, q, communication = entries(graph, pe)
        levels = dense(hierarchy, range(len(hierarchy)))[p, q]
        shares = np.bincount(levels, communication * matrix[p, q], len(hierarchy))
        assert result.cost_by_level.tolist() == shares.tolist()
        assert result.cost_by_level.sum() == result.cost
    else:
        assert result.cost_by_level.tolist() == []


@pytest.mark.parametrize(("hierarchy", "method"), RUNS)
@pytest.mark.parametrize("name", GRAPHS)
def test_every_graph_is_mapped_onto_every_machine(name: str, hierarchy: str, method: str) -> None:
    distances = MACHINES[hierarchy]
    graph = graph_of(name)
    result = map_processes(graph, hierarchy, distances, method=method)
    check(result, graph, matrix_of(hierarchy, distances))
    assert result.feasible
    assert result.method == method


@pytest.mark.parametrize("method", ["im", "hm"])
@pytest.mark.parametrize("name", [name for name in SMALL_GRAPHS if name != "empty"])
def test_small_graphs_are_mapped(name: str, method: str) -> None:
    """Some graphs have a task heavier than the limit of a PE."""
    graph = SMALL_GRAPHS[name]()
    result = map_processes(graph, "2:2", "1:10", method=method)
    check(result, graph, matrix_of("2:2", "1:10"))


@pytest.mark.parametrize("method", MAPPING_METHODS)
@pytest.mark.parametrize("n", [0, 1, 2, 5])
def test_fewer_tasks_than_pes_leave_pes_empty(n: int, method: str) -> None:
    graph = path(n)
    result = map_processes(graph, "3:4", "1:10", method=method)
    check(result, graph, matrix_of("3:4", "1:10"))
    assert result.empty_pes == 12 - n


@pytest.mark.parametrize("method", MAPPING_METHODS)
@pytest.mark.parametrize("hierarchy", ["1", "1:1"])
def test_one_pe_has_no_cost(hierarchy: str, method: str) -> None:
    graph = graph_of("two_cliques")
    result = map_processes(graph, hierarchy, hierarchy, method=method)
    check(result, graph, np.zeros((1, 1), int))
    assert (result.pe.max(), result.cost, result.cut) == (0, 0, 0)


@pytest.mark.parametrize("method", MAPPING_METHODS)
def test_task_heavier_than_the_limit_is_infeasible(method: str) -> None:
    result = map_processes(heavy_vertex(), "2:2", "1:10", method=method)
    assert not result.feasible
    assert result.partition.part_weights.max() < heavy_vertex().total_vertex_weight
    assert repr(result).endswith("NOT feasible)")


@pytest.mark.parametrize("method", ["im", "hm"])
@pytest.mark.parametrize("imbalance", [0, 0.001, 1])
def test_imbalance_bounds_every_pe(imbalance: float, method: str) -> None:
    graph = graph_of("delaunay")
    options = {"method": method, "imbalance": imbalance, "large_imbalance": imbalance >= 1}
    result = map_processes(graph, "4:4:4", "1:10:100", **options)
    check(result, graph, matrix_of("4:4:4", "1:10:100"), imbalance)


def test_larger_imbalance_allows_a_smaller_cost() -> None:
    """Only a loose limit leaves two cliques of 60 and 40, joined by an edge, whole."""
    pairs = [(u, v) for u in range(60) for v in range(u)]
    pairs += [(u, v) for u in range(60, 100) for v in range(60, u)]
    graph = from_edges(100, [*pairs, (0, 60)])
    assert map_processes(graph, "2", "7", imbalance=0.2).cost == 2 * 7
    assert map_processes(graph, "2", "7", imbalance=0.18).cost > 2 * 7


@pytest.mark.parametrize("distances", ["1:10", "10:1", "0:0", "0:2147483647"])
def test_distances_may_have_any_size_and_order(distances: str) -> None:
    for graph in (graph_of("grid"), graph_of("weighted")):
        check(map_processes(graph, "4:3", distances), graph, matrix_of("4:3", distances))


def test_neighbours_get_the_small_distances() -> None:
    """If the PEs of a processor are far apart, no two of them get neighbours."""
    result = map_processes(graph_of("grid"), "2:8", "1000:1")
    assert result.cost_by_level[0] == 0
    result = map_processes(graph_of("grid"), "2:8", "1:1000")
    assert result.cost_by_level[0] > 0


@pytest.mark.parametrize("method", MAPPING_METHODS)
def test_large_machine_computes_its_distances(method: str) -> None:
    """2048 PEs are too many for a matrix."""
    graph = graph_of("delaunay")
    result = map_processes(graph, "64:32", "1:10", method=method)
    assert result.machine.metric.kind == 2
    check(result, graph, matrix_of("64:32", "1:10"))


# quality of mappings


@pytest.mark.parametrize("method", MAPPING_METHODS)
def test_known_clusters_are_found(method: str) -> None:
    """Each clique gets a PE; cliques joined by heavy edges share a processor."""
    edges, weights = [], []
    for clique in range(16):
        first = 8 * clique
        inside = [(first + i, first + j) for i in range(8) for j in range(i)]
        edges += [*inside, (first, (first + 8) % 128)]
        weights += [20] * len(inside) + [9 if clique % 2 else 1]
    numbers_of_tasks = np.random.default_rng(1).permutation(128).tolist()
    shuffled = [(numbers_of_tasks[u], numbers_of_tasks[v]) for u, v in edges]
    result = map_processes(from_edges(128, shuffled, weights), "2:8", "1:10", method=method)
    assert result.cost_by_level.tolist() == [2 * 8 * 9 * 1, 2 * 8 * 1 * 10]


@pytest.mark.parametrize("method", ["im", "hm"])
def test_mapping_costs_less_than_a_plain_partition(method: str) -> None:
    """This holds on average, because bisection already gives nearby parts nearby ids."""
    matrix, ratios = matrix_of("4:4:4", "1:10:100"), []
    for name in ("delaunay", "grid", "rmat"):
        graph = graph_of(name)
        parts = jetpy.partition(graph, 64, **ENGINE).parts
        found = map_processes(graph, "4:4:4", "1:10:100", method=method)
        ratios.append(found.cost / cost_of(graph, parts, matrix))
    assert max(ratios) < 1.05
    assert geometric_mean(ratios) < 0.95


def test_slower_methods_cost_less() -> None:
    graphs = [graph_of("delaunay"), grid(50, 60), random_geometric(3000)]
    costs = {
        method: sum(map_processes(g, "4:4:4", "1:10:100", method=method).cost for g in graphs)
        for method in MAPPING_METHODS
    }
    assert costs["hm-ultra"] < 1.01 * costs["hm"]
    assert costs["hm-ultra"] < costs["im"]
    assert costs["hm"] < 1.02 * costs["im"]


# matrices


@pytest.mark.parametrize("k", [1, 2, 7, 40])
def test_matrix_without_hierarchy_is_accepted(k: int) -> None:
    upper = np.triu(np.random.default_rng(k).integers(0, 9, (k, k)), 1)
    for graph in (graph_of("grid"), graph_of("some_isolated"), graph_of("weighted")):
        check(map_processes(graph, None, upper + upper.T), graph, upper + upper.T)


def test_shuffled_ring_costs_nearly_the_same() -> None:
    """PEs on a ring have shuffled ids in one machine and ordered ids in the other."""
    graph, order = graph_of("delaunay"), np.random.default_rng(2).permutation(24)
    in_order = map_processes(graph, None, ring(24)).cost
    shuffled = map_processes(graph, None, ring(24)[np.ix_(order, order)]).cost
    assert shuffled < 1.2 * in_order
    parts = order[jetpy.partition(graph, 24, **ENGINE).parts]
    assert in_order < 0.8 * cost_of(graph, parts, ring(24))


@pytest.mark.parametrize("method", ["hm", "hm-ultra"])
def test_multisection_needs_a_hierarchy(method: str) -> None:
    with pytest.raises(jetpy.OptionError, match=f"method {method} needs a hierarchy"):
        map_processes(path(10), None, ring(4), method=method)


@pytest.mark.parametrize("method", MAPPING_METHODS)
def test_matrix_may_contradict_its_hierarchy(method: str) -> None:
    """Nodes with four PEs each form a ring, and so do the PEs of each node."""
    distances = np.kron(10 * ring(6), np.ones((4, 4), int)) + np.kron(np.eye(6, dtype=int), ring(4))
    for name in ("delaunay", "weighted", "some_isolated"):
        graph = graph_of(name)
        check(map_processes(graph, "4:6", distances, method=method), graph, distances)


def test_hierarchy_with_a_matrix_costs_little_more() -> None:
    """A hierarchy in addition to a matrix may cost some quality, at most 15 %."""
    own = 1 - np.eye(4, dtype=int)
    distances = np.kron(10 * ring(16), np.ones_like(own)) + np.kron(np.eye(16, dtype=int), own)
    graph = graph_of("delaunay")
    alone = map_processes(graph, None, distances).cost
    assert map_processes(graph, "4:16", distances).cost < 1.15 * alone
    assert map_processes(graph, "4:16", distances, method="hm-ultra").cost < 1.15 * alone


@pytest.mark.parametrize(("hierarchy", "method"), RUNS)
def test_matrix_and_levels_of_one_machine_give_equal_mappings(hierarchy: str, method: str) -> None:
    graph, distances = graph_of("delaunay"), MACHINES[hierarchy]
    levels = map_processes(graph, hierarchy, distances, method=method)
    matrix = map_processes(graph, hierarchy, matrix_of(hierarchy, distances), method=method)
    assert (matrix.pe == levels.pe).all()
    assert matrix.cost_by_level.tolist() == levels.cost_by_level.tolist()


# one result


@pytest.mark.parametrize(
    ("name", "method"),
    [("delaunay", "im"), ("rmat", "im"), ("delaunay", "hm"), ("weighted", "hm-ultra")],
)
def test_mapping_does_not_depend_on_threads_or_run(name: str, method: str) -> None:
    results = {
        map_processes(
            graph_of(name), "2:3:2", "1:10:100", method=method, threads=threads
        ).pe.tobytes()
        for threads in (1, 2, 3, 3)
    }
    assert len(results) == 1


def test_different_seeds_give_different_mappings() -> None:
    graph = graph_of("delaunay")
    results = [map_processes(graph, "2:3:2", "1:10:100", seed=seed) for seed in range(4)]
    assert len({result.pe.tobytes() for result in results}) >= 3
    assert [result.partition.seed for result in results] == [0, 1, 2, 3]


def test_every_input_type_gives_the_same_mapping() -> None:
    whole = graph_of("weighted")
    graph = replace(whole, vertex_weights=np.ones_like(whole.vertex_weights))
    csr = (graph.indptr, graph.indices, graph.edge_weights)
    matrix = sp.csr_array((csr[2], csr[1], csr[0]), shape=(graph.n, graph.n))
    expected = map_processes(graph, "2:3", "1:10")
    for data in (csr, matrix, matrix.tocoo()):
        result = map_processes(data, [2, 3], (1, 10))
        assert (result.pe == expected.pe).all()
        assert result.cost == expected.cost


def test_result_and_progress_describe_the_run() -> None:
    calls = []
    result = map_processes(
        graph_of("grid"), "2:3", "1:10", progress=lambda *call: calls.append(call), profile=True
    )
    assert {stage for stage, _, _ in calls} >= {"coarsen", "refine"}
    assert set(result.seconds) == {"compile", "coarsen", "initial", "refine", "total"}
    assert result.partition.profile is not None
    assert result.partition.launches > 0
    last = result.partition.levels[0]
    assert (last.n, last.cut_after) == (900, result.cost // 2)
    assert repr(result) == (
        f"Mapping(2:3, distances 1:10, cost={result.cost}, "
        f"imbalance={result.imbalance:.4f}, feasible)"
    )


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"method": "best"}, "unknown method 'best'; choose one of im, hm, hm-ultra"),
        ({"imbalance": -0.1}, "imbalance is -0.1"),
        ({"imbalance": math.nan}, "imbalance is nan"),
        ({"imbalance": "much"}, "imbalance is 'much'"),
        (
            {"imbalance": 1},
            r"imbalance is 1 \(100 %\); it must be below 1 unless large_imbalance=True",
        ),
        ({"seed": -1}, "seed is -1"),
        ({"seed": 2**31}, "seed is 2147483648"),
        ({"seed": 0.5}, "seed is 0.5; it must be an integer"),
        ({"backend": "x"}, "unknown backend 'x'"),
        ({"threads": 0}, "threads is 0"),
        (
            {"hierarchy": "2:2:2"},
            "the numbers of levels differ: 3 in the hierarchy, 2 in the distances",
        ),
    ],
    ids=str,
)
def test_bad_option_is_refused(options: dict[str, Any], words: str) -> None:
    good = {"graph": path(10), "hierarchy": "2:2", "distances": "1:10"}
    with pytest.raises(jetpy.OptionError, match=words):
        map_processes(**{**good, **options})


def test_bad_graph_is_refused_unless_repaired() -> None:
    one_way = ([0, 1, 2, 2], [1, 2])
    with pytest.raises(jetpy.GraphError):
        map_processes(one_way, "2", "1")
    assert map_processes(one_way, "2", "1", repair=True).cost == 2


# the steps


@pytest.mark.parametrize("method", MAPPING_METHODS)
def test_steps_follow_the_hierarchy(method: str) -> None:
    steps = make_mapping_problem(10_000, machine("4:1:8:2", "1:2:3:4"), method, 0.03, 5)
    assert [step.k for step in steps] == [2, 16, 64]
    assert steps[0].metric is EDGE_CUT
    assert steps[1].metric.distances.reshape(16, 16)[0].tolist() == [0] + [3] * 7 + [4] * 8
    assert {step.seed for step in steps} == {5}
    assert steps[-1].limit == math.ceil(1.03 * 10_000 / 64)
    for upper in steps[:-1]:  # a full group still fits into its PEs
        assert upper.ideal <= upper.limit <= 64 // upper.k * steps[-1].limit


def test_remaining_imbalance_is_divided_among_later_cuts() -> None:
    upper, last = make_mapping_problem(1000, machine("5:2", "1:10"), "im", 0.1, 0)
    assert last.limit == 110
    # The last cut may use the whole remaining imbalance.
    final = within(last, last, np.array([530, 470]), 1)
    assert (final.groups, final.limits.tolist()) == (2, [110] * 10)
    overfull = within(last, last, np.array([1000, 0]), 1)
    assert (overfull.limit, overfull.limits.max()) == (110, 110)
    first = within(upper, last, np.array([1000]), 2)
    assert first.limits.tolist() == [math.floor(1000 / 2 * math.sqrt(1.1))] * 2


def test_tasks_without_communication_are_spread_evenly() -> None:
    result = map_processes(isolated(1000), "5:2", "1:10", imbalance=0)
    assert result.partition.part_weights.tolist() == [100] * 10
    assert result.cost == 0


@pytest.mark.parametrize("scale", [7, 10**4, 2 * 10**7])
def test_mapping_does_not_depend_on_the_scale_of_distances(scale: int) -> None:
    graph = jetpy.generators.delaunay(1000)
    given, scaled = [1, 10, 100], [scale, 10 * scale, 100 * scale]
    first = jetpy.map_processes(graph, "2:3:2", given, threads=1)
    second = jetpy.map_processes(graph, "2:3:2", scaled, threads=1)
    assert (first.pe == second.pe).all()
    assert second.cost == scale * first.cost
    assert second.cost_by_level.sum() == second.cost


def test_large_weights_and_distances_cost_little_quality() -> None:
    """Gains beyond 32 bits are stored in larger units."""
    graph = jetpy.generators.delaunay(3000)
    heavy = replace(graph, edge_weights=graph.edge_weights * np.int32(50_000))
    costs = [
        sum(jetpy.map_processes(g, "4:4:4", d, threads=1, seed=seed).cost for seed in range(4)) / c
        for g, d, c in ((graph, "1:10:100", 1), (heavy, "1001:10010:100101", 50_000 * 1001))
    ]
    assert 0.95 < costs[1] / costs[0] < 1.05


@pytest.mark.parametrize("method", ["im", "hm"])
@pytest.mark.parametrize(
    ("bounds", "lower", "upper"),
    [
        ({"lower_imbalance": 0.05}, 36, 39),
        ({"min_weights": 35, "max_weights": 38}, 35, 38),
        ({"max_weights": 60}, 0, 60),
        ({"max_weights": 38, "imbalance": 0.1}, 0, 38),
    ],
)
def test_pes_keep_both_limits(method: Any, bounds: dict[str, Any], lower: int, upper: int) -> None:
    graph = jetpy.generators.delaunay(600)
    found = jetpy.map_processes(graph, "2:4:2", "1:5:20", method=method, threads=1, **bounds)
    weights = np.bincount(found.pe, minlength=16)
    assert found.partition.lower_limits.tolist() == [lower] * 16
    assert found.partition.limits.tolist() == [upper] * 16
    assert lower <= weights.min() <= weights.max() <= upper
    assert found.feasible


def test_bounds_of_single_pes_are_refused() -> None:
    with pytest.raises(jetpy.OptionError, match="max_weights has several numbers; a mapping needs"):
        jetpy.map_processes(path(9), "2:2", "1:2", max_weights=[9] * 4)
