"""The fewest parts of a maximum weight, partitions within given parts, and groups together."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jetpy
from jetpy.graph.csr import Graph
from jetpy.graph.generators import delaunay, grid
from jetpy.problem.metrics import components_per_part, edge_cut
from jetpy.result.partition import Partition
from tests.graphs import from_edges, isolated, path
from tests.strategies import weighted_graphs

ENGINE: dict[str, Any] = {"backend": "cpu", "threads": 1}


def recounted(graph: Graph, found: Partition) -> np.ndarray:
    """Check the numbers of a result; return the part weights."""
    weights = np.bincount(found.parts, graph.vertex_weights, found.k).astype(np.int64)
    assert found.part_weights.tolist() == weights.tolist()
    assert found.cut == edge_cut(graph, found.parts)
    assert found.ideals.shape == found.limits.shape == found.lower_limits.shape == (found.k,)
    within = (found.lower_limits <= weights) & (weights <= found.limits)
    assert found.feasible == bool(within.all())
    return weights


@pytest.mark.parametrize("most", [1, 7, 50, 64, 100, 599, 600, 1000])
def test_fewest_parts_of_unit_weights_are_full(most: int) -> None:
    graph = grid(20, 30)
    found = jetpy.partition(graph, max_weights=most, preset="fast", **ENGINE)
    assert found.k == -(-600 // most)
    assert recounted(graph, found).max() <= most
    assert (found.limits == most).all()
    same = jetpy.partition(graph, found.k, max_weights=most, preset="fast", **ENGINE)
    assert (same.parts == found.parts).all()


@settings(max_examples=60)
@given(weighted_graphs(least=1, most=30), st.integers(0, 30), st.booleans())
def test_fewest_parts_keep_the_maximum(graph: Graph, more: int, connected: bool) -> None:
    most = int(graph.vertex_weights.max()) + more
    found = jetpy.partition(graph, max_weights=most, connected=connected, preset="fast", **ENGINE)
    assert recounted(graph, found).max() <= most
    assert found.k * most >= graph.total_vertex_weight
    assert not found.empty_parts
    if connected:
        assert (components_per_part(graph, found.parts, found.k) == 1).all()


@pytest.mark.parametrize(
    "limits",
    [
        {"min_weights": 6},
        {"min_weights": np.array(1)},
        {"lower_imbalance": 0.5},
        {"lower_imbalance": 0.1},
        {"imbalance": 0.0},
    ],
)
def test_no_more_parts_are_tried_than_weights_allow(limits: dict[str, Any]) -> None:
    """No part can have two of the vertices of weight 6, and no vertex of weight 0 is enough."""
    weights = np.repeat([6, 0], 10)
    found = jetpy.partition(path(20), max_weights=10, vertex_weights=weights, **limits, **ENGINE)
    assert found.k == 10
    assert found.feasible


def test_best_partition_is_returned_if_none_keeps_all_limits() -> None:
    """Limits are 12, 9 and 7 for 3, 4 and 5 parts, which weigh 2, 1 and 3 too much."""
    graph = from_edges(5, [(v, v + 1) for v in range(4)], vertex_weights=[8, 8, 8, 5, 5])
    found = jetpy.partition(graph, max_weights=13, imbalance=0.0, **ENGINE)
    assert sorted(recounted(graph, found).tolist()) == [8, 8, 8, 10]
    assert not found.feasible


@pytest.mark.parametrize("weights", [np.zeros(0, int), np.zeros((0, 2), int)])
def test_graph_without_vertices_has_one_part(weights: np.ndarray) -> None:
    for within in (None, []):
        options: dict[str, Any] = {"vertex_weights": weights, "within": within, **ENGINE}
        assert jetpy.partition(isolated(0), max_weights=3, **options).k == 1


def test_minimum_weights_of_several_weights_without_k() -> None:
    weights = np.stack([np.repeat([6, 0], 10), np.repeat([0, 6], 10)], axis=1)
    options: dict[str, Any] = {"vertex_weights": weights, "max_weights": 10, **ENGINE}
    found = jetpy.partition(path(20), min_weights=[6, 2], **options)
    assert found.lower_limits.tolist() == [[6, 2]] * 10
    assert found.feasible


def test_components_count_if_parts_are_connected() -> None:
    assert jetpy.partition(isolated(9), max_weights=9, **ENGINE).k == 1
    assert jetpy.partition(isolated(9), max_weights=9, connected=True, **ENGINE).k == 9


def test_fewest_parts_of_several_weights() -> None:
    graph, rng = grid(12, 12), np.random.default_rng(0)
    weights = rng.integers(1, 5, (144, 2))
    found = jetpy.partition(graph, max_weights=[60, 40], vertex_weights=weights, **ENGINE)
    loads = np.stack([np.bincount(found.parts, column, found.k) for column in weights.T], 1)
    assert (loads <= [60, 40]).all()
    assert found.k >= -(-weights[:, 1].sum() // 40)


def test_named_vertices_are_named_in_errors() -> None:
    graph = jetpy.from_edges({"a": ["x", "y"], "b": ["y", "z"]}, "a", "b")
    with pytest.raises(jetpy.OptionError, match="vertex 'x' weighs 1, more than max_weights, 0"):
        jetpy.partition(graph, max_weights=0, **ENGINE)


@pytest.mark.parametrize("k", [1, 3, 4])
def test_no_part_crosses_a_given_one(k: int) -> None:
    graph = delaunay(1500)
    outer = jetpy.partition(graph, 5, imbalance=0.2, **ENGINE).parts
    found = jetpy.partition(graph, k, within=outer, lower_imbalance=0.1, **ENGINE)
    assert found.k == 5 * k
    assert (found.parts // k == outer).all()
    recounted(graph, found)
    for p in range(5):
        own = int((outer == p).sum())
        slots = slice(p * k, p * k + k)
        assert found.limits[slots].tolist() == [int(-(-own // k) * 103 // 100)] * k
        assert (found.part_weights[slots] >= 0.9 * own / k).all()
    inside = outer[graph.sources(0, graph.n)] == outer[graph.indices]
    assert inside.any()


def test_within_without_k_numbers_parts_in_order() -> None:
    graph = grid(30, 20)
    outer = np.repeat([2, 0, 5], 200)  # 1, 3 and 4 are empty
    found = jetpy.partition(graph, within=outer, max_weights=90, **ENGINE)
    assert found.k == 9
    assert (np.array([0, 0, 0, 2, 2, 2, 5, 5, 5])[found.parts] == outer).all()
    assert recounted(graph, found).max() <= 90
    with_k = jetpy.partition(graph, 2, within=outer, **ENGINE)
    assert with_k.k == 12
    assert (with_k.parts // 2 == outer).all()
    assert with_k.empty_parts == 6


def test_unused_ids_cost_no_time() -> None:
    graph = grid(30, 20)
    outer = np.where(np.arange(600) < 300, 7, 2**20)
    weights = np.ones((600, 2), int)
    found = jetpy.partition(graph, 2, within=outer, vertex_weights=weights, **ENGINE)
    assert found.k == 2**21 + 2
    assert (found.parts // 2 == outer).all()
    assert found.limits.shape == (found.k, 2)
    assert found.limits[[14, 15, 2**21, 2**21 + 1]].min() == 154
    assert found.limits.sum() == 8 * 154


def test_within_a_single_part_is_the_usual_partition() -> None:
    graph = grid(30, 20)
    nested = jetpy.partition(graph, 4, within=np.zeros(600, int), seed=5, **ENGINE)
    usual = jetpy.partition(graph, 4, seed=5, **ENGINE)
    assert (nested.parts == usual.parts).all()
    assert nested.cut == usual.cut


@settings(max_examples=100)
@given(
    weighted_graphs(least=2, most=30),
    st.integers(2, 5),
    st.integers(0, 10**6),
    st.sampled_from(["cut", "volume", "connected", "fixed", "home", "several", "refine"]),
)
def test_groups_are_in_one_part(graph: Graph, k: int, seed: int, kind: str) -> None:
    rng = np.random.default_rng(seed)
    together = rng.integers(-1, max(graph.n // 3, 1), graph.n)
    options: dict[str, Any] = {"large_imbalance": True, "imbalance": float(k), "preset": "fast"}
    if kind == "volume":
        options["objective"] = "volume"
    if kind == "connected":
        options["connected"] = True
    if kind in ("fixed", "home"):
        part_of = rng.integers(-1, k, int(together.max(initial=0)) + 1)
        options[kind] = np.where(together >= 0, part_of[together], -1)
    if kind == "several":
        options["vertex_weights"] = rng.integers(0, 9, (graph.n, 2))
    if kind == "refine":
        start = rng.integers(0, k, graph.n)
        del options["preset"]
        found = jetpy.refine(graph, start, k, together=together, **options, **ENGINE)
    else:
        found = jetpy.partition(graph, k, together=together, seed=seed, **options, **ENGINE)
    for group in range(int(together.max()) + 1):
        assert len(set(found.parts[together == group].tolist())) <= 1
    assert found.cut == edge_cut(graph, found.parts)
    if kind == "fixed":
        assert (found.parts == options["fixed"])[options["fixed"] >= 0].all()
    if kind == "connected":
        several = np.flatnonzero(components_per_part(graph, found.parts, k) > 1)
        assert set(several.tolist()) <= set(found.disconnected)


def test_groups_without_members_change_nothing() -> None:
    graph = grid(20, 20)
    usual = jetpy.partition(graph, 4, **ENGINE)
    alone = jetpy.partition(graph, 4, together=np.arange(400), **ENGINE)
    none = jetpy.partition(graph, 4, together=np.full(400, -1), **ENGINE)
    assert (usual.parts == alone.parts).all()
    assert (usual.parts == none.parts).all()


def test_a_group_that_is_not_connected_is_the_reason() -> None:
    graph = path(10)
    together = np.full(10, -1)
    together[[0, 9]] = 3
    found = jetpy.partition(graph, 2, together=together, connected=True, **ENGINE)
    apart = dict.fromkeys((int(found.parts[0]),), "a group of together is not connected in it")
    assert found.disconnected == apart


def test_more_parts_do_not_help_a_group_that_is_not_connected() -> None:
    together = np.full(40, -1)
    together[[0, 39]] = 3
    found = jetpy.partition(path(40), max_weights=10, together=together, connected=True, **ENGINE)
    assert found.k <= 6
    assert list(found.disconnected) == [found.parts[0]]


def test_a_split_group_is_refined_from_the_part_of_most_weight() -> None:
    graph = from_edges(5, [(0, 1), (1, 2), (2, 3), (3, 4)], vertex_weights=[3, 1, 1, 1, 3])
    start = [0, 0, 1, 1, 1]
    found = jetpy.refine(graph, start, together=[-1, 0, 0, 0, -1], imbalance=0.4, **ENGINE)
    assert found.parts.tolist() == [0, 1, 1, 1, 1]


def test_many_graphs_take_the_options() -> None:
    graphs = [grid(10, 10), grid(12, 10)]
    outer = [np.repeat([0, 1], 50), None]
    groups = [None, np.repeat(np.arange(60), 2)]
    found = jetpy.partition_many(graphs, max_weights=30, within=outer, together=groups, threads=1)
    for graph, one, own, group in zip(graphs, found, outer, groups, strict=True):
        alone = jetpy.partition(graph, max_weights=30, within=own, together=group, **ENGINE)
        assert (alone.parts == one.parts).all()
        assert one.part_weights.max() <= 30
