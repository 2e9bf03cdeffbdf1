"""`jetpy.order`: each component has the cheapest of its orders, and the choices say which."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import jetpy
from jetpy import generators
from jetpy.ordering.effort import EFFORTS
from tests.fuzz.orderings import eliminated
from tests.ordering.dissections import matrix_of
from tests.ordering.test_minimum_degree import random_pattern
from tests.ordering.test_nested_dissection import check, graph_of

LEAF = 12


def together(*graphs: jetpy.Graph, shuffled: bool = False) -> jetpy.Graph:
    """Return one graph with the graphs as components, in random order if `shuffled`."""
    matrix = sp.block_diag([matrix_of(graph) for graph in graphs], "csr")
    if shuffled:
        rows = np.random.default_rng(7).permutation(matrix.shape[0])
        matrix = matrix[rows][:, rows]
    return jetpy.as_graph(matrix, pattern=True)


def shuffled(graph: jetpy.Graph) -> jetpy.Graph:
    return together(graph, shuffled=True)


def random_tree(n: int) -> jetpy.Graph:
    child = np.arange(1, n)
    parent = np.random.default_rng(n).integers(0, child)
    rows = sp.coo_array((np.ones(n - 1), (child, parent)), shape=(n, n))
    return jetpy.as_graph(rows + rows.T, pattern=True)


def methods(graph: jetpy.Graph, **options: Any) -> list[str]:
    return [choice.method for choice in jetpy.order(graph, **options).choices]


def with_small_leaves() -> Any:
    """Let components of more than `LEAF` rows be large."""
    small = {name: replace(effort, leaf_weight=LEAF) for name, effort in EFFORTS.items()}
    return patch.dict("jetpy.ordering.effort.EFFORTS", small)


@settings(max_examples=60)
@given(
    st.integers(0, 2**32),
    st.lists(st.integers(1, 40), max_size=5),
    st.sampled_from([0.03, 0.08, 0.2, 0.5]),
    st.sampled_from(["fast", "default", "best"]),
)
def test_each_component_has_the_cheapest_order(
    seed: int, sizes: list[int], density: float, preset: Any
) -> None:
    blocks = [random_pattern(seed + i, n, density) for i, n in enumerate(sizes)]
    pattern = sp.block_diag([sp.csr_array((0, 0)), *map(sp.csr_array, blocks)]).toarray() > 0
    graph = graph_of(pattern)
    with with_small_leaves():
        found = jetpy.order(graph, preset=preset, threads=1)
    check(graph, found)
    parents, counts = eliminated(graph, found.perm)
    assert np.array_equal(found.symbolic.parents, parents)
    assert np.array_equal(found.symbolic.counts, counts)
    assert sum(choice.rows for choice in found.choices) == graph.n
    labels = components_of(pattern)
    assert sum(choice.components for choice in found.choices) == len(np.unique(labels))
    assert found.operations == sum(c.operations[c.method] for c in found.choices)
    assert found.operations <= jetpy.symbolic(graph).operations
    for choice in found.choices:
        assert choice.operations[choice.method] == min(choice.operations.values())
    closed = pattern | np.eye(len(pattern), dtype=bool)
    if len(np.unique(closed, axis=0)) == len(pattern):  # no rows merge
        assert found.operations <= sum(
            min(jetpy.minimum_degree(part).operations, jetpy.symbolic(part).operations)
            for label in np.unique(labels)
            for part in [graph_of(pattern[np.ix_(labels == label, labels == label)])]
        )
    without = [choice for choice in found.choices if not choice.has_fill]
    least = graph.n + graph.m
    assert found.fill >= least
    assert (found.fill == least) == (len(without) == len(found.choices))


def components_of(pattern: np.ndarray) -> np.ndarray:
    """Return the smallest row of the component of each row."""
    labels = np.arange(len(pattern))
    for _ in labels:
        labels = np.minimum(
            labels, np.where(pattern, labels, len(labels)).min(axis=1, initial=len(labels))
        )
    return labels


def test_chains_and_bands_stay_as_they_are() -> None:
    assert methods(generators.grid(900, 1)) == ["given"]
    band = sp.diags_array([1.0, 1.0, 1.0, 1.0], offsets=[-2, -1, 1, 2], shape=(900, 900))
    found = jetpy.order(band)
    assert np.array_equal(found.perm, np.arange(900))
    assert str(found.choices[0]) == "given order for 900 rows: no fill"


def test_long_bands_in_random_order_are_ordered_by_minimum_degree() -> None:
    offsets = [-9, -5, -2, -1, 1, 2, 5, 9]
    band = sp.diags_array(np.ones((8, 12_000)), offsets=offsets, shape=(12_000, 12_000))
    graph = shuffled(jetpy.as_graph(band, pattern=True))
    assert methods(graph) == ["minimum_degree"]


@pytest.mark.parametrize("graph", [shuffled(generators.grid(900, 1)), random_tree(20_000)])
def test_trees_are_not_dissected(graph: jetpy.Graph) -> None:
    found = jetpy.order(graph)
    [choice] = found.choices
    assert (choice.method, choice.has_fill) == ("minimum_degree", False)
    assert "nested_dissection" not in choice.operations
    assert found.fill == graph.n + graph.m


def test_meshes_are_dissected_and_networks_are_not() -> None:
    cube, network = generators.cube(14, 14, 14), generators.rmat(10)
    found = jetpy.order(together(cube, network, shuffled=True), preset="fast")
    by_method = {choice.method: choice for choice in found.choices if choice.has_fill}
    assert by_method["nested_dissection"].rows == 14**3
    assert by_method["minimum_degree"].components == 1
    other = by_method["nested_dissection"].operations
    ratio = other["minimum_degree"] / other["nested_dissection"]
    assert f"fewest operations (minimum degree {ratio:.3g}, " in str(by_method["nested_dissection"])


def test_one_mesh_has_the_order_of_its_dissection() -> None:
    grid = generators.grid(50, 50)
    found, expected = jetpy.order(grid), jetpy.nested_dissection(grid)
    assert np.array_equal(found.perm, expected.perm)
    assert found.tree is not None
    assert expected.tree is not None
    assert np.array_equal(found.tree.parents, expected.tree.parents)
    assert np.array_equal(found.tree.starts, expected.tree.starts)
    assert found.method == "order"
    assert expected.choices == ()


def test_small_components_share_a_leaf() -> None:
    graph = together(*(generators.grid(5, 5) for _ in range(30)), generators.grid(40, 40))
    found = jetpy.order(graph)
    assert found.tree is not None
    check(graph, found)
    assert found.tree.sizes[0] == 750
    assert found.tree.parents[0] == -1


def test_dense_rows_and_last_rows_are_in_no_component() -> None:
    grid = matrix_of(generators.grid(30, 30))
    full = np.ones((1, 900))
    arrow = sp.block_array([[None, full], [full.T, grid]])
    found = jetpy.order(arrow, last=[450, 451])
    check(jetpy.as_graph(arrow, pattern=True), found)
    assert found.perm[-3] == 0
    assert sum(choice.rows for choice in found.choices) == 898
    assert found.tree is not None
    assert found.tree.sizes[-1] == 3


@pytest.mark.parametrize("preset", ["fast", "default", "best"])
def test_the_order_is_the_same_on_all_threads(preset: Any) -> None:
    graph = together(generators.delaunay(3000), generators.rmat(9), random_tree(500), shuffled=True)
    one, two = (jetpy.order(graph, preset=preset, threads=threads) for threads in (1, 2))
    assert np.array_equal(one.perm, two.perm)
    assert one.choices == two.choices
    check(graph, one)


@pytest.mark.parametrize("n", [0, 1, 300])
def test_matrices_without_entries(n: int) -> None:
    found = jetpy.order(sp.csr_array((n, n)))
    assert np.array_equal(found.perm, np.arange(n))
    assert [(c.method, c.components, c.rows) for c in found.choices] == [("given", n, n)][: n > 0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"preset": "ultra"}, "preset"),
        ({"seed": -1}, "seed"),
        ({"backend": "gpu"}, "backend"),
        ({"last": [9]}, "last"),
    ],
)
def test_bad_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(jetpy.OptionError, match=message):
        jetpy.order(generators.grid(3, 3), **options)
