"""Vertices and edges of weight 0: free to balance, free to cut, but there."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest

import jetpy
from jetpy.distributed.communicator import Communicator
from jetpy.engines.base import Backend
from jetpy.graph.csr import Graph
from jetpy.problem.presets import PRESETS
from tests.distributed.test_pieces import block_of
from tests.distributed.threads import run_on_threads
from tests.fuzz.oracles import pieces_of
from tests.graphs import from_edges

GRID = jetpy.generators.grid(40, 40)
ENGINE: dict[str, Any] = {"backend": "cpu", "threads": 1}


def partly(share: float, seed: int = 0) -> np.ndarray:
    """Return weights for the grid; about a share of them are 0."""
    rng = np.random.default_rng(seed)
    return rng.integers(1, 50, GRID.n) * (rng.random(GRID.n) >= share)


@pytest.mark.parametrize("preset", PRESETS)
def test_parts_are_balanced_by_the_other_vertices(preset: Any) -> None:
    limit = {"time_limit": 0.2} if preset == "max" else {}
    result = jetpy.partition(GRID, 8, vertex_weights=partly(0.6), preset=preset, **limit, **ENGINE)
    assert result.feasible
    assert result.empty_parts == 0
    assert result.cut < 300


def test_one_region_without_weight_is_not_one_part() -> None:
    """Vertices of weight 0 may go anywhere, so they go where the cut is small."""
    weights = np.zeros((40, 40), int)
    weights[:, :8] = weights[:, -8:] = 1
    result = jetpy.partition(GRID, 2, vertex_weights=weights.ravel(), **ENGINE)
    assert (result.cut, result.part_weights.tolist()) == (40, [320, 320])


@pytest.mark.parametrize("preset", ["default", "gkway"])
def test_numbers_of_vertices_are_balanced_if_nothing_weighs(preset: Any) -> None:
    nothing = np.zeros(GRID.n, int)
    result = jetpy.partition(GRID, 7, vertex_weights=nothing, preset=preset, **ENGINE)
    plain = jetpy.partition(GRID, 7, preset=preset, **ENGINE)
    assert result.parts.tolist() == plain.parts.tolist()
    assert (result.limit, result.imbalance, result.feasible) == (0, 0, True)
    refined = jetpy.refine(GRID, result.parts, 7, vertex_weights=nothing, **ENGINE)
    assert refined.cut <= result.cut


@pytest.mark.parametrize("options", [{}, {"objective": "volume"}, {"targets": [1, 2, 3]}])
def test_refine_does_not_worsen_parts_if_nothing_weighs(options: dict[str, Any]) -> None:
    """Every partition is balanced, so refinement may not restore a balance at the cost of cut."""
    parts = np.zeros(GRID.n, int)
    parts[:120], parts[120:160] = 1, 2
    nothing = np.zeros(GRID.n, int)
    before = jetpy.evaluate(GRID, parts)
    found = jetpy.refine(GRID, parts, 3, vertex_weights=nothing, **options, **ENGINE)
    assert found.cut <= before.cut
    assert found.communication_volume <= before.communication_volume
    assert np.bincount(found.parts).max() <= 1440
    hierarchy = jetpy.coarsen(jetpy.as_graph(GRID, vertex_weights=nothing), 3, **ENGINE)
    if "objective" not in options:
        assert hierarchy.refine(parts, 3, level=0, **options, **ENGINE).cut <= before.cut


@pytest.mark.parametrize(
    "options",
    [
        {"targets": [1, 2, 3, 4]},
        {"connected": True},
        {"objective": "volume"},
        {"fixed": np.where(np.arange(GRID.n) < 4, np.arange(GRID.n), -1)},
        {"home": np.arange(GRID.n) % 4, "migration": 1},
        {"generations": 3},
    ],
    ids=str,
)
def test_options_balance_numbers_of_vertices_if_nothing_weighs(options: dict[str, Any]) -> None:
    result = jetpy.partition(GRID, 4, vertex_weights=np.zeros(GRID.n, int), **options, **ENGINE)
    shares = np.array(options.get("targets", [1] * 4))
    sizes = np.bincount(result.parts, minlength=4)
    assert (sizes <= 1.03 * np.ceil(GRID.n * shares / shares.sum())).all()
    assert result.feasible


def test_parts_without_weight_are_not_empty() -> None:
    """Two vertices have all the weight, and each of the other four parts gets a vertex."""
    weights = np.zeros(GRID.n, int)
    weights[[0, -1]] = 9
    result = jetpy.partition(GRID, 6, vertex_weights=weights, imbalance=5.0, large_imbalance=True)
    assert result.empty_parts == 0
    assert sorted(result.part_weights.tolist())[:4] == [0] * 4


def test_edges_of_weight_0_are_cut_first() -> None:
    u, v = GRID.sources(0, GRID.n), GRID.indices
    free = (np.minimum(u, v) // 40 == 12) & (np.maximum(u, v) // 40 == 13)
    graph = replace(GRID, edge_weights=np.where(free, 0, 3).astype(np.int32))
    result = jetpy.partition(graph, 2, targets=[13, 27], imbalance=0.0, **ENGINE)
    assert result.cut == 0
    assert result.communication_volume == 80
    assert jetpy.evaluate(graph, result).part_neighbours.tolist() == [1, 1]


def test_edges_of_weight_0_connect() -> None:
    graph = replace(GRID, edge_weights=np.zeros(2 * GRID.m, np.int32))
    result = jetpy.partition(graph, 6, connected=True, **ENGINE)
    assert (result.cut, result.disconnected) == (0, {})
    assert pieces_of(graph, result.parts, 6).tolist() == [1] * 6
    assert result.feasible


def test_weights_of_0_and_2_are_not_taken_for_weights_of_1(backend: Backend) -> None:
    """Their mean is 1, by which jetpy recognizes unit weights."""
    rng = np.random.default_rng(3)
    weights = rng.permutation(np.repeat([0, 2], GRID.n // 2))
    result = jetpy.partition(GRID, 4, vertex_weights=weights, backend=backend.name)  # type: ignore[arg-type]
    assert result.part_weights.sum() == GRID.n
    graph = from_edges(5, [(0, 1), (1, 2), (2, 3), (3, 4)], [0, 2, 2, 0])
    found = jetpy.partition(graph, 2, imbalance=0.5, backend=backend.name)  # type: ignore[arg-type]
    assert found.cut == 0


def test_networks_and_tables_have_weights_of_0() -> None:
    network = nx.path_graph(4)
    nx.set_node_attributes(network, {0: 0, 1: 1, 2: 0, 3: 1}, "weight")
    nx.set_edge_attributes(network, {(0, 1): 2, (1, 2): 0, (2, 3): 2}, "weight")
    result = jetpy.partition(network, 2, **ENGINE)
    assert (result.cut, result.part_weights.tolist()) == (0, [1, 1])
    table = {"a": [0, 1, 2], "b": [1, 2, 3], "w": [2, 0, 2]}
    rows = jetpy.from_edges(table, "a", "b", weight="w")
    again = jetpy.partition(rows, 2, vertex_weights=[0, 1, 0, 1], **ENGINE)
    assert again.parts.tolist() == result.parts.tolist()


def test_several_processes_find_the_parts_of_one() -> None:
    bounds = np.array([0, 500, 1600])
    u, v = GRID.sources(0, GRID.n), GRID.indices
    edges = ((u + v) % 3).astype(np.int32)
    for share in (0.5, 1.0):
        graph = replace(GRID, vertex_weights=partly(share).astype(np.int32), edge_weights=edges)
        alone = jetpy.partition(graph, 6, preset="fast", **ENGINE)

        def run(comm: Communicator, graph: Graph = graph) -> jetpy.distributed.DistributedPartition:
            block = block_of(graph, bounds, comm.rank)
            return jetpy.distributed.partition(comm, block, 6, preset="fast", small=1, **ENGINE)

        found = run_on_threads(2, run)
        assert np.concatenate([own.parts for own in found]).tolist() == alone.parts.tolist()
        for own in found:
            assert own.part_weights.tolist() == alone.part_weights.tolist()
            assert own.empty_parts == alone.empty_parts == 0


def test_processes_are_mapped_with_weights_of_0() -> None:
    for share in (0.5, 1.0):
        found = jetpy.map_processes(GRID, "2:4", "1:10", vertex_weights=partly(share), **ENGINE)
        assert found.feasible
        assert np.bincount(found.pe, minlength=8).max() < 2 * GRID.n / 8


@pytest.mark.parametrize("is_saved", [False, True])
def test_vertices_of_weight_0_are_not_deleted(tmp_path: Path, is_saved: bool) -> None:
    live = jetpy.IncrementalPartitioner((*path_of(6), None, [0, 1, 0, 1, 0, 1]), 2, **ENGINE)
    if is_saved:
        live.save(tmp_path / "session.npz")
        live = jetpy.IncrementalPartitioner.load(tmp_path / "session.npz", **ENGINE)
    update = live.insert_vertices([0, 2])
    live.insert_edges([(0, 6), (6, 7)], [0, 3])
    assert update.vertices.tolist() == [6, 7]
    assert (live.n, live.vertices.tolist()) == (8, list(range(8)))
    live.delete_vertices([2])
    assert (live.n, live.partition[2]) == (7, -1)
    assert (np.delete(live.partition, 2) >= 0).all()
    assert live.graph.vertex_weights.tolist() == [0, 1, 1, 0, 1, 0, 2]
    with pytest.raises(jetpy.GraphError, match="vertex 2 is deleted"):
        live.delete_vertices([2])


def path_of(n: int) -> tuple[np.ndarray, np.ndarray]:
    graph = jetpy.generators.grid(1, n)
    return graph.indptr, graph.indices


def test_separators_prefer_vertices_of_weight_0() -> None:
    weights = np.ones((40, 40), int)
    weights[:, 25] = 0
    options = {"imbalance": 0.5, "preset": "best", **ENGINE}
    found = jetpy.vertex_separator(GRID, vertex_weights=weights.ravel(), **options)
    assert (found.weight, found.sizes[2]) == (0, 40)
    assert found.feasible


@pytest.mark.parametrize("heavy", [0, 1, 2])
def test_separators_have_two_sides_if_few_vertices_weigh(heavy: int) -> None:
    weights = np.zeros(GRID.n, int)
    weights[:heavy] = 5
    found = jetpy.vertex_separator(GRID, vertex_weights=weights, **ENGINE)
    assert (found.sizes[:2] > 0).all()
    assert found.sizes[2] < 100
    if heavy == 0:
        assert found.sizes.tolist() == jetpy.vertex_separator(GRID, **ENGINE).sizes.tolist()
        assert (found.limit, found.feasible, found.imbalance) == (0, True, 0)


def test_hierarchies_keep_weights_of_0() -> None:
    for share in (0.5, 1.0):
        graph = jetpy.as_graph(GRID, vertex_weights=partly(share))
        hierarchy = jetpy.coarsen(graph, 2, **ENGINE)
        levels = [level.vertex_weights.sum() for level in hierarchy.levels]
        assert set(levels) == {graph.total_vertex_weight}
        graphs = [level.graph for level in hierarchy.levels]
        maps = [level.coarse_of for level in hierarchy.levels[:-1]]
        again = jetpy.Hierarchy(graphs, maps)
        found = again.partition(2, **ENGINE)
        assert found.feasible
        assert np.bincount(found.parts).min() > GRID.n / 8


def test_subsets_of_vertices_of_weight_0_are_limited() -> None:
    """By weight alone, all vertices of weight 0 could be one coarse vertex."""
    weights = np.zeros(GRID.n, int)
    weights[::50] = 1
    hierarchy = jetpy.coarsen(
        jetpy.as_graph(GRID, vertex_weights=weights), 8, coarsening="union-find", **ENGINE
    )
    for number in range(1, len(hierarchy.levels)):
        ones = hierarchy.restrict(np.ones(GRID.n, np.int64), 0, number)
        assert ones.max() <= 1.5 * GRID.n / 8
