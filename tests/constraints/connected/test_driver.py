"""Connected parts: every part is connected unless the result gives a reason, and balanced."""

from __future__ import annotations

import random
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jetpy
from jetpy.engines.base import Backend
from jetpy.errors import OptionError
from jetpy.graph.csr import Graph
from jetpy.problem.metrics import components_per_part, edge_cut
from tests.graphs import from_edges, path, random_graph
from tests.strategies import weighted_graphs

ENGINE: dict[str, Any] = {"backend": "cpu", "threads": 1}


@settings(max_examples=150)
@given(
    weighted_graphs(most=40),
    st.integers(1, 9),
    st.integers(0, 99),
    st.sampled_from([0.03, 0.3]),
    st.sampled_from([0.0, 0.1]),
)
def test_reasons_are_given_for_exactly_the_disconnected_parts(
    graph: Graph, k: int, seed: int, imbalance: float, share: float
) -> None:
    rng = np.random.default_rng(seed)
    fixed = np.where(rng.random(graph.n) < share, rng.integers(0, k, graph.n), -1)
    options: dict[str, Any] = {"imbalance": imbalance, "seed": seed, "fixed": fixed}
    plain = jetpy.partition(graph, k, **options, **ENGINE)
    result = jetpy.partition(graph, k, connected=True, **options, **ENGINE)
    assert (result.parts[fixed >= 0] == fixed[fixed >= 0]).all()
    assert ((result.parts >= 0) & (result.parts < k)).all()
    assert result.cut == edge_cut(graph, result.parts)
    assert result.feasible >= plain.feasible
    pieces = components_per_part(graph, result.parts, k)
    assert result.pieces.tolist() == pieces.tolist()
    assert set(result.disconnected) == set(np.flatnonzero(pieces > 1).tolist())


@pytest.mark.parametrize(
    ("k", "pieces", "cut"), [(2, [1, 6], 0), (3, [1, 1, 5], 0), (7, [1] * 7, 0)]
)
def test_path_stays_whole_next_to_isolated_vertices(k: int, pieces: list[int], cut: int) -> None:
    """Without limits, parts need not cut the path."""
    graph = from_edges(18, [(v, v + 1) for v in range(11)])
    options: dict[str, Any] = {"imbalance": 100.0, "large_imbalance": True}
    result = jetpy.partition(graph, k, connected=True, **options, **ENGINE)
    assert sorted(result.pieces.tolist()) == pieces
    assert result.cut == cut


@settings(max_examples=150)
@given(st.lists(st.integers(1, 12), min_size=1, max_size=12), st.integers(1, 9), st.integers(0, 99))
def test_number_of_components_is_minimal(sizes: list[int], k: int, seed: int) -> None:
    """Without limits, each part is connected, or all paths stay whole."""
    ends = np.cumsum(sizes)
    edges = [(v, v + 1) for v in range(ends[-1] - 1) if v + 1 not in ends]
    weights = np.random.default_rng(seed).integers(1, 5, ends[-1])
    graph = from_edges(int(ends[-1]), edges, vertex_weights=weights)
    options: dict[str, Any] = {"imbalance": 100.0, "large_imbalance": True, "seed": seed}
    result = jetpy.partition(graph, k, connected=True, **options, **ENGINE)
    assert result.pieces.sum() == max(len(sizes), min(k, graph.n))


@pytest.mark.parametrize("k", [2, 7, 30])
def test_parts_of_a_mesh_are_connected(k: int) -> None:
    graph = jetpy.generators.delaunay(3000, seed=k)
    plain = jetpy.partition(graph, k, **ENGINE)
    result = jetpy.partition(graph, k, connected=True, **ENGINE)
    assert result.pieces.tolist() == [1] * k
    assert result.feasible
    assert result.cut <= 1.05 * plain.cut
    assert not result.disconnected


def test_parts_are_equal_on_every_back_end(backend: Backend) -> None:
    graph = jetpy.generators.rmat(9)
    options: dict[str, Any] = {"backend": backend.name, "threads": backend.threads}
    found = jetpy.partition(graph, 6, connected=True, **options)
    expected = jetpy.partition(graph, 6, connected=True, **ENGINE)
    assert found.parts.tolist() == expected.parts.tolist()
    assert found.feasible


@pytest.mark.parametrize("seed", [5, 6, 24])
def test_skewed_weights_are_connected_within_tight_limits(seed: int) -> None:
    """Moves of vertices alone leave a part disconnected."""
    graph = jetpy.generators.grid(14, 20)
    people = np.round(np.random.default_rng(seed).lognormal(7, 0.9, graph.n)).astype(int)
    options: dict[str, Any] = {"imbalance": 0.01, "seed": seed, "vertex_weights": people}
    result = jetpy.partition(graph, 10, connected=True, **options, **ENGINE)
    assert result.pieces.tolist() == [1] * 10
    assert result.feasible
    assert not result.disconnected


def test_more_generations_are_never_worse() -> None:
    """The partition of smallest cut is not the one that stays smallest when it is connected."""
    tree, rng = nx.random_labeled_tree(900, seed=53), random.Random(53)
    for _ in range(180):
        u = rng.randrange(900)
        v = rng.choice(sorted(nx.single_source_shortest_path_length(tree, u, cutoff=4)))
        if u != v:
            tree.add_edge(u, v)
    results = [
        jetpy.partition(tree, 8, connected=True, preset="ultra", generations=count, **ENGINE)
        for count in (1, 4, 16)
    ]
    assert not any(result.disconnected for result in results)
    cuts = [result.cut for result in results]
    assert cuts == sorted(cuts, reverse=True)


def test_refine_connects_scattered_parts() -> None:
    grid = jetpy.generators.grid(20, 20)
    parts = np.random.default_rng(0).integers(0, 4, 400)
    result = jetpy.refine(grid, parts, 4, connected=True, **ENGINE)
    assert result.pieces.tolist() == [1] * 4
    assert result.feasible


@pytest.mark.parametrize("options", [{"objective": "volume"}, {"vertex_weights": np.ones((9, 2))}])
def test_connected_refuses_volume_and_several_weights(options: dict[str, Any]) -> None:
    with pytest.raises(OptionError, match="connected"):
        jetpy.partition(path(9), 3, connected=True, **options, **ENGINE)


@pytest.mark.parametrize("seed", [15, 38, 49])
def test_common_factor_of_weights_does_not_change_parts(seed: int) -> None:
    """A limit that is not a multiple of the factor must not create overload."""
    graph = random_graph(80, 100 + seed, seed)
    weights = np.random.default_rng(seed).integers(1, 12, graph.n)
    options: dict[str, Any] = {"connected": True, "preset": "fast", **ENGINE}
    one = jetpy.partition(graph, 12, vertex_weights=weights, imbalance=0.0, **options)
    six = jetpy.partition(graph, 12, vertex_weights=6 * weights, imbalance=0.01, **options)
    assert six.limit // 6 == one.limit
    assert six.limit % 6
    assert np.array_equal(six.parts, one.parts)
