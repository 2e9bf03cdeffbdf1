"""The documented definition of limits, in exact fractions."""

from __future__ import annotations

from fractions import Fraction


def check_limit(limit: int, ideal: int, imbalance: float) -> None:
    """Check that a limit is the largest integer up to (1 + imbalance) times the ideal weight.

    The imbalance is the decimal number that the float stands for.
    """
    most = (1 + Fraction(str(round(imbalance, 9)))) * ideal
    assert limit <= most < limit + 1
