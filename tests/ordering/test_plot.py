"""Pictures of permuted matrices."""

from __future__ import annotations

import numpy as np
import pytest

import jetpy
from jetpy import generators
from jetpy.errors import GraphError, OptionError
from jetpy.result.separator_tree import SeparatorTree

pytest.importorskip("matplotlib")


def test_small_patterns_show_each_entry() -> None:
    graph = generators.grid(5, 4)
    order = jetpy.minimum_degree(graph)
    [axes] = order.plot(graph).axes
    pixels = np.asarray(axes.images[0].get_array())
    dense = np.eye(20, dtype=bool)
    dense[graph.sources(0, 20), graph.indices] = True
    assert np.array_equal(pixels[:, :, 3] > 0, order.permute(dense))
    assert not axes.collections


def test_large_patterns_show_densities_and_separators() -> None:
    graph = generators.grid(40, 40)
    order = jetpy.nested_dissection(graph, preset="fast")
    axes, bar = order.plot(graph).axes
    pixels = np.asarray(axes.images[0].get_array())
    assert pixels.shape[:2] == (229, 229)  # cells of 7 x 7
    assert bar.get_ylabel() == "entries in 7 x 7"
    tree = order.tree
    assert tree is not None
    assert f", {(~tree.is_leaf).sum()} separators, " in repr(order)
    wide = int((~tree.is_leaf & (tree.sizes >= 7)).sum())
    [shades] = axes.collections
    assert len(shades.get_paths()) == 2 * wide > 0


def test_columns_of_subtrees() -> None:
    tree = SeparatorTree(
        np.array([2, 2, 4, 4, -1, -1], np.int32), np.array([0, 3, 5, 6, 9, 11, 12], np.int32)
    )
    assert tree.subtree_starts.tolist() == [0, 3, 0, 6, 0, 11]


def test_wrong_matrices() -> None:
    order = jetpy.minimum_degree(generators.grid(3, 3))
    with pytest.raises(OptionError, match="the matrix has 6 rows, but the ordering has 9"):
        order.plot(generators.grid(3, 2))
    empty = jetpy.as_graph(([0], []))
    with pytest.raises(GraphError, match="the matrix has no rows"):
        jetpy.minimum_degree(empty).plot(empty)
