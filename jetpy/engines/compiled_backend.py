"""What back ends that launch compiled workunits by address have in common."""

from __future__ import annotations

import operator
import struct
import time
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from copy import copy
from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np
import numpy.typing as npt

from jetpy.engines.base import Array, Backend, Captured, Count, DualView, Workunit
from jetpy.engines.gpu import LostGPU, check_after_fork
from jetpy.engines.memory import Memory
from jetpy.kernel_language import Signature, View, Width
from jetpy.lazy import cached_property


class Launcher(Protocol):
    """A compiled workunit, loaded.

    Attributes
    ----------
    call : callable
        Runs it with what `bind` returns; returns the total of a reduction or scan.
    places : dict of str to int
        Where `bind` puts the arguments that are no groups.
    """

    call: Callable[..., Any]
    places: dict[str, int]

    def bind(self, n: int, arguments: Mapping[str, Any]) -> list[Any]:
        """Return the arguments with which `call` runs the workunit over 0..n-1."""

    def launch(self, n: int, arguments: Mapping[str, Any]) -> Any:
        """Run the workunit over 0..n-1 at once; return the total of a reduction or scan."""


class Arguments:
    """What launches of a workunit pass on: the number of indices, addresses of arrays, numbers.

    Parameters
    ----------
    signature : Signature
        Of the workunit.
    memory : Memory
        Where its arrays lie.

    Attributes
    ----------
    places : dict of str to int
        Where `bind` puts the arguments that are no groups.
    read : list of (int, str, str or None, str or None)
        What `bind` reads of objects: where it puts that, the parameter, the attribute if that is a
        group, and the type of the elements of an array.
    """

    def __init__(self, signature: Signature, memory: Memory) -> None:
        self._signature, self._memory = signature, memory
        for kind in signature.arguments.values():
            if isinstance(kind, View):
                memory.addresses[kind.element]  # makes it, where there is none yet
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

    @cached_property
    def _addressed(self) -> Callable[..., list[Any]]:
        return self.function("return [_n, {values}]")

    def function(self, body: str, **scope: Any) -> Callable[..., Any]:
        """Return a function of `_n` and a launch's keyword arguments; see `Signature.taking`.

        In its body the values are addresses in place of arrays. It raises a KeyError where one is
        not known yet.
        """
        known = {f"_{element}": addresses for element, addresses in self._memory.addresses.items()}
        return self._signature.taking(body, _addressed, "_n", **known, **scope)

    def bind(self, n: int, arguments: Mapping[str, Any]) -> list[Any]:
        """Return `n`, and in order of the parameters numbers and addresses of arrays.

        Raises
        ------
        TypeError, ValueError
            If an array is not one that its parameter takes.
        """
        bound: list[Any] = self.knowing(self._addressed, n, arguments)
        return bound

    def knowing(self, function: Callable[..., Any], n: int, arguments: Mapping[str, Any]) -> Any:
        """Call what `function` has returned, with the addresses of new arrays, too."""
        try:
            return function(n, **arguments)
        except KeyError:
            for (name, element), value in zip(
                self._elements.items(), self._signature.bind(**arguments), strict=True
            ):
                if element is not None:
                    self._memory.address(value, element, f"{name} of {self._signature.name}")
            return function(n, **arguments)


def packer(signature: Signature) -> Callable[..., bytes]:
    """Return what packs the number of indices and the arguments into a block.

    A block is a word of 8 bytes for each: addresses of arrays, and numbers. It raises a
    `struct.error` where a number is of the wrong type.
    """
    return struct.Struct("q" + "".join(map(_code, signature.arguments.values()))).pack


def _code(kind: str | View) -> str:
    if isinstance(kind, View):
        return "Q"
    return "d" if kind.startswith("float") else "q"


def _addressed(value: str, kind: str | View) -> str:
    return f"_{kind.element}[id({value})]" if isinstance(kind, View) else value


@dataclass(frozen=True, eq=False)
class Copy:
    """A copy of a dual array, captured among launches."""

    copy: Callable[[DualView], None]
    array: DualView

    def repeat(self) -> None:
        """Copy it."""
        self.copy(self.array)


