"""Refusals: code that one engine cannot compile is refused for all engines."""

from __future__ import annotations

from jetpy.kernel_language.definition import Definition, with_callees
from jetpy.kernel_language.types import Refusal, View


def refuse(definition: Definition) -> None:
    """Refuse a definition that PyKokkos would translate wrongly, or not at all.

    Those are two functions with the same name, and two views with the same name and other types:
    PyKokkos would give both views the first type.

    Raises
    ------
    Refusal
        With the reason.
    """
    names: dict[str, Definition] = {}
    elements: dict[str, str] = {}
    for called in with_callees([definition]):
        if names.setdefault(called.name, called) is not called:
            raise Refusal(f"it calls two functions with the name {called.name!r}")
        for name, kind in called.parameters.items():
            if isinstance(kind, View) and elements.setdefault(name, kind.element) != kind.element:
                raise Refusal(
                    f"view {name!r} has elements of type {elements[name]} in one of the functions "
                    f"that it calls and of type {kind.element} in another; PyKokkos cannot tell "
                    "them apart, so give one of them another name"
                )
