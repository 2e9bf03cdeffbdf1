"""Frozen dataclasses whose fields are checked against their annotations and ranges."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from functools import cache
from types import UnionType
from typing import Any, ClassVar, Literal, Self, get_args, get_origin, get_type_hints

from jetpy.errors import OptionError
from jetpy.graph.checks import finite_number, flag, one_of, whole_number


def option(default: Any, least: int = 0, most: int | None = None) -> Any:
    """Return a field with a default, whose numbers must be in `least`..`most`; floats from 0 on."""
    limits = {"least": least} if most is None else {"least": least, "most": most}
    return field(default=default, metadata=limits)


@dataclass(frozen=True)
class Checked:
    """Base class of options: dataclasses of int, float, bool, named choices and other options.

    Attributes
    ----------
    prefix : str
        Text before the names of the options in messages.

    Raises
    ------
    OptionError
        If a value does not have the type of its field, or is out of range.
    """

    prefix: ClassVar[str] = ""

    def __post_init__(self) -> None:
        hints = _hints(type(self))  # type: ignore[arg-type]
        for own in fields(self):
            value, name = getattr(self, own.name), self.prefix + own.name
            value = _check(name, hints[own.name], value, own.metadata)
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
            If `changes` is not a mapping, a name is unknown, or a value is out of range.
        """
        if not isinstance(changes, Mapping):
            raise OptionError(
                f"options is {changes!r:.40}; it must be a mapping from names of options to values"
            )
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
    ('75,25', 'none', 'none')
    """
    if isinstance(value, tuple) and value:
        return ",".join(map(str, value))
    return "none" if value in (None, ()) else str(value).lower()


def read_value(options: type[Checked], name: str, text: str) -> Any:
    """Return the value of an option of a class, given its name in `Checked.values` and text.

    True, False and None may be in upper and lower case. The value is not checked; text that does
    not look like the option's type stays text.

    >>> from jetpy import Options
    >>> read_value(Options, "refine.locks", "False"), read_value(Options, "cycle_limit", "none")
    (False, None)

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
    has_groups = any("." in one for one in known)
    inside = [one for one in known if one.startswith(f"{name}.")]
    close = get_close_matches(str(name), known, 1)
    if inside:
        hint = f"; it is a group, so change its options, such as {inside[0]}"
    elif close:
        hint = f"; did you mean {close[0]}?"
    elif has_groups:
        hint = "; --show-options lists all"
    else:
        hint = f"; choose one of {', '.join(known)}"
    raise OptionError(f"unknown option {name!r:.40}{hint}")


def _read(kind: Any, text: str) -> Any:
    if get_origin(kind) is UnionType:
        if text.lower() == "none":
            return None
        kind = _not_none(kind)
    if get_origin(kind) is tuple:
        if text.lower() in ("", "none"):
            return ()
        return tuple(_read(get_args(kind)[0], one) for one in text.split(","))
    if kind is bool:
        return {"true": True, "false": False}.get(text.lower(), text)
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
    or_none = ""
    if get_origin(kind) is UnionType:
        if value is None:
            return None
        kind, or_none = _not_none(kind), "None or "
    if get_origin(kind) is tuple:
        if not isinstance(value, tuple | list):
            raise OptionError(f"{name} is {value!r:.40}; it must be a tuple or a list")
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
    if kind is int:
        return whole_number(name, value, **limits, or_none=or_none)
    return finite_number(name, value, limits.get("most"), or_none)
