"""What a stage asks of the other pieces of its graph; nothing, where the graph is whole.

Stages are written once. Where they have changed what belongs to own vertices, they have ghosts
follow; where they have counted, they add up. On a whole graph both do nothing.
"""

from __future__ import annotations

from jetpy.engines.base import Array


class Halo:
    """The surroundings of a whole graph: there are none."""

    is_whole = True
    can_be_recorded = True
    """Whether what it does goes to a GPU as launches do, so that it can be recorded among them."""

    def exchange_ghosts(self, *values: Array) -> None:
        """Let what ghosts have in arrays of all vertices be what their owners have."""

    def allreduce(self, *counts: Array, stripes: int = 1) -> None:
        """Add up the counts of all pieces, in place, and those of all stripes in the first."""

    def exscan(self, counts: Array, before: Array) -> None:
        """Let `before` be the sums of the counts of pieces before this one, and forget its own."""

    def is_everywhere(self, condition: bool) -> bool:
        """Whether a condition holds in all pieces."""
        return condition

    def total(self, count: int) -> int:
        """Return the sum of a number over all pieces."""
        return count

    def exchange_ghost_vertices(self, values: Array) -> None:
        """Do what `follow` does where values are vertices; those that others own become none."""


WHOLE = Halo()