@dataclass(frozen=True, eq=False)
class Step:
    """A captured launch.

    Attributes
    ----------
    launcher : Launcher
    passed : list
        What `Launcher.call` takes; it begins with the number of indices.
    arguments : dict
        What has to live as long.
    count : Count or None
        The number of indices, if that is read when the launch is due.
    places : list of int
        Where the same number is an argument, among `passed`.
    total : Count or None
        Where the total of a scan goes.
    """

    launcher: Launcher
    passed: list[Any]
    arguments: dict[str, Any]
    count: Count | None
    places: list[int]
    total: Count | None

    @property
    def has_indices(self) -> bool:
        """Whether it launches anything, or may."""
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
    """Something else, captured among launches."""

    repeat: Callable[[], None]


@dataclass
class Loading:
    """Seconds in which kernels have been loaded, narrow and wide ones together."""

    seconds: float = 0.0


Tape = list[Step | Copy | Action]
Repeatable = tuple[Callable[[], int], Callable[[Mapping[int, Any]], bool]]


def _step(
    launcher: Launcher, n: int | Count, arguments: dict[str, Any], total: Count | None
) -> Step:
    passed = launcher.bind(operator.index(n), arguments)
    if not isinstance(n, Count):
        return Step(launcher, passed, arguments, None, [], total)
    same = [launcher.places[name] for name, value in arguments.items() if isinstance(value, Count)]
    return Step(launcher, passed, arguments, n, same, total)


