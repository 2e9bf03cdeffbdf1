"""Workunits loaded on a GPU, once per process, for all back ends there."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

from jetpy.engines.cuda.entries import Target, are_all_known, known_entry, split_entry
from jetpy.engines.cuda.nvrtc import NVRTC
from jetpy.engines.cuda.templates import symbol
from jetpy.engines.launching import Loaded, Workunit
from jetpy.engines.threads import fork_safe_lock
from jetpy.errors import BackendError
from jetpy.kernel_language import Width


class Code:
    """Workunits of one width on one GPU; loaded code never changes.

    The GPU must be the thread's current device whenever code may be loaded.

    Parameters
    ----------
    cuda : module
        `cupy.cuda`.
    compiler : NVRTC
    architecture : str
        Target of the compiler, such as sm_90.
    width : Width
    """

    def __init__(self, cuda: Any, compiler: NVRTC, architecture: str, width: Width) -> None:
        self._cuda, self._target = cuda, Target(compiler, architecture, width)
        self._loading = fork_safe_lock()
        self._modules: list[Any] = []
        self._workunits: dict[Workunit, Loaded] = {}
        self._is_complete = False

    def load(self, workunit: Workunit) -> Loaded:
        """Return a workunit; compile and load it if necessary."""
        with self._loading:
            if workunit not in self._workunits:
                module = sys.modules[workunit.__module__]
                entry = known_entry(module, self._target)
                self._load({module: entry} if entry else self._compiled([module]))
            return self._workunits[workunit]

    def load_all(
        self,
        modules: Sequence[ModuleType],
        jobs: int,
        progress: Callable[[int, int], None] | None,
    ) -> None:
        """Load all workunits of all modules; `jobs` threads compile any that the cache lacks.

        If the index knows that the cache is complete, workunits are loaded at their first launch
        instead.
        """
        with self._loading:
            if self._is_complete:
                return
            if not are_all_known(modules, self._target):
                self._load(self._compiled(modules, jobs=jobs, progress=progress))
            self._is_complete = True

    def _compiled(self, modules: Sequence[ModuleType], **how: Any) -> dict[ModuleType, bytes]:
        from jetpy.engines.cuda.kernels import compiled  # reads kernels

        return compiled(modules, self._target, **how)

    def _load(self, entries: dict[ModuleType, bytes]) -> None:
        """Load modules on the GPU."""
        for module, entry in entries.items():
            signatures, cubin = split_entry(entry)
            loaded = self._cuda.function.Module()
            try:
                loaded.load(cubin)
            except self._cuda.driver.CUDADriverError as error:
                raise BackendError(f"the CUDA driver cannot load the kernels: {error}") from error
            self._modules.append(loaded)
            for one in signatures:
                address = loaded.get_function(symbol(one.name)).ptr
                self._workunits[getattr(module, one.name)] = Loaded(one, address)


_codes: dict[tuple[int, str, Width], Code] = {}


def code_on(device: int, cuda: Any, compiler: NVRTC, architecture: str, width: Width) -> Code:
    """Return the code of a width on a GPU; the same object for all callers."""
    made = Code(cuda, compiler, architecture, width)
    return _codes.setdefault((device, architecture, width), made)
