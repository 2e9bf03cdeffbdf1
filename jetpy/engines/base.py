"""What every back end offers to the rest of the program: an array module and three verbs.

A stage of the partitioner gets a `Backend`, allocates arrays through it and launches workunits;
it never knows which back end that is. A workunit is a function of `jetpy.workloads`; its first
parameter is the index, a *reduce* workunit has an accumulator after it, a *scan* workunit an
accumulator and a flag that says whether this pass writes. All others are passed by keyword.
"""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt

from jetpy.errors import BackendError
from jetpy.kernel_language import Width
from jetpy.kernel_language.types import INT32

Workunit = Callable[..., Any]
Array = Any
"""A contiguous 1-D array of the back end's array module (numpy or cupy)."""


@dataclass(frozen=True, eq=False)
class DualView:
    """A small array on the host and on a back end: two copies, or one where those are the same.

    Attributes
    ----------
    host : int64, shape (n,)
    device : int64, shape (n,)
    """

    host: npt.NDArray[np.int64]
    device: Array

    @classmethod
    def of_one(cls, n: int) -> DualView:
        """Return one array of zeros as both."""
        array = np.zeros(n, np.int64)
        return cls(array, array)


@dataclass(frozen=True, eq=False)
class Count:
    """A number that launches read when they are due: of indices, and as an argument, without more.

    For back ends on the host, where the results of one launch are there before the next.

    Attributes
    ----------
    array : int64, on the back end
    place : int
    more : int
        What is added to the number there.
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
        Repeats them.
    exchange : callable
        Replaces some of their arguments by other objects, given by the `id` of the arguments, and
        reads again the arrays and numbers that all arguments have as attributes. Returns whether
        it can.
    """

    replay: Callable[[], None]
    exchange: Callable[[Mapping[int, Any]], bool]

    def __call__(self) -> None:
        """Repeat them."""
        self.replay()


