"""The interface of all back ends: an array module and three verbs.

A stage of the partitioner allocates arrays and launches workunits through a `Backend`; its code
does not depend on the back end. A workunit is a function of `jetpy.workloads`. Its first parameter
is the index. A *reduce* workunit has an accumulator next; a *scan* workunit has an accumulator and
a flag that says whether this pass writes. All other parameters are passed by keyword.
"""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, fields
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt

from jetpy.engines.ledger import Ledger
from jetpy.errors import BackendError
from jetpy.kernel_language import Width
from jetpy.kernel_language.types import INT32
from jetpy.lazy import cached_property

Workunit = Callable[..., Any]
Array = Any
"""A contiguous 1-D array of the back end's array module (numpy or cupy)."""


@dataclass(eq=False, slots=True, weakref_slot=True)
class Arena:
    """Arrays that may share one block of memory. Use them only while the arena exists.

    Attributes
    ----------
    arrays : list of Array
    """

    arrays: list[Array]


@dataclass(frozen=True, eq=False)
class DualView:
    """A small array on the host and on a back end: two copies, or one array if they share memory.

    Attributes
    ----------
    host : int64, shape (n,)
    device : int64, shape (n,)
    """

    host: npt.NDArray[np.int64]
    device: Array

    @classmethod
    def of_one(cls, n: int) -> DualView:
        """Return a view of zeros whose host and device arrays are one array."""
        array = np.zeros(n, np.int64)
        return cls(array, array)


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

    replay: Callable[[], None]
    exchange: Callable[[Mapping[int, Any]], bool]

    def __call__(self) -> None:
        """Repeat the launches."""
        self.replay()


