"""Wide kernels: the same workunits with 64 bits for offsets and weights."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jetpy
import jetpy.graph.csr
from jetpy.device.backends import get_backend
from jetpy.device.device_graph import DeviceGraph, download, upload
from jetpy.engines.base import Backend
from jetpy.errors import BackendError, GraphError, OptionError
from jetpy.graph.csr import INT32_MAX, Graph
from jetpy.kernel_language import Width
from jetpy.multilevel.hierarchy import coarsen, finest_level
from jetpy.multilevel.index_width import is_narrow, narrow_graph, narrow_problem
from jetpy.problem.presets import choose
from jetpy.problem.problem import make_problem
from jetpy.progress import no_progress
from tests.graphs import MULTILEVEL, edge_dict, path
from tests.strategies import weighted_graphs
from tests.wide import wide_backend

ENGINE: dict[str, Any] = {"backend": "cpu", "threads": 2}
W = INT32_MAX


def heavy(graph: Graph, seed: int = 0) -> Graph:
    """Add weights up to 2**31 - 1, whose sums need 64 bits."""
    rng = np.random.default_rng(seed)
    u, v = graph.sources(0, graph.n), graph.indices
    of_ends = rng.integers(1, W // 2, graph.n)
    weights = of_ends[u] + of_ends[v]
    return jetpy.as_graph((graph.indptr, v, weights, rng.integers(1, W, graph.n)))


@pytest.mark.parametrize("method", ["two-hop", "constrained"])
@pytest.mark.parametrize("make", [jetpy.generators.grid, jetpy.generators.rmat])
def test_wide_kernels_compute_the_same_as_narrow_ones(
    backend: Backend, make: Any, method: Any
) -> None:
    """Compare coarse graphs, and the refinement of equal partitions, level by level."""
    graph = make(40, 30) if make is jetpy.generators.grid else make(10, 6)
    refinement: Any = "independent-set" if method == "constrained" else "jet"
    problem = make_problem(graph.n, 5, 0.03, 1, choose("default", method, refinement, MULTILEVEL))
    wide = wide_backend(backend)
    with backend.using():
        hierarchies = [
            coarsen(finest_level(engine, upload(engine, graph)), [problem], no_progress)
            for engine in (backend, wide)
        ]
        assert len(hierarchies[0]) == len(hierarchies[1]) > 1
        rng = np.random.default_rng(2)
        for depth, (one, two) in enumerate(zip(*hierarchies, strict=True)):
            first, second = (download(level.backend, level.graph) for level in (one, two))
            assert edge_dict(first) == edge_dict(second)
            assert np.array_equal(first.vertex_weights, second.vertex_weights)
            assert second.indptr.dtype == second.edge_weights.dtype == np.int64
            parts = rng.integers(0, 5, first.n).astype(np.int32)
            found = [
                level.refine(problem, level.backend.from_host(parts.copy()), depth)
                for level in (one, two)
            ]
            both = [
                level.backend.to_host(refined.parts)
                for level, refined in zip((one, two), found, strict=True)
            ]
            assert np.array_equal(*both)
            assert found[0].measures.cut == found[1].measures.cut


@settings(max_examples=50)
@given(weighted_graphs(), st.integers(1, 40), st.integers(1, 40))
def test_narrowed_weights_keep_their_order(
    graph: Graph, edge_factor: int, vertex_factor: int
) -> None:
    """Narrowed weights keep their order and nearly their ratios, and their sums fit."""
    backend = get_backend("cpu", 1)
    wide = backend.with_width(Width.WIDE)
    level = upload(wide, graph)
    level.edge_weights[:] *= edge_factor << 26
    level.vertex_weights[:] *= vertex_factor << 26
    level = DeviceGraph(
        level.indptr,
        level.indices,
        level.edge_weights,
        level.vertex_weights,
        int(level.edge_weights.sum()),
        level.long_rows,
    )
    total = int(level.vertex_weights.sum())
    problem = make_problem(total, 2, 0.1, 0, choose("default", None, None))
    found, own = narrow_graph(wide, level, problem), narrow_problem(level, problem)
    fits = max(level.edge_weight, total) <= INT32_MAX
    assert is_narrow(level, problem) == fits
    for before, after in (
        (level.edge_weights, found.edge_weights),
        (level.vertex_weights, found.vertex_weights),
    ):
        assert after.dtype == np.int32
        assert int(after.sum(dtype=np.int64)) <= INT32_MAX
        if int(before.sum()) <= INT32_MAX:
            assert np.array_equal(before, after)
        else:
            order = np.argsort(before, kind="stable")
            assert (np.diff(after[order]) >= 0).all()
            assert int(after.sum(dtype=np.int64)) > 2**29
    assert found.edge_weight == int(found.edge_weights.sum(dtype=np.int64))
    assert own.limit <= INT32_MAX
    if total:
        assert abs(own.limit / problem.limit - found.vertex_weights.sum() / total) < 0.01


def test_narrowed_weights_fit_with_many_light_vertices() -> None:
    """One vertex has nearly all the weight; the others, rounded up to 1, still fit."""
    wide = get_backend("cpu", 1).with_width(Width.WIDE)
    level, light = upload(wide, path(1001)), 1000
    level.vertex_weights[0] = 2 * INT32_MAX - light
    problem = make_problem(2 * INT32_MAX, 2, 0.1, 0, choose("default", None, None))
    weights = narrow_graph(wide, level, problem).vertex_weights
    assert weights[1:].tolist() == [1] * light
    assert 2**30 < int(weights.sum(dtype=np.int64)) <= INT32_MAX


@pytest.mark.parametrize("most", [300, 3000])
def test_large_graphs_use_wide_and_narrow_kernels(
    monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    """Lower the limit of narrow kernels to `most`, so that small levels are narrowed."""
    monkeypatch.setattr(jetpy.graph.csr, "MAX_NARROW", most)
    graph = jetpy.generators.grid(40, 30)
    assert graph.is_large
    for preset in ("default", "gkway"):
        found = [
            jetpy.partition(graph, 6, preset=preset, backend="cpu", threads=threads)
            for threads in (1, 2)
        ]
        assert np.array_equal(found[0].parts, found[1].parts)
        result = found[0]
        assert result.feasible
        assert result.cut == jetpy.evaluate(graph, result.parts, 6).cut
        assert [level.level for level in result.levels] == list(range(len(result.levels)))
        assert jetpy.refine(graph, result.parts, 6, **ENGINE).cut <= result.cut


@pytest.mark.parametrize(
    "constraints",
    [
        {},
        {"targets": [3, 1, 1, 2]},
        {"connected": True},
        {"objective": "volume"},
        {"generations": 2},
        {"fixed": True},
        {"home": True, "migration": 0.5},
    ],
    ids=lambda constraints: ", ".join(constraints) or "none",
)
def test_weight_sums_beyond_32_bits_are_exact(constraints: dict[str, Any]) -> None:
    graph = heavy(jetpy.generators.grid(24, 20))
    given = dict(constraints)
    if "fixed" in given:
        given["fixed"] = np.where(np.arange(graph.n) < 4, np.arange(graph.n), -1)
    if "home" in given:
        given["home"] = np.arange(graph.n) // 120
    result = jetpy.partition(graph, 4, **given, **ENGINE)
    assert result.feasible
    assert result.limit > INT32_MAX
    weights = [int(graph.vertex_weights[result.parts == p].sum(dtype=np.int64)) for p in range(4)]
    assert result.part_weights.tolist() == weights
    u = graph.sources(0, graph.n)
    cut = int(graph.edge_weights[result.parts[u] != result.parts[graph.indices]].sum()) // 2
    assert result.cut == cut == jetpy.evaluate(graph, result.parts, 4).cut
    if "fixed" in given:
        assert result.parts[:4].tolist() == [0, 1, 2, 3]
    if "connected" in given:
        assert (result.pieces == 1).all()
    if not constraints:
        small = jetpy.as_graph(graph, edge_weights=graph.edge_weights // 2**11)
        small = jetpy.as_graph(small, vertex_weights=graph.vertex_weights // 2**10)
        assert not small.is_large
        assert result.cut < 1.2 * 2**11 * jetpy.partition(small, 4, **ENGINE).cut
        profiled = jetpy.partition(graph, 4, profile=True, **ENGINE)
        assert np.array_equal(profiled.parts, result.parts)


def test_limits_beyond_32_bits_are_kept() -> None:
    graph = heavy(jetpy.generators.rmat(8, 6), 3)
    for imbalance in (0.0, 0.01, 0.5):
        result = jetpy.partition(graph, 3, imbalance=imbalance, **ENGINE)
        ideal = -(-graph.total_vertex_weight // 3)
        assert result.limit == pytest.approx((1 + imbalance) * ideal, abs=1)
        assert result.imbalance <= max(imbalance, 0.001)


def test_functions_without_wide_kernels_refuse_large_graphs() -> None:
    graph = heavy(jetpy.generators.grid(4, 4))
    with pytest.raises(GraphError, match=r"map_processes needs a graph with fewer than .*--scale"):
        jetpy.map_processes(graph, "2:2", "1:10", **ENGINE)
    with pytest.raises(
        GraphError, match="partition with several vertex weights needs a graph with fewer"
    ):
        jetpy.partition(graph, 2, vertex_weights=np.ones((16, 2)), edge_weights=None, **ENGINE)
    with pytest.raises(GraphError, match="IncrementalPartitioner needs a graph with fewer than"):
        jetpy.IncrementalPartitioner(graph, 2, **ENGINE)
    with pytest.raises(OptionError, match=r"may reach .*, but must be at most 2"):
        jetpy.partition(graph, 2, home=[0] * 16, migration=2**20, **ENGINE)

    class Narrow(type(get_backend("cpu", 1))):  # type: ignore[misc]
        has_wide_kernels = False

    with pytest.raises(BackendError, match="which cpu does not support; use cuda or cpu"):
        Narrow(1).with_width(Width.WIDE)


def test_heaviest_edges_leave_no_part_empty() -> None:
    grid = jetpy.generators.grid(3, 3)
    graph = jetpy.as_graph(grid, edge_weights=np.full(2 * grid.m, INT32_MAX))
    result = jetpy.partition(graph, 2, imbalance=100.0, large_imbalance=True, **ENGINE)
    assert result.empty_parts == 0
