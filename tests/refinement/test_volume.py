"""Communication volume: never larger than before, and near the least on small graphs."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jetpy
from jetpy.backends import get_backend
from jetpy.backends.base import Backend
from jetpy.errors import OptionError
from jetpy.graph import Graph
from jetpy.metrics import communication_volume, edge_cut
from jetpy.refinement.volume import shrink_volume
from tests.graphs import from_edges, path
from tests.strategies import weighted_graphs

ENGINE: dict[str, Any] = {"backend": "numba", "threads": 1}


def volume_of(graph: Graph, parts: np.ndarray) -> int:
    rows = (graph.indices[graph.indptr[v] : graph.indptr[v + 1]] for v in range(graph.n))
    return sum(len({int(p) for p in parts[row]} - {int(parts[v])}) for v, row in enumerate(rows))


@settings(max_examples=150, deadline=None)
@given(weighted_graphs(most=40), st.integers(1, 40), st.integers(0, 99), st.sampled_from([0, 0.3]))
def test_never_larger(graph: Graph, k: int, seed: int, share: float) -> None:
    rng = np.random.default_rng(seed)
    parts = rng.integers(0, k, graph.n).astype(np.int32)
    loads = np.bincount(parts, graph.vertex_weights, k).astype(np.int64)
    limits = np.maximum(loads, rng.integers(0, 2 * loads.max(initial=1) + 1, k))
    pinned = rng.random(graph.n) < share
    found = shrink_volume(get_backend("numba", 1), graph, parts, limits, pinned, seed)
    assert (found[pinned] == parts[pinned]).all()
    assert (np.bincount(found, graph.vertex_weights, k) <= limits).all()
    assert volume_of(graph, found) <= volume_of(graph, parts)
    assert not any_move_helps(graph, found, limits, pinned)


def any_move_helps(graph: Graph, parts: np.ndarray, limits: np.ndarray, pinned: np.ndarray) -> bool:
    """Whether a vertex could go to the part of a neighbour, with room, for a smaller volume."""
    before, loads = volume_of(graph, parts), np.bincount(parts, graph.vertex_weights, len(limits))
    for v in np.flatnonzero(~pinned):
        for q in set(parts[graph.indices[graph.indptr[v] : graph.indptr[v + 1]]].tolist()):
            other = parts.copy()
            other[v] = q
            fits = loads[q] + graph.vertex_weights[v] <= limits[q]
            if q != parts[v] and fits and volume_of(graph, other) < before:
                return True
    return False


def test_no_single_move_helps_any_more() -> None:
    helped = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        edges = [(u, v) for u in range(16) for v in range(u) if rng.random() < 0.25]
        graph, parts = from_edges(16, edges), rng.integers(0, 4, 16).astype(np.int32)
        limits, pinned = np.full(4, 7, np.int64), np.zeros(16, np.bool_)
        limits = np.maximum(limits, np.bincount(parts, minlength=4))
        found = shrink_volume(get_backend("numba", 1), graph, parts, limits, pinned, seed)
        assert not any_move_helps(graph, found, limits, pinned)
        helped += volume_of(graph, found) < volume_of(graph, parts)
    assert helped == 40


def test_near_the_least_on_small_graphs() -> None:
    found = least = 0
    for seed in range(15):
        rng = np.random.default_rng(seed)
        graph = from_edges(9, [(u, v) for u in range(9) for v in range(u) if rng.random() < 0.4])
        result = jetpy.partition(graph, 3, objective="volume", imbalance=0.34, **ENGINE)
        every = (np.array(parts) for parts in product(range(3), repeat=9))
        balanced = (
            p for p in every if np.bincount(p, minlength=3).min() > 0 and max(np.bincount(p)) < 5
        )
        found += result.communication_volume
        least += min(volume_of(graph, parts) for parts in balanced)
        assert result.feasible
    assert least <= found <= 1.2 * least


def test_less_volume_on_every_back_end(backend: Backend) -> None:
    graph = jetpy.generators.rmat(10)
    options: dict[str, Any] = {"backend": backend.name, "threads": backend.threads}
    plain = jetpy.partition(graph, 8, **ENGINE)
    expected = jetpy.partition(graph, 8, objective="volume", **ENGINE)
    found = jetpy.partition(graph, 8, objective="volume", **options)
    assert found.parts.tolist() == expected.parts.tolist()
    assert found.communication_volume == communication_volume(graph, found.parts)
    assert found.communication_volume < 0.95 * plain.communication_volume
    assert found.cut == edge_cut(graph, found.parts)
    assert found.feasible


def test_refining_with_fixed_vertices() -> None:
    grid = jetpy.generators.grid(20, 20)
    fixed = np.where(np.arange(400) % 7 == 0, np.arange(400) % 4, -1)
    start = np.random.default_rng(0).integers(0, 4, 400)
    options: dict[str, Any] = {"fixed": fixed, "objective": "volume"}
    cut = jetpy.refine(grid, start, 4, fixed=fixed, **ENGINE)
    volume = jetpy.refine(grid, start, 4, **options, **ENGINE)
    assert (volume.parts[fixed >= 0] == fixed[fixed >= 0]).all()
    assert volume.communication_volume < cut.communication_volume
    assert volume.feasible


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"objective": "speed"}, "unknown objective 'speed'; choose from cut, volume"),
        ({"objective": "volume", "vertex_weights": np.ones((9, 2))}, "several weights go without"),
    ],
)
def test_bad_objectives(options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        jetpy.partition(path(9), 3, **options, **ENGINE)
