"""Launches of compiled workunits by address, and captured launches."""

from __future__ import annotations

import operator
import struct
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from jetpy.engines.memory import Array, Memory
from jetpy.kernel_language import Signature, View
from jetpy.lazy import cached_property

Workunit = Callable[..., Any]


class Loaded(NamedTuple):
    """A loaded workunit: its signature, and an address by which an engine launches it."""

    signature: Signature
    address: int


@dataclass(frozen=True, eq=False)
class Count:
    """A number that launches read when they run, as index count or, without `more`, as argument.

    Only for back ends on the host, where a launch finishes before the next begins.

    Attributes
    ----------
    array : int64, on the back end
    place : int
        Index of the number in `array`.
    more : int
        Added to the number for an index count.
    """

    array: Array
    place: int
    more: int = 0

    def __index__(self) -> int:
        return int(self.array[self.place]) + self.more

    def __add__(self, more: int) -> Count:
        return Count(self.array, self.place, self.more + more)


@dataclass(frozen=True, eq=False)
class Captured:
    """Captured launches.

    Attributes
    ----------
    replay : callable
        Repeats the launches.
    exchange : callable
        Takes a mapping from the `id` of some arguments to their replacements. Replaces these
        arguments, and reads again the arrays and numbers that are attributes of any argument.
        Returns whether it can.
    """

    replay: Callable[[], object]
    exchange: Callable[[Mapping[int, Any]], bool]

    def __call__(self) -> None:
        """Repeat the launches."""
        self.replay()


class Launcher(ABC):
    """A loaded compiled workunit, which converts the arguments of its launches.

    Parameters
    ----------
    signature : Signature
        Signature of the workunit.
    memory : Memory
        Memory that has its arrays.

    Attributes
    ----------
    signature : Signature
    call : callable
        Runs it with the list that `bind` returns; returns the total of a reduction or scan.
    places : dict of str to int
        Index, in the list of `bind`, of each argument that is not a group.
    read : list of (int, str, str or None, str or None)
        Values that `bind` reads from objects: index in the list, parameter, attribute if the
        parameter is a group, and element type if the value is an array.
    """

    call: Callable[..., Any]

    def __init__(self, signature: Signature, memory: Memory) -> None:
        self.signature, self._memory = signature, memory
        for kind in signature.arguments.values():
            if isinstance(kind, View):
                memory.addresses[kind.element]  # creates it if it is missing
        self._elements = {
            name: kind.element if isinstance(kind, View) else None
            for name, kind in signature.arguments.items()
        }
        places = signature.places
        self.places = {name: i for i, (name, field) in enumerate(places, 1) if field is None}
        elements = self._elements.values()
        self.read = [
            (place, name, field, element)
            for place, ((name, field), element) in enumerate(zip(places, elements, strict=True), 1)
            if field is not None or element is not None
        ]

    def launch(self, n: int, arguments: Mapping[str, Any]) -> Any:
        """Run it over 0..n-1; return the total of a reduction or scan."""
        return self.call(*self.bind(n, arguments))

    @abstractmethod
    def launch_tasks(self, n: int, arguments: Mapping[str, Any]) -> None:
        """Run a *for* workunit over 0..n-1, where each index deserves a thread."""

    @cached_property
    def _addressed(self) -> Callable[..., list[Any]]:
        return self.compiled("return [_n, {values}]")

    def compiled(self, body: str, **scope: Any) -> Callable[..., Any]:
        """Return a function of `_n` and a launch's keyword arguments; see `Signature.taking`.

        In its body, addresses stand for arrays. It raises a KeyError if an address is not known
        yet.
        """
        known = {f"_{element}": addresses for element, addresses in self._memory.addresses.items()}
        return self.signature.taking(body, _addressed, "_n", **known, **scope)

    def bind(self, n: int, arguments: Mapping[str, Any]) -> list[Any]:
        """Return `n`, then the numbers and array addresses in the order of the parameters.

        Raises
        ------
        TypeError, ValueError
            If an array does not match its parameter.
        """
        bound: list[Any] = self.knowing(self._addressed, n, arguments)
        return bound

    def knowing(self, function: Callable[..., Any], n: int, arguments: Mapping[str, Any]) -> Any:
        """Call a result of `compiled`; look up the addresses of new arrays first if necessary."""
        try:
            return function(n, **arguments)
        except KeyError:
            known, keep = self._memory.addresses, self._memory.keep_address
            for (name, element), value in zip(
                self._elements.items(), self.signature.bind(**arguments), strict=True
            ):
                if element is not None and id(value) not in known[element]:
                    keep(value, element, f"{name} of {self.signature.name}")
            return function(n, **arguments)

    def wrong(self, error: struct.error) -> TypeError:
        """Return the error of an argument that cannot be packed."""
        return TypeError(f"an argument of {self.signature.name} has the wrong type: {error}")


def _addressed(value: str, kind: str | View) -> str:
    return f"_{kind.element}[id({value})]" if isinstance(kind, View) else value


@dataclass(frozen=True, eq=False)
class Step:
    """A captured launch.

    Attributes
    ----------
    launcher : Launcher
    passed : list
        Arguments of `Launcher.call`; the first is the number of indices.
    arguments : dict
        Objects that must stay alive.
    count : Count or None
        The number of indices, if it is read when the launch runs.
    places : list of int
        Indices in `passed` of arguments that are the same number.
    total : Count or None
        Destination of the total of a scan.
    """

    launcher: Launcher
    passed: list[Any]
    arguments: dict[str, Any]
    count: Count | None
    places: list[int]
    total: Count | None

    @property
    def has_indices(self) -> bool:
        """Whether the launch has, or may have, any index."""
        return self.count is not None or self.passed[0] > 0

    def repeat(self) -> None:
        """Make the launch."""
        if self.count is not None:
            self.passed[0] = operator.index(self.count)
            for place in self.places:
                self.passed[place] = self.passed[0] - self.count.more
        total = self.launcher.call(*self.passed)
        if self.total is not None:
            self.total.array[self.total.place] = total


@dataclass(frozen=True, eq=False)
class Action:
    """A captured call of any other function."""

    repeat: Callable[[], None]


Tape = list[Step | Action]


def step_of(
    launcher: Launcher, n: int | Count, arguments: dict[str, Any], total: Count | None
) -> Step:
    """Return a launch as a step of a tape."""
    passed = launcher.bind(operator.index(n), arguments)
    if not isinstance(n, Count):
        return Step(launcher, passed, arguments, None, [], total)
    same = [launcher.places[name] for name, value in arguments.items() if isinstance(value, Count)]
    return Step(launcher, passed, arguments, n, same, total)


def repeated(once: Callable[[], object], until: Count | None, most: int) -> int:
    """Call a function until `until` is not zero, at most `most` times; return how many times."""
    times = 0
    while times < most and not (times and until is not None and operator.index(until)):
        once()
        times += 1
    return times
