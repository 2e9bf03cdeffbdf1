"""Multi-constraint partitioning: several weights per vertex, each with limits of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from jetpy.errors import GraphError
from jetpy.graph.csr import INT32_MAX, IntArray, common_divisor
from jetpy.graph.dlpack import on_host
from jetpy.graph.validate import Naming
from jetpy.problem.limits import limits_of
from jetpy.problem.targets import Shares, ideals

WHOLE = 2**30
"""Total vertex weight to which each of the weights is scaled."""
FINENESS = 1000
"""Average weight of a vertex when one weight replaces all."""
SLACK = 0.5
"""Extra room of parts on coarse levels, as a fraction of an average vertex."""


@dataclass(frozen=True, eq=False)
class MultiConstraint:
    """Several weights per vertex, with the ideal and maximum weights of parts.

    Attributes
    ----------
    weights : int32, shape (n, c)
    ideals, limits : int64, shape (k, c)
        Ideal and maximum weight of each part.
    """

    weights: npt.NDArray[np.int32]
    ideals: npt.NDArray[np.int64]
    limits: npt.NDArray[np.int64]

    @property
    def lower_limits(self) -> npt.NDArray[np.int64]:
        """Minimum weight of each part, int64, shape (k, c)."""
        return np.zeros_like(self.limits)

    @property
    def totals(self) -> npt.NDArray[np.int64]:
        """Total of each weight over all vertices, int64, shape (c,)."""
        return np.asarray(self.weights.sum(axis=0, dtype=np.int64))

    @property
    def factors(self) -> npt.NDArray[np.int64]:
        """Factor of each weight that makes the totals nearly equal, int64, shape (c,)."""
        return np.asarray(WHOLE // np.maximum(self.totals, 1)).clip(1)

    def excess(self, parts: IntArray) -> int:
        """Return the total scaled weight of parts above their limits."""
        above = np.maximum(loads(self.weights, parts, len(self.limits)) - self.limits, 0)
        return int((above * self.factors).sum())

    def coarsened(self, coarse_of: IntArray, n: int) -> MultiConstraint:
        """Return the constraints of n coarse vertices; `coarse_of` maps vertices to them."""
        return replace(self, weights=loads(self.weights, coarse_of, n).astype(np.int32))

    def in_units(self) -> MultiConstraint:
        """Return the constraints with each weight divided by its greatest common divisor."""
        units = np.array([common_divisor(column) for column in self.weights.T], np.int32)
        return replace(
            self,
            weights=self.weights // units,
            ideals=-(-self.ideals // units),
            limits=self.limits // units,
        )

    def loosened(self) -> MultiConstraint:
        """Return the constraints with limits raised by `SLACK` average vertices."""
        average = self.totals / max(len(self.weights), 1)
        return replace(self, limits=self.limits + (SLACK * average).astype(np.int64))


def in_one(weights: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
    """Combine the weights of each vertex into one, with equal influence; int32, shape (n,)."""
    totals = weights.sum(axis=0, dtype=np.int64)
    shares = (weights / np.maximum(totals, 1)).mean(axis=1)
    whole = min(WHOLE, FINENESS * len(weights))
    return np.asarray(np.maximum(np.rint(shares * whole), 1).astype(np.int32))


def loads(weights: npt.NDArray[np.int32], parts: IntArray, k: int) -> npt.NDArray[np.int64]:
    """Return the weights of parts, int64, shape (k, c)."""
    columns = [np.bincount(parts, column, k).astype(np.int64) for column in weights.T]
    return np.stack(columns, axis=1)


def checked_weights(
    weights: npt.ArrayLike, n: int, naming: Naming | None = None
) -> npt.NDArray[np.int32]:
    """Return several weights per vertex, int32, shape (n, c); `naming` is for messages.

    Raises
    ------
    GraphError
        If the weights are not n rows of integers from 0 on, or a column sums to 2**31 or more.
    """
    array = on_host(weights)
    if array.ndim != 2 or len(array) != n or array.shape[1] == 0:
        raise GraphError(
            f"vertex_weights has shape {array.shape}; it must have shape ({n}, c), where c is the "
            "number of weights of each vertex"
        )
    if array.dtype.kind not in "biuf":
        raise GraphError(f"vertex weights must be integers, not {array.dtype}")
    wrong = ~((array >= 0) & (array <= INT32_MAX) & (array == np.rint(array)))
    if wrong.any():
        v, j = (int(i) for i in np.argwhere(wrong)[0])
        bearer = (naming or Naming()).vertex(v)
        raise GraphError(
            f"weight {j} of {bearer} is {array[v, j]}; it must be an integer in 0..2**31 - 1"
        )
    totals = array.sum(axis=0, dtype=np.float64)
    if (totals > INT32_MAX).any():
        raise GraphError(
            f"the vertex weights overflow: the sum of weight {int(totals.argmax())} over all "
            "vertices is 2**31 or more"
        )
    return np.ascontiguousarray(array, np.int32)


def pose_several(
    weights: npt.NDArray[np.int32], imbalances: Sequence[float], shares: Shares
) -> MultiConstraint:
    """Return the constraints of weights (int32, shape (n, c)), given an imbalance for each weight.

    `shares` (int64, shape (k,)) are the relative ideal weights of the parts.
    """
    totals = weights.sum(axis=0, dtype=np.int64).tolist()
    wanted = np.stack([ideals(total, shares) for total in totals], axis=1)
    limits = [limits_of(column, own) for column, own in zip(wanted.T, imbalances, strict=True)]
    return MultiConstraint(weights, wanted, np.stack(limits, axis=1))
