"""Connected parts: in one piece wherever nothing is said against it, and in balance."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jetpy
from jetpy.backends.base import Backend
from jetpy.errors import OptionError
from jetpy.graph import Graph
from jetpy.metrics import components_per_part, edge_cut
from tests.graphs import path
from tests.strategies import weighted_graphs

ENGINE: dict[str, Any] = {"backend": "numba", "threads": 1}


@settings(max_examples=150, deadline=None)
@given(
    weighted_graphs(most=40),
    st.integers(1, 9),
    st.integers(0, 99),
    st.sampled_from([0.03, 0.3]),
    st.sampled_from([0.0, 0.1]),
)
def test_what_is_said_is_so(
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


@pytest.mark.parametrize("k", [2, 7, 30])
def test_a_mesh_falls_into_connected_parts(k: int) -> None:
    graph = jetpy.generators.delaunay(3000, seed=k)
    plain = jetpy.partition(graph, k, **ENGINE)
    result = jetpy.partition(graph, k, connected=True, **ENGINE)
    assert result.pieces.tolist() == [1] * k
    assert result.feasible
    assert result.cut <= 1.05 * plain.cut
    assert not result.disconnected


def test_the_same_on_every_back_end(backend: Backend) -> None:
    graph = jetpy.generators.rmat(9)
    options: dict[str, Any] = {"backend": backend.name, "threads": backend.threads}
    found = jetpy.partition(graph, 6, connected=True, **options)
    expected = jetpy.partition(graph, 6, connected=True, **ENGINE)
    assert found.parts.tolist() == expected.parts.tolist()
    assert found.feasible


def test_refining_scattered_parts() -> None:
    grid = jetpy.generators.grid(20, 20)
    parts = np.random.default_rng(0).integers(0, 4, 400)
    result = jetpy.refine(grid, parts, 4, connected=True, **ENGINE)
    assert result.pieces.tolist() == [1] * 4
    assert result.feasible


@pytest.mark.parametrize("options", [{"objective": "volume"}, {"vertex_weights": np.ones((9, 2))}])
def test_bad_company(options: dict[str, Any]) -> None:
    with pytest.raises(OptionError, match="connected"):
        jetpy.partition(path(9), 3, connected=True, **options, **ENGINE)
