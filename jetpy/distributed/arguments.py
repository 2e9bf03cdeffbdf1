"""Arguments of a distributed run that must be equal in all processes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from jetpy import choices
from jetpy.graph.checks import as_numbers
from jetpy.problem.bounds import DEFAULT_IMBALANCE, BoundedOptions
from jetpy.problem.options import Effort, Options, choose_effort
from jetpy.problem.presets import choose
from jetpy.problem.problem import Problem


@dataclass(frozen=True)
class CollectiveArguments(BoundedOptions):
    """Arguments that must be equal on all ranks; `make_arguments` converts those of a caller.

    Attributes
    ----------
    backend : str
    small : int or None
    targets : tuple of numbers, or None
    changes : Options, mapping or None
        The argument `options` of `jetpy.partition`.
    generations : int or None
    time_limit : float or None
    fill : bool
        Whether no part may be empty, if there are at least k vertices.
    """

    backend: choices.Backend
    small: int | None = None
    targets: tuple[Any, ...] | None = None
    changes: Options | Mapping[str, Any] | None = None
    generations: int | None = None
    time_limit: float | None = None
    fill: bool = True

    def __post_init__(self, large_imbalance: bool) -> None:
        super().__post_init__(large_imbalance)
        self.problem(0, self.targets)
        object.__setattr__(self, "time_limit", self.effort.time_limit)

    @property
    def preset_options(self) -> Options:
        """Options of the preset, with the requested methods and changes."""
        return choose(self.preset, self.coarsening, self.refinement, self.changes)

    @property
    def effort(self) -> Effort:
        """Limits of the evolutionary search."""
        return choose_effort(self.preset_options, self.generations, self.time_limit)

    def problem_of(self, total: int) -> Problem:
        """Return the problem of a graph of this total vertex weight.

        Raises
        ------
        OptionError
            If no weights of parts can keep the limits.
        """
        return self.bounded_problem(total, self.targets, fill=self.fill)


def make_arguments(
    k: int,
    *,
    coarsening: choices.Coarsening | None = None,
    refinement: choices.Refinement | None = None,
    imbalance: float | None,
    targets: npt.ArrayLike | None = None,
    **options: Any,
) -> CollectiveArguments:
    """Return the arguments of a call; `options` are other attributes of `CollectiveArguments`.

    Raises
    ------
    OptionError
        If a value is out of range.
    """
    keeps = imbalance is not None or targets is not None
    return CollectiveArguments(
        k,
        DEFAULT_IMBALANCE if imbalance is None else imbalance,
        targets=None
        if targets is None
        else tuple(np.atleast_1d(as_numbers(targets, "targets")).tolist()),
        coarsening=coarsening,
        refinement=refinement,
        keeps_imbalance=keeps,
        **options,
    )
