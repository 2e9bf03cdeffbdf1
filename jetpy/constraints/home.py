"""Part numbers that match the previous parts, at no cost in cut."""

from __future__ import annotations

from collections.abc import Mapping

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
        `parts` if renumbering does not help, or there are no homes.
    """
    if places.home is None:
        return parts
    common = weights_in_common(parts, places.home, weights, len(kinds))
    return new_numbers(common, fixed_parts(places, len(kinds)), kinds)[parts]


def fixed_parts(places: FixedVertices, k: int) -> npt.NDArray[np.bool_]:
    """Return whether each part has fixed vertices, shape (k,)."""
    has_fixed = np.zeros(k, np.bool_)
    has_fixed[places.fixed[places.fixed != NO_PART]] = True
    return has_fixed


def weights_in_common(
    parts: IntArray, home: IntArray, weights: IntArray, k: int
) -> dict[tuple[int, int], int]:
    """Return the vertex weight of each pair (home, part) that occurs."""
    at_home = home != NO_PART
    pairs, place = np.unique(
        home[at_home].astype(np.int64) * k + parts[at_home], return_inverse=True
    )
    common = np.bincount(place, weights[at_home]).astype(np.int64)
    old, new = np.divmod(pairs, k)
    return dict(zip(zip(old.tolist(), new.tolist(), strict=True), common.tolist(), strict=True))


def new_numbers(
    common: Mapping[tuple[int, int], int],
    has_fixed: npt.NDArray[np.bool_],
    kinds: npt.NDArray[np.int64],
) -> IntArray:
    """Return the new number of each part, int32, shape (k,): its own if renumbering does not help.

    `common` is the vertex weight of each pair (home, part); parts for which `has_fixed` is true
    keep their numbers.
    """
    k = len(kinds)
    number = np.where(has_fixed, np.arange(k), NO_PART).astype(np.int32)
    taken = has_fixed.copy()
    for old, new in sorted(common, key=lambda pair: (-common[pair], pair)):
        if number[new] == NO_PART and not taken[old] and kinds[old] == kinds[new]:
            number[new] = old
            taken[old] = True
    for kind in np.unique(kinds[number == NO_PART]):
        left = (kinds == kind) & (number == NO_PART)
        number[left] = np.flatnonzero((kinds == kind) & ~taken)
    before = sum(weight for (old, new), weight in common.items() if old == new)
    after = sum(weight for (old, new), weight in common.items() if old == number[new])
    return number if after > before else np.arange(k, dtype=np.int32)
