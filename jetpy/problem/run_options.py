"""Options that all kinds of runs share: one graph, several processes, and incremental sessions."""

from __future__ import annotations

from dataclasses import InitVar, dataclass

import numpy.typing as npt

from jetpy import choices
from jetpy.problem.options import Options
from jetpy.problem.presets import choose
from jetpy.problem.problem import Problem, make_problem


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
    seed: int
    preset: choices.Preset
    coarsening: choices.Coarsening | None = None
    refinement: choices.Refinement | None = None
    large_imbalance: InitVar[bool] = True

    def __post_init__(self, large_imbalance: bool) -> None:
        options = self.preset_options
        checked = make_problem(
            0, self.k, self.imbalance, self.seed, options, large_imbalance=large_imbalance
        )
        for name in ("k", "imbalance", "seed"):
            object.__setattr__(self, name, getattr(checked, name))

    @property
    def preset_options(self) -> Options:
        """Options of the preset, with the requested methods."""
        return choose(self.preset, self.coarsening, self.refinement)

    def problem(
        self,
        total_vertex_weight: int,
        targets: npt.ArrayLike | None = None,
        *,
        fill: bool = False,
    ) -> Problem:
        """Return the problem of a graph; other arguments as for `make_problem`.

        Raises
        ------
        OptionError
            If the targets are wrong.
        """
        options = self.preset_options
        return make_problem(
            total_vertex_weight, self.k, self.imbalance, self.seed, options, targets, fill=fill
        )
