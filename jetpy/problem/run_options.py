"""Options that all kinds of runs share: one graph, several processes, and incremental sessions."""

from __future__ import annotations

from dataclasses import InitVar, dataclass

import numpy.typing as npt

from jetpy import choices
from jetpy.problem.options import Options
from jetpy.problem.presets import choose
from jetpy.problem.problem import Problem, checked_imbalance, make_problem


@dataclass(frozen=True)
class RunOptions:
    """Options as for `jetpy.partition`, after all checks.

    Raises
    ------
    OptionError
        If a value is out of range, or a name is unknown.
    """

    k: int
    imbalance: float
    large_imbalance: InitVar[bool]
    seed: int
    preset: choices.Preset
    coarsening: choices.Coarsening | None
    refinement: choices.Refinement | None

    def __post_init__(self, large_imbalance: bool) -> None:
        checked_imbalance(self.imbalance, large=large_imbalance)
        checked = self.problem(0)
        for name in ("k", "imbalance", "seed"):
            object.__setattr__(self, name, getattr(checked, name))

    @property
    def preset_options(self) -> Options:
        """Options of the preset, with the requested methods."""
        return choose(self.preset, self.coarsening, self.refinement)

    def problem(
        self, total: int, targets: npt.ArrayLike | None = None, *, fill: bool = False
    ) -> Problem:
        """Return the problem of a graph of this total vertex weight, as `make_problem` does."""
        options = self.preset_options
        return make_problem(total, self.k, self.imbalance, self.seed, options, targets, fill=fill)
