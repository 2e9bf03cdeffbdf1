"""Map colouring of parts, so that adjacent parts have different colours."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from jetpy.pages.palette import FILLS


def colours_of(k: int, meetings: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return an index into `FILLS` for each part, int64, shape (k,).

    Parameters
    ----------
    k : int
    meetings : int64, shape (pairs, 3)
        Two adjacent parts, and the length of their border.

    Notes
    -----
    Parts are visited by descending number of neighbours. Each takes the colour with the shortest
    border to its own, and among equals the one used least.

    >>> colours_of(3, np.array([[0, 1, 5], [1, 2, 5]])).tolist()
    [1, 0, 2]
    """
    both = np.concatenate([meetings[:, :2], meetings[:, 1::-1]])
    weights = np.tile(meetings[:, 2], 2)
    order = np.argsort(both[:, 0], kind="stable")
    others, weights = both[order, 1], weights[order]
    degrees = np.bincount(both[:, 0], minlength=k)
    starts = np.cumsum(degrees) - degrees
    chosen = np.full(k, -1)
    used = np.zeros(len(FILLS), np.int64)
    for part in np.argsort(-degrees, kind="stable").tolist():
        around = slice(starts[part], starts[part] + degrees[part])
        taken = chosen[others[around]]
        met = np.bincount(taken[taken >= 0], weights[around][taken >= 0], len(FILLS))
        chosen[part] = np.lexsort((used, met))[0]
        used[chosen[part]] += 1
    return chosen
