"""Relocation of parts: a part whose room is out of reach moves to an overloaded part.

Its vertices join an adjacent part, and it gets a branch of the overloaded part.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order

from jetpy.constraints.connected.contiguity import ContiguityProblem, Mask, Weights
from jetpy.graph.csr import IntArray


def relocate(contiguity: ContiguityProblem, parts: IntArray, rank: int) -> IntArray | None:
    """Return parts (int32, shape (n,)) after moving the part with the rank-th most room (from 0).

    It moves to the part that exceeds its limit most. None if the part cannot leave (it is the
    overloaded part, has no adjacent part, or is not movable), or if no branch can be split off.
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
    touched = np.bincount(parts[edges.indices], minlength=k + 1) > 0
    touched[moving] = False
    members = np.flatnonzero(parts == heavy)
    branch = _branch(
        rows[members][:, members],
        graph.vertex_weights[members].astype(np.int64),
        contiguity.movable[members],
        -int(rooms[heavy]),
        int(contiguity.limits[moving]),
    )
    if not touched.any() or not branch.any():
        return None
    result = parts.copy()
    result[leaving] = np.where(touched, ties, -1).argmax()
    result[members[branch]] = moving
    return result


def _branch(rows: csr_array, weights: Weights, movable: Mask, least: int, most: int) -> Mask:
    """Return the mask of a branch of a breadth-first tree with suitable weight.

    The root is the vertex of highest degree. The branch is the lightest one with a weight of at
    least `least`, otherwise the heaviest one. It weighs at most `most`, and all its vertices are
    movable. The mask is empty if no branch qualifies.
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
