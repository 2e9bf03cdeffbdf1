"""Part numbers that match the previous parts, at no cost in cut."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from jetpy.graph.csr import IntArray
from jetpy.problem.fixed import NO_PART, FixedVertices


def keep_numbers(
    parts: IntArray, places: FixedVertices, weights: IntArray, kinds: npt.NDArray[np.int64]
) -> IntArray:
    """Renumber parts to reduce the vertex weight away from home.

    The part and the home with most common weight get the same number, then the next pair, and so
    on. A pair is skipped if one of them has fixed vertices, or their kinds differ.

    Parameters
    ----------
    parts, weights : int32, shape (n,)
        Part and weight of each vertex.
    places : FixedVertices
    kinds : int64, shape (k,)
        Equal for parts that may exchange their numbers: see `Problem.kinds`.

    Returns
    -------
    int32, shape (n,)
        `parts` itself if renumbering does not help, or there are no homes.
    """
    if places.home is None:
        return parts
    k, home = len(kinds), places.home
    at_home = home != NO_PART
    pairs, place = np.unique(
        home[at_home].astype(np.int64) * k + parts[at_home], return_inverse=True
    )
    common = np.bincount(place, weights[at_home]).astype(np.int64)
    bound = np.zeros(k, np.bool_)
    bound[places.fixed[places.fixed != NO_PART]] = True
    number = np.where(bound, np.arange(k), NO_PART).astype(np.int32)
    taken = bound.copy()
    heaviest_first = np.lexsort((pairs, -common))
    for old, new in zip(*np.divmod(pairs[heaviest_first], k), strict=True):
        if number[new] == NO_PART and not taken[old] and kinds[old] == kinds[new]:
            number[new] = old
            taken[old] = True
    for kind in np.unique(kinds[number == NO_PART]):
        left = (kinds == kind) & (number == NO_PART)
        number[left] = np.flatnonzero((kinds == kind) & ~taken)
    renumbered = number[parts]
    before, after = (weights[at_home & (p != home)].sum() for p in (parts, renumbered))
    return renumbered if after < before else parts
