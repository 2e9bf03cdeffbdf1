"""Arguments of a distributed run that must be equal in all processes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from jetpy import choices
from jetpy.graph.checks import as_numbers, whole_number
from jetpy.problem.bounds import DEFAULT_IMBALANCE, BoundedOptions, Bounds
from jetpy.problem.options import Effort, Options, choose_effort
from jetpy.problem.presets import choose
from jetpy.problem.problem import Problem, checked_imbalances

if TYPE_CHECKING:
    from jetpy.api.plans import Asked

INT64_MAX = 2**63 - 1


@dataclass(frozen=True)
class ColumnBounds:
    """Bounds on several weights of each vertex, as `make_request` takes them.

    Attributes
    ----------
    imbalances : tuple of float
        One for each weight.
    min_weights, max_weights : int, tuple of k tuples of c int, or None
    """

    imbalances: tuple[float, ...]
    min_weights: Any = None
    max_weights: Any = None


@dataclass(frozen=True)
class CollectiveArguments(BoundedOptions):
    """Arguments that must be equal on all ranks; `make_arguments` converts those of a caller.

    Attributes
    ----------
    backend : str
    objective, connected
        As for `jetpy.partition`.
    small : int or None
    targets : tuple of numbers, or None
    options : Options, mapping or None
        As for `jetpy.partition`.
    generations : int or None
    time_limit : float or None
    fill : bool
        Whether no part may be empty, if there are at least k vertices.
    columns : ColumnBounds or None
        Bounds if each vertex has several weights; then there are no other absolute bounds, and the
        imbalance is the largest one.
    """

    backend: choices.Backend
    objective: choices.Objective = "cut"
    connected: bool = False
    small: int | None = None
    targets: tuple[Any, ...] | None = None
    options: Options | Mapping[str, Any] | None = None
    generations: int | None = None
    time_limit: float | None = None
    fill: bool = True
    columns: ColumnBounds | None = None

    def __post_init__(self, large_imbalance: bool) -> None:
        super().__post_init__(large_imbalance)
        self.problem(0, self.targets)
        object.__setattr__(self, "time_limit", self.effort.time_limit)

    @property
    def preset_options(self) -> Options:
        """Options of the preset, with the requested methods and changes."""
        return choose(self.preset, self.coarsening, self.refinement, self.options)

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

    @property
    def bounds(self) -> Bounds:
        """Bounds on the weights of parts other than the imbalance."""
        given = self.columns or self
        return Bounds(given.min_weights, given.max_weights, self.lower_imbalance)

    def asked(self, migration: float, rows: Mapping[str, Any]) -> Asked:
        """Return the request for whole graphs; `rows` are options of all vertices."""
        from jetpy.api.plans import Asked

        imbalance = self.imbalance if self.columns is None else self.columns.imbalances
        names = "targets", "objective", "connected", "seed", "preset", "coarsening", "refinement"
        more = "options", "generations", "time_limit", "fill"
        options = {name: getattr(self, name) for name in (*names, *more)}
        options["imbalance"] = imbalance if self.keeps_imbalance else None
        options |= {"large_imbalance": True, "migration": migration}
        return Asked(self.k, self.bounds, options, rows)


def make_arguments(
    k: int,
    kinds: int = 1,
    *,
    coarsening: choices.Coarsening | None = None,
    refinement: choices.Refinement | None = None,
    imbalance: float | Sequence[float] | None,
    large_imbalance: bool,
    min_weights: npt.ArrayLike | None = None,
    max_weights: npt.ArrayLike | None = None,
    targets: npt.ArrayLike | None = None,
    small: int | None = None,
    **others: Any,
) -> CollectiveArguments:
    """Return the arguments of a call for vertices with `kinds` weights.

    `others` are other attributes of `CollectiveArguments`.

    Raises
    ------
    OptionError
        If a value is out of range.
    """
    usual = DEFAULT_IMBALANCE if imbalance is None else imbalance
    imbalances = checked_imbalances(usual, kinds, large=large_imbalance)
    bounds: dict[str, Any] = {"min_weights": min_weights, "max_weights": max_weights}
    if kinds > 1:
        table = {
            name: None if given is None else _as_tuples(as_numbers(given, name).tolist())
            for name, given in bounds.items()
        }
        bounds = {"columns": ColumnBounds(tuple(imbalances), **table)}
    return CollectiveArguments(
        k,
        max(imbalances),
        large_imbalance,
        targets=None
        if targets is None
        else tuple(np.atleast_1d(as_numbers(targets, "targets")).tolist()),
        coarsening=coarsening,
        refinement=refinement,
        keeps_imbalance=imbalance is not None or targets is not None,
        **bounds,
        small=None if small is None else whole_number("small", small, 0, INT64_MAX),
        **others,
    )


def _as_tuples(numbers: Any) -> Any:
    """Return nested lists of numbers as tuples, which processes can compare."""
    return tuple(map(_as_tuples, numbers)) if isinstance(numbers, list) else numbers
