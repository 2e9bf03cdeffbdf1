"""Random numbers that remember what was chosen, so that a run can say what it has not covered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

Item = TypeVar("Item")
Choice = tuple[str, str]
"""An option, or another property of a problem, and one of its values, as text."""
Choices = Mapping[str, Sequence[Any]]
"""What can be chosen, by what it is chosen for; what is listed twice is chosen twice as often."""


class Random(np.random.Generator):
    """A random generator that records the choices made by `pick`.

    Attributes
    ----------
    chosen : set of Choice
    """

    def __init__(self, seed: int, number: int) -> None:
        super().__init__(np.random.PCG64([seed, number]))
        self.chosen: set[Choice] = set()

    def pick(self, what: str, items: Sequence[Item]) -> Item:
        """Return one of some items and record which one it was."""
        item = items[int(self.integers(len(items)))]
        self.chosen.add((what, str(item)))
        return item
