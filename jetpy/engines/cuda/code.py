"""Workunits loaded on a GPU: once a process, for all back ends there."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

from jetpy.engines.base import Workunit
from jetpy.engines.cuda.kernels import are_all_kept, cubins, list_all_kept, with_workunits
from jetpy.engines.cuda.nvrtc import NVRTC
from jetpy.engines.cuda.source import symbol
from jetpy.engines.threads import fork_safe_lock
from jetpy.errors import BackendError
from jetpy.kernel_language import Width
from jetpy.kernel_language.reading import workunit_names


class Code:
    """Workunits of one width on one GPU; what is loaded never changes.

    The GPU has to be the current one of the thread whenever something may be loaded.

    Parameters
    ----------
    cuda : module
        `cupy.cuda`.
    compiler : NVRTC
    architecture : str
        What it compiles for, as sm_90.
    width : Width
    """

    def __init__(self, cuda: Any, compiler: NVRTC, architecture: str, width: Width) -> None:
        self._cuda, self._compiler = cuda, compiler
        self._architecture, self._width = architecture, width
        self._loading = fork_safe_lock()
        self._modules: list[Any] = []
        self._functions: dict[Workunit, int] = {}
        self._is_complete = False

    def function(self, workunit: Workunit) -> int:
        """Return the address of the driver's function of a workunit; load it if need be."""
        with self._loading:
            if workunit not in self._functions:
                module = sys.modules[workunit.__module__]
                self._load(self._cubins([module]))
            return self._functions[workunit]

    def load_all(
        self,
        modules: Sequence[ModuleType],
        jobs: int,
        progress: Callable[[int, int], None] | None,
    ) -> None:
        """Load all workunits of all modules; what the cache lacks is compiled, by `jobs` threads.

        If the cache is known to lack nothing, workunits are loaded when they are launched.
        """
        with self._loading:
            if self._is_complete:
                return
            circumstances = self._compiler, self._architecture, self._width
            if not are_all_kept(*circumstances):
                wanted = with_workunits(modules)
                self._load(self._cubins(wanted, jobs=jobs, progress=progress))
                list_all_kept(wanted, *circumstances)
            self._is_complete = True

    def _cubins(self, wanted: list[ModuleType], **how: Any) -> dict[ModuleType, bytes]:
        return cubins(wanted, self._compiler, self._architecture, width=self._width, **how)

    def _load(self, made: dict[ModuleType, bytes]) -> None:
        """Bring modules to the GPU."""
        for module, cubin in made.items():
            loaded = self._cuda.function.Module()
            try:
                loaded.load(cubin)
            except self._cuda.driver.CUDADriverError as error:
                raise BackendError(f"the driver does not load kernels: {error}") from error
            self._modules.append(loaded)
            for name in workunit_names(module):
                address = loaded.get_function(symbol(name)).ptr
                self._functions[getattr(module, name)] = address


_codes: dict[tuple[int, str, Width], Code] = {}


def code_on(device: int, cuda: Any, compiler: NVRTC, architecture: str, width: Width) -> Code:
    """Return the code of a width on a GPU, the same for all that ask for it."""
    made = Code(cuda, compiler, architecture, width)
    return _codes.setdefault((device, architecture, width), made)
