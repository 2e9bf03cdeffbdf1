"""Arguments of any type, checked: each error names the argument."""

from __future__ import annotations

import math
import numbers
import operator
from collections.abc import Collection
from contextlib import suppress
from typing import Any

from jetpy.errors import OptionError
from jetpy.graph.csr import INT32_MAX


def integer(name: str, value: Any) -> int:
    """Return an argument that is an integer.

    Raises
    ------
    OptionError
        If it is none; True and False are none, either.
    """
    with suppress(TypeError):
        if not isinstance(value, bool):
            return operator.index(value)
    raise OptionError(f"{name} is {value!r:.40}; an integer is needed")


def whole_number(name: str, value: Any, least: int = 0) -> int:
    """Return an argument that is an integer from `least` to 2**31 - 1.

    Raises
    ------
    OptionError
        If it is none.
    """
    with suppress(OptionError):
        number = integer(name, value)
        if least <= number <= INT32_MAX:
            return number
    wanted = f"a whole number from {least} to {INT32_MAX}"
    raise OptionError(f"{name} is {value!r:.40}; {wanted} is needed")


def finite_number(name: str, value: Any) -> float:
    """Return an argument that is a number from 0 on.

    Raises
    ------
    OptionError
        If it is none.
    """
    with suppress(OverflowError):  # an integer beyond all floats
        if isinstance(value, numbers.Real) and not isinstance(value, bool):
            number = float(value)
            if 0 <= number < math.inf:
                return number
    raise OptionError(f"{name} is {value!r:.40}; a number that is not negative is needed")


def flag(name: str, value: Any) -> bool:
    """Return an argument that is True or False.

    Raises
    ------
    OptionError
        If it is neither.
    """
    if not isinstance(value, bool):
        raise OptionError(f"{name} is {value!r:.40}; True or False is needed")
    return value


def one_of(known: Collection[str], what: str, name: Any) -> None:
    """Refuse a name that is not among those known.

    Raises
    ------
    OptionError
    """
    if not isinstance(name, str) or name not in known:
        raise OptionError(f"unknown {what} {name!r:.40}: choose one of {', '.join(known)}")
