"""Nested dissection: permutations, separators that separate, little fill, equal on all threads."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import jetpy
from jetpy import generators
from jetpy.io.patterns import checked_permutation
from jetpy.ordering import small_nodes
from jetpy.result.separator_tree import SeparatorTree

SPECIAL = {
    "empty": np.zeros((0, 0), bool),
    "one row": np.ones((1, 1), bool),
    "no entries": np.zeros((300, 300), bool),
    "clique": np.ones((200, 200), bool),
    "path": np.eye(400, k=1, dtype=bool) | np.eye(400, k=-1, dtype=bool),
    "star": np.pad(np.zeros((399, 399), bool), (1, 0), constant_values=True),
}


def graph_of(pattern: np.ndarray) -> jetpy.Graph:
    return jetpy.as_graph(sp.csr_array(pattern.astype(np.int32)), pattern=True)


def check(graph: jetpy.Graph, found: jetpy.Ordering) -> None:
    """Check that the order is a permutation and that the tree separates."""
    checked_permutation(found.perm, graph.n)
    assert found.fill == jetpy.symbolic(graph, found.perm).fill
    tree = found.tree
    assert tree is not None
    assert int(tree.starts[-1]) == graph.n
    assert (tree.sizes > 0).all()
    node = np.repeat(np.arange(len(tree)), tree.sizes)[found.iperm]
    above: list[set[int]] = [set() for _ in range(len(tree))]
    for i in range(len(tree) - 1, -1, -1):
        parent = int(tree.parents[i])
        above[i] = {i} if parent < 0 else above[parent] | {i}
    for u, v in zip(graph.sources(0, graph.n), graph.indices, strict=True):
        low, high = sorted((int(node[u]), int(node[v])))
        assert high in above[low]


@pytest.mark.parametrize("preset", ["fast", "default", "best"])
@pytest.mark.parametrize("name", SPECIAL)
def test_special_patterns(name: str, preset: Any) -> None:
    graph = graph_of(SPECIAL[name])
    check(graph, jetpy.nested_dissection(graph, preset=preset, leaf_size=20))


@settings(max_examples=30)
@given(
    st.integers(0, 2**32),
    st.integers(1, 150),
    st.sampled_from([0.005, 0.02, 0.06, 0.3]),
    st.integers(1, 30),
    st.sampled_from(["fast", "default", "best"]),
)
def test_random_patterns(seed: int, n: int, density: float, leaf: int, preset: Any) -> None:
    pattern = np.random.default_rng(seed).random((n, n)) < density
    graph = graph_of(pattern | pattern.T)
    check(graph, jetpy.nested_dissection(graph, preset=preset, leaf_size=leaf, seed=seed % 1000))


@pytest.mark.parametrize("preset", ["fast", "default", "best"])
def test_same_order_on_one_and_two_threads(preset: Any) -> None:
    graph = generators.delaunay(4000, seed=5)
    first, second = (jetpy.nested_dissection(graph, preset=preset, threads=t) for t in (1, 2))
    assert np.array_equal(first.perm, second.perm)
    check(graph, first)


def test_less_fill_than_minimum_degree_on_a_grid() -> None:
    grid = generators.grid(100, 100)
    assert jetpy.nested_dissection(grid).fill < 0.95 * jetpy.minimum_degree(grid).fill


def test_no_more_operations_than_minimum_degree_without_small_separators() -> None:
    graph = generators.rmat(10)
    found, reference = jetpy.nested_dissection(graph), jetpy.minimum_degree(graph)
    assert found.operations <= 1.02 * reference.operations


@pytest.mark.parametrize("graph", [generators.cube(9, 9, 9), generators.delaunay(3000, seed=5)])
def test_the_second_dissection_of_best_starts_from_the_first(graph: jetpy.Graph) -> None:
    first, alone = (
        jetpy.nested_dissection(graph, preset="best", largest_side=side) for side in (0.6, 0.75)
    )
    both = jetpy.nested_dissection(graph, preset="best")
    again = jetpy.nested_dissection(graph, preset="best", largest_side=0.75, start=first.perm)
    assert again.operations <= both.operations <= first.operations
    assert not np.array_equal(both.perm, alone.perm)


def test_large_separators_are_balanced() -> None:
    """Lopsided separators of a graph without small ones would cause 1.4 times the operations."""
    graph = generators.rmat(12)
    lopsided, balanced = (
        jetpy.nested_dissection(graph, preset="fast", tries=tries).operations for tries in (4, 1)
    )
    assert lopsided < 1.1 * balanced


def test_tries_of_small_graphs() -> None:
    grid = generators.grid(40, 50)
    one, many = (jetpy.nested_dissection(grid, preset="fast", tries=tries) for tries in (1, 16))
    assert not np.array_equal(many.perm, one.perm)


@pytest.mark.parametrize(
    ("graph", "is_retried"),
    [
        (generators.cube(9, 9, 9), True),  # 81 of 729 vertices
        (generators.cube(5, 6, 7, neighbours=26), False),  # 30 of 210
        (generators.delaunay(1000), False),
    ],
    ids=["heavy", "few vertices", "light"],
)
def test_small_nodes_with_heavy_separators_get_all_tries(
    graph: jetpy.Graph, is_retried: bool
) -> None:
    def order(**limits: int) -> list[int]:
        with patch.multiple(small_nodes, **limits):
            found = jetpy.nested_dissection(graph, preset="fast", leaf_size=graph.n - 1)
        return list(found.perm)

    all_tries, one = order(SMALL_NODE=0), order(RETRIED_NODE=graph.n)
    assert all_tries != one
    assert order(SMALL_NODE=2000) == (all_tries if is_retried else one)


def test_profile() -> None:
    found = jetpy.nested_dissection(generators.grid(40, 40), profile=True)
    assert found.profile is not None
    assert "find_separators" in {kernel.name for kernel in found.profile.kernels}
    assert jetpy.nested_dissection(generators.grid(3, 3)).profile is None


def test_dense_coarse_levels_do_not_spoil_the_separator() -> None:
    """A torus of distance 6: coarse levels are nearly complete."""
    side = np.arange(40)
    near = np.abs(side[:, None] - side[None, :])
    near = np.minimum(near, 40 - near) <= 6
    graph = graph_of(np.kron(near, np.eye(40, dtype=bool)) | np.kron(np.eye(40, dtype=bool), near))
    found = jetpy.nested_dissection(graph, preset="fast")
    assert found.tree is not None
    assert found.tree.sizes[-1] <= 480


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"preset": "ultra"}, "preset"),
        ({"tries": 0}, "tries"),
        ({"leaf_size": 0}, "leaf_size"),
        ({"imbalances": ()}, "imbalances"),
        ({"imbalances": (2.0,)}, "imbalances"),
        ({"largest_side": 0.4}, "largest_side"),
        ({"seed": -1}, "seed"),
        ({"backend": "gpu"}, "backend"),
    ],
)
def test_bad_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(jetpy.OptionError, match=message):
        jetpy.nested_dissection(generators.grid(3, 3), **options)


def test_a_pattern_that_is_not_symmetric() -> None:
    matrix = sp.csr_array(([1], ([0], [1])), shape=(2, 2))
    with pytest.raises(jetpy.GraphError, match="symmetric"):
        jetpy.nested_dissection(matrix)
    assert jetpy.nested_dissection(matrix, symmetrize=True).fill == 3


def test_depth_of_separator_trees() -> None:
    def depth(parents: list[int]) -> int:
        starts = np.arange(len(parents) + 1, dtype=np.int32)
        return SeparatorTree(np.array(parents, np.int32), starts).depth

    assert [depth(parents) for parents in ([], [-1], [2, 2, -1], [1, 3, 3, -1, -1])] == [0, 1, 2, 3]


@pytest.mark.parametrize(("preset", "dissections"), [("default", 1), ("best", 2)])
def test_runs_report_progress_and_the_profile(preset: Any, dissections: int) -> None:
    calls: list[tuple[str, int, int]] = []
    found = jetpy.nested_dissection(
        generators.grid(40, 40),
        preset=preset,
        threads=2,
        profile=True,
        progress=lambda *call: calls.append(call),
    )
    done = [
        step for stage, step, total in calls if stage == "order" and total == dissections * 1600
    ]
    assert done[0] == 0
    assert done == sorted(done)
    assert len(done) > 2 * dissections
    assert found.profile is not None
    assert [step.stage for step in found.profile.steps] == ["order"]
    assert (found.backend, found.threads) == ("cpu", 2)
    plain = jetpy.nested_dissection(generators.grid(40, 40), preset=preset, threads=1)
    assert (plain.profile, plain.threads) == (None, 1)
    assert np.array_equal(plain.perm, found.perm)
