"""Refusals: code that one engine cannot compile is refused for all engines."""

from __future__ import annotations

from jetpy.kernel_language.definition import Definition, with_callees
from jetpy.kernel_language.signature import Kind
from jetpy.kernel_language.types import Refusal, View

VIEW_BYTES, NUMBER_BYTES = 24, {"int64": 8, "uint64": 8, "float64": 8}
"""Bytes of a Kokkos view, and of the scalars that take more than 4 bytes."""
MAX_BYTES = 464
"""Largest size of the arguments. Kokkos adds its own, and passes more than 512 bytes in total
through constant memory, which a CUDA graph cannot capture."""


def refuse(definition: Definition) -> None:
    """Refuse a definition that PyKokkos would translate wrongly, or not at all.

    Raises
    ------
    Refusal
        With the reason.
    """
    if definition.kind is not Kind.FUNCTION:
        _refuse_many_arguments(definition)
    _refuse_conflicting_names(with_callees([definition]))


def _refuse_many_arguments(definition: Definition) -> None:
    size = sum(
        VIEW_BYTES if isinstance(kind, View) else NUMBER_BYTES.get(kind, 4)
        for kind in definition.arguments.values()
    )
    if size > MAX_BYTES:
        raise Refusal(
            f"its arguments take {size} bytes; they must take at most {MAX_BYTES}, so that a CUDA "
            "graph can capture its launches"
        )


def _refuse_conflicting_names(used: list[Definition]) -> None:
    """Refuse two functions with the same name, and two views with the same name and other types.

    PyKokkos would give both views the first type.
    """
    names: dict[str, Definition] = {}
    elements: dict[str, str] = {}
    for definition in used:
        if names.setdefault(definition.name, definition) is not definition:
            raise Refusal(f"it calls two functions with the name {definition.name!r}")
        for name, kind in definition.parameters.items():
            if isinstance(kind, View) and elements.setdefault(name, kind.element) != kind.element:
                raise Refusal(
                    f"view {name!r} has elements of type {elements[name]} in one of the functions "
                    f"that it calls and of type {kind.element} in another; PyKokkos cannot tell "
                    "them apart, so give one of them another name"
                )