class CompiledBackend(Backend):
    """Launches compiled workunits, or keeps launches to repeat them.

    Arrays are NumPy's, or CuPy's on a GPU. There launches do not wait for the kernel, but share
    an order with CuPy's own work, and a reduction or scan returns when its result is there.

    Parameters
    ----------
    memory : Memory
        Where its arrays lie.
    """

    has_wide_kernels = True
    """Whether kernels can be compiled for wide graphs."""

    def __init__(self, memory: Memory) -> None:
        self.launches = 0
        self._loading = Loading()
        self.xp = memory.xp
        self._memory = memory
        self._launchers: dict[Workunit, Launcher] = {}
        self._tape: Tape | None = None
        self._launched: set[Launcher] = set()
        self._complete = False
        self._of_width: dict[Width, CompiledBackend] = {self.width: self}

    def with_width(self, width: Width) -> Backend:
        """Return the same back end with kernels of a width; the same object each time."""
        if width not in self._of_width:
            if not self.has_wide_kernels:
                return super().with_width(width)
            self._of_width[width] = self._with_wide_kernels()
        return self._of_width[width]

    def _with_wide_kernels(self) -> Self:
        """Return a back end that shares all but kernels with this one."""
        made = copy(self)
        made.width, made.sum_type, made.launches = Width.WIDE, np.dtype(np.int64), 0
        made._launchers, made._launched = {}, set()
        made._tape, made._complete = None, False
        if self.host_engine is not None:
            made.host_engine = self.host_engine.with_width(Width.WIDE)
        return made

    @abstractmethod
    def _load(self, workunit: Workunit) -> Launcher:
        """Load a workunit, compiled first if need be, and keep its launcher."""

    def _check(self) -> None:
        """Refuse work that this process cannot do, as it was forked."""
        if self.copies:
            check_after_fork()

    def lose_gpu(self) -> None:
        """Do without a GPU that a fork has taken away: whatever needs it is an error."""
        for one in self._of_width.values():
            lost: Any = LostGPU(one._memory)
            one._memory = one.xp = lost
            one._launchers.clear()
            one._complete = False

    @contextmanager
    def using(self) -> Iterator[None]:
        """Have the GPU for this run alone, as the current one of this thread, for a while."""
        host = self.host_engine.using() if self.host_engine else nullcontext()
        with self._memory.using(), host:
            yield

    def available_bytes(self, error: MemoryError) -> int | None:
        """Return how many bytes there were for arrays, if an error says that these are taken."""
        return self._memory.available_bytes(error)

    def parallel_for(self, n: int | Count, workunit: Workunit, /, **arguments: Any) -> None:
        """Run a *for* workunit; on the GPU, without waiting for it."""
        self._launch(n, workunit, arguments)

    def reduce(self, n: int, workunit: Workunit, /, **arguments: Any) -> int:
        """Run a *reduce* workunit and return the sum."""
        return int(self._launch(n, workunit, arguments))

    def scan(self, n: int, workunit: Workunit, /, **arguments: Any) -> int:
        """Run a *scan* workunit and return the total."""
        return int(self._launch(n, workunit, arguments))

    def scan_into(
        self, total: Count, n: int | Count, workunit: Workunit, /, **arguments: Any
    ) -> None:
        """Run a *scan* workunit, and leave the total where launches that follow read it."""
        found = self._launch(n, workunit, arguments, total)
        if self._tape is None:
            total.array[total.place] = found

    def _launch(
        self,
        n: int | Count,
        workunit: Workunit,
        arguments: dict[str, Any],
        total: Count | None = None,
    ) -> Any:
        launcher = self._launcher(workunit)
        if self._tape is not None:
            self._tape.append(_step(launcher, n, arguments, total))
            return 0
        self.launches += 1
        return launcher.launch(operator.index(n), arguments)

    def _launcher(self, workunit: Workunit) -> Launcher:
        return self._launchers.get(workunit) or self._first(workunit)

    def _first(self, workunit: Workunit) -> Launcher:
        started = time.perf_counter()
        launcher = self._load(workunit)
        self._loading.seconds += time.perf_counter() - started
        return launcher

    @property
    def loading_seconds(self) -> float:  # type: ignore[override]
        """Seconds in which it and its host engine have loaded kernels."""
        of_host = self.host_engine.loading_seconds if self.host_engine else 0.0
        return self._loading.seconds + of_host

    def empty(self, n: int, dtype: Any = np.int32) -> Array:
        """Return an uninitialised array of shape (n,)."""
        return self._memory.empty(n, dtype)

    def full(self, n: int, value: int, dtype: Any = np.int32) -> Array:
        """Return an array of shape (n,) filled with `value`."""
        array = self.empty(n, dtype)
        array.fill(int(value))  # CuPy takes no member of an enumeration
        return array

    def dual_view(self, n: int) -> DualView:
        """Return a small int64 array of zeros that exists on the host and on the back end."""
        return self._memory.dual_view(n)

    def sync_device(self, array: DualView) -> None:
        """Copy a dual array from the host to the back end, in order with launches."""
        self._copy(self._memory.sync_device, array)

    def sync_host(self, array: DualView) -> None:
        """Copy a dual array to the host, in order with launches; there after `synchronize`."""
        self._copy(self._memory.sync_host, array)

    def perform(self, action: Callable[[], None], /) -> None:
        """Do something with arrays, in order with launches; `capture` captures it, too."""
        if self._tape is not None:
            self._tape.append(Action(action))
        else:
            with self._memory.in_order():
                action()

    def _copy(self, copy: Callable[[DualView], None], array: DualView) -> None:
        if self._tape is not None:
            self._tape.append(Copy(copy, array))
        else:
            copy(array)

    def capture(
        self,
        launches: Callable[[], None],
        /,
        until: Count | None = None,
        most: int = 1,
        agree: Callable[[bool], bool] = bool,
    ) -> Captured:
        """Return a function that repeats launches; on the GPU, as a CUDA graph."""
        tape: Tape = []
        self._tape = tape
        try:
            launches()
        finally:
            self._tape = None

        repeat, exchange = self._repeatable(tape, until, most, agree)
        launches_each_time = sum(isinstance(step, Step) for step in tape)

        def replay() -> None:
            self._check()
            self.launches += launches_each_time * repeat()

        return Captured(replay, exchange)

    def _repeatable(
        self, tape: Tape, until: Count | None, most: int, agree: Callable[[bool], bool]
    ) -> Repeatable:
        """Return a function that repeats a tape the quickest way, and one for `Captured.exchange`.

        The first repeats the tape until the number `until` is not zero, but at most `most` times,
        and returns the count of repetitions.
        """
        kernels = {step.launcher for step in tape if isinstance(step, Step) and step.has_indices}

        def launch_all() -> None:
            for step in tape:
                step.repeat()
            self._launched |= kernels

        once = self._memory.repeatable(launch_all, lambda: agree(kernels <= self._launched))

        def repeat() -> int:
            times = 0
            while times < most and not (times and until is not None and operator.index(until)):
                once()
                times += 1
            return times

        return repeat, lambda _: False

    def from_host(self, array: npt.NDArray[Any]) -> Array:
        """Hand over a NumPy array, copied only where needed."""
        return self._memory.from_host(np.ascontiguousarray(array))

    def to_host(self, array: Array) -> npt.NDArray[Any]:
        """Return the NumPy array with the same contents."""
        return self._memory.to_host(array)

    def synchronize(self) -> None:
        """Wait until every launch has finished."""
        self._memory.synchronize()
