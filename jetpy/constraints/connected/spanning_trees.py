"""Random spanning trees of a region of the graph, and the weights of their branches.

Trees have random edge weights, and are minimum spanning trees. All trees of a batch are one forest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order, minimum_spanning_tree

from jetpy.constraints.connected.contiguity import Mask, Weights
from jetpy.constraints.hashing import hashes
from jetpy.graph.csr import Graph
from jetpy.graph.ranges import entries_of
from jetpy.lazy import cached_property

Ids = npt.NDArray[np.integer[Any]]
RANDOM_BITS = 52
"""Bits of a random edge weight; float64 represents these integers exactly."""
SEED_SHIFT = 32
"""Seeds are below 2^31; the lower bits are for the indices of trees."""


@dataclass(frozen=True, eq=False)
class Region:
    """The subgraph that some vertices induce. Its vertices have indices from 0 to r - 1.

    Attributes
    ----------
    vertices : int64, shape (r,)
        Vertices in the graph, ascending.
    weights : int64, shape (r,)
        Vertex weights.
    tails, heads : int64, shape (e,)
        Ends of each undirected edge, ordered by tail, then head; the tail is lower.
    edge_weights : int64, shape (e,)
    """

    vertices: Ids
    weights: Weights
    tails: Ids
    heads: Ids
    edge_weights: Weights

    def cut(self, sides: Ids | Mask) -> int:
        """Return the weight of the edges between vertices of different sides, shape (r,)."""
        return int(self.cuts(sides[np.newaxis])[0])

    def cuts(self, sides: Ids | Mask) -> Weights:
        """Return what `cut` does for each row of `sides`, shape (count, r)."""
        crossing = sides[:, self.tails] != sides[:, self.heads]
        weights: Weights = crossing @ self.edge_weights
        return weights

    def within(self, inside: Mask) -> Region:
        """Return the region of some of the vertices (bool, shape (r,))."""
        kept = inside[self.tails] & inside[self.heads]
        index = np.cumsum(inside) - 1
        return Region(
            self.vertices[inside],
            self.weights[inside],
            index[self.tails[kept]],
            index[self.heads[kept]],
            self.edge_weights[kept],
        )


def region_of(graph: Graph, vertices: Ids) -> Region:
    """Return the region of vertices (ascending)."""
    tails, entries = entries_of(graph, vertices)
    neighbours = graph.indices[entries]
    heads = np.searchsorted(vertices, neighbours)
    heads[heads == len(vertices)] = 0
    kept = (vertices[heads] == neighbours) & (tails < heads)
    return Region(
        vertices,
        graph.vertex_weights[vertices].astype(np.int64),
        tails[kept],
        heads[kept],
        graph.edge_weights[entries[kept]].astype(np.int64),
    )


@dataclass(frozen=True, eq=False)
class Forest:
    """Spanning trees of a region. Vertex v of tree t is node ``t * r + v``, and vertex 0 the root.

    A branch is a node with all nodes below it.

    Attributes
    ----------
    trees : int
        Number of trees.
    parents : int32, shape (trees * r + 1,)
        Parent of each node. The last node is above all roots, and its own parent.
    """

    trees: int
    parents: Ids

    @cached_property
    def r(self) -> int:
        """Number of vertices of the region."""
        return (len(self.parents) - 1) // self.trees

    def sums(self, values: Weights) -> Weights:
        """Return the sum of values (int64, shape (r,)) over each branch, by node."""
        totals = np.append(np.tile(values, self.trees), 0)
        if values.any():
            for above in self._ancestors:
                added = np.bincount(above, totals, len(totals)).astype(np.int64)
                added[-1] = 0
                totals += added
        return totals[:-1]

    def branches(self, nodes: Ids) -> Mask:
        """Return the vertices of the branches of some nodes, bool, shape (count, r)."""
        ranks = self._ranks[:-1].reshape(self.trees, self.r)[nodes // self.r]
        first, sizes = self._ranks[nodes, np.newaxis], self._sizes[nodes, np.newaxis]
        inside: Mask = (ranks >= first) & (ranks < first + sizes)
        return inside

    @cached_property
    def _ancestors(self) -> list[Ids]:
        """The ancestors 1, 2, 4, 8, … steps above each node, up to the last node."""
        found = [self.parents]
        while (found[-1] < len(self.parents) - 1).any():
            found.append(found[-1][found[-1]])
        return found

    @cached_property
    def _sizes(self) -> Weights:
        """Number of nodes of each branch, by node."""
        return self.sums(np.ones(self.r, np.int64))

    @cached_property
    def _ranks(self) -> Weights:
        """Rank of each node in a depth-first order, by node; a branch is a range of ranks."""
        by_parent = np.argsort(self.parents[:-1], kind="stable")
        parents, sizes = self.parents[by_parent], self._sizes[by_parent]
        before = np.cumsum(sizes) - sizes
        ranks = np.zeros(len(self.parents), np.int64)
        ranks[by_parent] = before - before[np.searchsorted(parents, parents)] + 1
        for above in self._ancestors:
            ranks += ranks[above]
        return ranks


def draw_trees(
    region: Region, sides: Ids | Mask, trees: int, first: int, seed: int
) -> Forest | None:
    """Draw random spanning trees of a region; return None if it is not connected.

    Every other tree has as few edges as possible between different sides.

    Parameters
    ----------
    region : Region
    sides : int, shape (r,)
        Side of each vertex.
    trees : int
        Number of trees.
    first : int
        Index of the first tree; a tree depends on its index and the seed.
    seed : int
    """
    r, count = len(region.vertices), len(region.tails)
    indices = np.arange(first, first + trees)
    salts = hashes(indices + (seed << SEED_SHIFT))
    random = hashes(np.arange(count, dtype=np.uint64) ^ salts[:, None]) >> np.uint64(1)
    crossing = sides[region.tails] != sides[region.heads]
    random += np.outer(indices & 1, crossing).astype(np.uint64) << np.uint64(63)
    id_bits = (count * trees).bit_length()
    high = random.ravel() >> np.uint64(64 - RANDOM_BITS + id_bits) << np.uint64(id_bits)
    keys = (high + np.arange(1, count * trees + 1, dtype=np.uint64)).astype(np.float64)
    shifts = np.arange(trees)[:, None]
    degrees = np.bincount(region.tails, minlength=r)
    indptr = np.concatenate([[0], np.cumsum(np.tile(degrees, trees))])
    heads = (region.heads + r * shifts).ravel()
    nodes = trees * r
    chosen = minimum_spanning_tree(csr_array((keys, heads, indptr), shape=(nodes, nodes))).tocoo()
    if chosen.nnz != nodes - trees:
        return None
    roots = np.arange(trees) * r
    rows = np.concatenate([chosen.row, np.full(trees, nodes)])
    columns = np.concatenate([chosen.col, roots])
    ones = np.ones(len(rows), np.int8)
    joined = csr_array((ones, (rows, columns)), shape=(nodes + 1, nodes + 1))
    parents = breadth_first_order(joined, nodes, directed=False)[1]
    parents[nodes] = nodes
    return Forest(trees, parents)
