"""The definition of a workunit or device function: its parameters and its typed tree."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from jetpy.kernel_language.signature import Kind, Signature
from jetpy.kernel_language.tree import Statement
from jetpy.kernel_language.types import Group, View
from jetpy.lazy import cached_property

LEADING = {Kind.FUNCTION: 0, Kind.FOR: 1, Kind.REDUCE: 2, Kind.SCAN: 3}
"""Parameters that a launch does not pass: the index, an accumulator, and whether to write."""


@dataclass(frozen=True, eq=False)
class Definition:
    """A workunit or device function.

    Attributes
    ----------
    name : str
    kind : Kind
    declared : mapping of str to (str or View or Group)
        The parameters in the source, by name.
    places : tuple of (str, str or None)
        The parameters that engines see: a declared name and, for a group, one of the fields that
        the kernel uses.
    parameters : mapping of str to (str or View)
        The types of these parameters, by name.
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
        """Return the types of the parameters that a launch passes, by name."""
        return self.signature.arguments

    @cached_property
    def signature(self) -> Signature:
        """Return the part of the definition that a launch needs."""
        leading = LEADING[self.kind]
        types = tuple(self.parameters.values())
        places = tuple((name, self._path(name, field)) for name, field in self.places[leading:])
        return Signature(
            self.name, self.kind, tuple(self.declared)[leading:], places, types[leading:]
        )

    def _path(self, name: str, field: str | None) -> str | None:
        kind = self.declared[name]
        return kind.paths[field] if isinstance(kind, Group) and field else field


def with_callees(definitions: Iterable[Definition]) -> list[Definition]:
    """Return definitions and all device functions that they call, callees first, each once."""
    callees_first: dict[Definition, None] = {}

    def add(definition: Definition) -> None:
        if definition not in callees_first:
            for callee in definition.callees:
                add(callee)
            callees_first[definition] = None

    for definition in definitions:
        add(definition)
    return list(callees_first)
