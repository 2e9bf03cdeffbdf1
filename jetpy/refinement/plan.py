"""The plan of an iteration: what may leave which part, and for where."""

from __future__ import annotations

from typing import Any

import numpy as np

from jetpy.backends.base import Array, Backend
from jetpy.refinement.state import REBUILD
from jetpy.workloads import conduct as kernels

ROWS = 6
WIDE, SPAN = 512, 64
"""Siblings up to which each part looks at all of them; else so many in a row are summed up."""
SUMS_OF_BLOCK, SUMS_OF_GROUP = 7, 5
"""Numbers that `sum_up_block` and `add_up_blocks` keep of each."""


class Plan:
    """The plan for k parts, in groups of siblings.

    Attributes
    ----------
    numbers : int64, shape (6 k,)
        See `draw_up_plan` in `jetpy.workloads.conduct`.
    """

    def __init__(
        self, backend: Backend, k: int, siblings: int, wide: int = WIDE, span: int = SPAN
    ) -> None:
        self.numbers: Array = backend.empty(ROWS * k, np.int64)
        self._backend, self._k, self._groups = backend, k, k // siblings
        is_wide = siblings > wide
        span = span if is_wide else siblings
        self._places = self._groups * -(-siblings // span) if is_wide else 0
        sums = SUMS_OF_BLOCK * self._places + SUMS_OF_GROUP * self._groups
        self._blocks = {
            "blocks": backend.empty(sums, np.int64),
            "places": self._places,
            "siblings": siblings,
            "span": span,
        }

    def draw_up(self, **shared: Any) -> None:
        """Launch what draws up the plan, as `jetpy.workloads.conduct` has ordered."""
        shared |= {"k": self._k, **self._blocks}
        if self._places:
            self._backend.parallel_for(self._places, kernels.sum_up_block, **shared)
            self._backend.parallel_for(self._groups, kernels.add_up_blocks, **shared)
        indices = max(self._k, REBUILD + 1)
        self._backend.parallel_for(indices, kernels.draw_up_plan, plan=self.numbers, **shared)
