"""Hashes of integers on the host, 64 bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

STEP, SHIFTS = 0x9E3779B97F4A7C15, (30, 27, 31)
MULTIPLIERS = (0xBF58476D1CE4E5B9, 0x94D049BB133111EB)


def hashes(numbers: npt.NDArray[np.integer[Any]]) -> npt.NDArray[np.uint64]:
    """Return a hash of each number (splitmix64)."""
    mixed = (numbers.astype(np.uint64) + np.uint64(1)) * np.uint64(STEP)
    for shift, multiplier in zip(SHIFTS, MULTIPLIERS, strict=False):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(multiplier)
    return mixed ^ (mixed >> np.uint64(SHIFTS[-1]))
