"""Fixed vertices, and home parts that vertices leave at a cost."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from jetpy.errors import OptionError
from jetpy.graph.checks import finite_number
from jetpy.graph.csr import IntArray
from jetpy.graph.dlpack import on_host

NO_PART = -1
FINEST_MIGRATION = 1000
"""Maximum denominator of the fraction that represents the migration cost."""


@dataclass(frozen=True, eq=False)
class FixedVertices:
    """Fixed parts and home parts of vertices.

    Attributes
    ----------
    fixed : int32, shape (n,)
        Part in which each vertex must stay; -1 if free.
    home : int32, shape (n,), or None
        Previous part of each vertex; -1 if none.
    migration : Fraction
        Cost of moving a unit of vertex weight away from its home.
    """

    fixed: IntArray
    home: IntArray | None
    migration: Fraction

    @property
    def left(self) -> IntArray:
        """Home of each vertex that may leave it, int32, shape (n,); -1 for all others."""
        if self.home is None:
            return np.full(len(self.fixed), NO_PART, np.int32)
        return np.where(self.fixed == NO_PART, self.home, NO_PART)


def check_fixed(
    n: int,
    k: int,
    fixed: npt.ArrayLike | None,
    home: npt.ArrayLike | None = None,
    migration: float = 0.0,
    first: int = 0,
) -> FixedVertices | None:
    """Return the checked fixed and home parts of n vertices; None if no vertex has either.

    `first` is the id of the first vertex in messages.

    Raises
    ------
    OptionError
        If `fixed` or `home` are not n integers in -1..k - 1, or `migration` is not a finite number
        from 0 on.
    """
    kept, homes = _checked(fixed, n, k, "fixed", first), _checked(home, n, k, "home", first)
    cost = checked_migration(migration)
    if kept is None and homes is None:
        return None
    if kept is None:
        kept = np.full(n, NO_PART, np.int32)
    return FixedVertices(kept, homes, cost)


def checked_migration(cost: float) -> Fraction:
    """Return the migration cost as a fraction.

    Raises
    ------
    OptionError
        If it is not a finite number from 0 on.
    """
    return Fraction(finite_number("migration", cost)).limit_denominator(FINEST_MIGRATION)


def _checked(
    places: npt.ArrayLike | None, n: int, k: int, what: str, first: int
) -> IntArray | None:
    """Return parts as int32, shape (n,), -1 for none; None if all are -1 or none are given."""
    if places is None:
        return None
    array = on_host(places)
    if array.shape != (n,):
        raise OptionError(
            f"{what} has shape {array.shape}; it must have one part for each of {n} vertices (-1 "
            "for none)"
        )
    if n and array.dtype.kind not in "iu":
        raise OptionError(f"{what} must contain integers, not {array.dtype}")
    wrong = (array < NO_PART) | (array >= k)
    if wrong.any():
        v = int(wrong.argmax())
        raise OptionError(
            f"{what} has part {array[v]} for vertex {first + v}; parts must be in 0..{k - 1}, "
            "or -1 for none"
        )
    if (array == NO_PART).all():
        return None
    return np.ascontiguousarray(array, np.int32)
