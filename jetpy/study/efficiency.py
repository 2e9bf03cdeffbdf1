"""Efficiencies of a study's applications, and their means over problems and platforms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from jetpy.lazy import cached_property
from jetpy.study.cases import Problem
from jetpy.study.metrics import portability


class Cell(NamedTuple):
    """A problem on a platform."""

    problem: Problem
    platform: str


@dataclass(frozen=True, eq=False)
class Efficiencies:
    """Efficiencies by application and cell, and their means.

    This class alone defines how efficiencies on several problems are combined into an efficiency on
    a platform, and how the metric is computed from several platforms.

    Attributes
    ----------
    cells : sequence of Cell
        Cells that count.
    each : mapping of application to mapping of cell to efficiency
        Between 0, for a failed or unsupported run, and 1. Runs not tried have no entry.
    """

    cells: Sequence[Cell]
    each: Mapping[str, Mapping[Cell, float]]

    @cached_property
    def by_platform(self) -> dict[str, dict[str, float]]:
        """Harmonic means over the problems of a platform, 0 if one is 0.

        An application that was not tried on all of the problems has no entry, because its mean
        would not be comparable.
        """
        wanted: dict[str, list[Cell]] = {}
        for cell in self.cells:
            wanted.setdefault(cell.platform, []).append(cell)
        return {
            name: {
                platform: portability(own[cell] for cell in cells)
                for platform, cells in wanted.items()
                if all(cell in own for cell in cells)
            }
            for name, own in self.each.items()
        }

    @cached_property
    def metric(self) -> dict[str, float | None]:
        """Pennycook's metric: harmonic means over the platforms, 0 if one is 0.

        None if the application has no platform on which all problems were tried.
        """
        return {
            name: portability(own.values()) if own else None
            for name, own in self.by_platform.items()
        }

    @cached_property
    def where_it_runs(self) -> dict[str, float | None]:
        """The metric over the platforms with an efficiency above 0."""
        return {
            name: portability(value for value in own.values() if value) if own else None
            for name, own in self.by_platform.items()
        }

    def of_problem(self, application: str, problem: Problem) -> float | None:
        """Return the metric for one problem, over all platforms on which it was tried."""
        own = self.each[application]
        values = [own[cell] for cell in self.cells if cell.problem == problem and cell in own]
        return portability(values) if values else None
