"""Frozen dataclasses whose fields are checked against their annotations and ranges."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from functools import cache
from types import UnionType
from typing import Any, Literal, Self, get_args, get_origin, get_type_hints

from jetpy.errors import OptionError
from jetpy.graph.checks import finite_number, flag, one_of, whole_number


def option(default: Any, least: float = 0, most: float | None = None) -> Any:
    """Return a field with a default, whose numbers must be in `least`..`most`."""
    return field(default=default, metadata={"least": least, "most": most})


@dataclass(frozen=True)
class Checked:
    """Base class of options: dataclasses of int, float, bool, named choices and other options.

    Raises
    ------
    OptionError
        If a value does not have the type of its field, or is out of range.
    """

    def __post_init__(self) -> None:
        hints = _hints(type(self))  # type: ignore[arg-type]
        for own in fields(self):
            value = _check(own.name, hints[own.name], getattr(self, own.name), own.metadata)
            object.__setattr__(self, own.name, value)

    def values(self) -> dict[str, Any]:
        """Return all options by name; a dot separates the group from the option.

        >>> import jetpy
        >>> jetpy.preset("jet").values()["refine.patience"]
        12
        """
        values: dict[str, Any] = {}
        for own in fields(self):
            value = getattr(self, own.name)
            if isinstance(value, Checked):
                values.update({f"{own.name}.{name}": v for name, v in value.values().items()})
            else:
                values[own.name] = value
        return values

    def changed(self, changes: Mapping[str, Any]) -> Self:
        """Return a copy with other values of some options, by the names of `values`.

        >>> import jetpy
        >>> jetpy.preset("jet").changed({"refine.patience": 20}).refine.patience
        20

        Raises
        ------
        OptionError
            If a name is unknown, or a value is out of range.
        """
        for name in changes:
            _check_name(self, name)
        groups: dict[str, dict[str, Any]] = {}
        own: dict[str, Any] = {}
        for name, value in changes.items():
            group, _, rest = name.partition(".")
            if rest:
                groups.setdefault(group, {})[rest] = value
            else:
                own[name] = value
        own.update({name: getattr(self, name).changed(inner) for name, inner in groups.items()})
        return replace(self, **own)


def value_text(value: Any) -> str:
    """Return the value of an option as text, which `read_value` reads.

    >>> value_text((75, 25)), value_text(None), value_text(())
    ('75,25', 'none', '')
    """
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value).lower()


def read_value(options: type[Checked], name: str, text: str) -> Any:
    """Return the value of an option of a class, given its name in `Checked.values` and text.

    The value is not checked; text that does not look like the option's type stays text.

    Raises
    ------
    OptionError
        If there is no such option.
    """
    _check_name(options(), name)
    group, _, rest = name.partition(".")
    kind = _hints(options)[group]  # type: ignore[arg-type]
    return read_value(kind, rest, text) if rest else _read(kind, text)


def _check_name(options: Checked, name: str) -> None:
    """Check that there is an option of this name; OptionError otherwise."""
    known = options.values()
    if name in known:
        return
    close = get_close_matches(name, known, 1)
    hint = f"; did you mean {close[0]}?" if close else "; --show-options lists all"
    raise OptionError(f"unknown option {name!r:.40}{hint}")


def _read(kind: Any, text: str) -> Any:
    if get_origin(kind) is UnionType:
        if text == "none":
            return None
        kind = _not_none(kind)
    if get_origin(kind) is tuple:
        return tuple(_read(get_args(kind)[0], one) for one in text.split(",")) if text else ()
    if kind is bool:
        return {"true": True, "false": False}.get(text, text)
    if kind in (int, float):
        with suppress(ValueError):
            return kind(text)
    return text


def _not_none(kind: Any) -> Any:
    (own,) = (one for one in get_args(kind) if one is not type(None))
    return own


@cache
def _hints(options: type[Checked]) -> dict[str, Any]:
    return get_type_hints(options)


def _check(name: str, kind: Any, value: Any, limits: Mapping[str, Any]) -> Any:
    """Return a value of a type within limits."""
    if get_origin(kind) is UnionType:
        if value is None:
            return None
        kind = _not_none(kind)
    if get_origin(kind) is tuple:
        if not isinstance(value, tuple | list):
            raise OptionError(f"{name} is {value!r:.40}; it must be a tuple")
        return tuple(_check(name, get_args(kind)[0], one, limits) for one in value)
    if get_origin(kind) is Literal:
        one_of(get_args(kind), name, value)
        return value
    if kind is bool:
        return flag(name, value)
    if isinstance(kind, type) and issubclass(kind, Checked):
        if not isinstance(value, kind):
            raise OptionError(f"{name} is {value!r:.40}; it must be {kind.__name__}")
        return value
    most = limits.get("most")
    if kind is int:
        number: float = whole_number(name, value, int(limits.get("least", 0)))
    else:
        number = finite_number(name, value)
    if most is not None and number > most:
        raise OptionError(f"{name} is {value!r:.40}; it must be at most {most}")
    return number
