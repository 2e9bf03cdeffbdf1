"""The cost of mappings, compared with loops over all pairs of tasks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import jetpy
from jetpy.evaluation.mapping_cost import communication_cost, cost_by_level
from jetpy.graph.csr import Graph
from jetpy.problem import machine as machines
from jetpy.problem.machine import machine
from jetpy.problem.metrics import mapped_cut
from jetpy.problem.problem import EDGE_CUT
from tests.graphs import SMALL_GRAPHS, edge_dict, path
from tests.mapping.oracle import Levels, dense, levels
from tests.strategies import weighted_graphs


def communication(graph: Graph) -> list[list[int]]:
    edges = edge_dict(graph)
    return [[edges.get((u, v), 0) for v in range(graph.n)] for u in range(graph.n)]


def shares(
    graph: Graph, pe: list[int], distances: np.ndarray, of: np.ndarray, count: int
) -> list[int]:
    """Return the cost of the pairs of PEs in each of `count` classes, given by `of`."""
    weights, result = communication(graph), [0] * count
    for u in range(graph.n):
        for v in range(graph.n):
            p, q = pe[u], pe[v]
            result[of[p, q]] += weights[u][v] * int(distances[p, q])
    return result


def draw_pes(graph: Graph, k: int, data: st.DataObject) -> list[int]:
    return data.draw(st.lists(st.integers(0, k - 1), min_size=graph.n, max_size=graph.n))


@given(weighted_graphs(most=12), levels(), st.sampled_from([0, 1024]), st.data())
def test_cost_by_level_equals_the_loops(
    graph: Graph, of: Levels, most: int, data: st.DataObject
) -> None:
    """Distances may be monotone or not, and given as a matrix or by level."""
    hierarchy, distances = [a for a, _ in of], [d for _, d in of]
    matrix, numbers = dense(hierarchy, distances), dense(hierarchy, range(len(of)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(machines, "MAX_PES_IN_MATRIX", most)
        original, block = Graph.row_blocks, data.draw(st.sampled_from([5, 1 << 20]))
        patch.setattr(Graph, "row_blocks", lambda self: original(self, block))
        target = machine(hierarchy, distances)
        pe = draw_pes(graph, target.k, data)
        expected = shares(graph, pe, matrix, numbers, len(of))
        assert cost_by_level(graph, pe, target).tolist() == expected
        assert communication_cost(graph, pe, target) == sum(expected)
        same = machine(hierarchy, matrix)
        assert cost_by_level(graph, pe, same).tolist() == expected


@given(weighted_graphs(most=12), st.integers(1, 6), st.data())
def test_cost_of_a_matrix_equals_the_loops(graph: Graph, k: int, data: st.DataObject) -> None:
    upper = np.triu(np.random.default_rng(k).integers(0, 50, (k, k)), 1)
    pe, target = draw_pes(graph, k, data), machine(None, upper + upper.T)
    [expected] = shares(graph, pe, upper + upper.T, np.zeros((k, k), int), 1)
    assert communication_cost(graph, pe, target) == expected
    assert mapped_cut(graph, pe, target.metric, k) == expected // 2
    assert cost_by_level(graph, pe, target).shape == (0,)


@given(weighted_graphs(most=12), st.integers(1, 6), st.data())
def test_mapped_cut_with_distance_one_is_the_cut(graph: Graph, k: int, data: st.DataObject) -> None:
    parts = draw_pes(graph, k, data)
    ones = 1 - np.eye(k, dtype=int)
    [expected] = shares(graph, parts, ones, np.zeros((k, k), int), 1)
    assert mapped_cut(graph, parts, EDGE_CUT, k) == expected // 2


def test_costs_of_paths() -> None:
    """Two edges of a path are within processors, one is between them."""
    target = machine("2:2", "1:10")
    assert communication_cost(path(4), [0, 1, 2, 3], target) == 2 * (1 + 10 + 1)
    assert cost_by_level(path(4), [0, 1, 2, 3], target).tolist() == [4, 20]
    assert cost_by_level(path(4), [0, 2, 1, 3], target).tolist() == [0, 60]
    assert communication_cost(path(4), [3, 3, 3, 3], target) == 0
    assert cost_by_level(path(3), [0, 3, 1], machine("1:4", "5:7")).tolist() == [0, 28]


def test_large_costs_do_not_overflow() -> None:
    graph = SMALL_GRAPHS["heavy_edges"]()
    target = machine("2:2", [3, 2**31 - 1])
    near, far = 2 * 3, 2 * (2**30 - 2) * (2**31 - 1)
    assert cost_by_level(graph, [0, 2, 3], target).tolist() == [near, far]
    assert communication_cost(graph, [0, 2, 3], target) == near + far


@pytest.mark.parametrize(
    ("pe", "words"),
    [
        ([0, 1], "there must be one for each of 3 vertices"),
        ([0, 4, 1], r"vertex 1 is in part 4; parts must be in 0\.\.3"),
        ([0, 1, -1], "vertex 2 is in part -1"),
        ([0.0, 1.0, 2.0], "integers"),
    ],
)
def test_bad_mapping_is_refused(pe: list[int], words: str) -> None:
    for function in (communication_cost, cost_by_level):
        with pytest.raises(jetpy.GraphError, match=words):
            function(path(3), pe, machine("2:2", "1:10"))
