"""Back ends: an array module and three verbs.

A stage of the partitioner allocates arrays and launches workunits through a `Backend`; its code
does not depend on the back end. A workunit is a function of `jetpy.workloads`. Its first parameter
is the index. A *reduce* workunit has an accumulator next; a *scan* workunit has an accumulator and
a flag that says whether this pass writes. All other parameters are passed by keyword.
"""

from __future__ import annotations

import operator
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from copy import copy
from dataclasses import fields
from functools import partial
from types import ModuleType
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from jetpy.engines.gpu import HOST_SIZE, LONGEST_ROW, WARP_SIZE, LostGPU, check_after_fork
from jetpy.engines.launching import (
    Action,
    Captured,
    Count,
    Launcher,
    Step,
    Tape,
    Workunit,
    repeated,
    step_of,
)
from jetpy.engines.ledger import Ledger
from jetpy.engines.memory import Arena, Array, DualView, Memory
from jetpy.errors import BackendError
from jetpy.kernel_language import Width
from jetpy.kernel_language.types import INT32
from jetpy.lazy import cached_property

__all__ = ["Arena", "Array", "Backend", "Captured", "Count", "DualView", "Workunit"]

Repeatable = tuple[Callable[[], int], Callable[[Mapping[int, Any]], bool]]


class Backend(ABC):
    """Runs workunits over index ranges and allocates the arrays that they use.

    Launches run compiled workunits, or are captured to repeat them. Arrays are NumPy's, or CuPy's
    on a GPU. On a GPU, launches are asynchronous and in order with CuPy's own work, and a reduction
    or scan returns when its result is available.

    Parameters
    ----------
    memory : Memory
        Memory of its arrays.

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
        self._of_width: dict[Width, Backend] = {self.width: self}

    def _use_gpu(self, host: Backend) -> None:
        """Configure a back end for a GPU; small levels go to `host`."""
        self.copies = True
        self.is_asynchronous, self.warp_size = True, WARP_SIZE
        self.longest_row = LONGEST_ROW
        self.host_engine, self.host_size = host, HOST_SIZE

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
        if width not in self._of_width:
            if not self.has_wide_kernels:
                raise BackendError(
                    "the graph has 2**31 or more directed edges, or a sum of weights of 2**31 or "
                    f"more, which {self.name} does not support; use cuda or cpu, or make the "
                    "weights smaller (scale=True, --scale)"
                )
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
        """Wait for a turn at resources shared with runs of other threads, and select the device.

        A GPU and Kokkos serve one run at a time; runs on CPUs divide the processors among
        themselves. Use the back end only within this context, unless the process has no other run.
        """
        host = self.host_engine.using() if self.host_engine else nullcontext()
        with self._memory.using(), host:
            yield

    def available_bytes(self, error: MemoryError) -> int | None:
        """Return the bytes for arrays, if `error` says that the memory is full; else None."""
        return self._memory.available_bytes(error)

    def parallel_for(self, n: int | Count, workunit: Workunit, /, **arguments: Any) -> None:
        """Run ``workunit(i, ...)`` for every i in 0..n-1."""
        self._launch(n, workunit, arguments)

    def run_tasks(self, n: int, workunit: Workunit, /, **arguments: Any) -> None:
        """Run a *for* workunit whose indices take long; even a few may use all threads."""
        self.launches += 1
        self._launcher(workunit).launch_tasks(n, arguments)

    def reduce(self, n: int, workunit: Workunit, /, **arguments: Any) -> int:
        """Run ``workunit(i, acc, ...)`` for every i and return the sum, an int64."""
        return int(self._launch(n, workunit, arguments))

    def scan(self, n: int, workunit: Workunit, /, **arguments: Any) -> int:
        """Run an exclusive prefix sum over ``workunit(i, acc, last_pass, ...)``; return the total.

        The total is an int64. The workunit may be called twice for each i; it writes only when
        ``last_pass`` is true.
        """
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
            self._tape.append(step_of(launcher, n, arguments, total))
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

    def group(self, kind: Any, n: int, /, **given: Any) -> Any:
        """Return a group of arrays for kernels, a dataclass.

        Fields that are not given are uninitialised int32 arrays, shape (n,).
        """
        missing = (field.name for field in fields(kind) if field.name not in given)
        return kind(**given, **{name: self.empty(n) for name in missing})

    def full(self, n: int, value: int, dtype: Any = np.int32) -> Array:
        """Return an array of shape (n,) filled with `value`."""
        array = self.empty(n, dtype)
        self.fill(array, value)
        return array

    def fill(self, array: Array, value: int) -> None:
        """Set each element of a contiguous array to `value`, in order with launches."""
        self._memory.fill(array, int(value))  # CuPy does not accept members of an enumeration

    def from_host(self, array: npt.NDArray[Any]) -> Array:
        """Return an array with a NumPy array's contents, perhaps its memory: do not write to it."""
        return self._memory.from_host(np.ascontiguousarray(array))

    def to_host(self, array: Array, out: npt.NDArray[Any] | None = None) -> npt.NDArray[Any]:
        """Return a NumPy array with the same contents: `out`, if given."""
        return self._memory.to_host(array, out)

    def dual_view(self, n: int) -> DualView:
        """Return a dual view of zeros, int64, shape (n,), on the host and the back end."""
        return self._memory.dual_view(n)

    def sync_device(self, array: DualView) -> None:
        """Copy a dual view from the host to the back end, in order with launches."""
        self._copy(self._memory.sync_device, array)

    def sync_host(self, array: DualView) -> None:
        """Copy a dual view to the host, in order with launches; complete after `synchronize`."""
        self._copy(self._memory.sync_host, array)

    def _copy(self, copy: Callable[[DualView], None], array: DualView) -> None:
        if self._tape is not None:
            self._tape.append(Action(partial(copy, array)))
        else:
            copy(array)

    def perform(self, action: Callable[[], None], /) -> None:
        """Call a function that uses arrays, in order with launches; `capture` captures the call."""
        if self._tape is not None:
            self._tape.append(Action(action))
        else:
            with self._memory.in_order():
                action()

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
        """
        tape = self._taped(launches)
        repeat, exchange = self._repeatable(tape, until, most, agree)
        launches_each_time = sum(isinstance(step, Step) for step in tape)

        def replay() -> None:
            self._check()
            self.launches += launches_each_time * repeat()

        return Captured(replay, exchange)

    def repeat(self, times: int, launches: Callable[[], None], /) -> None:
        """Repeat launches now, which are those of `capture`, and read their arguments only once."""
        tape = self._taped(launches)
        self.launches += times * sum(isinstance(step, Step) for step in tape)
        with self._memory.in_order():
            for _ in range(times):
                for step in tape:
                    step.repeat()

    def _taped(self, launches: Callable[[], None]) -> Tape:
        """Return what a function launches, instead of launching it."""
        tape: Tape = []
        self._tape = tape
        try:
            launches()
        finally:
            self._tape = None
        return tape

    def _repeatable(
        self, tape: Tape, until: Count | None, most: int, agree: Callable[[bool], bool]
    ) -> Repeatable:
        """Return the fastest function that repeats a tape, and one for `Captured.exchange`.

        The first repeats the tape until the number `until` is not zero, but at most `most` times,
        and returns the number of repetitions. On a GPU, the tape becomes a CUDA graph.
        """
        kernels = {step.launcher for step in tape if isinstance(step, Step) and step.has_indices}

        def launch_all() -> None:
            for step in tape:
                step.repeat()
            self._launched |= kernels

        once = self._memory.repeatable(launch_all, lambda: agree(kernels <= self._launched))
        return lambda: repeated(once, until, most), lambda _: False

    def synchronize(self) -> None:
        """Wait until all launches have finished; on a synchronous back end, do nothing."""
        self._memory.synchronize()

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
