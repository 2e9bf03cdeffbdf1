"""Communication volume: refinement never increases it; it is near the optimum on small graphs."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jetpy
from jetpy.constraints.nets import Nets, contract, neighbourhoods
from jetpy.constraints.volume_refinement import shrink_volume
from jetpy.device.backends import get_backend
from jetpy.engines.base import Backend
from jetpy.errors import JetpyError
from jetpy.graph.build import with_sizes
from jetpy.graph.csr import Graph
from jetpy.problem.metrics import communication_volume, edge_cut
from jetpy.problem.options import Options
from jetpy.problem.problem import Problem
from tests.fuzz.oracles import volume_of
from tests.graphs import from_edges, path
from tests.strategies import weighted_graphs

ENGINE: dict[str, Any] = {"backend": "cpu", "threads": 1}


def shrunk(
    graph: Graph, parts: np.ndarray, limits: np.ndarray, pinned: np.ndarray, seed: int
) -> np.ndarray:
    backend, nets = get_backend("cpu", 1), neighbourhoods(graph)
    problem = problem_of(graph, limits, seed)
    return shrink_volume(backend, nets, graph.vertex_weights, parts, problem, pinned)


def problem_of(graph: Graph, limits: np.ndarray, seed: int) -> Problem:
    total, own = graph.total_vertex_weight, Options()
    return Problem(len(limits), 0.0, total, int(limits.max()), seed, own, part_limits=limits)


def volume_by_nets(nets: Nets, parts: np.ndarray) -> int:
    rows = np.split(nets.pins, nets.starts[1:-1])
    return sum(
        w * (len(set(parts[row].tolist())) - 1)
        for row, w in zip(rows, nets.weights.tolist(), strict=True)
    )


@st.composite
def sized_graphs(draw: st.DrawFn, most: int) -> Graph:
    """Draw a graph, in half of the cases with vertex sizes."""
    graph = draw(weighted_graphs(most=most))
    sizes = draw(st.lists(st.integers(0, 4), min_size=graph.n, max_size=graph.n))
    return with_sizes(graph, sizes if draw(st.booleans()) else None)


@settings(max_examples=150)
@given(sized_graphs(most=40), st.integers(1, 40), st.integers(0, 99), st.sampled_from([0, 0.3]))
def test_refinement_never_increases_the_volume(
    graph: Graph, k: int, seed: int, share: float
) -> None:
    rng = np.random.default_rng(seed)
    parts = rng.integers(0, k, graph.n).astype(np.int32)
    loads = np.bincount(parts, graph.vertex_weights, k).astype(np.int64)
    limits = np.maximum(loads, rng.integers(0, 2 * loads.max(initial=1) + 1, k))
    pinned = rng.random(graph.n) < share
    found = shrunk(graph, parts, limits, pinned, seed)
    assert (found[pinned] == parts[pinned]).all()
    assert (np.bincount(found, graph.vertex_weights, k) <= limits).all()
    assert volume_of(graph, found) <= volume_of(graph, parts)
    assert not any_move_helps(graph, found, limits, pinned)


@settings(max_examples=100)
@given(sized_graphs(most=30), st.integers(1, 6), st.integers(1, 12), st.integers(0, 99))
def test_volume_of_coarse_nets_equals_that_of_the_graph(
    graph: Graph, k: int, most: int, seed: int
) -> None:
    """Contract twice, and move coarse vertices."""
    rng, nets, coarse_of = np.random.default_rng(seed), neighbourhoods(graph), np.arange(graph.n)
    level = graph
    for size in (2 * most, most):
        numbers = np.unique(rng.integers(0, size, level.n), return_inverse=True)[1]
        numbers, coarse_of = numbers.astype(np.int32), numbers[coarse_of]
        level = contracted(level, numbers)
        nets = contract(nets, numbers, level)
        parts = rng.integers(0, k, level.n).astype(np.int32)
        assert volume_by_nets(nets, parts) == volume_of(graph, parts[coarse_of])
        problem = problem_of(graph, np.full(k, graph.total_vertex_weight), seed)
        pinned = np.zeros(level.n, np.bool_)
        backend = get_backend("cpu", 1)
        found = shrink_volume(backend, nets, level.vertex_weights, parts, problem, pinned)
        assert volume_of(graph, found[coarse_of]) <= volume_of(graph, parts[coarse_of])


def contracted(graph: Graph, coarse_of: np.ndarray) -> Graph:
    n = int(coarse_of.max(initial=-1)) + 1
    u, v = coarse_of[graph.sources(0, graph.n)], coarse_of[graph.indices]
    edges = {(int(a), int(b)) for a, b in zip(u, v, strict=True) if a < b}
    weights = np.bincount(coarse_of, graph.vertex_weights, n)
    return from_edges(n, sorted(edges), vertex_weights=weights.astype(np.int32))


def any_move_helps(graph: Graph, parts: np.ndarray, limits: np.ndarray, pinned: np.ndarray) -> bool:
    """Return whether moving one vertex to an adjacent part with room reduces the volume."""
    before, loads = volume_of(graph, parts), np.bincount(parts, graph.vertex_weights, len(limits))
    for v in np.flatnonzero(~pinned):
        for q in set(parts[graph.indices[graph.indptr[v] : graph.indptr[v + 1]]].tolist()):
            other = parts.copy()
            other[v] = q
            fits = loads[q] + graph.vertex_weights[v] <= limits[q]
            fits &= loads[parts[v]] > graph.vertex_weights[v]
            if q != parts[v] and fits and volume_of(graph, other) < before:
                return True
    return False


def test_no_single_move_reduces_the_volume_further() -> None:
    helped = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        edges = [(u, v) for u in range(16) for v in range(u) if rng.random() < 0.25]
        graph, parts = from_edges(16, edges), rng.integers(0, 4, 16).astype(np.int32)
        limits, pinned = np.full(4, 7, np.int64), np.zeros(16, np.bool_)
        limits = np.maximum(limits, np.bincount(parts, minlength=4))
        found = shrunk(graph, parts, limits, pinned, seed)
        assert not any_move_helps(graph, found, limits, pinned)
        helped += volume_of(graph, found) < volume_of(graph, parts)
    assert helped == 40


@pytest.mark.slow
def test_volume_is_close_to_the_optimum_on_small_graphs() -> None:
    found = least = 0
    for seed in range(15):
        rng = np.random.default_rng(seed)
        graph = from_edges(9, [(u, v) for u in range(9) for v in range(u) if rng.random() < 0.4])
        result = jetpy.partition(graph, 3, objective="volume", imbalance=0.34, **ENGINE)
        every = (np.array((0, *parts)) for parts in product(range(3), repeat=8))
        balanced = (
            p for p in every if np.bincount(p, minlength=3).min() > 0 and max(np.bincount(p)) < 5
        )
        found += result.communication_volume
        least += min(volume_of(graph, parts) for parts in balanced)
        assert result.feasible
    assert least <= found <= 1.2 * least


@pytest.fixture(scope="module")
def web() -> tuple[Graph, jetpy.Partition, jetpy.Partition]:
    """Return a graph and its partitions without and with the objective."""
    graph = jetpy.generators.rmat(10)
    plain = jetpy.partition(graph, 8, **ENGINE)
    return graph, plain, jetpy.partition(graph, 8, objective="volume", **ENGINE)


def test_objective_reduces_the_volume_on_every_back_end(
    backend: Backend, web: tuple[Graph, jetpy.Partition, jetpy.Partition]
) -> None:
    graph, plain, expected = web
    options: dict[str, Any] = {"backend": backend.name, "threads": backend.threads}
    found = jetpy.partition(graph, 8, objective="volume", **options)
    assert found.parts.tolist() == expected.parts.tolist()
    assert found.communication_volume == communication_volume(graph, found.parts)
    assert found.communication_volume < 0.95 * plain.communication_volume
    assert found.cut == edge_cut(graph, found.parts)
    assert found.feasible


def test_sizes_change_the_parts(backend: Backend) -> None:
    """Two lines of the grid, ten columns apart, may be cut for nothing."""
    grid = jetpy.generators.grid(30, 30)
    sizes = np.where(np.isin(np.arange(900) % 10, [0, 9]), 0, 100)
    options: dict[str, Any] = {"objective": "volume", **ENGINE}
    plain = jetpy.partition(grid, 6, **options).parts
    found = jetpy.partition(grid, 6, vertex_sizes=sizes, **options)
    sized = jetpy.as_graph(grid, vertex_sizes=sizes)
    assert found.communication_volume == volume_of(sized, found.parts)
    assert found.communication_volume < 0.6 * volume_of(sized, plain)
    options |= {"backend": backend.name, "threads": backend.threads}
    assert np.array_equal(jetpy.partition(sized, 6, **options).parts, found.parts)
    start = np.random.default_rng(0).integers(0, 6, 900)
    again = jetpy.refine(grid, start, 6, vertex_sizes=sizes, objective="volume", **ENGINE)
    assert again.communication_volume == volume_of(sized, again.parts)
    cut = jetpy.refine(grid, start, 6, **ENGINE).parts
    assert again.communication_volume < volume_of(sized, cut)


def test_equal_sizes_multiply_the_volume() -> None:
    grid = jetpy.generators.grid(20, 20)
    plain = jetpy.partition(grid, 5, objective="volume", **ENGINE)
    sizes = np.full(400, 3)
    found = jetpy.partition(grid, 5, objective="volume", vertex_sizes=sizes, **ENGINE)
    assert np.array_equal(found.parts, plain.parts)
    assert found.communication_volume == 3 * plain.communication_volume
    evaluated = jetpy.evaluate(grid, plain, vertex_sizes=sizes)
    assert evaluated.communication_volume == found.communication_volume


def test_refine_by_volume_keeps_fixed_vertices() -> None:
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
        ({"objective": "speed"}, "unknown objective 'speed'; choose one of cut, volume"),
        (
            {"objective": "volume", "vertex_weights": np.ones((9, 2))},
            "several weights cannot be combined",
        ),
        ({"vertex_sizes": [1] * 8}, "the vertex sizes have shape .8,.; there must be 9 of them"),
        ({"vertex_sizes": [1.5] * 9}, "vertex 0 has size 1.5; sizes must be integers in 0..2"),
        ({"vertex_sizes": [0, -1] + [1] * 7}, "vertex 1 has size -1; sizes must be integers"),
        ({"vertex_sizes": [np.nan] * 9}, "vertex 0 has size nan; sizes must be integers"),
        ({"vertex_sizes": ["a"] * 9}, "vertex sizes must be integers, not"),
        ({"vertex_sizes": [2**30] * 9}, "the vertex sizes sum to 9663676416; the sum must be"),
    ],
)
def test_bad_objective_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(JetpyError, match=message):
        jetpy.partition(path(9), 3, **options, **ENGINE)
