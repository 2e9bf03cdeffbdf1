"""Hierarchies whose arrays stay on a real GPU; skipped where there is none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jetpy
from jetpy.graph.on_gpu import GraphOnGpu
from tests.graphs import edge_dict

K = 8
FAST: dict[str, Any] = {"preset": "fast", "seed": 2}


def graph() -> jetpy.Graph:
    """A mesh whose large levels are on a GPU and whose small ones are on the host."""
    mesh = jetpy.generators.delaunay(200_000, seed=1)
    return jetpy.as_graph(mesh, vertex_weights=2 + 2 * (np.arange(mesh.n) % 3))


@pytest.fixture(scope="module")
def expected() -> jetpy.Hierarchy:
    return jetpy.coarsen(graph(), K, backend="cpu", **FAST)


@pytest.mark.parametrize("source", ["host", "gpu"])
@pytest.mark.parametrize("device", [True, 0])
def test_levels(cupy: Any, expected: jetpy.Hierarchy, source: str, device: Any) -> None:
    given: Any = graph()
    if source == "gpu":
        rows = given.indptr, given.indices, given.edge_weights, given.vertex_weights
        given = jetpy.as_graph(tuple(map(cupy.asarray, rows)))
        assert isinstance(given, GraphOnGpu)
    hierarchy = jetpy.coarsen(given, K, device=device, **FAST)
    assert len(hierarchy) == len(expected)
    for depth, (level, other) in enumerate(zip(hierarchy.levels, expected.levels, strict=True)):
        if device is True:
            assert isinstance(level.graph, GraphOnGpu)
            assert "indices" not in vars(level.graph)
            assert other.coarse_of is None or isinstance(level.coarse_of, cupy.ndarray)
        elif depth > 0:
            assert isinstance(level.graph.indices, np.ndarray)
        assert (level.n, level.m) == (other.n, other.m)
    result = hierarchy.partition(device=device)
    assert result.backend == "cuda"
    assert (result.device_parts is None) == (device is not True)
    assert np.array_equal(result.parts, expected.partition(backend="cpu").parts)
    start = np.arange(hierarchy.levels[-1].n) % K
    if device is True:
        moved = hierarchy.refine(cupy.asarray(start), device=True)
        assert all("indices" not in vars(level.graph) for level in hierarchy.levels[:3])
        assert np.array_equal(moved.parts, expected.refine(start, backend="cpu").parts)
    for level, other in zip(hierarchy.levels, expected.levels, strict=True):
        assert np.array_equal(level.vertex_weights, other.vertex_weights)
        assert level.graph.total_vertex_weight == other.graph.total_vertex_weight
        assert edge_dict(level.graph) == edge_dict(other.graph)
        if other.coarse_of is not None:
            assert np.array_equal(cupy.asnumpy(level.coarse_of), other.coarse_of)


def test_finest_graph_keeps_what_it_knows(cupy: Any) -> None:
    given = graph()
    found = jetpy.coarsen(given, K, device=True, **FAST).graph
    assert found.name == given.name
    assert np.array_equal(found.coordinates, given.coordinates)


def test_values_stay_where_they_are(cupy: Any, expected: jetpy.Hierarchy) -> None:
    hierarchy = jetpy.coarsen(graph(), K, device=True, **FAST)
    for kind in ("bool", "int8", "uint8", "int32", "int64", "float16", "float32", "float64"):
        rounding = 1e-2 if kind == "float16" else 1e-5
        for shape in ((), (3,)):
            size = (expected.graph.n, *shape)
            values = np.random.default_rng(0).integers(0, 100, size).astype(kind)
            for how in ("sum", "mean", "max", "first"):
                on_host = expected.restrict(values, how=how)  # type: ignore[arg-type]
                found = hierarchy.restrict(cupy.asarray(values), how=how)  # type: ignore[arg-type]
                assert isinstance(found, cupy.ndarray)
                assert found.dtype == on_host.dtype
                assert np.allclose(found.get(), on_host, rtol=rounding)
                same = hierarchy.restrict(values, how=how)  # type: ignore[arg-type]
                assert isinstance(same, np.ndarray)
                assert np.array_equal(same, on_host)
                back = hierarchy.project(found)
                assert isinstance(back, cupy.ndarray)
                assert np.allclose(back.get(), expected.project(on_host), rtol=rounding)
                mixed = expected.restrict(cupy.asarray(values), how=how)  # type: ignore[arg-type]
                assert np.allclose(mixed.get(), on_host, rtol=rounding)


def test_largest_of_nan(cupy: Any, expected: jetpy.Hierarchy) -> None:
    values = np.random.default_rng(0).normal(size=(expected.graph.n, 2))
    values[::50_000] = np.nan
    found = expected.restrict(cupy.asarray(values), how="max").get()
    assert np.isnan(found).any()
    assert np.array_equal(found, expected.restrict(values, how="max"), equal_nan=True)


def test_files(cupy: Any, expected: jetpy.Hierarchy, tmp_path: Any) -> None:
    hierarchy = jetpy.coarsen(graph(), K, device=True, **FAST)
    hierarchy.save(tmp_path / "levels.npz")
    found = jetpy.read_hierarchy(tmp_path / "levels.npz")
    assert np.array_equal(found.partition().parts, expected.partition(backend="cpu").parts)


def test_wide_levels_are_on_the_host(cupy: Any) -> None:
    weights = np.full(200_000, 2**28 + 1)
    given = jetpy.as_graph(graph(), vertex_weights=np.arange(200_000) % 5 + weights)
    found = jetpy.coarsen(given, K, device=True, **FAST)
    expected = jetpy.coarsen(given, K, backend="cpu", **FAST)
    for level, other in zip(found.levels, expected.levels, strict=True):
        assert not isinstance(level.graph, GraphOnGpu)
        assert np.array_equal(level.vertex_weights, other.vertex_weights)
        assert other.coarse_of is None or isinstance(level.coarse_of, cupy.ndarray)
    parts = found.partition(device=True).parts
    assert np.array_equal(parts, expected.partition(backend="cpu").parts)


def test_torch(cupy: Any) -> None:
    torch = pytest.importorskip("torch")
    hierarchy = jetpy.coarsen(graph(), K, device=True, **FAST)
    features = torch.rand(200_000, 4, device="cuda")
    pooled = torch.from_dlpack(hierarchy.restrict(features, how="mean"))
    assert pooled.device.type == "cuda"
    assert pooled.shape == (hierarchy.levels[-1].n, 4)
