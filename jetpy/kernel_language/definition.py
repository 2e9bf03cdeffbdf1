"""What reading a workunit or device function gives: its parameters and its typed tree."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cache
from types import CodeType
from typing import Any

from jetpy.kernel_language.tree import Statement
from jetpy.kernel_language.types import INTEGERS, Group, View
from jetpy.lazy import cached_property


class Kind(Enum):
    """How a workunit is launched; a `FUNCTION` is called by workunits only."""

    FUNCTION = "function"
    FOR = "for"
    REDUCE = "reduce"
    SCAN = "scan"


LEADING = {Kind.FUNCTION: 0, Kind.FOR: 1, Kind.REDUCE: 2, Kind.SCAN: 3}
"""Parameters that a launch does not pass: the index, an accumulator and whether to write."""


@dataclass(frozen=True, eq=False)
class Definition:
    """A workunit or device function.

    Attributes
    ----------
    name : str
    kind : Kind
    declared : mapping of str to (str or View or Group)
        The parameters as they are written, by name.
    places : tuple of (str, str or None)
        The parameters as engines see them: a declared one, and the field if that is a group. Of
        groups there is what the kernel uses.
    parameters : mapping of str to (str or View)
        The types of these, by name.
    returns : str or None
    body : tuple of Statement
    callees : tuple of Definition
        The device functions that it calls.
    """

    name: str
    kind: Kind
    declared: Mapping[str, str | View | Group]
    places: tuple[tuple[str, str | None], ...]
    parameters: Mapping[str, str | View]
    returns: str | None
    body: tuple[Statement, ...]
    callees: tuple[Definition, ...]

    @property
    def arguments(self) -> dict[str, str | View]:
        """The parameters that a launch passes."""
        return dict(list(self.parameters.items())[LEADING[self.kind] :])

    @cached_property
    def bind(self) -> Callable[..., list[Any]]:
        """Return what a launch passes, in the order of `arguments`, given what is `declared`.

        Takes keyword arguments; of a group's, the attributes that the kernel uses. Integers come
        as Python's, so that a member of an enumeration is as good as its number.
        """
        return self.taking("return [{values}]", lambda value, _: value)

    def taking(
        self,
        body: str,
        write: Callable[[str, str | View], str],
        first: str = "",
        **scope: Any,
    ) -> Callable[..., Any]:
        """Return a function of what is `declared`, given by keyword.

        Parameters
        ----------
        body : str
            Its body, a line in which ``{values}`` stands for what a launch passes.
        write : callable
            Returns the expression of one of these, given that of its value, and its type.
        first : str
            Parameters before the others, given by position.
        **scope : object
            Names that the body and these expressions have.
        """
        names = list(self.declared)[LEADING[self.kind] :]
        places = self.places[LEADING[self.kind] :]
        values = ", ".join(
            write(self._value(*place), kind)
            for place, kind in zip(places, self.arguments.values(), strict=True)
        )
        parameters = ", ".join([*([first] if first else []), *(["*", *names] if names else [])])
        scope["_index"] = operator.index
        exec(_compiled(f"def {self.name}({parameters}): {body.format(values=values)}"), scope)
        made: Callable[..., Any] = scope[self.name]
        return made

    def _value(self, name: str, field: str | None) -> str:
        """Return the expression of what is passed for a parameter."""
        if field is not None:
            return f"{name}.{field}"
        return f"_index({name})" if self.declared[name] in INTEGERS else name


@cache
def _compiled(text: str) -> CodeType:
    """Compile the text of a function, once for all runs that define it."""
    return compile(text, "<launch>", "exec")


def place_name(name: str, field: str | None) -> str:
    """Return what engines call a parameter, or a field of one that is a group."""
    return name if field is None else f"{name}_{field}"


def with_callees(definitions: Iterable[Definition]) -> list[Definition]:
    """Return definitions and all device functions that they call, these first and each once."""
    found: dict[Definition, None] = {}

    def add(definition: Definition) -> None:
        if definition not in found:
            for callee in definition.callees:
                add(callee)
            found[definition] = None

    for definition in definitions:
        add(definition)
    return list(found)
