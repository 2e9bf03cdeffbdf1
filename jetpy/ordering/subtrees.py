"""The subtrees of a separator tree."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from jetpy.graph.ranges import Integers, ranges
from jetpy.ordering.block_elimination import Costs
from jetpy.result.separator_tree import SeparatorTree


@dataclass(frozen=True, eq=False)
class Subtrees:
    """The subtree of each node of a separator tree.

    Attributes
    ----------
    parents : int32, shape (nodes,)
        As `SeparatorTree` has them.
    first_nodes : int64, shape (nodes,)
        Subtree i has the nodes ``first_nodes[i]..i``.
    begins, sizes : int64, shape (nodes,)
        Subtree i has the columns ``begins[i]..begins[i] + sizes[i] - 1``.
    heights : int64, shape (nodes,)
        Edges on the longest path from each node down to a leaf.
    largest_children : int64, shape (nodes,)
        The child with most columns in its subtree; the node itself if it is a leaf.
    paths : float64, shape (nodes,)
        Operations on the most expensive path in the elimination tree of each subtree.
    """

    parents: npt.NDArray[np.int32]
    first_nodes: Integers
    begins: Integers
    sizes: Integers
    heights: Integers
    largest_children: Integers
    paths: Costs

    @classmethod
    def of(cls, tree: SeparatorTree, paths: Costs) -> Subtrees:
        """Return the subtrees, given the most expensive path up to a column of each node."""
        count = len(tree)
        heights, largest_sizes, largest_children = [0] * count, [-1] * count, list(range(count))
        sizes, longest = tree.sizes.tolist(), paths.tolist()
        for node, parent in enumerate(tree.parents.tolist()):
            if parent < 0:
                continue
            heights[parent] = max(heights[parent], heights[node] + 1)
            longest[parent] = max(longest[parent], longest[node])
            sizes[parent] += sizes[node]
            if sizes[node] > largest_sizes[parent]:
                largest_sizes[parent], largest_children[parent] = sizes[node], node
        first = tree.first_nodes
        return cls(
            tree.parents,
            first,
            tree.starts[first].astype(np.int64),
            np.array(sizes, np.int64),
            np.array(heights, np.int64),
            np.array(largest_children, np.int64),
            np.array(longest, np.float64),
        )

    def by_height(self) -> list[Integers]:
        """Return the nodes of height 0, of height 1, and so on; their subtrees are disjoint."""
        nodes = np.argsort(self.heights, kind="stable")
        return np.split(nodes, np.cumsum(np.bincount(self.heights))[:-1]) if len(nodes) else []

    def add_to_parents(self, nodes: Integers, values: Costs, sums: Costs) -> None:
        """Add the values of some nodes to the sums of their parents; both have all nodes."""
        above = self.parents[nodes]
        np.add.at(sums, above[above >= 0], values[nodes[above >= 0]])

    def labels(self, nodes: Integers) -> npt.NDArray[np.int32]:
        """Return the index in `nodes` of the subtree that each node is in, or -1.

        The subtrees of `nodes` must be disjoint. int32, shape (nodes of the tree,).
        """
        labels = np.full(len(self.sizes), -1, np.int32)
        counts = nodes - self.first_nodes[nodes] + 1
        places = ranges(self.first_nodes[nodes], counts)
        labels[places] = np.repeat(np.arange(len(nodes), dtype=np.int32), counts)
        return labels
