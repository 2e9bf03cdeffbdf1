"""At most one task per PE: compared with brute force, greedy placement and known optima."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise, permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jetpy
from jetpy.graph.csr import Graph
from jetpy.graph.generators import cube, delaunay, grid, rmat
from jetpy.mapping import one_each, problem, swaps
from jetpy.mapping.greedy import place_greedily
from jetpy.mapping.one_each import in_order, used_part
from jetpy.mapping.swaps import swap_all, swap_near
from jetpy.problem.machine import machine
from jetpy.problem.presets import MAPPING_METHODS
from tests.graphs import clique, from_edges, isolated, random_graph, star
from tests.mapping.oracle import Levels, cost_of, dense, levels, numbers
from tests.strategies import weighted_graphs

ENGINE: dict[str, Any] = {"backend": "cpu", "threads": 1}


def pes_of(graph: Graph, *of: Any, **options: Any) -> np.ndarray:
    return np.array(jetpy.map_processes(graph, *of, **ENGINE, **options).pe)


def all_different(places: np.ndarray) -> bool:
    return len(set(places.tolist())) == len(places)


def min_cost(graph: Graph, distances: np.ndarray) -> int:
    """Return the least cost of all placements."""
    ways = np.array(list(permutations(range(len(distances)), graph.n)))
    sources = np.repeat(np.arange(graph.n), np.diff(graph.indptr))
    costs = np.zeros(len(ways), np.int64)
    for u, v, weight in zip(sources, graph.indices, graph.edge_weights, strict=True):
        costs += int(weight) * distances[ways[:, u], ways[:, v]]
    return int(costs.min())


def torus(*sides: int) -> np.ndarray:
    """Return the distances of PEs on a torus, in links."""
    places = np.stack(np.unravel_index(np.arange(math.prod(sides)), sides), axis=1)
    steps = np.abs(places[:, None] - places)
    return np.array(np.minimum(steps, np.array(sides) - steps).sum(axis=2))


MACHINES = [("2:2:2", "1:10:100"), ("4:2", "1:10"), ("2:3", "10:1"), ("2:2", "1:3")]


@settings(max_examples=50)
@given(weighted_graphs(least=2, most=6), st.sampled_from(MACHINES))
def test_cost_is_optimal_on_small_hierarchies(graph: Graph, of: tuple[str, str]) -> None:
    distances = dense(*map(numbers, of))
    if graph.n > len(distances):
        return
    places = pes_of(graph, *of)
    assert all_different(places)
    assert cost_of(graph, places, distances) == min_cost(graph, distances)


def test_cost_is_mostly_optimal_on_random_matrices() -> None:
    best = 0
    for seed in range(40):
        upper = np.triu(np.random.default_rng(seed).integers(0, 20, (7, 7)), 1)
        graph, distances = random_graph(3 + seed % 5, 3 + seed % 5 - 1, seed, True), upper + upper.T
        cost = cost_of(graph, pes_of(graph, None, distances), distances)
        best += cost == min_cost(graph, distances)
    assert best >= 32


@settings(max_examples=40)
@given(weighted_graphs(most=30), levels(), st.booleans())
def test_cost_never_exceeds_that_of_simple_placements(
    graph: Graph, of: Levels, as_matrix: bool
) -> None:
    """With a matrix, greedy placement is compared, too; in a hierarchy, task 0 gets PE 0."""
    hierarchy, numbers_of = [a for a, _ in of], [d for _, d in of]
    distances = dense(hierarchy, numbers_of)
    if graph.n > len(distances):
        return
    described = (None, distances) if as_matrix else (hierarchy, numbers_of)
    places = pes_of(graph, *described)
    assert all_different(places)
    cost = cost_of(graph, places, distances)
    assert cost <= cost_of(graph, np.arange(graph.n), distances)
    if as_matrix:
        assert cost <= cost_of(graph, place_greedily(graph, distances.astype(np.int32)), distances)
    else:
        assert places[0] == 0


@pytest.mark.parametrize("method", MAPPING_METHODS)
def test_halo_exchange_on_a_cube_is_optimal(method: str) -> None:
    """Nodes get 4 x 4 x 2 ranks and processors 2 x 2 x 1."""
    result = jetpy.map_processes(cube(8, 8, 8), "4:8:16", "1:10:100", method=method, **ENGINE)
    inside, between, nodes = 128 * 4, 16 * (16 + 16), 64 * (1 + 1 + 3)
    assert result.cost_by_level.tolist() == [2 * inside, 20 * between, 200 * nodes]
    assert (result.empty_pes, result.partition.part_weights.tolist()) == (0, [1] * 512)


def test_grid_is_placed_on_a_shuffled_torus() -> None:
    order = np.random.default_rng(0).permutation(64)
    distances = torus(8, 8)[np.ix_(order, order)]
    places = pes_of(grid(8, 8), None, distances)
    assert cost_of(grid(8, 8), places, distances) < 1.3 * 2 * grid(8, 8).m


def test_matrix_with_a_hierarchy() -> None:
    distances = np.kron(10 * torus(4, 4), np.ones((4, 4), int)) + np.kron(
        np.eye(16, dtype=int), 1 - np.eye(4, dtype=int)
    )
    graph = grid(8, 8)
    cost = cost_of(graph, pes_of(graph, "4:16", distances), distances)
    assert cost <= 2 * (64 * 1 + 48 * 10)


def test_cliques_stay_within_processors() -> None:
    """Five cliques of three fit processors of four; none is split to save a processor."""
    edges = [(3 * i + a, 3 * i + b) for i in range(5) for a in range(3) for b in range(a)]
    result = jetpy.map_processes(from_edges(15, edges), "4:4:2", "1:10:100", **ENGINE)
    assert result.cost_by_level.tolist() == [30, 0, 0]


def test_task_weights_are_ignored() -> None:
    graph = random_graph(30, 80, 1, weighted=True)
    heavy = replace(graph, vertex_weights=graph.vertex_weights * np.int32(1000) + np.int32(7))
    results = [jetpy.map_processes(g, "4:8", "1:10", **ENGINE) for g in (graph, heavy)]
    assert (results[0].pe == results[1].pe).all()
    assert all(result.feasible and result.empty_pes == 2 for result in results)
    assert results[1].limit == heavy.vertex_weights.max()


@pytest.mark.parametrize("graph", [cube(12, 12, 12), delaunay(1500), rmat(11, 8)], ids=repr)
def test_large_machine_tries_near_pairs_only(graph: Graph) -> None:
    of = ("8:16:16", "1:10:100")
    distances = dense(*map(numbers, of))
    if graph.n > len(distances):
        graph = random_graph(2000, 9000, 0)
    places = pes_of(graph, *of)
    assert all_different(places)
    assert cost_of(graph, places, distances) < 0.95 * cost_of(graph, np.arange(graph.n), distances)


@pytest.mark.parametrize("matrix", [True, False])
def test_mapping_does_not_depend_on_threads_or_run(matrix: bool) -> None:
    distances = dense([4, 8, 8], [1, 10, 100])
    of = ("4:8:8", distances) if matrix else ("4:8:8", "1:10:100")
    found = {
        jetpy.map_processes(delaunay(250), *of, backend="cpu", threads=t).pe.tobytes()
        for t in (1, 2, 3, 3)
    }
    assert len(found) == 1


def test_used_part_of_a_huge_machine() -> None:
    part = used_part(machine("4:8:512:512", "1:10:100:1000"), 100)
    assert (part.hierarchy, part.distances) == ((4, 8, 7), (1, 10, 100))
    assert used_part(machine("8:1024", "1:10"), 3).hierarchy == (6,)
    for whole in (machine("4:8:512", "1:100:10"), machine(None, torus(30)), machine("4:2", "1:2")):
        assert used_part(whole, 5) is whole


@given(st.permutations(range(24)), st.integers(1, 24))
def test_in_order_keeps_distances_and_sorts_groups(order: list[int], n: int) -> None:
    """The groups of each level are sorted by their first task."""
    of, places = machine("2:3:4", "1:10:100"), np.array(order[:n], np.int32)
    found, distances = in_order(places, of), dense([2, 3, 4], [1, 10, 100])
    assert all_different(found)
    assert (distances[np.ix_(found, found)] == distances[np.ix_(places, places)]).all()
    for size, arity in ((1, 2), (2, 3), (6, 4)):
        firsts = [found.tolist().index(p) if p in found else 99 for p in range(24)]
        groups = np.array(firsts).reshape(-1, arity, size).min(axis=2)
        assert (np.diff(groups, axis=1) >= 0).all()


# swaps


def swapped(places: np.ndarray, u: int, v: int) -> np.ndarray:
    result = places.copy()
    result[[u, v]] = places[[v, u]]
    return result


@given(weighted_graphs(least=2, most=12), levels(most=16), st.randoms(use_true_random=False))
def test_no_swap_reduces_the_cost(graph: Graph, of: Levels, rng: Any) -> None:
    """Swaps exchange two tasks, or a task and an empty PE."""
    distances = dense([a for a, _ in of], [d for _, d in of])
    k = len(distances)
    if graph.n > k:
        return
    start = np.array(rng.sample(range(k), graph.n), np.int32)
    found = swap_all(graph, start, distances.astype(np.int32))
    assert all_different(found)
    cost = cost_of(graph, found, distances)
    assert cost <= cost_of(graph, start, distances)
    everywhere = np.concatenate((found, np.setdiff1d(np.arange(k), found)))
    for u in range(graph.n):
        for v in range(u + 1, k):
            assert cost_of(graph, swapped(everywhere, u, v)[: graph.n], distances) >= cost


@given(
    weighted_graphs(least=2, most=14),
    levels(most=20),
    st.randoms(use_true_random=False),
    st.sampled_from([1, 1 << 22]),
)
def test_no_swap_of_near_tasks_reduces_the_cost(
    graph: Graph, of: Levels, rng: Any, block: int
) -> None:
    hierarchy, numbers_of = [a for a, _ in of], [d for _, d in of]
    distances, target = dense(hierarchy, numbers_of), machine(hierarchy, numbers_of)
    if graph.n > target.k:
        return
    start = np.array(rng.sample(range(target.k), graph.n), np.int32)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(swaps, "BLOCK", block)
        found = swap_near(graph, start, target.metric, target.k)
    assert sorted(found) == sorted(start)
    cost = cost_of(graph, found, distances)
    assert cost <= cost_of(graph, start, distances)
    rows = [set(graph.indices[a:b].tolist()) for a, b in pairwise(graph.indptr.tolist())]
    for u in range(graph.n):
        for v in rows[u] | {w for neighbour in rows[u] for w in rows[neighbour]}:
            assert cost_of(graph, swapped(found, u, v), distances) >= cost


@pytest.mark.parametrize(("most", "pairs"), [(1 << 27, 45), (100, 9), (80, 0)])
def test_number_of_near_pairs_is_limited(
    most: int, pairs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(swaps, "MAX_TERMS", most)
    assert len(swaps._near(star(9))[0]) == pairs


def test_swaps_of_dense_communication_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    graph, distances = clique(16), torus(16).astype(np.int32)
    weighted = replace(graph, edge_weights=np.ones_like(graph.edge_weights))
    monkeypatch.setattr(swaps, "MAX_CHANGES", 0)
    start = np.random.default_rng(0).permutation(16).astype(np.int32)
    assert (swap_all(weighted, start, distances) == start).all()


def test_dense_communication_gets_one_try(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = random_graph(64, 1500, 0, weighted=True)
    several = jetpy.map_processes(graph, "4:16", "1:10", **ENGINE).cost
    monkeypatch.setattr(one_each, "QUICK", 0)
    assert several <= jetpy.map_processes(graph, "4:16", "1:10", **ENGINE).cost < 1.05 * several


# greedy placement


@given(weighted_graphs(most=10), levels(most=20))
def test_greedy_placement_uses_different_pes(graph: Graph, of: Levels) -> None:
    distances = dense([a for a, _ in of], [d for _, d in of]).astype(np.int32)
    if graph.n > len(distances):
        return
    assert all_different(place_greedily(graph, distances))


def test_greedy_placement_of_a_path_is_optimal() -> None:
    row = np.abs(np.subtract.outer(np.arange(9), np.arange(9))).astype(np.int32)
    chain = from_edges(4, [(0, 1), (1, 2), (2, 3)], [9, 5, 1])
    assert cost_of(chain, place_greedily(chain, row), row) == 2 * (9 + 5 + 1)
    assert all_different(place_greedily(isolated(9), row))


@pytest.mark.parametrize(
    ("method", "cut_by"), [("im", "hm"), ("hm", "hm"), ("hm-ultra", "hm-ultra")]
)
def test_method_partitions_the_tasks(
    method: Any, cut_by: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = set()

    def make_mapping_problem(*arguments: Any) -> Any:
        asked.add(arguments[2])
        return problem.make_mapping_problem(*arguments)

    monkeypatch.setattr(one_each, "make_mapping_problem", make_mapping_problem)
    pes_of(grid(4, 4), "4:4", "1:10", method=method)
    assert asked == {cut_by}
