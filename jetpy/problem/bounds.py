"""Minimum and maximum weights of parts that the caller gives, combined with relative limits."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from jetpy.errors import OptionError
from jetpy.graph.checks import finite_number
from jetpy.problem.limits import lower_limits_of
from jetpy.problem.problem import Problem
from jetpy.problem.targets import MAX_SHARES, Shares

DEFAULT_IMBALANCE = 0.03
LARGE = 2
"""Coarse vertices may weigh as much as a part, but not if parts may be so many times heavier than
the limit of the imbalance."""
Limits = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Bounds:
    """Limits of part weights beside the imbalance; None if not given.

    Attributes
    ----------
    min_weights, max_weights : int, or array of int, shape (k,) or (k, c)
        Minimum and maximum weights, absolute.
    lower_imbalance : float
        Fraction of its share by which a part may be lighter.
    """

    min_weights: Any = None
    max_weights: Any = None
    lower_imbalance: float | None = None

    @property
    def are_given(self) -> bool:
        """Whether there are any."""
        return self.are_absolute or self.lower_imbalance is not None

    @property
    def are_absolute(self) -> bool:
        """Whether they replace the limits of the default imbalance."""
        return self.min_weights is not None or self.max_weights is not None


NO_BOUNDS = Bounds()


def bounded(problem: Problem, bounds: Bounds, *, keeps_imbalance: bool) -> Problem:
    """Return a problem with the caller's bounds beside its own limits.

    `keeps_imbalance` says whether the limits of the problem hold as well, because the caller has
    given an imbalance or targets. Otherwise absolute bounds replace them.

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
        upper = np.full(k, total, np.int64)
    if bounds.lower_imbalance is not None:
        lower = lower_limits_of(total, problem.shares, checked_lower(bounds.lower_imbalance))
    if bounds.min_weights is not None:
        lower = np.maximum(lower, _checked(bounds.min_weights, k, total, "min_weights"))
    if bounds.max_weights is not None:
        upper = np.minimum(upper, _checked(bounds.max_weights, k, total, "max_weights"))
    check_bounds(total, lower, upper)
    return _with_limits(problem, lower, upper)


def checked_lower(lower_imbalance: Any) -> float:
    """Return a lower imbalance, a number in 0..1; OptionError otherwise."""
    return finite_number("lower_imbalance", lower_imbalance, 1, "None or ")


def check_bounds(total: int, lower: Limits, upper: Limits, kind: str = "weight") -> None:
    """Refuse limits (int64, shape (k,)) that no weights of parts with this total can keep.

    `kind` names the weight in messages.

    Raises
    ------
    OptionError
        If a lower limit exceeds the upper one, or all lower limits together the total, or if all
        upper limits together are less than the total.
    """
    if (lower > upper).any():
        p = int((lower > upper).argmax())
        raise OptionError(
            f"part {p} has the lower limit {lower[p]} and the upper limit {upper[p]}; the lower "
            "limit must not exceed the upper one"
        )
    least, most = sum(lower.tolist()), sum(upper.tolist())
    if least > total:
        raise OptionError(
            f"the lower limits of the parts add up to {least}, but the total vertex {kind} is "
            f"{total}; lower min_weights or lower_imbalance"
        )
    if most < total:
        raise OptionError(
            f"the upper limits of the parts add up to {most}, but the total vertex {kind} is "
            f"{total}; raise max_weights or imbalance, or ask for more parts"
        )


def _checked(given: Any, k: int, total: int, name: str) -> Limits:
    """Return one weight for each part, int64, shape (k,), at most the total weight."""
    values = np.asarray(given)
    if values.shape not in ((), (k,)):
        raise OptionError(
            f"{name} has shape {values.shape}; it must be one weight, or {k}, one for each part"
        )
    return whole_weights(np.broadcast_to(values, k), total, name)


def whole_weights(values: npt.NDArray[Any], total: int, name: str) -> Limits:
    """Return weights as int64, at most `total`, of the same shape.

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
    return np.asarray(np.minimum(values, total), np.int64)


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


def _shares_within(total: int, shares: Shares, lower: Limits, upper: Limits) -> Shares:
    """Return shares in which each part's weight is within its limits, otherwise as given.

    A part weighs as much as its share times a common level, but not less than its lower limit and
    not more than its upper one; the level is the one at which all parts together have the total.
    """
    below, above = 0.0, total / float(shares.min())

    def weights_at(level: float) -> npt.NDArray[np.float64]:
        return np.clip(level * shares, lower, upper)

    for _ in range(100):
        level = (below + above) / 2
        if weights_at(level).sum() < total:
            below = level
        else:
            above = level
    wanted = weights_at(above)
    scale = (MAX_SHARES - len(shares)) / max(wanted.sum(), 1.0)
    return np.asarray(np.maximum(np.rint(wanted * scale), 1), np.int64)
