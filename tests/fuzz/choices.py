"""A random generator that records its choices, so that the fuzzer can list uncovered ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

Item = TypeVar("Item")
Choice = tuple[str, str]
"""The name of an option or property of a problem, and one of its values as text."""
Choices = Mapping[str, Sequence[Any]]
"""Values by name; a value that is listed twice is chosen twice as often."""


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
        """Return a random item and record it."""
        item = items[int(self.integers(len(items)))]
        self.chosen.add((what, str(item)))
        return item
