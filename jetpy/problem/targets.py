"""Targets: the relative ideal weights of parts."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from jetpy.errors import OptionError
from jetpy.graph.checks import as_numbers

Shares = npt.NDArray[np.int64]

MAX_SHARES = 2**30
"""Maximum sum of the integer shares, so that products with weights do not overflow."""


def checked_targets(targets: npt.ArrayLike | None, k: int) -> Shares | None:
    """Return targets as integer shares, int64, shape (k,); None if all are equal.

    Raises
    ------
    OptionError
        If there are not k targets, or one is not a positive number.
    """
    if targets is None:
        return None
    values = as_numbers(targets, "targets")
    if values.shape != (k,):
        raise OptionError(
            f"targets has shape {values.shape}; it must be {k} numbers, one for each part"
        )
    if values.dtype.kind not in "iuf":
        raise OptionError(f"targets must be numbers, not {values.dtype}")
    wrong = ~((values > 0) & np.isfinite(values))
    if wrong.any():
        p = int(wrong.argmax())
        raise OptionError(f"the target of part {p} is {values[p]:g}; targets must be positive")
    if (values == values[0]).all():
        return None
    return _whole(values)


def _whole(values: npt.NDArray[Any]) -> Shares:
    if values.dtype.kind != "f" and values.astype(np.float64).sum() <= MAX_SHARES:
        shares = values.astype(np.int64)
        return np.asarray(shares // np.gcd.reduce(shares))
    large = values.astype(np.float64) / values.astype(np.float64).max()
    scale = (MAX_SHARES - len(values)) / large.sum()
    return np.asarray(np.maximum(np.floor(large * scale), 1).astype(np.int64))


def ideals(total: int, shares: Shares) -> npt.NDArray[np.int64]:
    """Return the ideal weight of each part, rounded up, int64, shape (k,)."""
    exact = -(-total * shares.astype(object) // int(shares.sum()))
    return np.asarray(exact, np.int64)
