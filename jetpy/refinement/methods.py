"""The refinements by name."""

from __future__ import annotations

from typing import Protocol

from jetpy.refinement.independent_set import IndependentSet
from jetpy.refinement.jetlp import LabelPropagation
from jetpy.refinement.state import RefinementState


class Refiner(Protocol):
    """What makes an iteration while the partition is balanced.

    Attributes
    ----------
    is_monotone : bool
        Whether every iteration that moves anything lowers the cut and keeps the balance. Then
        refinement ends with the first that is not better, by the tolerance in its options (which
        should be 1, every gain counts), whatever the patience.
    """

    is_monotone: bool

    def __init__(self, state: RefinementState) -> None: ...

    def launch(self) -> None:
        """Decide on moves and make them, or have the host asked for `launch_many`."""

    def launch_many(self) -> None:
        """Do the same, however many moves there are; if a kernel has asked (`Request.MOVES`)."""


REFINEMENTS: dict[str, type[Refiner]] = {
    "jet": LabelPropagation,
    "independent-set": IndependentSet,
}
