"""The `cuda` back end: compiled workunits behind the three verbs."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from types import ModuleType
from weakref import WeakSet

from jetpy.engines.base import Backend, Workunit
from jetpy.engines.cuda import nvrtc
from jetpy.engines.cuda.code import Code, code_on
from jetpy.engines.cuda.diagnosis import problems
from jetpy.engines.cuda.installation import examine
from jetpy.engines.cuda.launcher import CudaLauncher, Totals
from jetpy.engines.gpu import check_after_fork, check_device
from jetpy.engines.gpu_memory import CudaMemory
from jetpy.engines.threads import after_fork, available_threads
from jetpy.errors import BackendError

TASKS_PER_MULTIPROCESSOR = 16
"""Number of tasks that a multiprocessor runs at the same time. Twice as many were not faster."""

_living: WeakSet[CudaBackend] = WeakSet()


@after_fork
def _leave_gpu() -> None:
    for backend in _living:
        backend.lose_gpu()


class CudaBackend(Backend):
    """Workunits compiled by NVRTC, on one GPU.

    Parameters
    ----------
    device : int
        Index of the GPU.
    make_host : callable
        Creates the host engine, which runs small levels.

    Raises
    ------
    BackendError
        If a component is missing; the message names it and the fix.
    OptionError
        If there is no such GPU.
    """

    name = "cuda"
    threads = 1

    def __init__(self, device: int, make_host: Callable[[], Backend]) -> None:
        check_after_fork()
        found = examine()
        if found.capabilities:
            check_device(device, len(found.capabilities))
        for problem in problems(replace(found, capabilities=found.capabilities[device:][:1])):
            raise BackendError(f"{problem.what}. {problem.fix}")
        compiler = nvrtc.load(found.cupy_cuda[:1])
        chosen = nvrtc.architecture_for(found.capabilities[device], compiler.architectures)
        assert chosen is not None
        memory = CudaMemory(device, captures_apart=True)
        super().__init__(memory)
        self.gpu = device
        self._cuda = memory.xp.cuda
        attributes = self._cuda.Device(device).attributes
        self.tasks_at_once = TASKS_PER_MULTIPROCESSOR * attributes["MultiProcessorCount"]
        self._code_of_width = partial(code_on, device, self._cuda, compiler, chosen)
        with memory.using():
            self._totals = Totals(memory)
        self._use_gpu(make_host())
        _living.add(self)

    @property
    def _code(self) -> Code:
        return self._code_of_width(self.width)

    def get_ready(
        self, modules: Sequence[ModuleType], progress: Callable[[int, int], None]
    ) -> float:
        """Compile the workunits that the cache lacks, here and for the host; return seconds."""
        if self._complete:
            return 0.0
        with ThreadPoolExecutor(1) as pool:
            host = pool.submit(self.host.get_ready, modules, lambda _done, _total: None)
            own = self.compile(modules, progress=progress)
            return max(own, host.result())

    def compile(
        self,
        modules: Sequence[ModuleType],
        *,
        jobs: int | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> float:
        """Compile the workunits that the cache lacks, and load all; return seconds."""
        check_after_fork()
        started = time.perf_counter()
        if not self._complete:
            with self.using():
                self._code.load_all(modules, jobs or available_threads(), progress)
            self._complete = True
        return time.perf_counter() - started

    def _load(self, workunit: Workunit) -> CudaLauncher:
        check_after_fork()
        with self.using():
            loaded = self._code.load(workunit)
        made = CudaLauncher(*loaded, self._memory, self._totals, self._cuda.driver.launchKernel)
        self._launchers[workunit] = made
        return made
