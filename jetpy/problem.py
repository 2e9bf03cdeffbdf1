"""What a run is asked for, the same on every level."""

from __future__ import annotations

import math
import numbers
import operator
from dataclasses import dataclass

from jetpy.errors import OptionError
from jetpy.graph import INT32_MAX
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


def _integer(name: str, value: object) -> int:
    try:
        return operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise OptionError(f"{name} is {value!r}; an integer is needed") from None


def pose(
    total_vertex_weight: int, k: int, imbalance: float, seed: int, options: Options
) -> Problem:
    """Check the numbers and return the problem.

    Raises
    ------
    OptionError
        If a number is out of range, or no number.
    """
    k, seed = _integer("k", k), _integer("seed", seed)
    if not 1 <= k < MOST_PARTS:
        raise OptionError(f"k is {k}; it must lie in 1..{MOST_PARTS - 1}")
    if not (isinstance(imbalance, numbers.Real) and math.isfinite(imbalance) and imbalance >= 0):
        raise OptionError(f"imbalance is {imbalance!r}; a number that is not negative is needed")
    if not 0 <= seed < 2**31:
        raise OptionError(f"seed is {seed}; it must lie in 0..2147483647")
    ideal = -(-total_vertex_weight // k)
    limit = int(min(ideal * (1 + imbalance) + 1e-9, INT32_MAX))
    return Problem(k, imbalance, ideal, limit, seed, options)
