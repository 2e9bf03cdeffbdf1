"""The `kokkos-*` back ends: compiled workunits behind the three verbs."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any
from weakref import WeakSet

from jetpy.engines.base import Backend, Count, Repeatable, Workunit
from jetpy.engines.cpu.program import Program
from jetpy.engines.gpu_memory import CudaMemory
from jetpy.engines.kokkos import build
from jetpy.engines.kokkos.cachekey import kernel_folder
from jetpy.engines.kokkos.launcher import KokkosLauncher
from jetpy.engines.kokkos.runtime import check_present, check_space, device_of_kokkos, start
from jetpy.engines.launching import Tape
from jetpy.engines.memory import HostMemory
from jetpy.engines.threads import after_fork, available_threads, openmp_is_lost
from jetpy.engines.turns import KOKKOS
from jetpy.engines.workers import Entry, announce, compile_in_parallel, count_of
from jetpy.kernel_language.reading import read_workunit, workunit_names

_living: WeakSet[KokkosBackend] = WeakSet()


@after_fork
def _leave_threads_and_gpu() -> None:
    for backend in _living:
        backend.go_on_after_fork()


class KokkosBackend(Backend):
    """Workunits compiled by PyKokkos, on one of Kokkos's execution spaces.

    A forked process continues without OpenMP's threads, and cannot use the GPU.

    Parameters
    ----------
    space : {'Cuda', 'OpenMP', 'Serial'}
        Kokkos execution space.
    make_host : callable
        Creates the host engine of a GPU back end, which runs small levels.
    threads : int, optional
        CPU threads of OpenMP, by default all available ones. They are fixed when the first back end
        of the process starts Kokkos.
    device : int, optional
        Index of the GPU; by default Kokkos chooses one. It is fixed when the first back end of the
        process starts Kokkos.

    Raises
    ------
    BackendError
        If PyKokkos, its back end for `space` or the GPU is missing, or Kokkos already runs with a
        different number of threads or on a different GPU.
    OptionError
        If there is no such GPU.
    """

    has_wide_kernels = False

    def __init__(
        self,
        space: str,
        make_host: Callable[[], Backend],
        threads: int | None = None,
        device: int | None = None,
    ) -> None:
        check_present(space, device)
        started = start(threads if space == "OpenMP" else None, device)
        import pykokkos as pk

        on_gpu = space == "Cuda"
        super().__init__(CudaMemory(device_of_kokkos(device)) if on_gpu else HostMemory())
        self.name = f"kokkos-{space.lower()}"
        self.threads = started if space == "OpenMP" else 1
        if on_gpu:
            self.gpu = device_of_kokkos(device)
            self._use_gpu(make_host())
        self._space = space
        self._instance: Any = None
        if space != "OpenMP" or not openmp_is_lost():
            with self.using():
                self._instance = pk.ExecutionSpaceInstance(
                    getattr(pk.ExecutionSpace, space), self._memory.stream
                ).instance
        _living.add(self)

    def go_on_after_fork(self) -> None:
        """Continue without the resources that a fork takes away: OpenMP's threads, or the GPU."""
        if self._space == "Cuda":
            self.lose_gpu()
        elif self._space == "OpenMP" and openmp_is_lost():
            self.threads, self._instance = 1, None
            for launcher in self._launchers.values():
                assert isinstance(launcher, KokkosLauncher)
                launcher.run_on(None)
            self._launchers.clear()
            self._complete = False

    @contextmanager
    def using(self) -> Iterator[None]:
        """Reserve Kokkos and its device for this thread."""
        with KOKKOS, super().using():
            yield

    def _check(self) -> None:
        check_space(self._space)

    def _repeatable(
        self, tape: Tape, until: Count | None, most: int, agree: Callable[[bool], bool]
    ) -> Repeatable:
        """Return a function that runs a program, as long as OpenMP has its threads."""
        program = None if self.copies or self._instance is None else Program.of(tape, self._memory)
        if program is None:
            return super()._repeatable(tape, until, most, agree)
        step_by_step, _ = super()._repeatable(tape, until, most, agree)

        def repeat() -> int:
            if self._instance is None:  # after a fork
                return step_by_step()
            return program.run(until, most)

        return repeat, lambda _: False

    def _load(self, workunit: Workunit) -> KokkosLauncher:
        """Load a workunit; compile it first if necessary."""
        self._check()
        folder = self._folder(workunit)
        self.prepare([workunit])
        definition = read_workunit(sys.modules[workunit.__module__], workunit.__name__)
        launcher = KokkosLauncher(folder, definition.signature, self._instance, self._memory)
        self._launchers[workunit] = launcher
        return launcher

    def compile(
        self,
        modules: Sequence[ModuleType],
        *,
        jobs: int | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> float:
        """Compile the workunits that the cache lacks, and load all; return seconds."""
        self._check()
        started = time.perf_counter()
        if not self._complete:
            kernels = self.kernels(modules)
            self._build(kernels, jobs or available_threads(), progress)
            for workunit in kernels.values():
                self._load(workunit)
            self._complete = True
        return time.perf_counter() - started

    def prepare(self, workunits: Iterable[Workunit]) -> None:
        """Compile workunits together, which takes little longer than compiling one."""
        self._build({self._folder(workunit): workunit for workunit in workunits}, 1, None)

    def kernels(self, modules: Iterable[ModuleType]) -> dict[Path, Workunit]:
        """Return the workunits of modules, by the folder for the compiled code of each."""
        return {
            self._folder(getattr(module, name)): getattr(module, name)
            for module in modules
            for name in workunit_names(module)
        }

    def _folder(self, workunit: Workunit) -> Path:
        return kernel_folder(self._space, sys.modules[workunit.__module__], workunit.__name__)

    def _build(
        self,
        kernels: dict[Path, Workunit],
        jobs: int,
        progress: Callable[[int, int], None] | None,
    ) -> None:
        """Compile the kernels that are not compiled yet."""
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
        announce(count_of(len(missing)))
        if progress is not None:
            progress(done, len(kernels))
        for group in compile_in_parallel(build.FUNCTION, groups, jobs, environment):
            done += len(group)
            if progress is not None:
                progress(done, len(kernels))
