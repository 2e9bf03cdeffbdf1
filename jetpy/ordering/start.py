"""Separators that an order of elimination has: the columns near the root of its elimination tree.

The columns of a node with a large share of its weight below them are a path down from the root. No
edge joins two subtrees that hang off it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from jetpy.engines.base import Array
from jetpy.graph.csr import IntArray
from jetpy.graph.ranges import ranges
from jetpy.ordering.depth import Depth, Numbers
from jetpy.ordering.dissection import separators
from jetpy.ordering.elimination import elimination_tree
from jetpy.ordering.large_nodes import LargeNodes
from jetpy.ordering.tries import most_tries
from jetpy.workloads.ordering.separators import SEPARATOR
from jetpy.workloads.ordering.tries import THOUSAND

MAX_SHARE = 750
"""Columns separate a node if more than this share of its weight, in thousandths, is below them.

From 500 on, such columns are a path.
"""


@dataclass(frozen=True, eq=False)
class Start:
    """An order to start from: the place of each vertex, int32, shape (n,)."""

    places: IntArray

    @classmethod
    def of(cls, order: IntArray) -> Start:
        """Invert an order of elimination, int32."""
        places = np.empty_like(order)
        places[order] = np.arange(len(order), dtype=np.int32)
        return cls(places)

    def ranked(self, vertices: IntArray, keys: IntArray) -> IntArray:
        """Return indices of vertices by their keys, then by this order."""
        return np.lexsort((self.places[vertices], keys)).astype(np.int32)

    def separators(self, large: LargeNodes, depth: Depth) -> Array:
        """Return the sides of the vertices of some nodes by the separators of this order."""
        host, nodes = large.host, depth.nodes
        numbers = np.repeat(np.arange(len(nodes), dtype=np.int32), nodes.sizes)
        order = self.ranked(host.to_host(depth.vertices), numbers)
        starts = nodes.starts.astype(np.int32)
        tree = elimination_tree(host, nodes.graph, order, (starts[:-1], starts[1:]))
        parents, sizes, ends = (host.to_host(a) for a in (tree.parents, tree.sizes, tree.places))
        weights = host.to_host(nodes.graph.vertex_weights)[order].astype(np.int64)
        postorder = host.to_host(tree.postorder)
        before = np.append(0, np.cumsum(weights[postorder]))
        firsts = ends + 1 - sizes
        below = before[ends + 1] - before[firsts]
        separates = THOUSAND * below > MAX_SHARE * nodes.weights[numbers]
        hangs = np.flatnonzero(~separates & separates[parents])
        hangs = hangs[np.lexsort((-below[hangs], numbers[hangs]))]
        sides = np.full(len(order), SEPARATOR, np.int32)
        columns = postorder[ranges(firsts[hangs], sizes[hangs])]
        sides[order[columns]] = np.repeat(packed(below[hangs], numbers[hangs]), sizes[hangs])
        return host.from_host(sides)

    def better_separators(self, large: LargeNodes, depth: Depth) -> Array:
        """Return the sides by the better one of these separators and those of several tries."""
        found = separators(large, depth.nodes)
        nodes = depth.nodes
        if not len(nodes) or most_tries(nodes.graph.n, nodes.graph.nnz) < 2:
            return found
        return large.best_of(nodes, (found, self.separators(large, depth)))


def packed(weights: Numbers, nodes: IntArray) -> IntArray:
    """Return a side for each subtree, given its weight and its node; int32.

    Those of a node are consecutive, the heaviest one first. The first ones, with about half of the
    weight of all, are on side 0.
    """
    ends = np.cumsum(weights)
    firsts = np.searchsorted(nodes, nodes)
    begins = ends[firsts] - weights[firsts]
    totals = ends[np.searchsorted(nodes, nodes, "right") - 1] - begins
    return (2 * (ends - begins) - weights > totals).astype(np.int32)
