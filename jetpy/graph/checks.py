"""Checks of arguments; each error names the argument."""

from __future__ import annotations

import math
import numbers
import operator
from collections.abc import Collection
from contextlib import suppress
from typing import Any

import numpy as np
import numpy.typing as npt

from jetpy.errors import OptionError
from jetpy.graph.csr import INT32_MAX


def integer(name: str, value: Any) -> int:
    """Return `value` as an int.

    Raises
    ------
    OptionError
        If `value` is not an integer; True and False are not accepted.
    """
    with suppress(TypeError):
        if not isinstance(value, bool):
            return operator.index(value)
    raise OptionError(f"{name} is {value!r:.40}; it must be an integer")


def whole_number(
    name: str, value: Any, least: int = 0, most: int = INT32_MAX, or_none: str = ""
) -> int:
    """Return `value` as an int in `least`..`most`; `or_none` begins the rule in the message.

    Raises
    ------
    OptionError
        If `value` is not an integer in this range.
    """
    with suppress(OptionError):
        number = integer(name, value)
        if least <= number <= most:
            return number
    wanted = f"{or_none}an integer in {least}..{most}"
    raise OptionError(f"{name} is {value!r:.40}; it must be {wanted}")


def finite_number(name: str, value: Any, most: float | None = None, or_none: str = "") -> float:
    """Return `value` as a finite float in 0..`most`; `or_none` begins the rule in the message.

    Raises
    ------
    OptionError
        If `value` is not a real number, or is negative, above `most`, infinite, NaN or a bool.
    """
    with suppress(OverflowError):  # an integer beyond all floats
        if isinstance(value, numbers.Real) and not isinstance(value, bool):
            number = float(value)
            if 0 <= number < math.inf and (most is None or number <= most):
                return number
    wanted = "a finite number of at least 0" if most is None else f"a number in 0..{most}"
    raise OptionError(f"{name} is {value!r:.40}; it must be {or_none}{wanted}")


def flag(name: str, value: Any) -> bool:
    """Return `value`, which must be True or False.

    Raises
    ------
    OptionError
        If `value` is not a bool.
    """
    if not isinstance(value, bool):
        raise OptionError(f"{name} is {value!r:.40}; it must be True or False")
    return value


def one_of(known: Collection[str], what: str, name: Any) -> None:
    """Check that `name` is in `known`; `what` names the kind of choice in the message.

    Raises
    ------
    OptionError
        If `name` is not in `known`.
    """
    if not isinstance(name, str) or name not in known:
        raise OptionError(f"unknown {what} {name!r:.40}; choose one of {', '.join(known)}")


def as_numbers(given: Any, name: str) -> npt.NDArray[Any]:
    """Return an array; OptionError if the rows of a list have different lengths."""
    try:
        return np.asarray(given)
    except ValueError:
        raise OptionError(f"{name} is {given!r:.40}; its rows must have equal lengths") from None
