"""Conversion of weights of any kind to integers."""

from __future__ import annotations

import logging
from collections.abc import Callable
from decimal import Decimal
from threading import Event
from typing import Any

import numpy as np
import numpy.typing as npt

from jetpy.errors import GraphError
from jetpy.graph.csr import INT32_MAX, IntArray
from jetpy.graph.validate import Naming, checked_weights, number_array, or_pattern

LOGGER = logging.getLogger("jetpy.input")
LARGEST = 2.0**960
"""Upper bound of weights to be scaled, so that their sum does not overflow."""
SCALED_ONCE = Event()
"""Set once this process has reported a scaling: programs may scale thousands of graphs."""
MAX_WRITTEN_OUT = 1e9
"""Factors below this value are printed without an exponent."""


def weights_of(
    values: Any, size: int, what: str, source: Callable[[int], str], *, scale: bool = False
) -> npt.NDArray[Any]:
    """Return checked weights: int32, or float64 with `scale`; ones if `values` is None.

    Raises
    ------
    GraphError
        If there are not `size` weights, or one is not a number from 0 on; without `scale` also if
        one is not an integer below 2**31, or they sum to more than 2**46.
    """
    if values is None:
        return np.ones(size, np.int32)
    if not scale:
        return checked_weights(values, size, what, source)
    weights = number_array(values, size, what, source)
    if weights.dtype.kind not in "biuf":
        raise GraphError(
            f"{what} must be real numbers, not {weights.dtype}, to be scaled{or_pattern(what)}"
        )
    wrong = ~((weights >= 0) & (weights < LARGEST))
    if wrong.any():
        i = int(wrong.argmax())
        rule = f"below {LARGEST:.0e}" if weights[i] > 0 else "numbers from 0 on"
        raise GraphError(
            f"{source(i)} has weight {weights[i]}; weights must be {rule} to be "
            f"scaled{or_pattern(what)}"
        )
    return weights.astype(np.float64)


def scaled(weights: npt.NDArray[Any], what: str) -> IntArray:
    """Convert weights to integers in nearly the same proportions.

    Arrays of int32, and integers that sum to less than 2**31, stay unchanged. Other weights are
    multiplied by a factor that makes their sum less than 2**31, and rounded to 1 or more; 0 stays
    0. For the first such weights of the process, the logger ``jetpy.input`` reports the factor and
    the largest relative change due to rounding.

    Parameters
    ----------
    weights : numbers from 0 on, shape (size,)
    what : str
        Name of the weights in the log message.

    Returns
    -------
    int32, shape (size,)
    """
    if weights.dtype == np.int32 or not len(weights):
        return weights.astype(np.int32, copy=False)
    if (weights == np.rint(weights)).all() and weights.sum() <= INT32_MAX:
        return weights.astype(np.int32)
    exponent, counts = int(np.frexp(weights.max())[1]), weights > 0
    real = np.where(counts, np.maximum(np.ldexp(weights, -exponent), 1 / LARGEST), 0)  # at most 1
    most = max(INT32_MAX - len(weights), 1)  # as rounding up adds less than 1 to each
    power = int(np.floor(np.log2(most / real.sum())))  # exact for numbers of few bits
    rounded = np.maximum(np.rint(np.ldexp(real, power)), counts).astype(np.int64)
    divisor = int(np.gcd.reduce(rounded))
    rounded //= divisor
    factor = Decimal(2) ** (power - exponent) / divisor  # may be more than a float holds
    ratios = rounded[counts] / np.ldexp(real[counts], power) * divisor
    if not SCALED_ONCE.is_set():
        SCALED_ONCE.set()
        effect = _effect_of_rounding(float(np.abs(ratios - 1).max()))
        LOGGER.warning(
            "jetpy multiplies the %s by %s%s; it reports no further scaling in this process",
            what,
            f"{factor:.6g}",
            effect,
        )
    return np.asarray(rounded.astype(np.int32))


def scaled_columns(weights: npt.NDArray[Any], naming: Naming) -> npt.NDArray[np.int32]:
    """Convert several weights of each vertex to integers, each weight as by `scaled`; 0 stays 0.

    Parameters
    ----------
    weights : numbers from 0 on, shape (n, c)
    naming : Naming
        Names of the vertices in messages.

    Returns
    -------
    int32, shape (n, c)

    Raises
    ------
    GraphError
        If a weight is negative, too large or not a number.
    """
    wrong = ~((weights >= 0) & (weights < LARGEST))
    if wrong.any():
        v, j = (int(i) for i in np.argwhere(wrong)[0])
        raise GraphError(
            f"weight {j} of {naming.vertex(v)} is {weights[v, j]}; it must be from 0 on and below "
            f"{LARGEST:.0e}"
        )
    scaled_weights = np.zeros(weights.shape, np.int32)
    for column, own in zip(weights.T, scaled_weights.T, strict=True):
        positive = column > 0
        own[positive] = scaled(column[positive].astype(np.float64), naming.vertex_weights)
    return scaled_weights


def _effect_of_rounding(change: float) -> str:
    """Describe the effect of rounding, given the largest relative change of a weight.

    >>> _effect_of_rounding(0.0), _effect_of_rounding(0.0025), _effect_of_rounding(129.4)
    ... # doctest: +NORMALIZE_WHITESPACE
    ('', ' and rounds them, which changes a weight by at most 0.25 %',
     ' and rounds them, which makes the smallest weight 130 times as large')
    """
    if change == 0:
        return ""
    if change < 1:
        return f" and rounds them, which changes a weight by at most {100 * change:.2g} %"
    factor = 1 + change
    written = f"{factor:,.0f}" if factor < MAX_WRITTEN_OUT else f"{factor:.0e}"
    return f" and rounds them, which makes the smallest weight {written} times as large"
