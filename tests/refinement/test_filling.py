"""Filling empty parts, compared with a plain search."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jetpy.device.device_graph import upload
from jetpy.engines.base import Backend
from jetpy.graph.csr import Graph
from jetpy.problem.metrics import edge_cut
from jetpy.refinement import filling
from jetpy.refinement.filling import fill
from tests.graphs import clique, from_edges, path
from tests.refinement.filling_oracle import internal_of
from tests.strategies import weighted_graphs


def filled(graph: Graph, parts: list[int], k: int) -> list[int]:
    """Give each empty part the vertex with the least internal edge weight, in plain Python."""
    parts = list(parts)
    for p in range(k):
        movable = [v for v in range(graph.n) if parts.count(parts[v]) > 1]
        if p in parts or not movable:
            continue
        internal = internal_of(graph, parts)
        parts[min(movable, key=lambda v: (internal[v], v))] = p
    return parts


def with_no_part_empty(
    backend: Backend, graph: Graph, parts: np.ndarray, k: int
) -> tuple[np.ndarray, int]:
    vertices, new, growth = fill(backend, upload(backend, graph), backend.from_host(parts), k)
    found = parts.copy()
    found[vertices] = new
    return found, growth


@pytest.mark.parametrize("few", [0, 256])
@given(graph=weighted_graphs(), k=st.integers(1, 20), seed=st.integers(0, 10**6))
def test_empty_part_gets_the_vertex_with_the_least_internal_weight(
    backend: Backend, few: int, graph: Graph, k: int, seed: int
) -> None:
    """The host fetches rows or the whole graph, depending on `few`."""
    rng = np.random.default_rng(seed)
    parts = rng.integers(0, rng.integers(1, k + 1), graph.n).astype(np.int32)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(filling, "FEW", few)
        found, growth = with_no_part_empty(backend, graph, parts, k)
    assert found.tolist() == filled(graph, parts.tolist(), k)
    assert growth == edge_cut(graph, found) - edge_cut(graph, parts)
    assert len(set(found.tolist())) >= min(graph.n, k)


def test_partition_without_empty_parts_is_unchanged(backend: Backend) -> None:
    parts = np.array([0, 0, 1, 1], np.int32)
    found, growth = with_no_part_empty(backend, path(4), parts, 2)
    assert (found.tolist(), growth) == ([0, 0, 1, 1], 0)


def test_all_vertices_come_from_one_part(backend: Backend) -> None:
    parts = np.zeros(5, np.int32)
    found, growth = with_no_part_empty(backend, clique(5), parts, 5)
    assert sorted(found.tolist()) == [0, 1, 2, 3, 4]
    assert growth == 10


def test_part_of_a_placeholder_alone_is_filled(backend: Backend) -> None:
    """Vertex 4 is a placeholder in part 1, with an edge to vertex 0; vertex 5 one in part 0."""
    graph = from_edges(6, [(0, 1), (1, 2), (2, 3), (0, 4), (3, 5)], [1, 5, 5, 7, 9])
    parts, pinned = np.array([0, 0, 0, 0, 1, 0], np.int32), np.array([-1] * 4 + [1, 0], np.int32)
    device, own = upload(backend, graph), backend.from_host(parts)
    options = {"pinned": backend.from_host(pinned), "placeholders": np.array([1, 1, 0])}
    vertices, new, growth = fill(backend, device, own, 3, **options)
    found = parts.copy()
    found[vertices] = new
    assert sorted(found[:4].tolist()) == [0, 0, 1, 2]
    assert found[4:].tolist() == [1, 0]
    assert found[0] == 1
    assert growth == edge_cut(graph, found) - edge_cut(graph, parts)
