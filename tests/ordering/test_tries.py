"""Tries of small nodes: which ones flows improve, and which one divides a node."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

from jetpy import generators
from jetpy.device.backends import lease
from jetpy.device.device_graph import upload
from jetpy.graph.csr import Graph
from jetpy.ordering.depth import Nodes
from jetpy.ordering.effort import EFFORTS
from jetpy.ordering.tries import Tries
from jetpy.workloads.ordering import tries as kernels
from tests.graphs import random_graph
from tests.ordering.oracle import Separation

GRAPHS = [
    generators.delaunay(500),
    generators.cube(7, 8, 9),
    random_graph(260, 700, 4, weighted=True),
    generators.rmat(8, 6),
]
EFFORT = EFFORTS["best"]
COUNTS = [8, 5, 1, 8]


def side_by_side(graphs: list[Graph]) -> tuple[Graph, np.ndarray]:
    """Return graphs as one, and the first vertex of each."""
    starts = np.cumsum([0, *(graph.n for graph in graphs)])
    entries = np.cumsum([0, *(len(graph.indices) for graph in graphs)])
    rows = [graph.indptr[:-1] + entry for graph, entry in zip(graphs, entries, strict=False)]
    ends = [graph.indices + start for graph, start in zip(graphs, starts, strict=False)]
    whole = Graph(
        np.concatenate([*rows, entries[-1:]]).astype(np.int32),
        np.concatenate(ends).astype(np.int32),
        np.concatenate([graph.edge_weights for graph in graphs]),
        np.concatenate([graph.vertex_weights for graph in graphs]),
    )
    return whole, starts


def quality(graph: Graph, sides: list[int]) -> tuple[int, int]:
    most = graph.total_vertex_weight * round(1000 * EFFORT.largest_side) // 1000
    own = Separation(graph, sides, (most, most), skew=EFFORT.skew)
    assert all(not own.entering(v, 0) for v, side in enumerate(sides) if side == 0)
    return own.quality


@pytest.mark.parametrize("threads", [1, 2])
def test_best_of_the_improved_tries_divides_a_node(threads: int) -> None:
    """Flows improve only tries that are almost as good as the best one."""
    whole, starts = side_by_side(GRAPHS)
    weights = np.array([graph.total_vertex_weight for graph in GRAPHS])
    kept: list[np.ndarray] = []
    run = Tries._run

    def recorded(self: Any, workunit: Any, work: Any, **own: Any) -> None:
        run(self, workunit, work, **own)
        kept.append(work.found.copy())

    with lease("cpu", threads) as host, host.using(), patch.object(Tries, "_run", recorded):
        nodes = Nodes(upload(host, whole), starts, weights, np.array([5, 7, 2, 3]), None)
        sides = host.full(whole.n, 7)
        Tries(host, nodes.graph, nodes, EFFORT, np.arange(4), np.array(COUNTS)).separate(sides)
    improved = 0
    for graph, start, count in zip(GRAPHS, starts, COUNTS, strict=False):
        places = [slice(t * whole.n + start, t * whole.n + start + graph.n) for t in range(count)]
        before, after = ([found[own].tolist() for own in places] for found in kept)
        first = [quality(graph, own) for own in before]
        last = [quality(graph, own) for own in after]
        excess, score = min(first)
        for t in range(count):
            if first[t][0] > excess or 10 * first[t][1] > 11 * score:
                assert after[t] == before[t]
            assert last[t] < first[t] or after[t] == before[t]
            improved += after[t] != before[t]
        best = min(range(count), key=lambda t: (last[t], t))
        assert sides[start : start + graph.n].tolist() == after[best]
    assert improved > 3


def test_proposals_are_bisections_and_separators_in_turn() -> None:
    graph = GRAPHS[1]
    with lease("cpu", 1) as host, host.using():
        nodes = Nodes(
            upload(host, graph), np.array([0, graph.n]), np.array([504]), np.ones(1), None
        )
        sides = host.full(4 * graph.n, 7)
        Tries(host, nodes.graph, nodes, EFFORT, np.arange(1), np.array([4])).propose(sides)
    found = sides.reshape(4, graph.n)
    for number, own in enumerate(found):
        assert kernels.is_bisection(number) == (set(own.tolist()) == {0, 1})
        if number % 2:
            assert quality(graph, own.tolist())[0] == 0
        else:
            u, v = graph.sources(0, graph.n), graph.indices
            assert (own[u] != own[v]).sum() // 2 < 120
    assert len({own.tobytes() for own in found}) == 4
