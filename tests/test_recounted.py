"""The numbers of every kind of result equal those recounted from its parts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import jetpy
import jetpy.distributed
from jetpy.graph.csr import Graph
from tests.fuzz.oracles import loads_of
from tests.graphs import from_edges, heavy_vertex, isolated, path, random_graph
from tests.mapping.oracle import cost_of, cut_of, dense, numbers

ENGINE: dict[str, Any] = {"backend": "cpu", "threads": 1}
IMBALANCE = 0.9
"""So large that parts may share vertices even if k equals n."""

CASES: dict[str, tuple[Callable[[], Graph], int]] = {
    "two vertices that fit into one part": (lambda: from_edges(2, [(0, 1)], [73], [3, 10]), 2),
    "a start of less volume and more cut": (
        lambda: from_edges(4, [(0, 1), (0, 3), (1, 2), (1, 3)], [1, 7, 2, 3], [1, 5, 3, 4]),
        4,
    ),
    "more parts than vertices": (lambda: random_graph(5, 8, 4, weighted=True), 7),
    "one part": (lambda: random_graph(5, 8, 4, weighted=True), 1),
    "a heavy vertex": (heavy_vertex, 3),
    "no edges": (lambda: isolated(9), 4),
    "no vertices": (lambda: isolated(0), 2),
    "a path": (lambda: path(30), 4),
    "weights": (lambda: random_graph(60, 150, 3, weighted=True), 5),
    "several levels": (
        lambda: replace(
            jetpy.generators.grid(40, 30), vertex_weights=np.arange(1200, dtype=np.int32) % 7 + 1
        ),
        6,
    ),
}
"""Graphs and k."""


def partition(graph: Graph, k: int, **options: Any) -> jetpy.Partition:
    return jetpy.partition(graph, k, **{"imbalance": IMBALANCE, **ENGINE, **options})


def refine(graph: Graph, k: int, **options: Any) -> jetpy.Partition:
    return jetpy.refine(graph, start(graph, k), k, imbalance=IMBALANCE, **ENGINE, **options)


def start(graph: Graph, k: int) -> np.ndarray:
    """Return parts of two consecutive vertices each; the last part gets the rest."""
    return np.minimum(np.arange(graph.n) // 2, k - 1)


def fixed(graph: Graph, k: int) -> np.ndarray:
    """Return the parts of fixed vertices, every third one, and -1 for others."""
    return np.where(np.arange(graph.n) % 3 == 1, np.arange(graph.n) % k, -1)


def targets(k: int) -> list[int]:
    return [1 if p % 2 == 0 else 7 for p in range(k)]


def two_weights(graph: Graph) -> np.ndarray:
    return np.stack([graph.vertex_weights, np.arange(graph.n) % 3], axis=1)


PARTITIONS: dict[str, Callable[[Graph, int], Any]] = {
    "partition": partition,
    "imbalance 0": lambda graph, k: partition(graph, k, imbalance=0),
    "ultra": lambda graph, k: partition(graph, k, preset="ultra"),
    "gkway": lambda graph, k: partition(graph, k, preset="gkway"),
    "generations": lambda graph, k: partition(graph, k, preset="fast", generations=4),
    "targets": lambda graph, k: partition(graph, k, targets=targets(k), imbalance=0.1),
    "fixed": lambda graph, k: partition(graph, k, fixed=fixed(graph, k)),
    "home": lambda graph, k: partition(graph, k, home=start(graph, k)),
    "targets, fixed and home": lambda graph, k: partition(
        graph, k, targets=targets(k), fixed=fixed(graph, k), home=start(graph, k)
    ),
    "volume": lambda graph, k: partition(graph, k, objective="volume"),
    "volume, targets and home": lambda graph, k: partition(
        graph, k, objective="volume", targets=targets(k), home=start(graph, k)
    ),
    "connected": lambda graph, k: partition(graph, k, connected=True),
    "connected, targets and fixed": lambda graph, k: partition(
        graph, k, connected=True, targets=targets(k), fixed=fixed(graph, k)
    ),
    "several weights": lambda graph, k: partition(graph, k, vertex_weights=two_weights(graph)),
    "several weights, targets and fixed": lambda graph, k: partition(
        graph, k, vertex_weights=two_weights(graph), targets=targets(k), fixed=fixed(graph, k)
    ),
    "refine": refine,
    "refine, filled": lambda graph, k: refine(graph, k, fill_empty=True),
    "refine, targets": lambda graph, k: refine(graph, k, targets=targets(k)),
    "refine, fixed": lambda graph, k: refine(graph, k, fixed=fixed(graph, k)),
    "refine, volume": lambda graph, k: refine(graph, k, objective="volume"),
    "refine, volume, fixed and filled": lambda graph, k: refine(
        graph, k, objective="volume", fixed=fixed(graph, k), fill_empty=True
    ),
    "refine, connected": lambda graph, k: refine(graph, k, connected=True),
    "distributed": lambda graph, k: jetpy.distributed.partition(
        None, block(graph), k, imbalance=IMBALANCE, **ENGINE
    ),
    "distributed, refine": lambda graph, k: jetpy.distributed.refine(
        None, block(graph), start(graph, k), k, imbalance=IMBALANCE, **ENGINE
    ),
    "distributed, evaluate": lambda graph, k: jetpy.distributed.evaluate(
        None, block(graph), start(graph, k), k, imbalance=IMBALANCE
    ),
}


def block(graph: Graph) -> tuple[np.ndarray, ...]:
    return graph.indptr, graph.indices, graph.edge_weights, graph.vertex_weights


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("way", PARTITIONS)
def test_numbers_of_partitions_are_correct(way: str, case: str) -> None:
    make, k = CASES[case]
    graph = make()
    result = PARTITIONS[way](graph, k)

    weights = (
        two_weights(graph) if way.startswith("several weights") else graph.vertex_weights[:, None]
    )
    loads = loads_of(weights, result.parts, k)
    assert result.cut == cut_of(graph, result.parts)
    assert result.part_weights.reshape(k, -1).tolist() == loads.tolist()
    limits = result.limits.reshape(k, -1)
    assert result.feasible == (loads <= limits).all()
    ideal = -(-graph.total_vertex_weight // k)
    ideals = getattr(result, "ideals", np.full(k, ideal)).reshape(k, -1)
    heaviest = (loads / np.maximum(ideals, 1)).max()
    assert result.imbalance == (heaviest - 1 if graph.n else 0)
    if way == "home":
        moved = (result.parts != start(graph, k)) * graph.vertex_weights
        assert result.moved_weight == moved.sum()


MAPPINGS: dict[str, tuple[Any, Any, Any]] = {
    "im": ("2:3", "1:10", "im"),
    "hm": ("2:3", "1:10", "hm"),
    "hm-ultra": ("2:2", "3:7", "hm-ultra"),
    "distance 0": ("2:2", "0:5", "im"),
    "matrix": (None, [[0, 4, 2], [4, 0, 0], [2, 0, 0]], "im"),
    "one PE": ("1:1", "1:10", "hm"),
}
"""Hierarchy, distances, and method."""


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("way", MAPPINGS)
def test_numbers_of_mappings_are_correct(way: str, case: str) -> None:
    graph = CASES[case][0]()
    hierarchy, distances, method = MAPPINGS[way]

    matrix = np.array(distances)
    if hierarchy is not None:
        matrix = dense(numbers(hierarchy), numbers(distances))
    result = jetpy.map_processes(
        graph, hierarchy, distances, method=method, imbalance=IMBALANCE, **ENGINE
    )
    k = result.partition.k
    heaviest = loads_of(graph.vertex_weights, result.pe, k).max()
    assert result.cut == cut_of(graph, result.pe)
    assert result.cost == cost_of(graph, result.pe, matrix)
    assert result.feasible == (heaviest <= result.limit)
    assert result.imbalance == (heaviest / -(-graph.total_vertex_weight // k) - 1 if graph.n else 0)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("given", [False, True], ids=["found", "given"])
def test_numbers_of_sessions_are_correct(given: bool, case: str, tmp_path: Any) -> None:
    make, k = CASES[case]
    graph = make()
    parts = start(graph, k) if given else None
    live = jetpy.IncrementalPartitioner(graph, k, parts=parts, imbalance=IMBALANCE, **ENGINE)

    def check(live: jetpy.IncrementalPartitioner) -> None:
        now, parts = live.graph, live.partition[live.vertices]
        loads = loads_of(now.vertex_weights, parts, k)
        assert live.cut == cut_of(now, parts)
        assert live.part_weights.tolist() == loads.tolist()
        assert live.feasible == (loads.max() <= live.limit)

    check(live)
    update = live.insert_vertices([4, 1])
    check(live)
    update = live.insert_edges([update.vertices, [graph.n, 0]] if graph.n else [update.vertices])
    assert update.cut == live.cut
    check(live)
    live.delete_vertices([0])
    check(live)
    live.save(tmp_path / "session.npz")
    check(jetpy.IncrementalPartitioner.load(tmp_path / "session.npz", **ENGINE))
    live.rebuild()
    check(live)