class Backend(ABC):
    """Runs workunits over index ranges and allocates the arrays that they use.

    Attributes
    ----------
    name : str
        Name as on the command line.
    threads : int
        Threads that a launch uses (1 for a GPU).
    launches : int
        Number of workunits launched since the back end was created.
    is_asynchronous : bool
        Whether launches return before they have run. The host should then enqueue many launches
        before it reads a result.
    warp_size : int
        Number of consecutive indices that run in lockstep; 1 on CPUs.
    copies : bool
        Whether its arrays are in a memory of its own, so that `from_host` copies.
    gpu : int or None
        Index of the GPU that has the arrays; None on the host.
    tasks_at_once : int
        Number of indices of `run_tasks` that a GPU runs at the same time; 0 if it should run none.
    longest_row : int
        Degree above which several indices of a launch share a row.
    host_engine : Backend or None
        Host back end on which a GPU back end runs levels of at most `host_size` vertices plus
        directed edges, where launches cost more than the work.
    host_size : int
    width : Width
        Width of its kernels. Wide kernels are for graphs whose directed edges or sums of weights
        exceed 32 bits.
    sum_type : numpy.dtype
        Type of `Offset` and `Weight` in kernels.
    """

    name: str
    threads: int
    xp: Any
    launches: int
    is_asynchronous: bool = False
    warp_size: int = 1
    copies: bool = False
    gpu: int | None = None
    tasks_at_once: int = 0
    longest_row: int = INT32.stop - 1
    host_engine: Backend | None = None
    host_size: int = 0
    width: Width = Width.NARROW
    sum_type: np.dtype[Any] = np.dtype(np.int32)

    @cached_property
    def kept(self) -> dict[Any, Any]:
        """Arrays that a run leaves for the next one, by what they are for; contents do not matter.

        One run uses a back end at a time.
        """
        return {}

    @cached_property
    def ledger(self) -> Ledger:
        """Seconds of stages, and of loading kernels."""
        return self.host_engine.ledger if self.host_engine else Ledger()

    @property
    def is_wide(self) -> bool:
        """Whether its kernels are for graphs that need 64 bits."""
        return self.width is Width.WIDE

    @property
    def host(self) -> Backend:
        """The back end of the host: the host engine, or this back end if it runs on CPUs."""
        return self.host_engine or self

    def with_width(self, width: Width) -> Backend:
        """Return this back end with kernels of another width; the same object at each call.

        Raises
        ------
        BackendError
            If it has no kernels of this width.
        """
        if width is self.width:
            return self
        raise BackendError(
            "the graph has 2**31 or more directed edges, or a sum of weights of 2**31 or more, "
            f"which {self.name} does not support; use cuda or cpu, or make the weights smaller "
            "(scale=True, --scale)"
        )

    @abstractmethod
    def parallel_for(self, n: int | Count, workunit: Workunit, /, **arguments: Any) -> None:
        """Run ``workunit(i, ...)`` for every i in 0..n-1."""

    @abstractmethod
    def reduce(self, n: int, workunit: Workunit, /, **arguments: Any) -> int:
        """Run ``workunit(i, acc, ...)`` for every i and return the sum, an int64."""

    @abstractmethod
    def scan(self, n: int, workunit: Workunit, /, **arguments: Any) -> int:
        """Run an exclusive prefix sum over ``workunit(i, acc, last_pass, ...)``; return the total.

        The total is an int64. The workunit may be called twice for each i; it writes only when
        ``last_pass`` is true.
        """

    def run_tasks(self, n: int, workunit: Workunit, /, **arguments: Any) -> None:
        """Run a *for* workunit whose indices take long; even a few may use all threads."""
        self.parallel_for(n, workunit, **arguments)

    def scan_into(
        self, total: Count, n: int | Count, workunit: Workunit, /, **arguments: Any
    ) -> None:
        """Run a *scan* workunit, and store the total where later launches read it."""
        total.array[total.place] = self.scan(operator.index(n), workunit, **arguments)

    @abstractmethod
    def from_host(self, array: npt.NDArray[Any]) -> Array:
        """Return an array with a NumPy array's contents, perhaps its memory: do not write to it."""

    @abstractmethod
    def to_host(self, array: Array, out: npt.NDArray[Any] | None = None) -> npt.NDArray[Any]:
        """Return a NumPy array with the same contents: `out`, if given."""

    @abstractmethod
    def compile(
        self,
        modules: Sequence[ModuleType],
        *,
        jobs: int | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> float:
        """Make the workunits of some modules ready to launch, compiling any that the cache lacks.

        `progress` is called with (done, total) workunits, and only if the cache lacks some. Returns
        seconds.
        """

    def get_ready(
        self, modules: Sequence[ModuleType], progress: Callable[[int, int], None]
    ) -> float:
        """Compile kernels that would otherwise delay a run at their first launch; return seconds.

        The parameters are as for `compile`.
        """
        return self.compile(modules, progress=progress)

    def capture(
        self,
        launches: Callable[[], None],
        /,
        until: Count | None = None,
        most: int = 1,
        agree: Callable[[bool], bool] = bool,
    ) -> Captured:
        """Return a function that repeats the launches of `launches`, at less cost per launch.

        `launches` only calls `parallel_for`, `scan_into`, `sync_device`, `sync_host` and `perform`,
        with the same numbers and the same arrays each time. The function repeats them until the
        number `until`, if given, is not zero, but at most `most` times. Other processes repeat
        theirs at the same time: `agree` returns whether a condition holds in all of them.

        Here, nothing is captured: the function calls `launches`.
        """

        def replay() -> None:
            for _ in range(most):
                launches()
                if until is not None and operator.index(until) != 0:
                    break

        return Captured(replay, lambda _: True)

    def perform(self, action: Callable[[], None], /) -> None:
        """Call a function that uses arrays, in order with launches; `capture` captures the call."""
        action()

    def using(self) -> AbstractContextManager[None]:
        """Wait for a turn at resources shared with runs of other threads, and select the device.

        A GPU and Kokkos serve one run at a time; runs on CPUs divide the processors among
        themselves. Use the back end only within this context, unless the process has no other run.
        """
        return nullcontext()

    def available_bytes(self, error: MemoryError) -> int | None:
        """Return the bytes for arrays, if `error` says that the memory is full; else None."""
        return None

    def dual_view(self, n: int) -> DualView:
        """Return a dual view of zeros, int64, shape (n,), on the host and the back end."""
        return DualView.of_one(n)

    def sync_device(self, array: DualView) -> None:
        """Copy a dual view from the host to the back end, in order with launches."""
        return

    def sync_host(self, array: DualView) -> None:
        """Copy a dual view to the host, in order with launches; complete after `synchronize`."""
        return

    @abstractmethod
    def empty(self, n: int, dtype: Any = np.int32) -> Array:
        """Return an uninitialised array of shape (n,)."""

    def arena(self, sizes: Sequence[tuple[int, Any]]) -> Arena:
        """Return uninitialised arrays of some lengths and dtypes."""
        return Arena([self.empty(n, dtype) for n, dtype in sizes])

    def group(self, kind: Any, n: int, /, **given: Any) -> Any:
        """Return a group of arrays for kernels, a dataclass.

        Fields that are not given are uninitialised int32 arrays, shape (n,).
        """
        missing = (field.name for field in fields(kind) if field.name not in given)
        return kind(**given, **{name: self.empty(n) for name in missing})

    @abstractmethod
    def full(self, n: int, value: int, dtype: Any = np.int32) -> Array:
        """Return an array of shape (n,) filled with `value`."""

    def synchronize(self) -> None:
        """Wait until all launches have finished; on a synchronous back end, do nothing."""
        return

    def sorted(self, keys: Array) -> Array:
        """Return a sorted copy of int64 `keys`."""
        return self.xp.sort(keys)

    @property
    def all_launches(self) -> int:
        """Number of workunits launched since the back end and its host engine were created."""
        return sum(one.launches for one in {self, self.host})

    def for_size(self, size: int) -> Backend:
        """Return the back end for a graph of `size` vertices plus directed edges."""
        return self.host if size <= self.host_size else self

    def with_same_profile(self, other: Backend) -> Backend:
        """Return `other`, or a profiler of it that records in the same profile as this one."""
        return other

    def enter(self, stage: str, level: int | None) -> None:
        """Mark the begin of a stage on a level (None: on several levels), for a profiler."""
        return

    def leave(self) -> None:
        """Mark the end of the stage that began last."""
        return
