"""Large nodes: the graph of a depth, its levels, bands, and separators equal on all back ends."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse.csgraph import dijkstra

import jetpy
from jetpy import generators
from jetpy.device.backends import lease
from jetpy.device.device_graph import download, upload
from jetpy.engines.base import Backend
from jetpy.engines.cpu.engine import CpuBackend
from jetpy.graph.csr import Graph
from jetpy.ordering import dissection, large_nodes
from jetpy.ordering.dissection import dissect, whole_graph
from jetpy.ordering.effort import EFFORTS
from jetpy.ordering.induced_subgraphs import joined
from jetpy.ordering.large_nodes import LargeNodes, NodesLevel, band_of, coarsened
from jetpy.workloads.common.groups import NO_PART
from jetpy.workloads.ordering.separators import SEPARATOR
from tests.device_backend import DeviceArray, DeviceBackend, lent
from tests.graphs import from_edges, random_graph
from tests.ordering.dissections import matrix_of
from tests.strategies import weighted_graphs

Array = np.ndarray
GRAPHS = {
    "delaunay": generators.delaunay(900),
    "grid": generators.grid(30, 40),
    "cube": generators.cube(9, 9, 9),
    "random": random_graph(400, 900, 4, weighted=True),
    "rmat": generators.rmat(10, 6),
}


@contextmanager
def backend_of(kind: str) -> Iterator[tuple[Backend, Backend]]:
    """Lend a back end and its host."""
    if kind == "device":
        yield DeviceBackend(2), CpuBackend(2)
    else:
        with lease("cpu", int(kind)) as backend, backend.using():
            yield backend, backend


def small_limits() -> Any:
    """Make nodes of more than 100 vertices large."""
    return patch.multiple(large_nodes, LARGEST_COARSE=40), patch.multiple(
        dissection, LARGEST_NODE=100
    )


@settings(max_examples=30)
@given(weighted_graphs(), st.integers(0, 2**32))
def test_joined_nodes_are_an_induced_subgraph(graph: Graph, seed: int) -> None:
    random = np.random.default_rng(seed)
    size = int(random.integers(0, graph.n + 1))
    order = random.permutation(graph.n)[:size].astype(np.int32)
    for kind in ("2", "device"):
        with backend_of(kind) as (backend, _):
            found = download(
                backend, joined(backend, upload(backend, graph), backend.from_host(order))
            )
        assert (matrix_of(found).toarray() == matrix_of(graph).toarray()[order][:, order]).all()
        assert (found.vertex_weights == graph.vertex_weights[order]).all()


def levels_of(backend: Backend, host: Backend, graph: Graph, starts: Array) -> list[NodesLevel]:
    weights = np.add.reduceat(graph.vertex_weights, starts[:-1]).astype(np.int64)
    there = upload(backend, graph)
    return coarsened(backend, host, there, starts, weights, 5)


def without_edges_between(graph: Graph, starts: Array) -> Graph:
    matrix = matrix_of(graph).toarray()
    node = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    matrix[node[:, None] != node] = 0
    kept = np.argwhere(matrix)
    indptr = np.append(0, np.cumsum(np.bincount(kept[:, 0], minlength=graph.n))).astype(np.int32)
    weights = matrix[kept[:, 0], kept[:, 1]].astype(np.int32)
    return Graph(indptr, kept[:, 1].astype(np.int32), weights, graph.vertex_weights)


@pytest.mark.parametrize("kind", ["1", "2", "device"])
@pytest.mark.parametrize("name", GRAPHS)
def test_levels_keep_the_nodes_and_their_weights(name: str, kind: str) -> None:
    """Nodes that are small enough do not change."""
    starts = np.array([0, 30, 150, GRAPHS[name].n])
    graph = without_edges_between(GRAPHS[name], starts)
    with backend_of(kind) as (backend, host), patch.multiple(large_nodes, LARGEST_COARSE=40):
        levels = levels_of(backend, host, graph, starts)
        assert len(levels) > 2
        expected = np.add.reduceat(graph.vertex_weights, starts[:-1])
        for level in levels:
            node_of = level.backend.to_host(level.node_of)
            assert (node_of == np.repeat([0, 1, 2], level.sizes)).all()
            here = download(level.backend, level.graph)
            assert (np.bincount(node_of, here.vertex_weights, 3) == expected).all()
            ends = np.array([here.sources(0, here.n), here.indices])
            assert (node_of[ends[0]] == node_of[ends[1]]).all()
            assert level.starts[1] == 30


def sides_of(graph: Graph) -> tuple[Array, Array]:
    """Return a bisection, and the separation that follows from it."""
    far = dijkstra(matrix_of(graph), unweighted=True, indices=[0])[0] * 2 > 9
    sides = far.astype(np.int32)
    separation = sides.copy()
    u, v = graph.sources(0, graph.n), graph.indices
    separation[u[~far[u] & far[v]]] = SEPARATOR
    return sides, separation


@pytest.mark.parametrize("hops", [1, 3])
@pytest.mark.parametrize("kind", ["2", "device"])
@pytest.mark.parametrize("name", GRAPHS)
def test_bands_have_the_vertices_within_some_hops(name: str, kind: str, hops: int) -> None:
    """The first candidate is a bisection, the second one a separation."""
    graph = GRAPHS[name]
    candidates = sides_of(graph)
    u, v = graph.sources(0, graph.n), graph.indices
    with backend_of(kind) as (backend, host):
        (level,) = levels_of(backend, host, graph, np.array([0, graph.n]))
        band = band_of(level, host, backend.from_host(np.concatenate(candidates)), hops)
        slots, found = backend.to_host(band.slots), download(host, band.graph)
        band_sides, pinned = host.to_host(band.sides), host.to_host(band.pinned)
    for i, sides in enumerate(candidates):
        starts = np.flatnonzero(sides == SEPARATOR) if i else u[sides[u] != sides[v]]
        assert len(starts)
        distance = dijkstra(matrix_of(graph), unweighted=True, indices=starts).min(axis=0)
        expected = np.flatnonzero(distance <= hops)
        outside = np.bincount(u, distance[v] > hops, graph.n)[expected] > 0
        own = slice(*band.starts[i : i + 2])
        assert (slots[own] == i * graph.n + expected).all()
        inside = matrix_of(graph)[expected][:, expected].toarray()
        assert (matrix_of(found)[own, own].toarray() == inside).all()
        assert (band_sides[own] == sides[expected]).all()
        assert (pinned[own] == np.where(outside, sides[expected], NO_PART)).all()


def side_weights(level: NodesLevel, sides: Array) -> Array:
    """Add up the weights of the sides and of the separator, by node and candidate."""
    vertex_weights, n = level.backend.to_host(level.graph.vertex_weights), level.graph.n
    found = np.zeros((len(level.sizes), len(sides) // n, 3), np.int64)
    for node, (first, end) in enumerate(pairwise(level.starts.tolist())):
        for candidate in range(len(sides) // n):
            for v in range(first, end):
                found[node, candidate, sides[candidate * n + v]] += vertex_weights[v]
    return found


@pytest.mark.parametrize("preset", ["fast", "default", "best"])
@pytest.mark.parametrize("name", GRAPHS)
def test_large_nodes_have_equal_separators_on_all_back_ends(name: str, preset: str) -> None:
    """On each level, separators separate, and the weights of their sides are known."""
    graph, found = GRAPHS[name], []
    refine = large_nodes.LargeNodes._refine

    def checked(
        self: Any, level: NodesLevel, sides: Any, before: Array, seeds: Array, **options: Any
    ) -> Any:
        weights, best = refine(self, level, sides, before, seeds, **options)
        here = level.backend.to_host(sides)
        expected = side_weights(level, here)
        assert (weights[:, 1::2] == expected[:, 1::2]).all()
        assert (weights[:, ::2, :SEPARATOR] == expected[:, ::2, :SEPARATOR]).all()
        graph, n = download(level.backend, level.graph), level.graph.n
        u, v = graph.sources(0, n), graph.indices
        for i in range(1, len(here) // n, 2):
            own = here[i * n : (i + 1) * n]
            assert not ((own[u] == 0) & (own[v] == 1)).any()
        return weights, best

    coarse, large = small_limits()
    for kind in ("1", "2", "device"):
        with (
            backend_of(kind) as (backend, host),
            coarse,
            large,
            patch.object(large_nodes.LargeNodes, "_refine", checked),
        ):
            found.append(dissect(backend, host, graph, EFFORTS[preset], 3))
    (nodes, tree), *others = found
    for other, its_tree in others:
        assert (other == nodes).all()
        assert (its_tree.parents == tree.parents).all()
    above: list[set[int]] = [set() for _ in range(len(tree))]
    for i in range(len(tree) - 1, -1, -1):
        parent = int(tree.parents[i])
        above[i] = {i} if parent < 0 else above[parent] | {i}
    for u, v in zip(graph.sources(0, graph.n), graph.indices, strict=True):
        low, high = sorted((int(nodes[u]), int(nodes[v])))
        assert high in above[low]


def test_separators_of_large_nodes_separate() -> None:
    graph = GRAPHS["cube"]
    with backend_of("2") as (backend, host), patch.multiple(large_nodes, LARGEST_COARSE=40):
        sides, large = host.full(graph.n, 7), LargeNodes(backend, host, EFFORTS["default"])
        large.separate(whole_graph(backend, host, graph, 1), np.array([0]), sides)
    u, v = graph.sources(0, graph.n), graph.indices
    assert not ((sides[u] == 0) & (sides[v] == 1)).any()
    sizes = np.bincount(sides)
    assert sizes.shape == (3,)
    assert sizes[:2].min() > 180
    assert 50 <= sizes[SEPARATOR] <= 95


def test_complete_levels_are_separators() -> None:
    """If no candidate has two sides, all vertices are in the separator."""
    n = 120
    clique = from_edges(n, np.argwhere(np.triu(np.ones((n, n)), 1)))
    with backend_of("2") as (backend, host), patch.multiple(large_nodes, LARGEST_COARSE=40):
        sides, large = host.full(n, 7), LargeNodes(backend, host, EFFORTS["default"])
        large.separate(whole_graph(backend, host, clique, 1), np.array([0]), sides)
    counts = np.bincount(sides, minlength=3)
    assert counts[SEPARATOR] in (n, n - 2)


def test_profile_has_the_kernels_of_the_gpu_and_of_the_host() -> None:
    limits, engine = small_limits(), DeviceBackend(1)
    engine.name = "device"
    with lent(engine), limits[0], limits[1]:
        found = jetpy.nested_dissection(generators.grid(30, 40), profile=True)
    assert found.profile is not None
    names = {(kernel.name, kernel.backend) for kernel in found.profile.kernels}
    assert {("select_band", "device"), ("refine_bands", "cpu"), ("order_blocks", "cpu")} <= names


def test_orders_stay_on_the_gpu_if_asked_for() -> None:
    graph, engine = generators.grid(12, 13), DeviceBackend(1)
    with lent(engine):
        found = jetpy.nested_dissection(graph, device=True)
        other = jetpy.nested_dissection(graph)
    assert isinstance(found.device_perm, DeviceArray)
    assert np.array_equal(engine.to_host(found.device_perm), found.perm)
    assert np.array_equal(other.perm, found.perm)
    assert other.device_perm is None
