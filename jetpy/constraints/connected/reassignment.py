"""Reassignment of parts: from components that several parts share to components without a part."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from jetpy.constraints.connected.contiguity import (
    ContiguityProblem,
    Pieces,
    Weights,
    find_components,
)
from jetpy.graph.csr import IntArray


def reassign_parts(
    contiguity: ContiguityProblem, parts: IntArray, pieces: Pieces
) -> tuple[IntArray, Pieces] | None:
    """Give a part to each component without a kept piece; return the partition and its pieces.

    The parts come from components that keep several. The heaviest components get a part first. Each
    is assigned as a whole, and becomes the only kept piece of its part. The former piece of this
    part can then join the other parts of its component.

    Parameters
    ----------
    contiguity : ContiguityProblem
    parts : int32, shape (n,)
    pieces : Pieces
        Pieces of `parts`.

    Returns
    -------
    tuple of int32, shape (n,), and Pieces, or None
        None if afterwards some components would have no part while others had several.
    """
    adrift = np.unique(pieces.components[pieces.adrift])
    kept = pieces.components[pieces.kept]
    needed = min(len(adrift), len(kept) - len(np.unique(kept)))
    if not needed:
        return None
    weights = np.bincount(contiguity.components, contiguity.graph.vertex_weights).astype(np.int64)
    spare = _spare_parts(contiguity, pieces, weights, needed)
    chosen = adrift[np.lexsort((adrift, -weights[adrift]))][:needed]
    spare.sort(key=lambda p: (-contiguity.limits[p], p))
    if len(spare) < needed or (weights[chosen] > contiguity.limits[spare]).any():
        return None
    part_of = np.full(len(weights), -1, np.int32)
    part_of[chosen] = spare
    owners = part_of[contiguity.components]
    result = np.where(owners >= 0, owners, parts)
    found = find_components(contiguity, result)
    stays = found.kept & ~np.isin(found.parts, spare)
    return result, replace(found, kept=stays | (part_of[found.components] >= 0))


def _spare_parts(
    contiguity: ContiguityProblem, pieces: Pieces, weights: Weights, most: int
) -> list[int]:
    """Return up to `most` parts that can leave their components, which have these weights.

    A part can leave if it keeps only one piece, without fixed vertices, and the limits of the other
    parts of the component sum to at least its weight. The component that would retain most room
    gives the next part, the one with its lightest piece.
    """
    kept = np.flatnonzero(pieces.kept)
    owners, components = pieces.parts[kept], pieces.components[kept]
    is_fixed = (np.bincount(pieces.labels, ~contiguity.movable) > 0)[kept]
    can_leave = (np.bincount(owners)[owners] == 1) & ~is_fixed
    rooms, counts = (-weights).tolist(), np.bincount(components, minlength=len(weights)).tolist()
    for component, p in zip(components.tolist(), owners.tolist(), strict=True):
        rooms[component] += int(contiguity.limits[p])
    offers = []
    for i in np.lexsort((owners, pieces.weights[kept])).tolist():
        component, p = int(components[i]), int(owners[i])
        limit = int(contiguity.limits[p])
        if can_leave[i] and counts[component] > 1 and rooms[component] >= limit:
            rooms[component] -= limit
            counts[component] -= 1
            offers.append((-rooms[component], component, p))
    return [p for _, _, p in sorted(offers)[:most]]
