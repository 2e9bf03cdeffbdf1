"""Calls of METIS, which must not print warnings."""

from __future__ import annotations

import ctypes
import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jetpy.graph.csr import Graph
from jetpy.graph.generators import grid, rmat
from jetpy.initial.metis import HEAVIEST, apportion, bisect_recursively, heaviest_vertices
from tests.graphs import cycle, from_edges, isolated, star


def weighted(graph: Graph, weights: object) -> Graph:
    return replace(graph, vertex_weights=np.asarray(weights, np.int32))


def pareto(n: int, seed: int) -> np.ndarray:
    return np.minimum(np.random.default_rng(seed).pareto(0.6, n) + 1, 1e5).astype(np.int32)


CASES = {
    "all sides may be empty": (grid(7, 4), 13),
    "one heavy vertex": (weighted(cycle(8), [1, 10, 1, 1, 1, 1, 1, 1]), 7),
    "several": (weighted(cycle(40), [90, 90, 50, *[1] * 37]), 9),
    "hardly two a part": (weighted(grid(9, 9), pareto(81, 1)), 74),
    "power law": (weighted(rmat(8, 8), pareto(216, 2)), 60),
    "hardly more vertices than parts": (from_edges(238, [(v, v + 1) for v in range(119)]), 235),
    "no edges": (weighted(isolated(120), pareto(120, 3)), 31),
    "many parts": (star(9999), 5000),
    "many parts of odd weights": (weighted(grid(80, 80), 1 + np.arange(6400) % 6), 3000),
}


@pytest.mark.parametrize("name", CASES)
def test_metis_prints_nothing(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    graph, k = CASES[name]
    for imbalance, seed in itertools.product((0.0, 0.03, 3.0, 100.0), range(3)):
        parts = bisect_recursively(graph, k, imbalance, seed)
        assert parts.dtype == np.int32
        assert 0 <= parts.min() <= parts.max() < k
    ctypes.CDLL(None).fflush(None)
    assert capfd.readouterr().out == ""


def test_heavy_vertices_get_parts_of_their_own() -> None:
    graph, k = CASES["several"]
    sizes = np.bincount(bisect_recursively(graph, k, 0.03, 1), minlength=k)
    assert sizes[:3].tolist() == [1, 1, 1]
    assert sizes[3:].min() > 1


@given(st.lists(st.integers(1, 1000), min_size=1, max_size=20), st.integers(1, 25))
def test_heaviest_vertices_leave_only_light_ones(weights: list[int], k: int) -> None:
    heavy = heaviest_vertices(np.array(weights, np.int32), k).tolist()
    rest = [weight for v, weight in enumerate(weights) if v not in heavy]
    left = k - len(heavy)
    assert left >= 1
    if left > 1 and rest:
        assert max(rest) * left <= HEAVIEST * sum(rest)
    if heavy:
        last = weights[heavy[-1]]
        assert last >= max(rest, default=0)
        assert last * (left + 1) > HEAVIEST * (sum(rest) + last)


@given(st.lists(st.integers(1, 10**6), min_size=1, max_size=30), st.integers(1, 10**5))
def test_apportion_is_proportional_to_weights(weights: list[int], k: int) -> None:
    shares = apportion(k, np.array(weights))
    assert shares.sum() == k
    assert (np.abs(shares - k * np.array(weights) / sum(weights)) < 1).all()
