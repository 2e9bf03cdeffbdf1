"""Refinement methods by name."""

from __future__ import annotations

from typing import Protocol

from jetpy.refinement.independent_set import IndependentSet
from jetpy.refinement.jetlp import LabelPropagation
from jetpy.refinement.state import RefinementState


class Refiner(Protocol):
    """Makes the iterations while the partition is balanced.

    Attributes
    ----------
    is_monotone : bool
        Whether every iteration with a move lowers the cut and keeps the balance. Then refinement
        ends with the first iteration that is not better by the tolerance in the options, whatever
        the patience. The tolerance should be 1, so that every gain counts.
    """

    is_monotone: bool

    def __init__(self, state: RefinementState) -> None: ...

    def launch(self) -> None:
        """Choose moves and make them, or request `launch_many` from the host."""

    def launch_many(self) -> None:
        """Make the moves, any number of them, after a kernel has requested it (`Request.MOVES`)."""


REFINEMENTS: dict[str, type[Refiner]] = {
    "jet": LabelPropagation,
    "independent-set": IndependentSet,
}
