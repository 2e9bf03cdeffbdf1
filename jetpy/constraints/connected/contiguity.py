"""Components of parts (pieces): kept ones, ones that join an adjacent part, and adrift ones.

A piece is adrift if it has no edges to others; it can be in any part.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import breadth_first_order

from jetpy.graph.csr import Graph, IntArray
from jetpy.lazy import cached_property
from jetpy.problem.limits import outside
from jetpy.problem.metrics import cut_entries, label_components

Mask = npt.NDArray[np.bool_]
Weights = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class ContiguityProblem:
    """A graph, its components, and the constraints on its parts.

    Attributes
    ----------
    graph : Graph
    limits : int64, shape (k,)
        Maximum weight of each part.
    lower_limits : int64, shape (k,)
        Minimum weight of each part.
    movable : bool, shape (n,)
        Vertices that may change their part.
    """

    graph: Graph
    limits: Weights
    lower_limits: Weights
    movable: Mask

    @property
    def k(self) -> int:
        """Number of parts."""
        return len(self.limits)

    @cached_property
    def components(self) -> IntArray:
        """Component of the graph for each vertex, int32, shape (n,)."""
        return label_components(self.graph, np.zeros(self.graph.n, np.int32))

    def weigh(self, parts: IntArray) -> Weights:
        """Return the weight of each part, int64, shape (k,); vertices of part k are ignored."""
        weights = np.bincount(parts, self.graph.vertex_weights, self.k)
        return weights[: self.k].astype(np.int64)

    def violations(self, weights: Weights) -> Weights:
        """Return how far weights are above or below the limits of the parts, int64, shape (k,)."""
        return outside(weights, self.lower_limits, self.limits)


@dataclass(frozen=True, eq=False)
class Pieces:
    """The connected components of all parts, here called pieces.

    Attributes
    ----------
    labels : int32, shape (n,)
        Piece of each vertex.
    parts, components : int32, shape (pieces,)
        Part, and component of the graph, of each piece.
    weights : int64, shape (pieces,)
    firsts : int64, shape (pieces,)
        Lowest vertex of each piece.
    kept : bool, shape (pieces,)
        Pieces that stay in their parts: the heaviest of each part (the first if tied), and all
        with vertices that are not movable.
    """

    labels: IntArray
    parts: IntArray
    components: IntArray
    weights: Weights
    firsts: npt.NDArray[np.intp]
    kept: Mask

    @cached_property
    def adrift(self) -> Mask:
        """Mask of pieces in components of the graph without a kept piece, bool, shape (pieces,)."""
        return ~np.isin(self.components, self.components[self.kept])


def find_components(contiguity: ContiguityProblem, parts: IntArray) -> Pieces:
    """Return the pieces of a partition (int32, shape (n,))."""
    labels = label_components(contiguity.graph, parts)
    firsts = np.unique(labels, return_index=True)[1]
    weights = np.bincount(labels, contiguity.graph.vertex_weights).astype(np.int64)
    kept = np.bincount(labels, ~contiguity.movable) > 0
    owners = parts[firsts]
    order = np.lexsort((firsts, -weights, owners))
    kept[order[np.unique(owners[order], return_index=True)[1]]] = True
    return Pieces(labels, owners, contiguity.components[firsts], weights, firsts, kept)


def gather(
    contiguity: ContiguityProblem, parts: IntArray, pieces: Pieces, *, crowd: bool
) -> IntArray:
    """Return parts (int32, shape (n,)) after all other pieces have joined adjacent parts.

    Light pieces go first. Each joins the adjacent part with the largest edge weight to it among
    those with enough room. If there is none, it joins the one with the largest edge weight if
    `crowd`, and stays in its part otherwise. Adrift pieces get the part k.
    """
    homes = np.where(pieces.kept, pieces.parts, np.int32(-1))
    homes[pieces.adrift] = contiguity.k
    counted = pieces.kept if crowd else ~pieces.adrift
    weights = np.bincount(pieces.parts[counted], pieces.weights[counted], contiguity.k)
    rows = _edges_of(contiguity.graph, parts, pieces, homes == -1)
    beside = homes[rows.indices] >= 0
    waiting = np.unique(np.repeat(np.arange(len(homes)), np.diff(rows.indptr))[beside])
    heap = [(int(pieces.weights[i]), int(pieces.firsts[i]), i) for i in waiting.tolist()]
    heapq.heapify(heap)
    queued = set(waiting.tolist())
    while heap:
        weight, _, i = heapq.heappop(heap)
        row = slice(rows.indptr[i], rows.indptr[i + 1])
        ties: dict[int, int] = {}
        for j, edges in zip(rows.indices[row].tolist(), rows.data[row].tolist(), strict=True):
            home = int(homes[j])
            if home >= 0:
                ties[home] = ties.get(home, 0) + edges
            elif j not in queued:
                queued.add(j)
                heapq.heappush(heap, (int(pieces.weights[j]), int(pieces.firsts[j]), j))
        own = int(pieces.parts[i])
        weights[own] -= 0 if crowd else weight
        roomy = [p for p in ties if weights[p] + weight <= contiguity.limits[p]]
        full = ties if crowd else [own]
        homes[i] = min(roomy or full, key=lambda p: (-ties.get(p, 0), p))
        weights[homes[i]] += weight
    return np.asarray(homes[pieces.labels], np.int32)


def _edges_of(graph: Graph, parts: IntArray, pieces: Pieces, chosen: Mask) -> csr_array:
    """Return the edge weights from chosen pieces to all others, shape (pieces, pieces)."""
    rows, columns, weights = [], [], []
    for u, entries in cut_entries(graph, parts):
        own = pieces.labels[u]
        wanted = chosen[own]
        rows.append(own[wanted])
        columns.append(pieces.labels[graph.indices[entries[wanted]]])
        weights.append(graph.edge_weights[entries[wanted]].astype(np.int64))
    count = len(chosen)
    if not rows:
        return csr_array((count, count), dtype=np.int64)
    places = np.concatenate(rows), np.concatenate(columns)
    return coo_array((np.concatenate(weights), places), shape=(count, count)).tocsr()


def assign_components(contiguity: ContiguityProblem, parts: IntArray, before: IntArray) -> IntArray:
    """Assign each adrift component (part k) to one part, and return the parts, int32, shape (n,).

    Components are visited heaviest first. A component goes to the part that held most of its weight
    if it fits there, otherwise to the part with most room. It is split if it fits nowhere.

    Parameters
    ----------
    contiguity : ContiguityProblem
    parts, before : int32, shape (n,)
        Current parts in 0..k, and original parts in 0..k - 1.
    """
    graph, adrift = contiguity.graph, np.flatnonzero(parts == contiguity.k)
    if not len(adrift):
        return parts
    result = parts.copy()
    rooms = contiguity.limits - contiguity.weigh(parts)
    names, own = np.unique(contiguity.components[adrift], return_inverse=True)
    weights = np.bincount(own, graph.vertex_weights[adrift]).astype(np.int64)
    homes = _heaviest_shares(own.astype(np.int32), before[adrift], graph.vertex_weights[adrift])
    order = np.lexsort((names, -weights, homes))
    sums = np.cumsum(weights[order])
    starts = np.searchsorted(homes[order], homes[order])
    inside = sums - (sums[starts] - weights[order][starts])
    stays = np.zeros(len(names), np.bool_)
    stays[order] = inside <= rooms[homes[order]]
    rooms -= np.bincount(homes[stays], weights[stays], contiguity.k).astype(np.int64)
    split = []
    for i in np.lexsort((names, -weights))[~stays[np.lexsort((names, -weights))]].tolist():
        homes[i] = int(rooms.argmax())
        if rooms[homes[i]] < weights[i]:
            split.append(i)
        else:
            rooms[homes[i]] -= weights[i]
    result[adrift] = homes[own]
    for i in split:
        _spread(graph, result, int(adrift[own == i][0]), rooms)
    return result


def _heaviest_shares(own: IntArray, parts: IntArray, weights: IntArray) -> IntArray:
    """Return the part with most weight of each component; the lowest if tied."""
    shape = int(own.max()) + 1, int(parts.max()) + 1
    shares = coo_array((weights.astype(np.int64), (own, parts)), shape=shape).tocsr().tocoo()
    order = np.lexsort((shares.col, -shares.data, shares.row))
    first = np.unique(shares.row[order], return_index=True)[1]
    return np.asarray(shares.col[order][first], np.int32)


def _spread(graph: Graph, parts: IntArray, start: int, rooms: Weights) -> None:
    """Distribute a component over the parts with most room, breadth first; both arrays change."""
    ones = np.ones(len(graph.indices), np.int8)
    rows = csr_array((ones, graph.indices, graph.indptr), shape=(graph.n, graph.n))
    order = breadth_first_order(rows, start, directed=False, return_predecessors=False)
    home = int(rooms.argmax())
    for v in order.tolist():
        weight = int(graph.vertex_weights[v])
        if rooms[home] < weight:
            home = int(rooms.argmax())
        rooms[home] -= weight
        parts[v] = home
