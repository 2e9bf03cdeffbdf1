"""The `kokkos-*` back ends: compiled workunits behind the three verbs."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from weakref import WeakSet

import numpy as np
import numpy.typing as npt

from jetpy.backends.base import Array, Backend, Mirror, Workunit
from jetpy.backends.kokkos import build
from jetpy.backends.kokkos.cachekey import kernel_folder
from jetpy.backends.kokkos.launcher import Launcher
from jetpy.backends.kokkos.memory import CudaMemory, HostMemory, Memory
from jetpy.backends.kokkos.runtime import check_after_fork, check_present, start
from jetpy.backends.numba_engine.engine import NumbaBackend
from jetpy.backends.threads import after_fork, available_threads, openmp_is_lost
from jetpy.backends.workers import Entry, announce, compile_in_parallel
from jetpy.kernel_language import read_workunits

HUB_DEGREE = 256
"""Degree above which one thread of a GPU takes too long over a row."""
COMPANION_THREADS = 1
"""Several threads take longer to start than small levels do."""
COMPANION_SIZE = 50_000
"""Vertices and directed edges up to which a level is refined sooner on the host's processors."""

SECONDS, SECONDS_A_GROUP = 0.8, 10
"""To compile a kernel, about, and what several together share."""
_living: WeakSet[KokkosBackend] = WeakSet()


@after_fork
def _leave_threads_and_gpu() -> None:
    for backend in _living:
        backend.go_on_after_fork()


@dataclass(frozen=True, eq=False)
class _Copy:
    """A copy of a mirror, recorded among launches."""

    call: Callable[[Mirror], None]


