"""Maximum and minimum weights of parts and PEs, in exact arithmetic."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from jetpy.graph.csr import INT32_MAX

LARGEST_DENOMINATOR = 10**9
ROUNDING = Fraction(1, 10**15)
"""Maximum rounding error of a computed imbalance, such as 1 - 0.9."""


@lru_cache
def growth(imbalance: float) -> Fraction:
    """Return 1 + imbalance as a fraction, correcting the rounding of a float from 0 on.

    The imbalance is the fraction with a denominator of at most 10**9 within `ROUNDING`, if any:
    1/10 for 0.1 and for 1 - 0.9, 1/3 for 1 / 3. Otherwise it is the decimal number that Python
    prints.
    """
    exact = Fraction(imbalance)
    near = exact.limit_denominator(LARGEST_DENOMINATOR)
    return 1 + (near if abs(near - exact) <= ROUNDING else Fraction(repr(float(imbalance))))


def limits_of(
    ideals: npt.NDArray[np.int64], imbalance: float, most: int = INT32_MAX
) -> npt.NDArray[np.int64]:
    """Return min(floor((1 + imbalance) * ideal), most) for each ideal weight.

    `ideals` and the result are int64, of the same shape; `most` is less than 2**63.
    """
    factor = growth(imbalance)
    limits = ideals.astype(object) * factor.numerator // factor.denominator
    return np.asarray(np.minimum(limits, most, dtype=object), np.int64)


def lower_limits_of(
    total: int, shares: npt.NDArray[np.int64], lower_imbalance: float
) -> npt.NDArray[np.int64]:
    """Return ceil((1 - lower_imbalance) * share) for each part's exact share of the total weight.

    `shares` (int64, shape (k,)) are relative to each other; the result has the same shape.

    >>> lower_limits_of(10, np.array([1, 2, 1]), 0.1).tolist()
    [3, 5, 3]
    """
    kept, parts = 2 - growth(lower_imbalance), int(shares.sum())
    dividends = shares.astype(object) * (total * kept.numerator)
    return np.asarray(-(-dividends // (parts * kept.denominator)), np.int64)


def outside(
    weights: npt.NDArray[Any],
    lower: npt.NDArray[np.int64] | int,
    upper: npt.NDArray[np.int64] | int,
) -> npt.NDArray[Any]:
    """Return by how much each weight is below its lower limit or above its upper one, from 0 on.

    >>> outside(np.array([1, 4, 9]), 3, 5).tolist()
    [2, 0, 4]
    """
    found: npt.NDArray[Any] = np.maximum(np.maximum(lower - weights, weights - upper), 0)
    return found


def limit_of_pes(total: int, k: int, imbalance: float) -> int:
    """Return the weight limit of a PE: min(ceil((1 + imbalance) * total / k), 2**31 - 1)."""
    return min(math.ceil(growth(imbalance) * total / k), INT32_MAX)
