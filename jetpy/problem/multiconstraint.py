"""Multi-constraint partitioning: several weights per vertex, each with limits of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from jetpy.graph.csr import IntArray, column_sums, common_divisor
from jetpy.lazy import cached_property
from jetpy.problem.limits import limits_of, outside
from jetpy.problem.targets import Shares, ideals

WHOLE = 2**30
"""Total vertex weight to which each of the weights is scaled."""
FINENESS = 1000
"""Average weight of a vertex when one weight replaces all."""
SLACK = 0.5
"""Extra room of parts on coarse levels, as a fraction of an average vertex."""
ROWS = 1 << 16
"""Number of vertices whose weights are combined at once, so that caches hold them."""
MANY = 16
"""Limit of the number of vertices of a part, as a multiple of n: never the scarcest room."""


@dataclass(frozen=True, eq=False)
class MultiConstraint:
    """Several weights per vertex, with the ideal, maximum and minimum weights of parts.

    Attributes
    ----------
    weights : int32, shape (n, c)
        Those of all vertices, or of the vertices that a process owns, on the host or on the back
        end of a level.
    ideals, limits, lower_limits : int64, shape (k, c)
        Ideal, maximum and minimum weight of each part.
    totals : int64, shape (c,)
        Total of each weight over all vertices.
    """

    weights: npt.NDArray[np.int32]
    ideals: npt.NDArray[np.int64]
    limits: npt.NDArray[np.int64]
    lower_limits: npt.NDArray[np.int64]
    totals: npt.NDArray[np.int64]

    @classmethod
    def of(
        cls,
        weights: npt.NDArray[np.int32],
        ideals: npt.NDArray[np.int64],
        limits: npt.NDArray[np.int64],
        lower_limits: npt.NDArray[np.int64],
    ) -> MultiConstraint:
        """Return the constraints of the weights of all vertices."""
        return cls(weights, ideals, limits, lower_limits, column_sums(weights))

    @cached_property
    def factors(self) -> npt.NDArray[np.int64]:
        """Factor of each weight that makes the totals nearly equal, int64, shape (c,)."""
        return np.asarray(WHOLE // np.maximum(self.totals, 1)).clip(1)

    def excess(self, parts: IntArray) -> int:
        """Return the total scaled weight of parts above their limits, or below the lower ones."""
        return self.excess_of(loads(self.weights, parts, len(self.limits)))

    def excess_of(self, held: npt.NDArray[np.int64]) -> int:
        """Return `excess`, given the weights of parts, shape (k, c)."""
        return int((outside(held, self.lower_limits, self.limits) * self.factors).sum())

    def coarsened(self, coarse_of: IntArray, n: int) -> MultiConstraint:
        """Return the constraints of n coarse vertices; `coarse_of` maps vertices to them."""
        return replace(self, weights=loads(self.weights, coarse_of, n).astype(np.int32))

    def in_units(self, divisors: npt.NDArray[np.int64]) -> MultiConstraint:
        """Return the constraints with each weight divided by its divisor, unless that is 0.

        `divisors` (int64, shape (c,)) are greatest common divisors of all vertices' weights.
        """
        units = np.maximum(divisors, 1)
        if (units == 1).all():
            return self
        return replace(
            self,
            weights=self.weights // units.astype(np.int32),
            ideals=-(-self.ideals // units),
            limits=self.limits // units,
            lower_limits=-(-self.lower_limits // units),
            totals=self.totals // units,
        )

    def loosened(self, n: int) -> MultiConstraint:
        """Return the constraints with limits wider by `SLACK` of n average vertices on each side.

        There are n vertices in all.
        """
        slack = (SLACK * (self.totals / max(n, 1))).astype(np.int64)
        return replace(
            self,
            limits=self.limits + slack,
            lower_limits=np.maximum(self.lower_limits - slack, 0),
        )

    def with_counts(self) -> MultiConstraint:
        """Return the constraints with the number of vertices as another weight, at least 1."""
        n, k = len(self.weights), len(self.limits)
        return MultiConstraint.of(
            np.column_stack([self.weights, np.ones(n, np.int32)]),
            np.column_stack([self.ideals, np.full(k, -(-n // k))]),
            np.column_stack([self.limits, np.full(k, MANY * n)]),
            np.column_stack([self.lower_limits, np.ones(k, np.int64)]),
        )


def divisors_of(weights: npt.NDArray[np.int32]) -> npt.NDArray[np.int64]:
    """Return the greatest common divisor of each weight, 0 if all are 0; int64, shape (c,)."""
    return np.array([common_divisor(column) for column in weights.T], np.int64)


def in_one(
    weights: npt.NDArray[np.int32], totals: npt.NDArray[np.int64], n: int
) -> npt.NDArray[np.int32]:
    """Combine the weights of each vertex into one, with equal influence; int32, shape (n,).

    `totals` (int64, shape (c,)) are the sums of each weight over all n vertices; `weights` may be
    those of some.
    """
    whole, combined = min(WHOLE, FINENESS * n), np.empty(len(weights), np.int32)
    for first in range(0, len(weights), ROWS):
        rows = weights[first : first + ROWS]
        shares = np.zeros(len(rows))
        for column, total in zip(rows.T, np.maximum(totals, 1), strict=True):
            shares += column / total
        shares /= len(totals)
        combined[first : first + ROWS] = np.maximum(np.rint(shares * whole), 1)
    return combined


def loads(weights: npt.NDArray[np.int32], parts: IntArray, k: int) -> npt.NDArray[np.int64]:
    """Return the weights of parts, int64, shape (k, c)."""
    columns = [np.bincount(parts, column, k).astype(np.int64) for column in weights.T]
    return np.stack(columns, axis=1)


def pose_several(
    weights: npt.NDArray[np.int32],
    totals: npt.NDArray[np.int64],
    imbalances: Sequence[float],
    shares: Shares,
) -> MultiConstraint:
    """Return the constraints of weights, given an imbalance for each weight.

    `weights` and `totals` as for `MultiConstraint`; `shares` (int64, shape (k,)) are the relative
    ideal weights of the parts.
    """
    wanted, limits = limits_of_columns(totals, imbalances, shares)
    return MultiConstraint(weights, wanted, limits, np.zeros_like(limits), totals)


def limits_of_columns(
    totals: npt.NDArray[np.int64], imbalances: Sequence[float], shares: Shares
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the ideal and maximum weights of parts, int64, shape (k, c).

    `totals` (shape (c,)) are the sums of each weight over all vertices, `shares` as above.
    """
    wanted = np.stack([ideals(total, shares) for total in totals.tolist()], axis=1)
    columns = [limits_of(column, own) for column, own in zip(wanted.T, imbalances, strict=True)]
    return wanted, np.stack(columns, axis=1)
