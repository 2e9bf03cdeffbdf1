"""What nested dissection spends on a separator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, get_args

import numpy as np
import numpy.typing as npt

from jetpy import choices
from jetpy.errors import OptionError
from jetpy.graph.checks import finite_number, one_of, whole_number

MAX_TRIES = 64
MIN_SHARE = 0.5


@dataclass(frozen=True)
class Effort:
    """What is spent on the separator of a node.

    Attributes
    ----------
    tries : int
        Separators for each large node; the best one is kept.
    small_tries : int
        Separators for each small node. Never more than `tries`.
    imbalances : tuple of float
        Imbalances up to which the separators of the tries grow, in turn.
    largest_side : float
        Largest share of a node's weight on one side of its separator.
    first_side : float or None
        The same in another dissection of the whole matrix, from which this one starts; None for
        none.
    skew : int
        Penalty of a lopsided separator that is large (`jetpy.workloads.ordering.separators`). Its
        larger side needs another separator about as large, and so on.
    leaf_weight : int
        Nodes of at most this weight are not divided.
    growings : int
        Separators grown on the coarsest level of a try; the best one is refined.
    passes : int
        Maximum number of Fiduccia-Mattheyses passes on a level.
    step : int
        Every `step`-th level is refined, and always the finest one.
    flows : int
        Flows for each separator; passes follow each one, and one that fails is the last.
    hops : int
        Hops from a separator to the ends of the band in which a flow improves it.
    choice : bool
        Whether minimum degree or multisection replaces the dissection of a subtree where that takes
        fewer operations.
    """

    tries: int
    small_tries: int
    imbalances: tuple[float, ...]
    largest_side: float = 0.75
    first_side: float | None = None
    skew: int = 160
    leaf_weight: int = 250
    growings: int = 4
    passes: int = 3
    step: int = 2
    flows: int = 2
    hops: int = 5
    choice: bool = False

    def shares(self, tries: int) -> npt.NDArray[np.int32]:
        """Return the share of a node's weight that a side may grow to in each try, in thousandths.

        int32, shape (tries,).
        """
        own = [self.imbalances[i % len(self.imbalances)] for i in range(tries)]
        return np.array([round(500 * (1 + imbalance)) for imbalance in own], np.int32)


SPREAD = (0.1, 0.5, 0.3, 0.3)
"""Imbalances of several tries, in turn."""
EFFORTS: Mapping[str, Effort] = {
    "fast": Effort(tries=2, small_tries=1, imbalances=(0.1, 0.3)),
    "default": Effort(tries=4, small_tries=1, imbalances=SPREAD, choice=True),
    "best": Effort(
        tries=8,
        small_tries=4,
        imbalances=SPREAD,
        leaf_weight=120,
        growings=8,
        passes=8,
        step=1,
        flows=3,
        hops=10,
        first_side=0.6,
        choice=True,
    ),
}
"""What each preset spends on a separator."""
FIELD_OF = {
    "tries": "tries",
    "leaf_size": "leaf_weight",
    "imbalances": "imbalances",
    "largest_side": "largest_side",
}
"""Field of `Effort` that an option of `chosen_effort` sets."""


def chosen_effort(
    preset: str,
    tries: int | None = None,
    leaf_size: int | None = None,
    imbalances: Sequence[float] | None = None,
    largest_side: float | None = None,
) -> Effort:
    """Return the effort of a preset, changed by the options that are not None.

    Raises
    ------
    OptionError
        If a value is out of range.
    """
    one_of(get_args(choices.OrderingPreset), "preset", preset)
    effort = EFFORTS[preset]
    if tries is not None:
        number = whole_number("tries", tries, 1, MAX_TRIES)
        effort = replace(effort, tries=number, small_tries=number)
    if leaf_size is not None:
        effort = replace(effort, leaf_weight=whole_number("leaf_size", leaf_size, 1))
    if imbalances is not None:
        effort = replace(effort, imbalances=_checked_imbalances(imbalances))
    if largest_side is not None:
        share = finite_number("largest_side", largest_side)
        if not MIN_SHARE <= share <= 1:
            raise OptionError(f"largest_side is {share}; it must be a number in {MIN_SHARE}..1")
        effort = replace(effort, largest_side=share, first_side=None)
    return effort


def used_options(preset: str, **given: Any) -> dict[str, Any]:
    """Return the arguments of `chosen_effort` that are not None, as Python's own numbers.

    Raises
    ------
    OptionError
        If a value is out of range.
    """
    effort = chosen_effort(preset, **given)
    used = [name for name, value in given.items() if value is not None]
    return {"preset": preset, **{name: getattr(effort, FIELD_OF[name]) for name in used}}


def _checked_imbalances(values: Any) -> tuple[float, ...]:
    """Return imbalances as a tuple of floats in 0..1."""
    if not isinstance(values, Sequence) or not values:
        raise OptionError("imbalances is not a sequence of numbers with at least one entry")
    return tuple(finite_number(f"imbalances[{i}]", each, 1) for i, each in enumerate(values))
