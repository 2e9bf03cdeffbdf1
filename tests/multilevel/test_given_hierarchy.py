"""Levels whose arrays stay on a GPU; a back end on the CPU with memory of its own stands in."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace

import numpy as np
import pytest

import jetpy
from jetpy.graph.on_gpu import GraphOnGpu
from jetpy.kernel_language import Width
from jetpy.multilevel.given_hierarchy import coarsen_graph, partition_levels, refine_from_level
from jetpy.multilevel.solver import CutSolver
from jetpy.problem.options import ONCE
from jetpy.problem.presets import preset
from jetpy.problem.problem import Problem, make_problem
from jetpy.progress import no_progress
from tests.device_backend import DeviceArray, DeviceBackend
from tests.graphs import MULTILEVEL

K = 4


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch) -> Iterator[DeviceBackend]:
    """A back end whose arrays look like those of CuPy on GPU 0."""
    attributes = {
        "device": SimpleNamespace(id=0),
        "get": lambda array: array.view(np.ndarray).copy(),
        "__cuda_array_interface__": {},
    }
    for name, value in attributes.items():
        monkeypatch.setattr(DeviceArray, name, value, raising=False)
    backend = DeviceBackend(2)
    backend.gpu = 0
    with backend.using():
        yield backend


def weighted() -> jetpy.Graph:
    mesh = jetpy.generators.delaunay(6000, seed=1)
    return jetpy.as_graph(mesh, vertex_weights=2 + 4 * (np.arange(mesh.n) % 3))


def problem_of(graph: jetpy.Graph) -> Problem:
    options = preset("fast").changed(MULTILEVEL)
    return make_problem(graph.total_vertex_weight, K, 0.03, 0, options, fill=True)


def test_arrays_stay(device: DeviceBackend) -> None:
    """Also those of small levels, which the host coarsens and refines."""
    graph = weighted()
    problem = problem_of(graph)
    levels = coarsen_graph(device, graph, problem, no_progress, on_gpu=True)
    assert levels[0].n + 2 * levels[0].m > device.host_size > levels[-1].n + 2 * levels[-1].m
    for level, other in zip(levels, jetpy.coarsen(graph, K, preset="fast").levels, strict=True):
        there = level.graph
        assert isinstance(there, GraphOnGpu)
        assert there.on_gpu is not None
        assert isinstance(there.on_gpu.indices, DeviceArray)
        assert np.array_equal(there.vertex_weights, other.vertex_weights)
        assert there.total_vertex_weight == graph.total_vertex_weight
        assert there.total_edge_weight == int(other.graph.edge_weights.sum()) // 2
        assert other.coarse_of is None or np.array_equal(level.coarse_of.get(), other.coarse_of)
    names = levels[0].graph.name, levels[1].graph.name
    assert names == (graph.name, f"{graph.name}, level 1")
    assert np.array_equal(levels[0].graph.coordinates, graph.coordinates)
    expected = CutSolver(graph, problem).solve(device, ONCE, no_progress)
    found = partition_levels(device, levels, problem, no_progress)
    assert np.array_equal(found.parts, expected.parts)
    start = (np.arange(levels[-1].n) % K).astype(np.int32)
    refined = refine_from_level(device, levels, start, problem, no_progress)
    hierarchy = jetpy.coarsen(graph, K, preset="fast")
    assert np.array_equal(refined.parts, hierarchy.refine(start, fill_empty=True).parts)


def test_a_graph_on_the_gpu_is_the_finest_level(device: DeviceBackend) -> None:
    graph = weighted()
    problem = problem_of(graph)
    there = coarsen_graph(device, graph, problem, no_progress, on_gpu=True)[0].graph
    again = coarsen_graph(device, there, problem, no_progress, on_gpu=True)
    assert again[0].graph is there
    on_host = coarsen_graph(device, there, problem, no_progress)
    assert on_host[0].graph is there
    assert not isinstance(on_host[1].graph, GraphOnGpu)
    assert isinstance(on_host[0].coarse_of, np.ndarray)
    assert not isinstance(on_host[0].coarse_of, DeviceArray)


def test_wide_levels_are_on_the_host(device: DeviceBackend) -> None:
    graph = jetpy.as_graph(weighted(), vertex_weights=np.arange(6000) % 7 + 2**30)
    wide = device.with_width(Width.WIDE)
    wide.gpu = 0
    levels = coarsen_graph(wide, graph, problem_of(graph), no_progress, on_gpu=True)
    assert levels[0].graph is graph
    for level in levels[1:]:
        assert not isinstance(level.graph, GraphOnGpu)
    assert isinstance(levels[0].coarse_of, DeviceArray)
