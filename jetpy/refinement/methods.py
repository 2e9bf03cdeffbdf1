"""The refinements by name."""

from __future__ import annotations

from typing import Protocol

from jetpy.refinement.independent_set import IndependentSet
from jetpy.refinement.jetlp import LabelPropagation
from jetpy.refinement.state import RefinementState


class Improvement(Protocol):
    """What makes an iteration while the partition is balanced.

    Attributes
    ----------
    settles : bool
        Whether there is nothing left to do after an iteration that moves nothing.
    """

    settles: bool

    def __init__(self, state: RefinementState) -> None: ...

    def launch(self) -> None:
        """Decide on moves and make them, or have the host asked for `launch_many`."""

    def launch_many(self) -> None:
        """Decide on moves and make them, however many."""


REFINEMENTS: dict[str, type[Improvement]] = {
    "jet": LabelPropagation,
    "independent-set": IndependentSet,
}
