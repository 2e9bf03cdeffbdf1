"""The signature of a workunit: its kind and its arguments, which is all that a launch needs."""

from __future__ import annotations

import json
import operator
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum
from functools import cache
from types import CodeType
from typing import Any

from jetpy.errors import BackendError
from jetpy.kernel_language.types import INTEGERS, View
from jetpy.lazy import cached_property

VIEW_BYTES, NUMBER_BYTES = 24, {"int64": 8, "uint64": 8, "float64": 8}
"""Bytes of a Kokkos view, and of the scalars that take more than 4 bytes."""
MAX_BYTES = 464
"""Largest size of the arguments of a captured launch. Kokkos adds its own, and passes more than 512
bytes in total through constant memory, which a CUDA graph cannot capture."""


class Kind(Enum):
    """The launch pattern of a workunit; only workunits call a `FUNCTION`."""

    FUNCTION = "function"
    FOR = "for"
    REDUCE = "reduce"
    SCAN = "scan"


@dataclass(frozen=True, eq=False)
class Signature:
    """A workunit without its body, as launches need it.

    Attributes
    ----------
    name : str
    kind : Kind
    keywords : sequence of str
        The parameters in the source, including groups, which a launch passes by keyword.
    places : sequence of (str, str or None)
        The arguments that engines get: one of `keywords` and, for a group, the path
        (`Group.paths`) of one of the fields that the kernel uses.
    types : sequence of (str or View)
        The types of these arguments.
    """

    name: str
    kind: Kind
    keywords: tuple[str, ...]
    places: tuple[tuple[str, str | None], ...]
    types: tuple[str | View, ...]

    @cached_property
    def arguments(self) -> dict[str, str | View]:
        """Return the types of the arguments that engines get, by name."""
        names = (place_name(*place) for place in self.places)
        return dict(zip(names, self.types, strict=True))

    @cached_property
    def size(self) -> int:
        """Return the bytes of the arguments in a launch by Kokkos."""
        return sum(
            VIEW_BYTES if isinstance(kind, View) else NUMBER_BYTES.get(kind, 4)
            for kind in self.types
        )

    def check_capture(self) -> None:
        """Raise a BackendError if a CUDA graph cannot capture launches of the workunit."""
        if self.size > MAX_BYTES:
            raise BackendError(
                f"the arguments of workunit {self.name} take {self.size} bytes; they must take at "
                f"most {MAX_BYTES}, so that a CUDA graph can capture its launches"
            )

    @cached_property
    def bind(self) -> Callable[..., list[Any]]:
        """Return a function that takes the `keywords` and returns the values of `arguments`.

        For a group, it reads the attributes that the kernel uses. Integers become Python ints, so
        members of enumerations are accepted.
        """
        return self.taking("return [{values}]", lambda value, _: value)

    def taking(
        self,
        body: str,
        write: Callable[[str, str | View], str],
        first: str = "",
        **scope: Any,
    ) -> Callable[..., Any]:
        """Return a function of the `keywords`.

        Parameters
        ----------
        body : str
            Its body: a line in which ``{values}`` stands for the arguments.
        write : callable
            Returns the expression of an argument, given the expression of its value, and its type.
        first : str
            Positional parameters before the keywords.
        **scope : object
            Names that the body and these expressions use.
        """
        values = ", ".join(
            write(_value(*place, kind), kind)
            for place, kind in zip(self.places, self.types, strict=True)
        )
        by_keyword = ["*", *self.keywords] if self.keywords else []
        parameters = ", ".join([*([first] if first else []), *by_keyword])
        scope["_index"] = operator.index
        exec(_compiled(f"def {self.name}({parameters}): {body.format(values=values)}"), scope)
        made: Callable[..., Any] = scope[self.name]
        return made


def place_name(name: str, field: str | None) -> str:
    """Return the name of an argument: the parameter, or the field of a group or its path."""
    return name if field is None else f"{name}_{field.rpartition('.')[2]}"


def signatures_as_text(signatures: Iterable[Signature]) -> str:
    """Return signatures as JSON."""
    return json.dumps(
        [
            [
                one.name,
                one.kind.value,
                one.keywords,
                one.places,
                [[kind.element] if isinstance(kind, View) else kind for kind in one.types],
            ]
            for one in signatures
        ]
    )


def signatures_from(text: str | bytes) -> list[Signature]:
    """Return the signatures in the result of `signatures_as_text`."""
    return [
        Signature(
            name,
            Kind(kind),
            tuple(keywords),
            tuple((keyword, field) for keyword, field in places),
            tuple(View(*kind) if isinstance(kind, list) else kind for kind in types),
        )
        for name, kind, keywords, places, types in json.loads(text)
    ]


def _value(name: str, field: str | None, kind: str | View) -> str:
    """Return the expression of an argument's value."""
    if field is not None:
        return f"{name}.{field}"
    return f"_index({name})" if kind in INTEGERS else name


@cache
def _compiled(text: str) -> CodeType:
    """Compile the text of a function, once for all runs that define it."""
    return compile(text, "<launch>", "exec")
