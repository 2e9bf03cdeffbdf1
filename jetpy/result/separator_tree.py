"""The tree of a nested dissection: separators and leaves, with the columns of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Bounds = tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]
"""Begins and ends of ranges of columns."""
RANGES = 64
"""One thread analyses a subtree that has at most 1 / RANGES of the columns."""


@dataclass(frozen=True, eq=False)
class SeparatorTree:
    """The nodes of a nested dissection, children before parents.

    A node is a separator, or a leaf that was not divided. Once the separator is removed, the
    subtrees below it share no edge.

    Attributes
    ----------
    parents : int32, shape (nodes,)
        Parent of each node, -1 for a root. A parent is larger than its children.
    starts : int32, shape (nodes + 1,)
        First column of each node in the order of elimination: node i has the columns
        ``starts[i]..starts[i + 1] - 1``. The columns of a subtree are consecutive.
    """

    parents: npt.NDArray[np.int32]
    starts: npt.NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.parents)

    @property
    def sizes(self) -> npt.NDArray[np.int32]:
        """Number of columns of each node, int32, shape (nodes,)."""
        return np.diff(self.starts)

    @property
    def is_leaf(self) -> npt.NDArray[np.bool_]:
        """Whether each node has no children, shape (nodes,)."""
        is_leaf = np.ones(len(self), np.bool_)
        is_leaf[self.parents[self.parents >= 0]] = False
        return is_leaf

    @property
    def depths(self) -> npt.NDArray[np.int64]:
        """Number of nodes on the path from each node to a root, int64, shape (nodes,)."""
        depths, parents = [1] * len(self), self.parents.tolist()
        for node in reversed(range(len(self))):
            if parents[node] >= 0:
                depths[node] = depths[parents[node]] + 1
        return np.array(depths, np.int64)

    @property
    def depth(self) -> int:
        """Number of nodes on the longest path from a root to a leaf."""
        return int(self.depths.max(initial=0))

    @property
    def first_nodes(self) -> npt.NDArray[np.int64]:
        """Lowest node of each subtree, int64, shape (nodes,): it has ``first_nodes[i]..i``."""
        firsts = list(range(len(self)))
        for node, parent in enumerate(self.parents.tolist()):
            if parent >= 0:
                firsts[parent] = min(firsts[parent], firsts[node])
        return np.array(firsts, np.int64)

    @property
    def subtree_starts(self) -> npt.NDArray[np.int32]:
        """First column of the subtree of each node, int32, shape (nodes,).

        The subtree of node i has the columns ``subtree_starts[i]..starts[i + 1] - 1``.
        """
        return self.starts[self.first_nodes]

    def weighted(self, weights: npt.NDArray[np.integer[Any]]) -> SeparatorTree:
        """Return the tree in which column j is ``weights[j]`` columns."""
        before = np.append(0, np.cumsum(weights))
        return SeparatorTree(self.parents, before[self.starts].astype(np.int32))

    def below_root(self, size: int) -> SeparatorTree:
        """Return the tree whose roots are children of a new root with this number of columns."""
        parents = np.append(np.where(self.parents < 0, len(self), self.parents), -1)
        end = self.starts[-1] + np.int32(size)
        return SeparatorTree(parents.astype(np.int32), np.append(self.starts, end))

    def independent_ranges(self) -> Bounds:
        """Return the begins and ends of the largest subtrees of at most 1 / RANGES of the columns.

        Their columns have no entries in earlier columns outside. Each array is int32 and ascending.
        """
        begins, ends = self.subtree_starts, self.starts[1:]
        is_small = ends - begins <= self.starts[-1] // RANGES
        is_part = np.append(is_small, np.False_)[self.parents]  # -1 selects the last entry
        return begins[is_small & ~is_part], ends[is_small & ~is_part]
