"""What a run is asked for, the same on every level."""

from __future__ import annotations

import math
from dataclasses import dataclass

from jetpy.errors import OptionError
from jetpy.options import Options

MOST_PARTS = 2**24


@dataclass(frozen=True)
class Problem:
    """Number of parts, largest part weight, seed and options.

    Attributes
    ----------
    k : int
    imbalance : float
    ideal : int
        ceil(W / k), W being the total vertex weight.
    limit : int
        Largest part weight allowed: floor((1 + imbalance) * ideal).
    seed : int
    options : Options
    """

    k: int
    imbalance: float
    ideal: int
    limit: int
    seed: int
    options: Options


def pose(
    total_vertex_weight: int, k: int, imbalance: float, seed: int, options: Options
) -> Problem:
    """Check the numbers and return the problem.

    Raises
    ------
    OptionError
        If a number is out of range.
    """
    if not 1 <= k < MOST_PARTS:
        raise OptionError(f"k is {k}; it must lie in 1..{MOST_PARTS - 1}")
    if not (math.isfinite(imbalance) and imbalance >= 0):
        raise OptionError(f"imbalance is {imbalance}; a number that is not negative is needed")
    if not 0 <= seed < 2**31:
        raise OptionError(f"seed is {seed}; it must lie in 0..2147483647")
    ideal = -(-total_vertex_weight // k)
    limit = min(int(ideal * (1 + imbalance) + 1e-9), 2**31 - 1)
    return Problem(k, imbalance, ideal, limit, seed, options)
