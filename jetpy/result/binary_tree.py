"""A separator tree as a complete binary tree."""

from __future__ import annotations

import numpy as np

from jetpy.graph.ranges import Integers, ranges
from jetpy.result.separator_tree import SeparatorTree


def binary_tree(tree: SeparatorTree, levels: int) -> tuple[Integers, Integers]:
    """Divide the columns of a separator tree among the parts of a complete binary tree.

    A part on the deepest level has whole subtrees. A part above has the separator of the subtrees
    below it, or no columns if they have none in common. A node with more than two children has its
    subtrees divided in two consecutive groups with about the same number of columns. A separator
    with a single child shares the part of that child. A leaf is always on the deepest level.

    Returns
    -------
    begins, ends : int64, shape (2**levels - 1,)
        Part i has the columns ``begins[i]..ends[i] - 1``. The parts are in the order of the levels,
        from the deepest to the root, and from left to right on each level.
    """
    nodes = np.argsort(tree.parents, kind="stable")  # makes the children of each node consecutive
    bounds = np.searchsorted(tree.parents[nodes], np.arange(-1, len(tree) + 1))
    # one more entry each, for groups of no subtrees
    is_separator = np.append(~tree.is_leaf[nodes], np.False_)
    stops = np.append(tree.starts[1:][nodes], 0).astype(np.int64)
    centres = np.append(tree.subtree_starts[nodes], 0) + stops  # doubled

    first, last = bounds[:1], bounds[1:2]  # group i has the subtrees of nodes[first[i]:last[i]]
    begins, ends = np.zeros(1, np.int64), tree.starts[-1:].astype(np.int64)  # and these columns
    parts = []
    for _ in range(levels - 1):
        first, last, middles = first.copy(), last.copy(), ends.copy()
        while (is_single := (last - first == 1) & is_separator[first]).any():
            separators = nodes[first[is_single]]
            first[is_single], last[is_single] = bounds[separators + 1], bounds[separators + 2]
            middles[is_single] = tree.starts[separators]
        parts.append((middles, ends))
        split = first + _count(first, last, centres, begins + middles)
        cuts = np.where(split > first, stops[split - 1], begins)
        first, last = _alternating(first, split), _alternating(split, last)
        begins, ends = _alternating(begins, cuts), _alternating(cuts, middles)
    parts.append((begins, ends))
    begins, ends = (np.concatenate(bound[::-1]) for bound in zip(*parts, strict=True))
    return begins, ends


def _count(first: Integers, last: Integers, values: Integers, limits: Integers) -> Integers:
    """Return how many of ``values[first[i]:last[i]]`` are at most ``limits[i]``, for each i."""
    sizes = last - first
    is_counted = values[ranges(first, sizes)] <= np.repeat(limits, sizes)
    group = np.repeat(np.arange(len(first)), sizes)
    return np.bincount(group[is_counted], minlength=len(first))


def _alternating(left: Integers, right: Integers) -> Integers:
    """Return ``left[0], right[0], left[1], right[1], ...``."""
    return np.stack((left, right), axis=1).ravel()