class Backend(ABC):
    """Runs workunits over index ranges and owns the arrays that they work on.

    Attributes
    ----------
    name : str
        Name as given on the command line.
    threads : int
        Threads that a launch uses (1 for a GPU).
    launches : int
        Workunits launched since the back end was made.
    loading_seconds : float
        In which it and its host engine have loaded kernels, compiled first where need be, when
        these were first launched.
    is_asynchronous : bool
        Whether launches return before they have run. The host should then enqueue many launches
        before it reads a result.
    warp_size : int
        Number of consecutive indices that run in lockstep; 1 on CPUs.
    copies : bool
        Whether its arrays are copies in a memory of its own.
    gpu : int or None
        Number of the GPU that memory is of.
    longest_row : int
        Degree above which a row is shared out to several indices of a launch.
    host_engine : Backend or None
        Back end of the host that a GPU has for levels of at most `host_size` vertices and directed
        edges, where launches cost more than the work.
    host_size : int
    width : Width
        What its kernels are compiled for. Wide kernels are for graphs with more edges, or weights
        of a larger sum, than 32 bits hold.
    sum_type : numpy.dtype
        Of what kernels call `Offset` and `Weight`.
    """

    name: str
    threads: int
    xp: Any
    launches: int
    loading_seconds: float = 0.0
    is_asynchronous: bool = False
    warp_size: int = 1
    copies: bool = False
    gpu: int | None = None
    longest_row: int = INT32.stop - 1
    host_engine: Backend | None = None
    host_size: int = 0
    width: Width = Width.NARROW
    sum_type: np.dtype[Any] = np.dtype(np.int32)

    @property
    def is_wide(self) -> bool:
        """Whether its kernels are for graphs that need 64 bits."""
        return self.width is Width.WIDE

    @property
    def host(self) -> Backend:
        """The back end of the host: its host engine, or itself if it runs on CPUs."""
        return self.host_engine or self

    def with_width(self, width: Width) -> Backend:
        """Return the same back end with kernels of a width; the same object each time.

        Raises
        ------
        BackendError
            If it has none.
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
        """Run an exclusive prefix sum over ``workunit(i, acc, last_pass, ...)``.

        Returns the total, an int64. The workunit may be called twice for each i; it writes
        only when ``last_pass`` is true.
        """

    def run_tasks(self, n: int, workunit: Workunit, /, **arguments: Any) -> None:
        """Run a *for* workunit whose indices take long, few as they may be."""
        self.parallel_for(n, workunit, **arguments)

    def scan_into(
        self, total: Count, n: int | Count, workunit: Workunit, /, **arguments: Any
    ) -> None:
        """Run a *scan* workunit, and leave the total where launches that follow read it."""
        total.array[total.place] = self.scan(operator.index(n), workunit, **arguments)

    @abstractmethod
    def from_host(self, array: npt.NDArray[Any]) -> Array:
        """Hand over a NumPy array (copied only where needed); never written to by the caller."""

    @abstractmethod
    def to_host(self, array: Array) -> npt.NDArray[Any]:
        """Return the NumPy array with the same contents."""

    @abstractmethod
    def compile(
        self,
        modules: Sequence[ModuleType],
        *,
        jobs: int | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> float:
        """Make the workunits of some modules ready to launch, compiling what the cache lacks.

        `progress` is called with (done, total) workunits, and only if the cache lacks some.
        Returns seconds.
        """

    def get_ready(
        self, modules: Sequence[ModuleType], progress: Callable[[int, int], None]
    ) -> float:
        """Compile what would keep a run waiting when it is first launched; return seconds.

        The parameters are those of `compile`.
        """
        return self.compile(modules, progress=progress)

    @abstractmethod
    def capture(
        self,
        launches: Callable[[], None],
        /,
        until: Count | None = None,
        most: int = 1,
        agree: Callable[[bool], bool] = bool,
    ) -> Captured:
        """Return a function that repeats what `launches` does, at less cost for each launch.

        `launches` makes calls of `parallel_for`, `scan_into`, `sync_device`, `sync_host` and
        `perform` and nothing else, with the same numbers and the same arrays each time. The
        function repeats it until a number is not zero, if that is given, but at most `most` times.
        Other processes do so at the same time: `agree` returns whether something is so in all of
        them.
        """

    def perform(self, action: Callable[[], None], /) -> None:
        """Do something with arrays, in order with launches; `capture` captures it, too."""
        action()

    def using(self) -> AbstractContextManager[None]:
        """Take its turn at what it shares with runs of other threads, and make its device current.

        A GPU and Kokkos serve one run after the other; runs on processors share these out. Whatever
        uses the back end does so within, unless it is the only run of the process.
        """
        return nullcontext()

    def available_bytes(self, error: MemoryError) -> int | None:
        """Return how many bytes there were for arrays, if an error says that these are taken."""
        return None

    def dual_view(self, n: int) -> DualView:
        """Return a small int64 array of zeros that exists on the host and on the back end."""
        return DualView.of_one(n)

    def sync_device(self, array: DualView) -> None:
        """Copy a dual array from the host to the back end, in order with launches."""
        return

    def sync_host(self, array: DualView) -> None:
        """Copy a dual array to the host, in order with launches; there after `synchronize`."""
        return

    @abstractmethod
    def empty(self, n: int, dtype: Any = np.int32) -> Array:
        """Return an uninitialised array of shape (n,)."""

    @abstractmethod
    def full(self, n: int, value: int, dtype: Any = np.int32) -> Array:
        """Return an array of shape (n,) filled with `value`."""

    def synchronize(self) -> None:
        """Wait until every launch has finished; a back end that never runs ahead need not."""
        return

    def sorted(self, keys: Array) -> Array:
        """Return int64 `keys` in ascending order."""
        return self.xp.sort(keys)

    @property
    def all_launches(self) -> int:
        """Workunits launched since the back end and its host engine were made."""
        return sum(one.launches for one in {self, self.host})

    def for_size(self, size: int) -> Backend:
        """Return the back end for a graph of so many vertices and directed edges together."""
        return self.host if size <= self.host_size else self

    def enter(self, stage: str, level: int | None) -> None:
        """Hear that a stage begins on a level (None: on several); only a profiler cares."""
        return

    def leave(self) -> None:
        """Hear that what was entered last is over."""
        return
