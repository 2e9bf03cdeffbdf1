"""Communication of a stage with the other pieces of its graph.

The code of a stage is the same for pieces and whole graphs. After a stage has changed values of
owned vertices, it calls `exchange_ghosts`; after it has counted, `allreduce`. On a whole graph both
do nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jetpy.engines.base import Array

ALIGNED_BITS = 6
"""Number of low bits that are 0 in the first global id of aligned pieces."""


class Halo:
    """The communication of a whole graph, which does nothing."""

    is_whole = True
    is_aligned = True
    """Whether vertices whose ids differ in the lowest `ALIGNED_BITS` bits only share a piece."""
    can_be_captured = True
    """Whether the communication can be captured among the launches."""

    def exchange_ghosts(self, *values: Array) -> None:
        """Copy the owners' values to the ghosts in arrays of shape (n_with_ghosts,), in place."""

    def allreduce(self, *counts: Array, stripes: Sequence[int] = ()) -> None:
        """Sum the counts of all stripes of all pieces into the first stripe, in place.

        `stripes` has the number of stripes of each array; the default is 1.
        """

    def exscan(self, counts: Array, before: Array) -> None:
        """Write the sums of the counts of lower ranks to `before`, and set `counts` to 0."""

    def is_everywhere(self, condition: bool) -> bool:
        """Return whether a condition holds in all pieces."""
        return condition

    def total(self, count: int) -> int:
        """Return the sum of `count` over all pieces."""
        return count

    def gather_objects(self, value: Any) -> list[Any]:
        """Return the values of all pieces."""
        return [value]

    def exchange_ghost_vertices(self, values: Array) -> None:
        """Copy the owners' values, which are local ids, to the ghosts, as local ids of this piece.

        The value of a ghost becomes `NO_VERTEX` if this process does not own the vertex.
        """


WHOLE = Halo()
