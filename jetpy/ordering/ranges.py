"""Ranges of consecutive numbers."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]


def ranges(firsts: Integers, sizes: Integers) -> Integers:
    """Return ``firsts[i]..firsts[i] + sizes[i] - 1`` for each i, one after the other, int64."""
    before = np.cumsum(sizes) - sizes
    found: Integers = np.arange(int(sizes.sum())) + np.repeat(firsts - before, sizes)
    return found
