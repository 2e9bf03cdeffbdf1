"""The order of each subtree: never worse than its candidates, in a tree that still separates."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import jetpy
from jetpy import generators
from jetpy.device.backends import lease
from jetpy.ordering import choice
from jetpy.ordering.choice import Record, Search, choose
from jetpy.ordering.quotient_graphs import Matrix, block_orders
from jetpy.ordering.subtrees import Subtrees
from jetpy.result.separator_tree import SeparatorTree
from tests.ordering.dissections import dissected, expanded, matrix_of, random_graph

Array = np.ndarray


def chosen(
    graph: jetpy.Graph, order: Array, tree: SeparatorTree, threads: int = 1
) -> tuple[Array, SeparatorTree]:
    with lease("cpu", threads) as host, host.using():
        return choose(Matrix(host, host, graph), order, tree)


def costs(graph: jetpy.Graph, order: Array) -> tuple[int, float]:
    """Return the operations and the critical path of the matrix with a row per unit of weight."""
    exact = jetpy.symbolic(*expanded(graph, order))
    return exact.operations, exact.critical_path


def other_orders(graph: jetpy.Graph, order: Array, tree: SeparatorTree) -> list[Array]:
    """Return minimum degree of the whole matrix, and the multisection of all leaves."""
    with lease("cpu", 1) as host, host.using():
        degree = block_orders(Matrix(host, host, graph), np.zeros(graph.n, np.int32), 1).order
        root = np.array([len(tree) - 1])
        multisection = Search.begin(Matrix(host, host, graph), order, tree).by_multisection(root)
    assert multisection.operations[0] == costs(graph, multisection.order)[0]
    return [degree, multisection.order]


def check_tree(graph: jetpy.Graph, order: Array, tree: SeparatorTree) -> None:
    """Two vertices are adjacent only if one's node is an ancestor of the other's."""
    assert np.array_equal(np.sort(order), np.arange(graph.n))
    assert tree.starts[0] == 0
    assert tree.starts[-1] == graph.n
    count = len(tree)
    assert all(tree.parents[i] == -1 or tree.parents[i] > i for i in range(count))
    is_above = np.eye(count, dtype=bool)
    for node in reversed(range(count)):
        if tree.parents[node] >= 0:
            is_above[node] |= is_above[tree.parents[node]]
    for node in range(count):
        below = np.flatnonzero(is_above[:, node])
        assert np.array_equal(below, np.arange(below[0], node + 1))
    node_of = np.empty(graph.n, int)
    node_of[order] = np.repeat(np.arange(count), tree.sizes)
    u, v = matrix_of(graph).nonzero()
    assert (is_above[node_of[u], node_of[v]] | is_above[node_of[v], node_of[u]]).all()


@given(
    st.integers(0, 2**32),
    st.integers(3, 40),
    st.sampled_from([0.05, 0.1, 0.2]),
    st.integers(2, 8),
    st.sampled_from([1, 3]),
)
def test_no_candidate_is_better(
    seed: int, n: int, density: float, leaf: int, heaviest: int
) -> None:
    graph = random_graph(seed, n, density, heaviest)
    order, tree = dissected(graph, leaf)
    check_tree(graph, order, tree)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(choice, "MAX_PATH", np.inf)
        patch.setattr(choice, "MAX_FAILURES", n)
        found, chosen_tree = chosen(graph, order, tree)
    check_tree(graph, found, chosen_tree)
    operations = costs(graph, found)[0]
    for other in (order, *other_orders(graph, order, tree)):
        assert operations <= costs(graph, other)[0]


@pytest.mark.parametrize(
    ("graph", "leaf"),
    [(generators.grid(40, 40), 20), (generators.cube(9, 9, 9), 30), (generators.rmat(9), 20)],
    ids=lambda given: getattr(given, "name", ""),
)
def test_operations_fall_and_the_path_is_bounded(graph: jetpy.Graph, leaf: int) -> None:
    graph = replace(graph, vertex_weights=np.ones(graph.n, np.int32))
    order, tree = dissected(graph, leaf)
    found, chosen_tree = chosen(graph, order, tree, threads=3)
    check_tree(graph, found, chosen_tree)
    operations, path = costs(graph, found)
    assert operations < costs(graph, order)[0]
    assert path <= choice.MAX_PATH * costs(graph, order)[1]
    again, same_tree = chosen(graph, order, tree)
    assert np.array_equal(again, found)
    assert np.array_equal(same_tree.parents, chosen_tree.parents)
    assert np.array_equal(same_tree.starts, chosen_tree.starts)


@pytest.mark.parametrize(
    ("rests", "ratio", "tried"),
    [
        (True, 1.0, [True, True, True, True]),
        (
            True,
            1.1,
            [True, False, True, True],
        ),  # not the best: it rests for a height, but for the root
        (False, 1.1, [True, True, True, True]),
        (True, 1.3, [True, False, True, False]),  # fails twice
        (False, 1.3, [True, True, False, False]),
    ],
)
def test_where_a_method_is_tried(rests: bool, ratio: float, tried: list[bool]) -> None:
    """A path of five nodes; the method takes `ratio` times the operations of the best order."""
    tree = SeparatorTree(np.array([1, 2, 3, 4, -1], np.int32), np.arange(6, dtype=np.int32))
    subtrees, record = Subtrees.of(tree, np.zeros(5)), Record.begin(5, rests=rests)
    found = []
    for node in range(1, 5):
        nodes = record.chances(subtrees, np.array([node]))
        record.add(nodes, np.full(len(nodes), ratio), np.ones(len(nodes)))
        found.append(bool(len(nodes)))
    assert found == tried


def test_long_paths_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = generators.grid(20, 20)
    order, tree = dissected(graph, 10)
    assert not np.array_equal(chosen(graph, order, tree)[0], order)
    monkeypatch.setattr(choice, "MAX_PATH", 0)
    same, same_tree = chosen(graph, order, tree)
    assert np.array_equal(same, order)
    assert np.array_equal(same_tree.parents, tree.parents)


def test_a_leaf_stays_as_it_is() -> None:
    graph = generators.grid(3, 3)
    tree = SeparatorTree(np.array([-1], np.int32), np.array([0, 9], np.int32))
    order = np.arange(9, dtype=np.int32)
    found, same = chosen(graph, order, tree)
    assert np.array_equal(found, order)
    assert np.array_equal(same.starts, tree.starts)


def test_empty_matrix() -> None:
    graph = random_graph(0, 0, 0.5, 1)
    nothing = np.empty(0, np.int32)
    tree = SeparatorTree(nothing, np.zeros(1, np.int32))
    assert len(chosen(graph, nothing, tree)[0]) == 0


def test_subtrees() -> None:
    r"""Node 4 has the leaf 0 and node 3, which has the leaves 1 and 2; node 5 is another root."""
    parents, starts = [4, 3, 3, 4, -1, -1], [0, 2, 3, 7, 7, 8, 9]
    tree = SeparatorTree(np.array(parents, np.int32), np.array(starts, np.int32))
    paths = np.array([2, 9, 6, 0, 7, 8.0])
    subtrees = Subtrees.of(tree, paths)
    assert subtrees.first_nodes.tolist() == [0, 1, 2, 1, 0, 5]
    assert subtrees.begins.tolist() == [0, 2, 3, 2, 0, 8]
    assert subtrees.sizes.tolist() == [2, 1, 4, 5, 8, 1]
    assert subtrees.heights.tolist() == [0, 0, 0, 1, 2, 0]
    assert subtrees.largest_children.tolist() == [0, 1, 2, 2, 3, 5]
    assert subtrees.paths.tolist() == [2, 9, 6, 9, 9, 8]
    assert [nodes.tolist() for nodes in subtrees.by_height()] == [[0, 1, 2, 5], [3], [4]]
    assert subtrees.labels(np.array([3, 0])).tolist() == [1, 0, 0, 0, -1, -1]
