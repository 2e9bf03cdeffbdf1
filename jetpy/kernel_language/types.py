"""Types of the kernel language: the types of C, with the names of NumPy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, get_args, get_origin

RANK = {"boolean": 0, "int32": 1, "uint32": 2, "int64": 3, "uint64": 4, "float32": 5, "float64": 6}
"""Scalar types by rank; the usual arithmetic conversions choose the higher rank of two."""
INTEGERS = {"int32", "uint32", "int64", "uint64"}
SCALARS = {
    "int32": "int32",
    "int64": "int64",
    "uint32": "uint32",
    "uint64": "uint64",
    "float": "float64",
    "double": "float64",
    "bool": "boolean",
}
"""Scalar types, by their names in annotations."""
INT32 = range(1 - 2**31, 2**31)
"""Values of int32 literals; C++ has no literal for the lowest int32."""


class Width(Enum):
    """The width of kernels: the type of `int`, `Offset` and `Weight` in them.

    `WIDE` is for graphs whose number of edges or sum of weights does not fit into 32 bits.
    """

    NARROW = "int32"
    WIDE = "int64"


OF_WIDTH = {"int", "Offset", "Weight"}
"""Names of the type that depends on the width (`jetpy.workloads.common.groups`)."""


class Refusal(Exception):
    """The reason why a function is outside the language; `reading` adds its name."""


@dataclass(frozen=True)
class View:
    """Type of an array parameter, given by the type of its elements."""

    element: str


@dataclass(frozen=True)
class Group:
    """Type of a parameter group.

    Attributes
    ----------
    fields : mapping of str to (str or View)
    paths : mapping of str to str
        The attribute of the host's object for each field: ``partition.parts`` if the group has a
        group `partition`.
    kinds : tuple of type
        The class of the group, its base classes, and the classes of nested groups.
    """

    fields: Mapping[str, str | View]
    paths: Mapping[str, str]
    kinds: tuple[type, ...]


def common(left: str, right: str) -> str:
    """Return the common type of two operands in C; small types promote to int32."""
    winner = left if RANK[left] >= RANK[right] else right
    return "int32" if winner == "boolean" else winner


def named_type(text: str, width: Width = Width.NARROW) -> str | View | None:
    """Return the type that an annotation's text names, or None if it is not a scalar or view.

    >>> named_type("pk.View1D[pk.int64]"), named_type("int"), named_type("Graph")
    (View(element='int64'), 'int32', None)
    >>> named_type("pk.View1D[Offset]", Width.WIDE), named_type("pk.View1D[pk.int32]", Width.WIDE)
    (View(element='int64'), View(element='int32'))
    """
    text = text.replace("pk.", "")
    if text.startswith("Acc["):
        return "int64"
    if text.startswith("View1D["):
        element = named_type(text[7:-1], width)
        return View(element) if isinstance(element, str) else None
    return width.value if text in OF_WIDTH else SCALARS.get(text)


def group_type(declared: type, width: Width = Width.NARROW) -> Group:
    """Return the type of a class, given by the annotations of its attributes.

    Fields of nested groups count as fields of the class; of two with one name, the first counts.

    Raises
    ------
    Refusal
        If an attribute is neither a scalar, nor a view, nor a group.
    """
    kinds = tuple(kind for kind in declared.__mro__ if kind is not object)
    fields: dict[str, str | View] = {}
    paths: dict[str, str] = {}
    for kind in reversed(kinds):
        for name, annotation in vars(kind).get("__annotations__", {}).items():
            own = named_type(_text_of(annotation), width)
            if own is not None:
                fields[name], paths[name] = own, name
                continue
            inner = group_type(annotation, width) if isinstance(annotation, type) else None
            if inner is None or not inner.fields:
                raise Refusal(f"group {declared.__name__}: unknown type of field {name!r}")
            for field, path in inner.paths.items():
                fields.setdefault(field, inner.fields[field])
                paths.setdefault(field, f"{name}.{path}")
            kinds += inner.kinds
    return Group(fields, paths, kinds)


def _text_of(annotation: Any) -> str:
    """Return the text of an evaluated annotation."""
    if isinstance(annotation, str):
        return annotation
    if get_origin(annotation) is None:
        return str(getattr(annotation, "__name__", annotation))
    inner = ", ".join(_text_of(argument) for argument in get_args(annotation))
    return f"{_text_of(get_origin(annotation))}[{inner}]"
