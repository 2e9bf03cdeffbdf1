"""The `cpu` back end: workunits compiled by LLVM, launched on a pool of threads."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import numpy as np

from jetpy.engines.base import Array, Backend, Count, Repeatable, Workunit
from jetpy.engines.cpu import ahead, compiling
from jetpy.engines.cpu.launcher import CpuLauncher
from jetpy.engines.cpu.program import Program
from jetpy.engines.cpu.scheduler import WORD
from jetpy.engines.cpu.thread_pool import ThreadPool, in_a_run
from jetpy.engines.launching import Tape
from jetpy.engines.memory import HostMemory, Memory
from jetpy.engines.threads import available_threads
from jetpy.engines.workers import watch_compilations
from jetpy.errors import BackendError

MAX_THREADS = 64
SHARED_WORDS = 1 << 15
"""Minimum number of 8-byte words of an array that several threads fill."""
MANY, LONGEST_ROW = 4, 2048
"""With at least MANY threads, longer rows are shared, because all wait for the slowest thread."""


class CpuBackend(Backend):
    """Workunits compiled by LLVM; arrays are NumPy's.

    In a child forked from a process with running threads, it has one thread.

    Parameters
    ----------
    threads : int, optional
        By default all that this process may use.
    memory : Memory, optional
        Memory of its arrays; by default the host's.
    """

    name = "cpu"

    def __init__(self, threads: int | None = None, memory: Memory | None = None) -> None:
        super().__init__(memory or HostMemory())
        self._pool = ThreadPool(min(threads or available_threads(), MAX_THREADS))
        if self._pool.threads >= MANY:
            self.longest_row = LONGEST_ROW

    @property
    def threads(self) -> int:  # type: ignore[override]
        """Threads that a launch uses."""
        return self._pool.threads

    def full(self, n: int, value: int, dtype: Any = np.int32) -> Array:
        """Return an array of shape (n,) filled with `value`; all threads fill a long array."""
        each = WORD // np.dtype(dtype).itemsize
        words = n // each
        if self.threads == 1 or words < SHARED_WORDS:
            return super().full(n, value, dtype)
        array = self.empty(n, dtype)
        word = np.full(each, value, dtype).view(np.int64)[0]
        self._pool.fill(self._memory.locate(array), words, int(word))
        array[words * each :].fill(int(value))
        return array

    @contextmanager
    def using(self) -> Iterator[None]:
        """Use this back end's share of the processors within the context."""
        with super().using(), in_a_run(self._pool):
            yield

    def _load(self, workunit: Workunit) -> CpuLauncher:
        module = sys.modules[workunit.__module__]
        code = compiling.code_of(module, self.width)[workunit.__name__]
        made = CpuLauncher(code.signature, code.address, self._memory, self._pool)
        self._launchers[workunit] = made
        return made

    def _repeatable(
        self, tape: Tape, until: Count | None, most: int, agree: Callable[[bool], bool]
    ) -> Repeatable:
        """Return a function that runs a program, whose launches need no interpreter."""
        program = Program.of(tape, self._memory)
        if program is None:
            return super()._repeatable(tape, until, most, agree)

        def repeat() -> int:
            self._pool.call()
            return program.run(until, most, self._pool.address, self._pool.width)

        return repeat, program.exchange

    def get_ready(
        self, modules: Sequence[ModuleType], progress: Callable[[int, int], None]
    ) -> float:
        """Compile all kernels with several processors; otherwise each at its first launch."""
        if self._complete or available_threads() < ahead.MIN_PROCESSORS:
            return 0.0
        self._complete = True
        try:
            return ahead.compile_ahead(modules, self.width, available_threads(), progress)
        except BackendError:
            return 0.0  # the run may not need what failed

    def compile(
        self,
        modules: Sequence[ModuleType],
        *,
        jobs: int | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> float:
        """Load every workunit, compiling any that the cache lacks; return seconds."""
        from jetpy.kernel_language.reading import workunit_names

        started = time.perf_counter()
        ahead.compile_ahead(modules, self.width, jobs or available_threads(), progress)
        kernels = sum(len(workunit_names(module)) for module in modules)
        done = 0
        with watch_compilations() as compilations:
            compiling.scheduler()
            for module in modules:
                done += len(compiling.code_of(module, self.width))
                if compilations and progress is not None:
                    progress(done, kernels)
        return time.perf_counter() - started
