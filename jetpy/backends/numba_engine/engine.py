"""The `numba` back end: workunits compiled by Numba, launched on a crew of threads."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any, Self

from jetpy.backends.base import Count, Workunit
from jetpy.backends.launching import LaunchingBackend, Tape
from jetpy.backends.memory import HostMemory, Memory
from jetpy.backends.numba_engine import compiling
from jetpy.backends.numba_engine.crew import Crew, in_a_run
from jetpy.backends.numba_engine.launcher import Launcher
from jetpy.backends.numba_engine.program import Program
from jetpy.backends.threads import available_threads
from jetpy.backends.workers import Entry, Group, announce, compile_in_parallel
from jetpy.cache import cache_dirs, is_writable, one_at_a_time
from jetpy.kernel_language import read_workunits

MAX_THREADS = 64
MANY, LONGEST_ROW = 4, 2048
"""From so many threads on, rows are shared out that are longer: one thread on one holds all up."""


class NumbaBackend(LaunchingBackend):
    """Workunits compiled by Numba; arrays are NumPy's.

    In a child forked from a process whose threads run, it has one thread.

    Parameters
    ----------
    threads : int, optional
        All that this process may use by default.
    memory : Memory, optional
        Where its arrays lie; the host's by default.
    """

    name = "numba"

    def __init__(self, threads: int | None = None, memory: Memory | None = None) -> None:
        super().__init__(memory or HostMemory())
        self._crew = Crew(min(threads or available_threads(), MAX_THREADS))
        if self._crew.threads >= MANY:
            self.longest_row = LONGEST_ROW

    @property
    def threads(self) -> int:  # type: ignore[override]
        """Threads that a launch uses."""
        return self._crew.threads

    def run_tasks(self, n: int, workunit: Workunit, /, **arguments: Any) -> None:
        """Run a *for* workunit whose indices take long, each worth a thread."""
        launcher = self._launcher(workunit)
        assert isinstance(launcher, Launcher)
        self.launches += 1
        launcher.launch_tasks(n, arguments)

    def widened(self) -> Self:
        """Return the same back end with wide kernels; the same object each time."""
        if self._widened is None:
            self._widened = self._with_wide_kernels()
        return self._widened

    @contextmanager
    def using(self) -> Iterator[None]:
        """Use this back end's share of the processors for a while."""
        with super().using(), in_a_run(self._crew):
            yield

    def _load(self, workunit: Workunit) -> Launcher:
        module = sys.modules[workunit.__module__]
        name = workunit.__name__
        made = Launcher(
            read_workunits(module, self.width)[name],
            compiling.address_of(module, name, self.width),
            self._memory,
            self._crew,
        )
        self._launchers[workunit] = made
        return made

    def _repeatable(
        self, tape: Tape, until: Count | None, most: int, agree: Callable[[bool], bool]
    ) -> Callable[[], int]:
        """Return a function that runs a program, without the interpreter between its launches."""
        program = Program.of(tape, self._memory)
        if program is None:
            return super()._repeatable(tape, until, most, agree)

        def repeat() -> int:
            self._crew.call()
            return program.run(until, most, self._crew.address, self._crew.width)

        return repeat

    def compile(
        self,
        *,
        jobs: int | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> float:
        """Load every workunit, compiling what the cache lacks."""
        from jetpy import workloads

        if self.width in compiling.loaded:
            return 0.0
        started = time.perf_counter()
        with compiling.compiling:
            modules, width = workloads.MODULES, self.width.name
            todo = [(m.__name__, width, name) for m in modules for name in read_workunits(m)]
            if _lacking(todo):
                _compile(todo, jobs or available_threads(), progress)
            compiling.sharing()
            compiling.compile_all(*todo)
            compiling.loaded.add(self.width)
        return time.perf_counter() - started


def _lacking(entries: Sequence[Entry]) -> list[Group]:
    """Return those workunits that are in no cache, each as a group."""
    return [[entry] for entry in entries if not compiling.is_cached(*entry)]


def _compile(
    todo: Sequence[Entry], processes: int, progress: Callable[[int, int], None] | None
) -> None:
    """Compile what the cache lacks; several processes that keep it do so one after the other."""
    keeps = is_writable(cache_dirs()[-1])
    with one_at_a_time("numba") if keeps else nullcontext():
        missing = _lacking(todo)
        if not missing:
            return
        done = len(todo) - len(missing)
        announce(len(missing), compiling.SECONDS * len(missing) / (processes if keeps else 1))
        if progress is not None:
            progress(done, len(todo))
        for group in (
            compile_in_parallel(compiling.COMPILE, missing, processes)
            if keeps
            else _compile_here(missing)
        ):
            done += len(group)
            if progress is not None:
                progress(done, len(todo))


def _compile_here(groups: Iterable[Group]) -> Iterator[Group]:
    """Compile workunits in this process, which keeps them in memory."""
    for group in groups:
        compiling.compile_all(*group)
        yield group
