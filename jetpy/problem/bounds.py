"""Minimum and maximum weights of parts that the caller gives, combined with relative limits."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from jetpy.errors import OptionError
from jetpy.graph.checks import as_numbers, finite_number, flag
from jetpy.graph.csr import INT32_MAX, MAX_WEIGHT
from jetpy.problem.limits import limits_of, lower_limits_of
from jetpy.problem.problem import Problem, RunOptions

if TYPE_CHECKING:
    from jetpy.problem.multiconstraint import MultiConstraint

DEFAULT_IMBALANCE = 0.03
LARGE = 2
"""Maximum weight of coarse vertices over the limit of the imbalance, if parts may weigh more."""
MAX_GIVEN = 2**62
"""Weights that the caller gives count as at most this."""
Limits = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Bounds:
    """Limits of part weights other than the imbalance; None if not given.

    Attributes
    ----------
    min_weights, max_weights : int, or array of int, shape (k,) or (k, c)
        Minimum and maximum weights, absolute.
    lower_imbalance : float
        Fraction of its share by which a part may be lighter.
    place : str
        Begin of messages that says where the limits apply.
    """

    min_weights: Any = None
    max_weights: Any = None
    lower_imbalance: float | None = None
    place: str = ""

    @property
    def are_given(self) -> bool:
        """Whether there are any."""
        return self.are_absolute or self.lower_imbalance is not None

    @property
    def are_absolute(self) -> bool:
        """Whether they replace the limits of the default imbalance."""
        return self.min_weights is not None or self.max_weights is not None


NO_BOUNDS = Bounds()


def bounded(
    problem: Problem, bounds: Bounds, *, keeps_imbalance: bool, checked: bool = True
) -> Problem:
    """Return a problem with the caller's bounds in addition to its own limits.

    `keeps_imbalance` says whether the limits of the problem hold as well, because the caller has
    given an imbalance or targets. Otherwise absolute bounds replace them. Without `checked`,
    partitions need not be able to keep the limits.

    Raises
    ------
    OptionError
        If the bounds are not integers from 0 on, one for all parts or one for each; or if no
        partition can keep them: a minimum above a maximum, minima of more than the total weight,
        maxima of less.
    """
    if not bounds.are_given:
        return problem
    total, k = problem.total, problem.k
    upper, lower = problem.limits, np.zeros(k, np.int64)
    if bounds.are_absolute and not keeps_imbalance:
        upper = np.full(k, total if bounds.max_weights is None else MAX_WEIGHT, np.int64)
    if bounds.lower_imbalance is not None:
        lower = lower_limits_of(total, problem.shares, checked_lower(bounds.lower_imbalance))
    if bounds.min_weights is not None:
        lower = np.maximum(lower, checked_weights(bounds.min_weights, k, MAX_GIVEN, "min_weights"))
    if bounds.max_weights is not None:
        most = checked_weights(bounds.max_weights, k, MAX_GIVEN, "max_weights")
        upper = np.minimum(upper, np.minimum(most, max(total, INT32_MAX)))
    if checked:
        check_bounds(total, lower, upper, bounds.place)
    return _with_limits(problem, lower, upper)


@dataclass(frozen=True)
class BoundedOptions(RunOptions):
    """Options that several kinds of runs share, with bounds on the weights of parts.

    Attributes
    ----------
    lower_imbalance : float or None
    min_weights, max_weights : int, tuple of k int, or None
        The bounds, as for `jetpy.partition`.
    keeps_imbalance : bool
        Whether the limit of the imbalance holds in addition to absolute bounds.
    """

    lower_imbalance: float | None = field(default=None, kw_only=True)
    min_weights: int | tuple[int, ...] | None = field(default=None, kw_only=True)
    max_weights: int | tuple[int, ...] | None = field(default=None, kw_only=True)
    keeps_imbalance: bool = field(default=True, kw_only=True)

    def __post_init__(self, large_imbalance: bool) -> None:
        super().__post_init__(large_imbalance)
        flag("keeps_imbalance", self.keeps_imbalance)
        if self.lower_imbalance is not None:
            checked_lower(self.lower_imbalance)
        for name in ("min_weights", "max_weights"):
            given = getattr(self, name)
            if given is not None:
                each = checked_weights(given, self.k, MAX_WEIGHT, name).tolist()
                object.__setattr__(self, name, tuple(each) if np.ndim(given) else each[0])

    def bounded_problem(
        self,
        total: int,
        targets: npt.ArrayLike | None = None,
        *,
        fill: bool = False,
        checked: bool = True,
    ) -> Problem:
        """Return the problem of a graph of this total vertex weight; arguments as for `problem`.

        Raises
        ------
        OptionError
            If `checked`, and no weights of parts can keep the limits.
        """
        problem = self.problem(total, targets, fill=fill)
        bounds = Bounds(self.min_weights, self.max_weights, self.lower_imbalance)
        return bounded(problem, bounds, keeps_imbalance=self.keeps_imbalance, checked=checked)


def bounded_columns(
    problem: Problem, bounds: Bounds, several: MultiConstraint, *, keeps_imbalance: bool
) -> tuple[Problem, MultiConstraint]:
    """Return the problem and the constraints of several weights with the caller's bounds.

    `problem` is that of the combined weight. The shares of its parts become the mean of those that
    the bounds of each weight allow. `keeps_imbalance` as for `bounded`.

    Raises
    ------
    OptionError
        Under the conditions of `bounded`, for each weight.
    """
    from jetpy.problem.targets import MAX_SHARES, ideals

    if not bounds.are_given:
        return problem, several
    count = several.limits.shape[1]
    columns = []
    for j, total in enumerate(several.totals.tolist()):
        limits = several.limits[:, j]
        own = replace(problem, total=total, limit=int(limits.max()), part_limits=limits)
        each = Bounds(
            _column(bounds.min_weights, "min_weights", j, several.limits.shape),
            _column(bounds.max_weights, "max_weights", j, several.limits.shape),
            bounds.lower_imbalance,
            f"{bounds.place}for weight {j}, ",
        )
        columns.append(bounded(own, each, keeps_imbalance=keeps_imbalance))
    changed = replace(
        several,
        ideals=np.stack([own.ideals for own in columns], axis=1),
        limits=np.stack([own.limits for own in columns], axis=1),
        lower_limits=np.stack([own.lower_limits for own in columns], axis=1),
    )
    if all((own.shares == problem.shares).all() for own in columns):
        return problem, changed
    parts = sum(own.shares / own.shares.sum() for own in columns) / count
    shares = np.maximum(np.rint(parts * (MAX_SHARES - problem.k)), 1).astype(np.int64)
    limits = limits_of(ideals(problem.total, shares), problem.imbalance)
    return replace(problem, targets=shares, part_limits=limits), changed


def _column(given: Any, name: str, j: int, shape: tuple[int, ...]) -> Any:
    """Return the bounds on one of several weights."""
    if given is None:
        return None
    values = as_numbers(given, name)
    if values.ndim == 0:
        return given
    if values.shape != shape:
        raise OptionError(
            f"{name} has shape {values.shape}; it must be one weight, or have shape {shape}, one "
            "weight for each part and each of the vertex weights"
        )
    return values[:, j]


def checked_lower(lower_imbalance: Any) -> float:
    """Return a lower imbalance, a number in 0..1; OptionError otherwise."""
    return finite_number("lower_imbalance", lower_imbalance, 1, "None or ")


def check_bounds(total: int, lower: Limits, upper: Limits, place: str = "") -> None:
    """Refuse limits (int64, shape (k,)) that no weights of parts with this total can keep.

    `place` is the begin of messages.

    Raises
    ------
    OptionError
        If a lower limit exceeds the upper one, or all lower limits together the total, or if all
        upper limits together are less than the total.
    """
    if (lower > upper).any():
        p = int((lower > upper).argmax())
        raise OptionError(
            f"{place}part {p} has the lower limit {lower[p]} and the upper limit {upper[p]}; the "
            "lower limit must not exceed the upper one"
        )
    least, most = sum(lower.tolist()), sum(upper.tolist())
    if least > total:
        raise OptionError(
            f"{place}the lower limits of the parts add up to {least}, but the total vertex weight "
            f"is {total}; lower min_weights or raise lower_imbalance"
        )
    if most < total:
        raise OptionError(
            f"{place}the upper limits of the parts add up to {most}, but the total vertex weight "
            f"is {total}; raise max_weights or imbalance, or ask for more parts"
        )


def checked_weights(given: Any, k: int, most: int, name: str) -> Limits:
    """Return one weight for each part, int64, shape (k,), given one for all or one for each.

    Weights above `most` become that.

    Raises
    ------
    OptionError
        If `given` has another shape, or under the conditions of `whole_weights`.
    """
    values = as_numbers(given, name)
    if values.shape == (k, 1):
        values = values[:, 0]
    if values.shape not in ((), (k,)):
        raise OptionError(
            f"{name} has shape {values.shape}; it must be one weight, or {k}, one for each part"
        )
    return whole_weights(np.broadcast_to(values, k), most, name)


def whole_weights(values: npt.NDArray[Any], most: int, name: str) -> Limits:
    """Return weights of parts as int64, of the same shape; weights above `most` become that.

    Raises
    ------
    OptionError
        If one is not an integer from 0 on.
    """
    if values.dtype.kind not in "iuf":
        raise OptionError(f"{name} must be numbers, not {values.dtype}")
    wrong = ~((values >= 0) & np.isfinite(values) & (values == np.floor(values)))
    if wrong.any():
        p = int(np.argwhere(wrong)[0][0])
        raise OptionError(
            f"{name} is {values[wrong][0]} for part {p}; weights must be integers from 0 on"
        )
    wide = values.astype(np.float64 if values.dtype.kind == "f" else np.uint64)
    return np.minimum(wide, most).astype(np.int64)


def _with_limits(problem: Problem, lower: Limits, upper: Limits) -> Problem:
    """Return the problem with other limits; parts whose shares break them get other shares."""
    usual, largest = problem.limit, int(upper.max())
    alike = largest <= LARGE * usual and bool((upper == largest).all())
    imbalance = max(largest / max(problem.ideal, 1) - 1, 0.0)
    changed = replace(
        problem,
        imbalance=problem.imbalance if largest >= usual else imbalance,
        limit=largest if alike else min(usual, largest),
        part_limits=None if alike else upper,
    )
    if alike and not lower.any():
        return changed
    shares, ideals = problem.shares, problem.ideals
    if ((ideals < lower) | (ideals > upper)).any():
        shares = _shares_within(problem.total, shares, lower, upper)
    return replace(changed, targets=shares, part_lower_limits=lower if lower.any() else None)


def _shares_within(total: int, shares: Limits, lower: Limits, upper: Limits) -> Limits:
    """Return shares in which each part's weight is within its limits, otherwise as given.

    A part weighs as much as its share times a common level, but not less than its lower limit and
    not more than its upper one; the level is the one at which all parts together have the total.
    Integers find it: as long as the shares of the other parts in what is left break limits, the
    parts on the side that breaks more get their limit.
    """
    from jetpy.problem.targets import MAX_SHARES

    weights, free = np.zeros(len(shares), np.int64), np.ones(len(shares), np.bool_)
    lower = np.minimum(lower, total)
    left, whole = total, int(shares.sum())
    while free.any():
        level, rest = divmod(left, whole)
        parts = np.flatnonzero(free)
        own = shares[parts]
        below = parts[level * own + rest * own // whole < lower[parts]]
        above = parts[level * own - (-rest * own // whole) > upper[parts]]
        lack = int(lower[below].sum()) * whole - left * int(shares[below].sum())
        excess = left * int(shares[above].sum()) - int(upper[above].sum()) * whole
        if not len(below) and not len(above):
            break
        fixed, limits = (below, lower) if lack >= excess else (above, upper)
        weights[fixed], free[fixed] = limits[fixed], False
        left = max(left - int(limits[fixed].sum()), 0)
        whole = int(shares[free].sum())
    wanted = np.where(free, shares.astype(object) * left, weights.astype(object) * max(whole, 1))
    wanted, among = wanted * (MAX_SHARES - len(shares)), max(int(wanted.sum()), 1)
    rounded = wanted // among
    rounded += 2 * (wanted - rounded * among) + rounded % 2 > among  # to the nearest, ties to even
    return np.asarray(np.maximum(rounded, 1), np.int64)
