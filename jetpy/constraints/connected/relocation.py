"""Relocation of parts: one with much room, whose room nobody reaches, moves to where it is needed.

Its vertices join the part beside it, and it gets a branch of the part that is too heavy.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order

from jetpy.constraints.connected.contiguity import ContiguityProblem, Mask, Weights
from jetpy.graph.csr import IntArray


def relocate(contiguity: ContiguityProblem, parts: IntArray, rank: int) -> IntArray | None:
    """Return parts (int32, shape (n,)) in which the part of so many-th most room has moved.

    It goes to the part that is above its limit by most. None if it cannot leave, being the part too
    heavy, alone in its component or not movable, or if nothing can be cut off there.
    """
    graph, k = contiguity.graph, contiguity.k
    rooms = contiguity.limits - contiguity.weigh(parts)
    heavy = int(rooms.argmin())
    moving = int(np.argsort(-rooms, kind="stable")[rank])
    leaving = np.flatnonzero(parts == moving)
    if moving == heavy or not contiguity.movable[leaving].all():
        return None
    rows = csr_array((graph.edge_weights, graph.indices, graph.indptr), shape=(graph.n, graph.n))
    edges = rows[leaving]
    ties = np.bincount(parts[edges.indices], edges.data, k + 1)
    ties[moving] = 0
    members = np.flatnonzero(parts == heavy)
    branch = _branch(
        rows[members][:, members],
        graph.vertex_weights[members].astype(np.int64),
        contiguity.movable[members],
        -int(rooms[heavy]),
        int(contiguity.limits[moving]),
    )
    if not ties.any() or not branch.any():
        return None
    result = parts.copy()
    result[leaving] = ties.argmax()
    result[members[branch]] = moving
    return result


def _branch(rows: csr_array, weights: Weights, movable: Mask, least: int, most: int) -> Mask:
    """Return which vertices (bool) make a branch of a breadth-first tree that weighs enough.

    The tree is rooted at the vertex of most edges. The branch is the lightest one that weighs
    `least` or more, else the heaviest one; none weighs above `most`, or has vertices that are not
    movable.
    """
    root = int(np.diff(rows.indptr).argmax())
    order, above = breadth_first_order(rows, root, directed=False)
    sums, stuck = weights.copy(), ~movable
    for v in order[:0:-1].tolist():
        sums[above[v]] += sums[v]
        stuck[above[v]] |= stuck[v]
    inside = np.zeros(len(weights), np.bool_)
    choice = order[1:][(sums[order[1:]] <= most) & ~stuck[order[1:]]]
    if not len(choice):
        return inside
    enough = choice[sums[choice] >= least]
    top = enough[sums[enough].argmin()] if len(enough) else choice[sums[choice].argmax()]
    inside[top] = True
    for v in order.tolist():
        inside[v] |= above[v] >= 0 and inside[above[v]]
    return inside
