"""Weights of any kind as integers."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from jetpy.errors import GraphError
from jetpy.graph import INT32_MAX, IntArray
from jetpy.validate import checked_weights

LOGGER = logging.getLogger("jetpy.input")
WHOLE = 2**30
"""What scaled weights sum up to, about."""


def scaled(values: npt.ArrayLike, size: int, what: str, source: Callable[[int], str]) -> IntArray:
    """Return positive weights as integers in the same proportions, as near as they can be.

    Weights that are integers, and sum to less than 2**31, stay as they are. The logger
    ``jetpy.input`` tells the factor and the largest change by rounding.

    Raises
    ------
    GraphError
        If there are not `size` of them, or one is not a positive number.
    """
    weights = np.asarray(values)
    if weights.shape != (size,):
        raise GraphError(f"{size} {what} are needed, not an array of shape {weights.shape}")
    if weights.dtype.kind not in "biuf" and size:
        raise GraphError(f"{what} must be real numbers to be scaled, not {weights.dtype}")
    real = weights.astype(np.float64)
    wrong = ~((real > 0) & np.isfinite(real))
    if wrong.any():
        i = int(wrong.argmax())
        raise GraphError(f"{source(i)} has weight {weights[i]}; only positive ones can be scaled")
    total = float(real.sum())
    if total <= INT32_MAX and (real == np.rint(real)).all():
        return weights.astype(np.int32)
    factor = 2.0 ** np.floor(np.log2(WHOLE / total))  # exact for numbers of few bits
    found = np.maximum(np.rint(real * factor), 1).astype(np.int64)
    divisor = int(np.gcd.reduce(found))
    found, factor = found // divisor, factor / divisor
    change = float(np.abs(found / (real * factor) - 1).max())
    LOGGER.warning(
        "jetpy multiplies the %s by %.6g and rounds them, which changes one by %.2g %% at most",
        what,
        factor,
        100 * change,
    )
    return np.asarray(found.astype(np.int32))


def weights_of(
    scale: bool, values: Any, size: int, what: str, source: Callable[[int], str]
) -> IntArray:
    """Return weights as integers, scaled if they may be; ones where there are none."""
    if values is None:
        return np.ones(size, np.int32)
    return (scaled if scale else checked_weights)(values, size, what, source)
