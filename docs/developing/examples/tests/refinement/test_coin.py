from __future__ import annotations

import numpy as np
import pytest

from jetpy.device.device_graph import upload
from jetpy.engines.base import Backend
from jetpy.graph.csr import Graph
from jetpy.graph.generators import delaunay
from jetpy.problem.options import Options, RefineOptions
from jetpy.problem.problem import make_problem
from jetpy.refinement.coin import CoinToss
from jetpy.refinement.jet import Refinement
from jetpy.refinement.methods import REFINEMENTS
from jetpy.workloads.common.control_block import Task
from tests.graphs import random_graph
from tests.hashing import mix
from tests.refinement.oracle import (
    check_state,
    connections,
    cost_of,
    finish_iteration,
    parts_of,
    set_control,
    state_of,
)


def best_gain(row: dict[int, int], own: int) -> int:
    return max((w for p, w in row.items() if p != own), default=-1) - row.get(own, 0)


@pytest.mark.parametrize(
    "graph", [delaunay(300), random_graph(200, 900, 1, weighted=True)], ids=str
)
def test_makes_the_best_moves_that_toss_heads(backend: Backend, graph: Graph) -> None:
    k, seed = 4, 12345
    parts = np.random.default_rng(1).integers(0, k, graph.n, np.int32)
    state = state_of(backend, graph, parts, k)
    set_control(state, task=Task.PROPAGATE, iteration_seed=seed)
    CoinToss(state).launch()
    state.launch_update()
    moved, after = finish_iteration(state), parts_of(state)
    for v, row in enumerate(connections(graph, parts)):
        gain = best_gain(row, int(parts[v]))
        moves = after[v] != parts[v]
        assert moves == (gain > 0 and mix(v ^ seed) & 1 == 0)
        if moves:
            assert row[int(after[v])] - row.get(int(parts[v]), 0) == gain
    assert moved == (after != parts).sum()
    check_state(state, graph)


def test_the_best_partition_is_kept(
    backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(REFINEMENTS, "coin", CoinToss)
    graph, k = delaunay(2000), 8
    options = Options(refine=RefineOptions(method="coin"))
    problem = make_problem(graph.total_vertex_weight, k, 0.03, 0, options)
    start = (np.arange(graph.n) % k).astype(np.int32)
    refinement = Refinement(backend, upload(backend, graph), problem)
    refined = refinement.refine(backend.from_host(start), finest=True)
    parts = backend.to_host(refined.parts)
    found = refined.measures
    assert found.cut == cost_of(graph, parts, problem)
    assert found.cut < cost_of(graph, start, problem)
    assert found.part_weights.tolist() == np.bincount(parts, minlength=k).tolist()
    assert found.part_weights.max() <= problem.limit
