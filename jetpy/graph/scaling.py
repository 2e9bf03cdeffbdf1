"""Weights of any kind as integers."""

from __future__ import annotations

import logging
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt

from jetpy.errors import GraphError
from jetpy.graph.csr import INT32_MAX, IntArray
from jetpy.graph.validate import checked_weights, number_array, or_pattern

LOGGER = logging.getLogger("jetpy.input")
LARGEST = 2.0**960
"""What a weight to be scaled must be below, so that no sum of them overflows."""
MAX_WRITTEN_OUT = 1e9
"""What a factor is below that is told without an exponent."""


def weights_of(
    values: Any, size: int, what: str, source: Callable[[int], str], *, scale: bool = False
) -> npt.NDArray[Any]:
    """Return checked weights, ones where there are none: int32, or float64 if they may be scaled.

    Raises
    ------
    GraphError
        If there are not `size` of them, or one is not a positive number; without `scale` also
        if one is not whole, or they sum to 2**31 or more.
    """
    if values is None:
        return np.ones(size, np.int32)
    if not scale:
        return checked_weights(values, size, what, source)
    weights = number_array(values, size, what, source)
    if weights.dtype.kind not in "biuf":
        raise GraphError(
            f"{what} must be real numbers to be scaled, not {weights.dtype}{or_pattern(what)}"
        )
    wrong = ~((weights > 0) & (weights < LARGEST))
    if wrong.any():
        i = int(wrong.argmax())
        limit = f" below {LARGEST:.0e}" if weights[i] > 0 else ""
        raise GraphError(
            f"{source(i)} has weight {weights[i]}; only positive ones{limit} can be scaled"
            f"{or_pattern(what)}"
        )
    return weights.astype(np.float64)


def scaled(weights: npt.NDArray[Any], what: str) -> IntArray:
    """Return positive weights as integers in the same proportions, as near as they can be.

    Weights that are integers, and sum to less than 2**31, stay as they are. All others are
    multiplied so that their sum is below 2**31, and rounded to 1 or more; the logger
    ``jetpy.input`` tells the factor and the largest change by rounding.

    Parameters
    ----------
    weights : positive numbers, shape (size,)
    what : str
        What they are called.

    Returns
    -------
    int32, shape (size,)
    """
    if weights.dtype == np.int32 or not len(weights):
        return weights.astype(np.int32, copy=False)
    if (weights == np.rint(weights)).all() and weights.sum() <= INT32_MAX:
        return weights.astype(np.int32)
    exponent = int(np.frexp(weights.max())[1])
    real = np.maximum(np.ldexp(weights, -exponent), 1 / LARGEST)  # at most 1, and more than 0
    most = max(INT32_MAX - len(weights), 1)  # as rounding up adds less than 1 to each
    power = int(np.floor(np.log2(most / real.sum())))  # exact for numbers of few bits
    found = np.maximum(np.rint(np.ldexp(real, power)), 1).astype(np.int64)
    divisor = int(np.gcd.reduce(found))
    found //= divisor
    factor = Decimal(2) ** (power - exponent) / divisor  # may be more than a float holds
    change = float(np.abs(found / np.ldexp(real, power) * divisor - 1).max())
    LOGGER.warning(
        "jetpy multiplies the %s by %s and rounds them, %s",
        what,
        f"{factor:.6g}",
        _largest_change(change),
    )
    return np.asarray(found.astype(np.int32))


def _largest_change(change: float) -> str:
    """Return what rounding does, given the largest share by which it changes a weight.

    >>> _largest_change(0.0025), _largest_change(129.4)
    ('which changes one by 0.25 % at most', 'which makes the smallest 130 times as large')
    """
    if change < 1:
        return f"which changes one by {100 * change:.2g} % at most"
    factor = 1 + change
    told = f"{factor:,.0f}" if factor < MAX_WRITTEN_OUT else f"{factor:.0e}"
    return f"which makes the smallest {told} times as large"
