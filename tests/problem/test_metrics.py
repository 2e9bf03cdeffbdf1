from __future__ import annotations

from math import ceil
from typing import Any

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import jetpy
from jetpy.errors import GraphError, OptionError
from jetpy.evaluation import evaluate
from jetpy.evaluation.mapping_cost import communication_cost, cost_by_level
from jetpy.graph.csr import Graph
from jetpy.problem import metrics
from jetpy.problem.machine import machine
from tests.graphs import SMALL_GRAPHS, clique, path, star
from tests.incremental.oracle import as_networkx


@st.composite
def partitions(draw: st.DrawFn) -> tuple[Graph, list[int], int]:
    graph = SMALL_GRAPHS[draw(st.sampled_from(sorted(SMALL_GRAPHS)))]()
    k = draw(st.integers(1, 6))
    return graph, draw(st.lists(st.integers(0, k - 1), min_size=graph.n, max_size=graph.n)), k


@given(partitions(), st.sampled_from([1, 5, 1 << 20]))
def test_all_metrics_equal_networkx(case: tuple[Graph, list[int], int], block: int) -> None:
    graph, parts, k = case
    oracle = as_networkx(graph)
    members = [{v for v in range(graph.n) if parts[v] == p} for p in range(k)]
    weights = [sum(int(graph.vertex_weights[v]) for v in member) for member in members]
    others = [{parts[v] for v in oracle[u]} - {parts[u]} for u in range(graph.n)]
    components = [nx.number_connected_components(oracle.subgraph(m)) if m else 0 for m in members]

    with pytest.MonkeyPatch.context() as patch:
        original = Graph.row_blocks
        patch.setattr(Graph, "row_blocks", lambda self: original(self, block))
        found = evaluate.evaluate(graph, parts, k)

    assert found.k == k
    assert found.pieces.tolist() == found.components.tolist() == components
    assert found.cut == sum(w for u, v, w in oracle.edges(data="weight") if parts[u] != parts[v])
    assert found.part_weights.tolist() == weights
    share = ceil(sum(weights) / k)
    assert found.imbalance == (max(weights) / share - 1 if share else 0.0)
    assert found.boundary_vertices == sum(map(bool, others))
    assert found.communication_volume == sum(map(len, others))
    assert found.part_volumes.tolist() == [sum(len(others[v]) for v in m) for m in members]
    assert found.largest_volume == max(found.part_volumes)
    assert found.part_boundary_vertices.tolist() == [
        sum(bool(others[v]) for v in m) for m in members
    ]
    assert found.part_isolated_vertices.tolist() == [
        sum(not set(oracle[v]) & m for v in m) for m in members
    ]
    between = [[0] * k for _ in range(k)]
    for u, v, w in oracle.edges(data="weight"):
        if parts[u] != parts[v]:
            between[parts[u]][parts[v]] += w
            between[parts[v]][parts[u]] += w
    assert found.cut_matrix.toarray().tolist() == between
    assert found.part_neighbours.tolist() == [sum(w > 0 for w in row) for row in between]
    assert metrics.edge_cut(graph, parts) == found.cut
    assert metrics.communication_volume(graph, parts) == found.communication_volume
    assert found.components.tolist() == components
    assert found.empty_parts == components.count(0)
    assert found.disconnected_parts == sum(c > 1 for c in components)
    alone = [u for u in range(graph.n) if all(parts[v] != parts[u] for v in oracle[u])]
    assert found.isolated_vertices == len(alone)


@given(partitions())
def test_evaluate_with_a_machine(case: tuple[Graph, list[int], int]) -> None:
    graph, parts, _ = case
    found = evaluate.evaluate(graph, parts, hierarchy="2:3", distances="1:10")
    target = machine("2:3", "1:10")
    assert found.cost == communication_cost(graph, parts, target)
    assert found.cost_by_level is not None
    assert found.cost_by_level.tolist() == cost_by_level(graph, parts, target).tolist()
    assert found.machine is not None
    assert (found.k, found.machine.hierarchy) == (6, (2, 3))
    without = evaluate.evaluate(graph, parts, 6)
    assert (without.machine, without.cost, without.cost_by_level) == (None, None, None)
    assert (without.cut, without.components.tolist()) == (found.cut, found.components.tolist())


def test_metrics_of_small_graphs() -> None:
    halves = [0, 0, 0, 1, 1, 1]
    assert metrics.edge_cut(path(6), halves) == 1
    assert metrics.edge_cut(clique(6), halves) == 9
    assert evaluate.evaluate(path(6), halves).imbalance == 0.0
    assert evaluate.evaluate(path(6), [0, 0, 0, 0, 1, 1]).imbalance == pytest.approx(1 / 3)
    assert evaluate.evaluate(path(5), [0, 0, 0, 1, 1]).imbalance == 0.0
    assert metrics.communication_volume(star(3), [0, 1, 1, 2]) == 2 + 3
    assert evaluate.evaluate(path(6), halves).boundary_vertices == 2
    assert metrics.components_per_part(path(6), [0, 1, 0, 1, 1, 0], 3).tolist() == [3, 2, 0]
    assert metrics.isolated_vertices(path(6), [0, 1, 0, 1, 1, 0]) == 4


