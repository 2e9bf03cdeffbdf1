"""Packing, equal weights and empty parts, through the public functions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import jetpy
from jetpy.device.device_graph import upload
from jetpy.engines.base import Backend
from jetpy.graph.csr import Graph
from jetpy.graph.generators import grid
from jetpy.refinement.filling import internal_weights
from tests.graphs import SMALL_GRAPHS, clique, cycle, from_edges, isolated, star
from tests.refinement.filling_oracle import internal_of


def with_weights(graph: Graph, weights: object) -> Graph:
    return replace(graph, vertex_weights=np.broadcast_to(weights, graph.n).astype(np.int32))


GRID = grid(24, 24)


def test_internal_weights_equal_the_oracle(backend: Backend) -> None:
    for make in SMALL_GRAPHS.values():
        graph = make()
        parts = (np.arange(graph.n) * 7 % 3).astype(np.int32)
        internal = internal_weights(backend, upload(backend, graph), backend.from_host(parts))
        assert backend.to_host(internal).tolist() == internal_of(graph, parts.tolist()).tolist()


@pytest.mark.parametrize("k", [2, 48, 288])
@pytest.mark.parametrize("weight", [2, 1000])
def test_equal_weights_give_the_parts_of_unit_weights(k: int, weight: int) -> None:
    """k divides n, so the limit allows the same number of vertices as with unit weights."""
    heavy = with_weights(GRID, weight)
    unit, equal = (jetpy.partition(graph, k, threads=1) for graph in (GRID, heavy))
    assert equal.feasible
    assert unit.parts.tolist() == equal.parts.tolist()
    assert equal.levels[0].imbalance == equal.imbalance


def test_common_factor_of_weights_does_not_change_parts() -> None:
    weights = np.random.default_rng(1).integers(1, 9, GRID.n)
    weights[0] += -weights.sum() % 7
    one, other = (with_weights(GRID, factor * weights) for factor in (1, 250))
    results = [jetpy.partition(graph, 7, threads=1) for graph in (one, other)]
    assert results[0].limit == results[1].limit // 250
    assert results[0].parts.tolist() == results[1].parts.tolist()
    refined = [jetpy.refine(graph, np.arange(GRID.n) % 7, threads=1) for graph in (one, other)]
    assert refined[0].parts.tolist() == refined[1].parts.tolist()


@pytest.mark.parametrize("k", [48, 192, 288])
def test_refine_and_map_with_equal_weights_are_feasible(k: int) -> None:
    heavy = with_weights(GRID, 1000)
    assert jetpy.refine(heavy, np.arange(GRID.n) % 3, k, threads=1).feasible
    assert jetpy.map_processes(heavy, f"{k // 4}:4", "1:10", threads=1).feasible


@pytest.mark.parametrize("preset", ["default", "fast", "gkway"])
@pytest.mark.parametrize("seed", range(4))
def test_limit_is_kept_if_packing_keeps_it(seed: int, preset: str) -> None:
    rng = np.random.default_rng(seed)
    k = int(rng.integers(60, 110))
    graph = with_weights(grid(15, 15), rng.integers(30, 61, 225))
    loads = [0] * k
    for weight in sorted(graph.vertex_weights.tolist(), reverse=True):
        loads[loads.index(min(loads))] += weight
    result = jetpy.partition(graph, k, imbalance=0.2, preset=preset, threads=1)
    assert result.part_weights.max() <= max(result.limit, *loads)
    assert result.part_weights.all()
    assert result.cut == jetpy.evaluate(graph, result.parts).cut == result.levels[0].cut_after


NO_EMPTY_PARTS = {
    "grid": (grid(18, 18), 322),
    "star": (star(200), 100),
    "isolated": (isolated(90), 89),
    "clique": (clique(40), 33),
    "heavy": (from_edges(30, [(0, v) for v in range(1, 30)], None, [500, *[1] * 29]), 12),
}


@pytest.mark.parametrize("preset", ["default", "ultra", "gkway"])
@pytest.mark.parametrize("name", NO_EMPTY_PARTS)
def test_no_part_is_empty(name: str, preset: str) -> None:
    graph, k = NO_EMPTY_PARTS[name]
    result = jetpy.partition(graph, k, preset=preset, threads=1)
    assert result.empty_parts == 0
    assert result.feasible == (name != "heavy")
    assert result.cut == jetpy.evaluate(graph, result.parts).cut


def test_refine_fills_empty_parts_on_request() -> None:
    given = np.zeros(9, np.int32)
    kept = jetpy.refine(cycle(9), given, 3, imbalance=2.5, large_imbalance=True, threads=1)
    assert (kept.cut, kept.empty_parts) == (0, 2)
    filled = jetpy.refine(
        cycle(9), given, 3, imbalance=2.5, large_imbalance=True, fill_empty=True, threads=1
    )
    assert (filled.cut, filled.empty_parts) == (3, 0)
    more_parts = jetpy.refine(cycle(3), np.zeros(3, int), 5, fill_empty=True, threads=1)
    assert more_parts.empty_parts == 2


def test_session_starts_without_empty_parts() -> None:
    live = jetpy.IncrementalPartitioner(grid(9, 9), 79, threads=1)
    assert live.part_weights.min() == 1
