"""Base class of back ends that launch compiled workunits by address."""

from __future__ import annotations

import operator
import struct
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from copy import copy
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from jetpy.engines.base import Arena, Array, Backend, Captured, Count, DualView, Workunit
from jetpy.engines.gpu import LostGPU, check_after_fork
from jetpy.engines.memory import Memory
from jetpy.kernel_language import Signature, View, Width
from jetpy.lazy import cached_property


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
class Copy:
    """A captured copy of a dual view."""

    copy: Callable[[DualView], None]
    array: DualView

    def repeat(self) -> None:
        """Copy the dual view."""
        self.copy(self.array)


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
    """Launches compiled workunits, or captures launches to repeat them.

    Arrays are NumPy's, or CuPy's on a GPU. On a GPU, launches are asynchronous and in order with
    CuPy's own work, and a reduction or scan returns when its result is available.

    Parameters
    ----------
    memory : Memory
        Memory of its arrays.
    """

    has_wide_kernels = True
    """Whether it can compile kernels for wide graphs."""

    def __init__(self, memory: Memory) -> None:
        self.launches = 0
        self.xp = memory.xp
        self._memory = memory
        self._launchers: dict[Workunit, Launcher] = {}
        self._tape: Tape | None = None
        self._launched: set[Launcher] = set()
        self._complete = False
        self._of_width: dict[Width, CompiledBackend] = {self.width: self}

    def with_width(self, width: Width) -> Backend:
        """Return this back end with kernels of another width; the same object at each call."""
        if width not in self._of_width:
            if not self.has_wide_kernels:
                return super().with_width(width)
            self._of_width[width] = self._with_wide_kernels()
        return self._of_width[width]

    def _with_wide_kernels(self) -> Self:
        """Return a back end that shares everything except kernels with this one."""
        made = copy(self)
        made.width, made.sum_type, made.launches = Width.WIDE, np.dtype(np.int64), 0
        made.ledger = self.ledger
        made._launchers, made._launched = {}, set()
        made._tape, made._complete = None, False
        if self.host_engine is not None:
            made.host_engine = self.host_engine.with_width(Width.WIDE)
        return made

    @abstractmethod
    def _load(self, workunit: Workunit) -> Launcher:
        """Load a workunit, compile it first if necessary, and keep its launcher."""

    def _check(self) -> None:
        """Raise a BackendError if a fork prevents this process from using the back end."""
        if self.copies:
            check_after_fork()

    def lose_gpu(self) -> None:
        """Release a GPU that was lost by a fork; any later use of it raises a BackendError."""
        for one in self._of_width.values():
            lost: Any = LostGPU(one._memory)
            one._memory = one.xp = lost
            one._launchers.clear()
            one._complete = False

    @contextmanager
    def using(self) -> Iterator[None]:
        """Reserve the GPU for this run and make it the thread's current device."""
        host = self.host_engine.using() if self.host_engine else nullcontext()
        with self._memory.using(), host:
            yield

    def available_bytes(self, error: MemoryError) -> int | None:
        """Return the bytes for arrays, if `error` says that the memory is full; else None."""
        return self._memory.available_bytes(error)

    def parallel_for(self, n: int | Count, workunit: Workunit, /, **arguments: Any) -> None:
        """Run a *for* workunit; asynchronous on a GPU."""
        self._launch(n, workunit, arguments)

    def run_tasks(self, n: int, workunit: Workunit, /, **arguments: Any) -> None:
        """Run a *for* workunit whose indices take long, so that each deserves a thread."""
        self.launches += 1
        self._launcher(workunit).launch_tasks(n, arguments)

    def reduce(self, n: int, workunit: Workunit, /, **arguments: Any) -> int:
        """Run a *reduce* workunit and return the sum."""
        return int(self._launch(n, workunit, arguments))

    def scan(self, n: int, workunit: Workunit, /, **arguments: Any) -> int:
        """Run a *scan* workunit and return the total."""
        return int(self._launch(n, workunit, arguments))

    def scan_into(
        self, total: Count, n: int | Count, workunit: Workunit, /, **arguments: Any
    ) -> None:
        """Run a *scan* workunit, and store the total where later launches read it."""
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
            if self.width is Width.NARROW:  # PyKokkos does not get wide kernels
                launcher.signature.check_capture()
            self._tape.append(_step(launcher, n, arguments, total))
            return 0
        self.launches += 1
        return launcher.launch(operator.index(n), arguments)

    def _launcher(self, workunit: Workunit) -> Launcher:
        return self._launchers.get(workunit) or self._first(workunit)

    def _first(self, workunit: Workunit) -> Launcher:
        started = time.perf_counter()
        launcher = self._load(workunit)
        self.ledger.loading += time.perf_counter() - started
        return launcher

    def empty(self, n: int, dtype: Any = np.int32) -> Array:
        """Return an uninitialised array of shape (n,)."""
        return self._memory.empty(n, dtype)

    def arena(self, sizes: Sequence[tuple[int, Any]]) -> Arena:
        """Return uninitialised arrays of some lengths and dtypes."""
        return self._memory.arena(sizes)

    def full(self, n: int, value: int, dtype: Any = np.int32) -> Array:
        """Return an array of shape (n,) filled with `value`."""
        array = self.empty(n, dtype)
        array.fill(int(value))  # CuPy does not accept members of an enumeration
        return array

    def dual_view(self, n: int) -> DualView:
        """Return a dual view of zeros, int64, shape (n,), on the host and the back end."""
        return self._memory.dual_view(n)

    def sync_device(self, array: DualView) -> None:
        """Copy a dual view from the host to the back end, in order with launches."""
        self._copy(self._memory.sync_device, array)

    def sync_host(self, array: DualView) -> None:
        """Copy a dual view to the host, in order with launches; complete after `synchronize`."""
        self._copy(self._memory.sync_host, array)

    def perform(self, action: Callable[[], None], /) -> None:
        """Call a function that uses arrays, in order with launches; `capture` captures the call."""
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
        """Return the fastest function that repeats a tape, and one for `Captured.exchange`.

        The first repeats the tape until the number `until` is not zero, but at most `most` times,
        and returns the number of repetitions.
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
        """Return an array with a NumPy array's contents, perhaps its memory: do not write to it."""
        return self._memory.from_host(np.ascontiguousarray(array))

    def to_host(self, array: Array, out: npt.NDArray[Any] | None = None) -> npt.NDArray[Any]:
        """Return a NumPy array with the same contents: `out`, if given."""
        return self._memory.to_host(array, out)

    def synchronize(self) -> None:
        """Wait until all launches have finished."""
        self._memory.synchronize()