def test_default_k_is_the_highest_part_plus_one() -> None:
    assert evaluate.evaluate(path(4), [0, 3, 3, 0]).k == 4
    assert evaluate.evaluate(SMALL_GRAPHS["empty"](), []).k == 1


def test_evaluate_with_one_vertex_per_part() -> None:
    graph = path(4000)
    found = evaluate.evaluate(graph, np.arange(4000))
    assert found.cut_matrix.nnz == 2 * 3999
    assert found.cut_matrix.has_sorted_indices
    assert found.cut_matrix.dtype == np.int64
    assert found.part_neighbours.tolist() == [1, *[2] * 3998, 1]
    assert found.part_isolated_vertices.tolist() == [1] * 4000


def test_weights_of_31_bits_do_not_overflow() -> None:
    graph = SMALL_GRAPHS["heavy_edges"]()
    assert metrics.edge_cut(graph, [0, 1, 0]) == 2**30 - 1
    assert evaluate.evaluate(graph, [0, 1, 0]).cut_matrix.max() == 2**30 - 1
    assert metrics.part_weights(graph, [0, 0, 0], 2).tolist() == [2**31 - 1, 0]


@pytest.mark.parametrize(
    ("parts", "k", "error", "words"),
    [
        ([0, 1], 2, GraphError, r"the part ids have shape \(2,\); there must be one for each of 3"),
        ([[0, 1, 0]], 2, GraphError, r"the part ids have shape \(1, 3\)"),
        ([0, -1, 0], 2, GraphError, r"vertex 1 is in part -1; parts must be in 0\.\.1"),
        ([0, 1, 2], 2, GraphError, r"vertex 2 is in part 2; parts must be in 0\.\.1"),
        ([0, -1, 0], None, GraphError, "vertex 1 is in part -1"),
        ([0, 2**31, 0], None, GraphError, "vertex 1 is in part 2147483648"),
        ([0.0, 1.0, 0.0], 2, GraphError, "part ids must be integers, not float64"),
        ([0, 0, 0], 0, OptionError, "k is 0; k must be at least 1"),
    ],
)
def test_bad_partition_is_refused(parts: Any, k: int, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        evaluate.evaluate(path(3), parts, k)


def test_parts_may_have_any_integer_type() -> None:
    for dtype in (np.uint8, np.int64, np.int32):
        assert metrics.edge_cut(path(3), np.array([0, 1, 1], dtype)) == 1


@pytest.mark.parametrize("kind", ["matrix", "arrays", "networkx"])
def test_evaluate_accepts_every_input_type(kind: str) -> None:
    graph = SMALL_GRAPHS["weighted_random"]()
    arrays = graph.indptr, graph.indices, graph.edge_weights, graph.vertex_weights
    given = {
        "matrix": sp.csr_array((graph.edge_weights, graph.indices, graph.indptr)),
        "arrays": arrays,
        "networkx": as_networkx(graph),
    }
    parts = np.arange(graph.n) % 3
    found, expected = (evaluate.evaluate(g, parts, 4) for g in (given[kind], graph))
    assert (found.k, found.cut) == (4, expected.cut)
    assert found.components.tolist() == expected.components.tolist()
    if kind == "arrays":
        assert found.part_weights.tolist() == expected.part_weights.tolist()


def test_evaluate_repairs_on_request() -> None:
    one_way = sp.csr_array(([1, 1, 5], ([0, 1, 2], [1, 2, 2])), shape=(3, 3))
    with pytest.raises(GraphError, match="self-loop"):
        evaluate.evaluate(one_way, [0, 0, 1])
    assert evaluate.evaluate(one_way, [0, 0, 1], repair=True).cut == 1
    with pytest.raises(GraphError, match="cannot make a graph from 'list'"):
        evaluate.evaluate([[0, 1], [1, 0]], [0, 1])


def test_evaluate_accepts_a_result() -> None:
    result = jetpy.partition(path(3), 5, backend="cpu", threads=1)
    found = evaluate.evaluate(path(3), result)
    assert (found.k, found.empty_parts, found.cut) == (5, 2, 2)
    with pytest.raises(GraphError, match=r"vertex 2 is in part 2; parts must be in 0\.\.1"):
        evaluate.evaluate(path(3), result, 2)


def test_repr_of_an_evaluation() -> None:
    expected = (
        "Evaluation(k=2, {}cut=1, imbalance=0.5000, communication_volume=2, disconnected_parts=0)"
    )
    assert repr(evaluate.evaluate(path(4), [0, 0, 0, 1])) == expected.format("")
    found = evaluate.evaluate(path(4), [0, 0, 0, 1], hierarchy="2", distances="5")
    assert repr(found) == expected.format("cost=10, ")


@pytest.mark.parametrize("k", [6, 1_000_000])
def test_weights_of_pairs_of_many_parts_are_summed(k: int) -> None:
    keys = np.array([1, 2 * k + 5, 1, 3], np.int64)
    found = metrics.sum_by_pair(keys, np.array([4, 0, 2, 7]), k)
    assert [own.tolist() for own in found] == [[1, 3, 2 * k + 5], [2, 1, 1], [6, 7, 0]]
