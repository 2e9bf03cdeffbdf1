"""Stand-ins for the names of PyKokkos in workunit modules, for machines without PyKokkos.

PyKokkos's decorators return the function unchanged, and its translators read the source. These
empty names therefore suffice to import a module of workunits, on every back end.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

_T = TypeVar("_T")
_F = TypeVar("_F", bound=Callable[..., Any])


def workunit(function: _F) -> _F:
    """Mark a kernel body."""
    return function


def function(function: _F) -> _F:
    """Mark a device function that workunits call."""
    return function


class View1D(Generic[_T]):
    """Annotation of a one-dimensional array."""


class View2D(Generic[_T]):
    """Annotation of a two-dimensional array."""


class Acc(Generic[_T]):
    """Annotation of an accumulator."""


class int32: ...  # noqa: D101


class int64: ...  # noqa: D101


class uint32: ...  # noqa: D101


class uint64: ...  # noqa: D101


class double: ...  # noqa: D101