class _LostGPU:
    """In place of a GPU's memory in a forked process, which can neither use nor free it."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory

    def __getattr__(self, name: str) -> Any:
        check_after_fork("Cuda")
        raise AttributeError(name)


class KokkosBackend(Backend):
    """Workunits compiled by PyKokkos, on one of Kokkos's execution spaces.

    Arrays are NumPy's, or CuPy's on the GPU. There launches do not wait for the kernel, but
    share an order with CuPy's own work, and a reduction or scan returns when its result is
    there. A forked process goes on without OpenMP's threads, and cannot use the GPU.

    Parameters
    ----------
    space : {'Cuda', 'OpenMP', 'Serial'}
        Kokkos execution space.
    threads : int, optional
        CPU threads of OpenMP: all available ones by default. They are fixed when the first back
        end of the process starts Kokkos.

    Raises
    ------
    BackendError
        If PyKokkos, its back end for `space` or the GPU is missing, or Kokkos runs already with
        another number of threads.
    """

    def __init__(self, space: str, threads: int | None = None) -> None:
        check_present(space)
        started = start(threads if space == "OpenMP" else None)
        import pykokkos as pk

        self.name = f"kokkos-{space.lower()}"
        self.threads = started if space == "OpenMP" else 1
        self.launches = 0
        if space == "Cuda":
            self.copies = True
            self.prefers_lists, self.hub_degree = False, HUB_DEGREE
            self.companion = NumbaBackend(COMPANION_THREADS)
            self.companion_size = COMPANION_SIZE
        self._space = space
        self._memory: Memory = CudaMemory() if space == "Cuda" else HostMemory()
        self._instance: Any = None
        if space != "OpenMP" or not openmp_is_lost():
            self._instance = pk.ExecutionSpaceInstance(
                getattr(pk.ExecutionSpace, space), self._memory.stream
            ).instance
        self.xp = self._memory.xp
        self._launchers: dict[Workunit, Launcher] = {}
        self._tape: list[tuple[Launcher | _Copy, list[Any], Any]] | None = None
        self._launched: set[Launcher] = set()
        self._complete = False
        _living.add(self)

    def go_on_after_fork(self) -> None:
        """Do without what a forked process has not: OpenMP's threads, and the GPU."""
        if self._space == "Cuda":
            lost: Any = _LostGPU(self._memory)
            self._memory = self.xp = lost
        elif self._space == "OpenMP" and openmp_is_lost():
            self.threads, self._instance = 1, None
            for launcher in self._launchers.values():
                launcher.run_on(None)
        else:
            return
        self._launchers.clear()
        self._complete = False

    def parallel_for(self, n: int, workunit: Workunit, /, **arguments: Any) -> None:
        """Run a *for* workunit; on the GPU, without waiting for it."""
        self._launch(n, workunit, arguments)

    def reduce(self, n: int, workunit: Workunit, /, **arguments: Any) -> int:
        """Run a *reduce* workunit and return the sum."""
        return int(self._launch(n, workunit, arguments))

    def scan(self, n: int, workunit: Workunit, /, **arguments: Any) -> int:
        """Run a *scan* workunit and return the total."""
        return int(self._launch(n, workunit, arguments))

    def _launch(self, n: int, workunit: Workunit, arguments: dict[str, Any]) -> Any:
        launcher = self._launchers.get(workunit)
        if launcher is None:
            launcher = self._load(workunit)
        passed = launcher.bind(n, arguments)
        if self._tape is not None:
            self._tape.append((launcher, passed, arguments))
            return 0
        self.launches += 1
        return launcher.call(*passed)

    def mirror(self, n: int) -> Mirror:
        """Return a small int64 array of zeros that exists on the host and on the back end."""
        return self._memory.mirror(n)

    def push(self, mirror: Mirror) -> None:
        """Copy a mirror from the host to the back end, in order with launches."""
        self._copy(self._memory.push, mirror)

    def pull(self, mirror: Mirror) -> None:
        """Copy a mirror to the host, in order with launches; it is there after `synchronize`."""
        self._copy(self._memory.pull, mirror)

    def _copy(self, copy: Callable[[Mirror], None], mirror: Mirror) -> None:
        if self._tape is not None:
            self._tape.append((_Copy(copy), [mirror], mirror))
        else:
            copy(mirror)

    def record(self, launches: Callable[[], None], /) -> Callable[[], None]:
        """Return a function that repeats launches; on the GPU, as a CUDA graph."""
        tape = self._tape = []
        try:
            launches()
        finally:
            self._tape = None

        kernels = {what for what, _, _ in tape if isinstance(what, Launcher)}

        def launch_all() -> None:
            for what, passed, _ in tape:
                what.call(*passed)
            self._launched |= kernels

        repeat = self._memory.repeatable(launch_all, lambda: kernels <= self._launched)
        launches_each_time = sum(isinstance(what, Launcher) for what, _, _ in tape)

        def play() -> None:
            check_after_fork(self._space)
            self.launches += launches_each_time
            repeat()

        return play

    def _load(self, workunit: Workunit) -> Launcher:
        """Load a workunit, compiled first if need be."""
        check_after_fork(self._space)
        folder = self._folder(workunit)
        self.prepare([workunit])
        definition = read_workunits(sys.modules[workunit.__module__])[workunit.__name__]
        launcher = Launcher(folder, definition, self._instance, self._memory)
        self._launchers[workunit] = launcher
        return launcher

    def from_host(self, array: npt.NDArray[Any]) -> Array:
        """Hand over a NumPy array, copied only where needed."""
        return self._memory.from_host(np.ascontiguousarray(array))

    def to_host(self, array: Array) -> npt.NDArray[Any]:
        """Return the NumPy array with the same contents."""
        return self._memory.to_host(array)

    def synchronize(self) -> None:
        """Wait until every launch has finished."""
        self._memory.synchronize()

    def compile(
        self,
        *,
        jobs: int | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> float:
        """Compile what the cache lacks and load everything; return seconds."""
        check_after_fork(self._space)
        started = time.perf_counter()
        if not self._complete:
            kernels = self.kernels()
            with ThreadPoolExecutor(1) as beside:
                if self.companion is not None:
                    companion = beside.submit(copy_context().run, self.companion.compile, jobs=jobs)
                self._build(kernels, jobs or available_threads(), progress)
            if self.companion is not None:
                companion.result()
            for workunit in kernels.values():
                self._load(workunit)
            self._complete = True
        return time.perf_counter() - started

    def prepare(self, workunits: Iterable[Workunit]) -> None:
        """Compile workunits, of jetpy or not, together: that takes little longer than one."""
        self._build({self._folder(workunit): workunit for workunit in workunits}, 1, None)

    def kernels(self) -> dict[Path, Workunit]:
        """Return all of jetpy's workunits by the folder where compiled code of each belongs."""
        from jetpy import workloads

        return {
            self._folder(getattr(module, name)): getattr(module, name)
            for module in workloads.MODULES
            for name in read_workunits(module)
        }

    def _folder(self, workunit: Workunit) -> Path:
        return kernel_folder(self._space, sys.modules[workunit.__module__], workunit.__name__)

    def _build(
        self,
        kernels: dict[Path, Workunit],
        jobs: int,
        progress: Callable[[int, int], None] | None,
    ) -> None:
        """Compile those of some kernels that are not compiled yet."""
        missing: list[Entry] = [
            (self._space, str(folder), workunit.__name__)
            for folder, workunit in kernels.items()
            if not build.is_built(folder)
        ]
        if not missing:
            return
        done = len(kernels) - len(missing)
        environment = build.build_environment()
        groups = build.in_groups(missing, jobs)
        announce(len(missing), SECONDS_A_GROUP + SECONDS * len(missing) / len(groups))
        if progress is not None:
            progress(done, len(kernels))
        for group in compile_in_parallel(build.FUNCTION, groups, jobs, environment):
            done += len(group)
            if progress is not None:
                progress(done, len(kernels))
