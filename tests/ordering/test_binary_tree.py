"""Partition trees: complete binary trees of parts that separate, in an equivalent order."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import jetpy
from jetpy import generators
from jetpy.errors import OptionError
from jetpy.result.separator_tree import SeparatorTree
from tests.ordering.dissections import matrix_of, random_graph

Array = np.ndarray


def tree_of(parents: list[int], sizes: list[int]) -> SeparatorTree:
    starts = np.cumsum([0, *sizes], dtype=np.int32)
    return SeparatorTree(np.array(parents, np.int32), starts)


def ordering_of(graph: Any, tree: SeparatorTree) -> jetpy.Ordering:
    """Return the given order of the rows, with a tree."""
    return replace(
        jetpy.minimum_degree(graph), perm=np.arange(tree.starts[-1], dtype=np.int32), tree=tree
    )


@st.composite
def separator_trees(draw: st.DrawFn) -> SeparatorTree:
    """Draw a tree or forest whose nodes have any number of children; nodes may be empty."""
    parents: list[int] = []
    roots: list[int] = []
    for node in range(draw(st.integers(0, 12))):
        for child in roots[draw(st.integers(0, len(roots))) :]:
            parents[child] = node
            roots.remove(child)
        parents.append(-1)
        roots.append(node)
    return tree_of(parents, [draw(st.integers(0, 4)) for _ in parents])


def pattern_of(tree: SeparatorTree, seed: int, density: float) -> Array:
    """Return a random symmetric pattern that the tree divides."""
    is_above = np.eye(len(tree), dtype=bool)
    for node in range(len(tree) - 1, -1, -1):
        if tree.parents[node] >= 0:
            is_above[node] |= is_above[tree.parents[node]]
    node_of = np.repeat(np.arange(len(tree)), tree.sizes)
    allowed = (is_above | is_above.T)[node_of][:, node_of]
    kept = np.random.default_rng(seed).random(allowed.shape) < density
    return allowed & (kept | kept.T)


def check(pattern: Array, order: jetpy.Ordering, levels: int) -> None:
    """Check that the parts separate and that the orders are equivalent."""
    perm, sizes = order.partition_tree(levels)
    assert perm.dtype == sizes.dtype == np.int32
    assert len(sizes) == 2**levels - 1
    assert (sizes >= 0).all()
    assert np.array_equal(np.sort(perm), np.arange(order.n))
    height = np.repeat(np.arange(levels), 2 ** np.arange(levels)[::-1])
    index = np.concatenate([np.arange(2**depth) for depth in range(levels)[::-1]])
    part = np.repeat(np.arange(len(sizes)), sizes)
    low, high = np.sort(part[np.stack(np.nonzero(pattern[perm][:, perm]))], axis=0)
    assert np.array_equal(index[low] >> (height[high] - height[low]), index[high])
    for columns in np.split(order.iperm[perm], np.cumsum(sizes)[:-1]):
        assert (np.diff(columns) == 1).all()
    old, new = jetpy.symbolic(pattern, order.perm), jetpy.symbolic(pattern, perm)
    assert (new.fill, new.operations, new.height) == (old.fill, old.operations, old.height)


@given(
    separator_trees(), st.integers(1, 7), st.integers(0, 2**32), st.sampled_from([0.1, 0.5, 1.0])
)
def test_parts_of_random_trees(tree: SeparatorTree, levels: int, seed: int, density: float) -> None:
    pattern = pattern_of(tree, seed, density)
    check(pattern, ordering_of(pattern, tree), levels)


@given(
    st.integers(0, 2**32),
    st.integers(1, 120),
    st.sampled_from([0.005, 0.02, 0.06]),
    st.integers(1, 8),
)
def test_parts_of_nested_dissections(seed: int, n: int, density: float, levels: int) -> None:
    graph = random_graph(seed, n, density, 1)
    order = jetpy.nested_dissection(graph, preset="fast", leaf_size=5)
    check(matrix_of(graph).toarray() != 0, order, levels)


@pytest.mark.parametrize(
    ("parents", "sizes", "levels", "expected"),
    [
        ([], [], 3, [0, 0, 0, 0, 0, 0, 0]),
        ([-1], [5], 1, [5]),
        ([-1], [5], 3, [5, 0, 0, 0, 0, 0, 0]),
        ([2, 2, -1], [4, 5, 2], 1, [11]),
        ([2, 2, -1], [4, 5, 2], 2, [4, 5, 2]),
        ([2, 2, -1], [4, 5, 2], 3, [4, 0, 5, 0, 0, 0, 2]),
        ([2, 2, 3, -1], [4, 5, 2, 1], 2, [4, 5, 3]),  # the root has a single child
        ([4, 4, 4, 4, -1], [3, 3, 3, 3, 1], 3, [3, 3, 3, 3, 0, 0, 1]),
        ([3, 3, 3, -1], [2, 2, 9, 1], 2, [4, 9, 1]),
        ([3, 3, 3, -1], [9, 2, 2, 1], 2, [9, 4, 1]),
        ([2, 2, -1, 5, 5, -1], [4, 5, 2, 6, 7, 3], 2, [11, 16, 0]),  # two trees
        ([2, 2, -1, 5, 5, -1], [4, 5, 2, 6, 7, 3], 3, [4, 5, 6, 7, 2, 3, 0]),
    ],
)
def test_part_sizes(parents: list[int], sizes: list[int], levels: int, expected: list[int]) -> None:
    tree = tree_of(parents, sizes)
    found = ordering_of(np.eye(tree.starts[-1]), tree).partition_tree(levels)
    assert found[1].tolist() == expected


def test_all_parts_of_a_grid_have_rows() -> None:
    order = jetpy.nested_dissection(generators.grid(80, 80), preset="fast")
    _, sizes = order.partition_tree(4)
    assert sizes.min() > 0
    assert sizes[:8].max() < 2 * sizes[:8].min()


@pytest.mark.parametrize("levels", [0, -1, 25, 2.5, "3", True, None])
def test_bad_levels(levels: Any) -> None:
    order = jetpy.nested_dissection(generators.grid(3, 3))
    with pytest.raises(OptionError, match=r"levels is .*; it must be an integer in 1\.\.20"):
        order.partition_tree(levels)


def test_an_ordering_without_a_tree() -> None:
    order = jetpy.minimum_degree(generators.grid(3, 3))
    with pytest.raises(OptionError, match="an ordering by minimum_degree has no separator tree"):
        order.partition_tree(2)
