from __future__ import annotations

import numpy as np
import pytest

from jetpy.engines.base import Backend
from jetpy.graph.csr import Graph
from jetpy.graph.generators import delaunay
from jetpy.refinement.coin import CoinToss
from jetpy.workloads.common.control_block import Task
from tests.graphs import random_graph
from tests.refinement.oracle import (
    check_state,
    connections,
    parts_of,
    set_control,
    settle,
    state_of,
)


def best_gain(row: dict[int, int], own: int) -> int:
    return max((w for p, w in row.items() if p != own), default=-1) - row.get(own, 0)


@pytest.mark.parametrize(
    "graph", [delaunay(300), random_graph(200, 900, 1, weighted=True)], ids=str
)
def test_only_moves_to_a_best_part_and_about_half_of_those(backend: Backend, graph: Graph) -> None:
    k = 4
    parts = np.random.default_rng(1).integers(0, k, graph.n, np.int32)
    state = state_of(backend, graph, parts, k)
    set_control(state, task=Task.PROPAGATE, iteration_seed=12345)
    CoinToss(state).launch()
    state.launch_update()
    moved, after = settle(state), parts_of(state)
    wanting = 0
    for v, row in enumerate(connections(graph, parts)):
        gain = best_gain(row, int(parts[v]))
        wanting += gain > 0
        if after[v] != parts[v]:
            assert gain > 0
            assert row[int(after[v])] - row.get(int(parts[v]), 0) == gain
    assert moved == (after != parts).sum()
    assert 0.35 * wanting < moved < 0.65 * wanting
    check_state(state, graph)
