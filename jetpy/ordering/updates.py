"""Update of an order after changes of the pattern: only subtrees with many changes are dissected.

Source: Zarebavani, Kaufman, Levin, Mehri Dehnavi, "Adaptive algebraic reuse of reordering in
Cholesky factorizations with dynamic sparsity patterns", ACM Transactions on Graphics 44 (2025).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from jetpy.device.device_graph import download
from jetpy.engines.base import Backend
from jetpy.graph.csr import Graph, IntArray
from jetpy.graph.ranges import Integers, entries_of
from jetpy.ordering.compression import Mask
from jetpy.ordering.induced_subgraphs import joined
from jetpy.ordering.quotient_graphs import Matrix, block_orders
from jetpy.result.separator_tree import SeparatorTree

SHARE = 4
"""A subtree is dissected again if at least one in SHARE of its vertices has changed."""

Found = tuple[IntArray, SeparatorTree]
"""An order of elimination (int32) and its separator tree."""


@dataclass(frozen=True, eq=False)
class Old:
    """An order that is to be updated, with the pattern of its matrix."""

    graph: Graph
    order: IntArray
    tree: SeparatorTree


def updated(
    engine: Backend,
    host: Backend,
    graph: Graph,
    is_last: Mask,
    old: Old,
    leaf_weight: int,
    find: Callable[[Graph, Mask], Found],
) -> tuple[IntArray, SeparatorTree, tuple[int, int]]:
    """Return the new order, its tree, and how many rows have changed and were ordered again.

    Parameters
    ----------
    graph : Graph
        The new pattern. It has the vertices of the old one first, with the same numbers.
    is_last : bool, shape (n,)
        Whether each vertex comes last. The old order has these vertices in the root of its tree.
    old : Old
    leaf_weight : int
        Subtrees of at most this weight are ordered by minimum degree.
    find : callable
        Returns the order and the tree of a graph, given which vertices come last.
    """
    changes = _changes(graph, old.graph)
    is_changed = (np.diff(changes.indptr) > 0) | (np.arange(graph.n) >= old.graph.n)
    levels = Levels.of(old.tree, has_last=bool(is_last.any()))
    node_of, rank = np.full(graph.n, -1), np.arange(graph.n) - graph.n  # new ones first
    node_of[old.order] = np.repeat(1 + np.arange(len(old.tree)), old.tree.sizes)
    rank[old.order] = np.arange(len(old.order))
    levels.place(graph, node_of, np.arange(old.graph.n, graph.n))
    lifted = levels.lift(changes.tocoo(), node_of)
    rank[lifted] = lifted - graph.n
    sunk = levels.sink(graph, node_of, np.flatnonzero(is_changed & ~is_last))
    rank[sunk] = sunk - graph.n

    dirty, leaves = levels.dirty(node_of, is_changed, graph.vertex_weights, leaf_weight)
    if len(levels.parents) - 1 in dirty:
        again = np.ones(graph.n, bool)
        return *find(graph, is_last), _rows(graph, is_changed, again)
    blocks = np.full(len(levels.parents), -1, np.int32)
    blocks[leaves] = np.arange(len(leaves))
    matrix = Matrix(engine, host, graph)
    order = block_orders(matrix, blocks[node_of], len(leaves)).order
    rank[order] = np.arange(len(order))
    again = np.isin(node_of, leaves)
    pieces = []
    for top in dirty:
        inside = (levels.firsts[top] <= node_of) & (node_of <= top)
        order, piece = _piece(matrix, inside, is_last, find)
        rank[order], node_of[order] = np.arange(len(order)), top
        again[order] = True
        pieces.append(piece)
    tree = levels.joined(np.bincount(node_of, minlength=len(levels.parents)), dirty, pieces)
    order = np.lexsort((rank, node_of)).astype(np.int32)
    return order, tree, _rows(graph, is_changed, again)


def _rows(graph: Graph, is_changed: Mask, is_ordered: Mask) -> tuple[int, int]:
    """Return the weights of two sets of vertices."""
    weights = graph.vertex_weights
    return int(weights[is_changed].sum()), int(weights[is_ordered].sum())


def _changes(graph: Graph, old: Graph) -> Any:
    """Return the entries of a pattern that another one lacks as 1, and the opposite as -1."""

    def pattern(of: Graph) -> Any:
        ends = np.full(graph.n - of.n, of.indptr[-1])
        ones = np.ones(len(of.indices), np.int8)
        rows = (ones, of.indices, np.append(of.indptr, ends))
        return sp.csr_array(rows, shape=(graph.n, graph.n))

    difference = pattern(graph) - pattern(old)
    difference.eliminate_zeros()
    return difference


def _piece(
    matrix: Matrix, inside: Mask, is_last: Mask, find: Callable[[Graph, Mask], Found]
) -> Found:
    """Return the order of some vertices and its tree; their neighbours outside come later."""
    host, graph = matrix.host, matrix.graph
    own = np.flatnonzero(inside)
    chosen = inside.copy()
    chosen[graph.indices[entries_of(graph, own)[1]]] = True
    members = np.flatnonzero(chosen).astype(np.int32)
    part = download(host, joined(host, matrix.on_host, host.from_host(members)))
    order, tree = find(part, ~inside[members] | is_last[members])
    is_own = inside[members[order]]
    before = np.append(0, np.cumsum(is_own, dtype=np.int32))
    return members[order[is_own]], SeparatorTree(tree.parents, before[tree.starts])


@dataclass(frozen=True, eq=False)
class Levels:
    """The nodes of an old tree, with an empty leaf before all of them, and one root.

    The root is empty unless the last node has vertices that come last.

    Attributes
    ----------
    parents : int32, shape (nodes,)
    firsts : int64, shape (nodes,)
        The subtree of node i has the nodes ``firsts[i]..i``.
    depths : int64, shape (nodes,)
    is_leaf : bool, shape (nodes,)
    """

    parents: IntArray
    firsts: Integers
    depths: Integers
    is_leaf: Mask

    @classmethod
    def of(cls, tree: SeparatorTree, *, has_last: bool) -> Levels:
        """Add the leaf, and a root unless the last node of the tree is to be above all others."""
        shifted = np.append(np.int32(-1), np.where(tree.parents < 0, -1, tree.parents + 1))
        starts = np.append(np.int32(0), tree.starts)
        if has_last:
            shifted, starts = shifted[:-1], starts[:-1]
        whole = SeparatorTree(shifted.astype(np.int32), starts).below_root(0)
        return cls(whole.parents, whole.first_nodes, whole.depths, whole.is_leaf)

    def are_related(self, low: Integers, high: Integers) -> Mask:
        """Return whether node `high` is above `low`, or the same."""
        return (self.firsts[high] <= low) & (low <= high)

    def place(self, graph: Graph, node_of: Integers, vertices: Integers) -> None:
        """Give new vertices the deepest node of their neighbours, or the first leaf; in place."""
        count = len(self.parents)
        keys = self.depths * count + np.arange(count)
        while len(vertices):
            tails, entries = entries_of(graph, vertices)
            nodes = node_of[graph.indices[entries]]
            best = np.full(len(vertices), -1)
            np.maximum.at(best, tails[nodes >= 0], keys[nodes[nodes >= 0]])
            if (best < 0).all():
                break
            node_of[vertices[best >= 0]] = best[best >= 0] % count
            vertices = vertices[best < 0]
        node_of[vertices] = 0

    def lift(self, changes: Any, node_of: Integers) -> Integers:
        """Move ends of edges between unrelated nodes to the lowest node above both; in place.

        Of the two ends of an edge, the one with more of these edges moves; at equal numbers, the
        one with the lower number.
        """
        u, v = (ends[changes.data > 0] for ends in changes.coords)
        low, high = np.minimum(node_of[u], node_of[v]), np.maximum(node_of[u], node_of[v])
        crosses = ~self.are_related(low, high)
        u, v, low, high = u[crosses], v[crosses], low[crosses], high[crosses]
        counts = np.bincount(u, minlength=len(node_of))
        while not (are_related := self.are_related(low, high)).all():
            high = np.where(are_related, high, self.parents[high])
        moves = (counts[u] > counts[v]) | ((counts[u] == counts[v]) & (u < v))
        np.maximum.at(node_of, u[moves], high[moves])
        return np.unique(u[moves])

    def sink(self, graph: Graph, node_of: Integers, vertices: Integers) -> Integers:
        """Move vertices down to the lowest node above all neighbours below; in place.

        Of two adjacent vertices that would move to unrelated nodes, the one with the lower number
        moves. Return the vertices that have moved.
        """
        moved = [np.empty(0, np.int64)]
        targets = np.full(graph.n, -1)
        while len(vertices):
            tails, entries = entries_of(graph, vertices)
            heads, own = graph.indices[entries], node_of[vertices]
            is_below = node_of[heads] < own[tails]
            low, high = np.full(len(vertices), len(self.parents)), np.full(len(vertices), -1)
            np.minimum.at(low, tails[is_below], node_of[heads[is_below]])
            np.maximum.at(high, tails[is_below], node_of[heads[is_below]])
            high = np.where(high < 0, own, high)
            while not (are_related := self.are_related(np.minimum(low, high), high)).all():
                high = np.where(are_related, high, self.parents[high])
            targets[vertices] = high
            other, mine = targets[heads], high[tails]
            apart = (other >= 0) & (heads < vertices[tails])
            apart &= ~self.are_related(np.minimum(other, mine), np.maximum(other, mine))
            moves = high < own
            moves[tails[apart]] = False
            targets[vertices] = -1
            node_of[vertices[moves]] = high[moves]
            moved.append(vertices[moves])
            if not moves.any():
                break
        return np.unique(np.concatenate(moved))

    def dirty(
        self, node_of: Integers, is_changed: Mask, weights: IntArray, leaf_weight: int
    ) -> tuple[list[int], Integers]:
        """Return the roots of the subtrees to dissect again, and other leaves with changes."""
        ends = np.arange(len(self.parents)) + 1
        sums = [
            np.append(0, np.cumsum(np.bincount(node_of, values, len(self.parents))))
            for values in (weights, weights * is_changed)
        ]
        total, changed = (each[ends] - each[self.firsts] for each in sums)
        is_dirty = (SHARE * changed >= total) & (total > leaf_weight)
        is_covered = np.zeros(len(self.parents), bool)
        for node in reversed(range(len(self.parents) - 1)):
            above = self.parents[node]
            is_covered[node] = is_covered[above] or is_dirty[above]
        leaves = np.flatnonzero(self.is_leaf & (changed > 0) & ~is_dirty & ~is_covered)
        return np.flatnonzero(is_dirty & ~is_covered).tolist(), leaves

    def joined(
        self, sizes: Integers, dirty: list[int], pieces: list[SeparatorTree]
    ) -> SeparatorTree:
        """Return the tree in which pieces replace the dirty subtrees, without empty nodes."""
        is_kept = np.ones(len(self.parents), bool)
        for top in dirty:
            is_kept[self.firsts[top] : top + 1] = False
        kept = np.flatnonzero(is_kept)
        numbers = np.append(np.cumsum(is_kept) - 1, -1)
        keys, subkeys = [kept], [np.zeros(len(kept), np.int64)]
        counts: list[npt.NDArray[Any]] = [sizes[kept]]
        above, first = [numbers[self.parents[kept]]], len(kept)
        for top, piece in zip(dirty, pieces, strict=True):
            keys.append(np.full(len(piece), top))
            subkeys.append(np.arange(len(piece)))
            counts.append(piece.sizes)
            roots = numbers[self.parents[top]]
            above.append(np.where(piece.parents < 0, roots, piece.parents + first))
            first += len(piece)
        order = np.lexsort((np.concatenate(subkeys), np.concatenate(keys)))
        places = np.empty(len(order) + 1, np.int64)
        places[order], places[-1] = np.arange(len(order)), -1
        return _without_empty(places[np.concatenate(above)[order]], np.concatenate(counts)[order])


def _without_empty(parents: Integers, sizes: Integers) -> SeparatorTree:
    """Return a tree without its empty nodes; their children move up."""
    above = parents.copy()
    for node in reversed(range(len(above))):
        if above[node] >= 0 and sizes[above[node]] == 0:
            above[node] = above[above[node]]
    is_kept = sizes > 0
    numbers = np.append(np.cumsum(is_kept) - 1, -1)
    starts = np.append(0, np.cumsum(sizes[is_kept]))
    return SeparatorTree(numbers[above[is_kept]].astype(np.int32), starts.astype(np.int32))
