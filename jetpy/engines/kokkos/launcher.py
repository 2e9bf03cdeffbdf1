"""Launcher of compiled workunits, without PyKokkos's dispatch."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jetpy.engines.cpu import FOR
from jetpy.engines.cpu.program import ProgramLauncher
from jetpy.engines.kokkos.build import BINARY, LIBRARY
from jetpy.engines.kokkos.cpp import symbol
from jetpy.engines.memory import Memory
from jetpy.errors import BackendError
from jetpy.kernel_language import Signature


class KokkosLauncher(ProgramLauncher):
    """A loaded compiled workunit.

    Parameters
    ----------
    folder : Path
        A kernel's folder (`jetpy.engines.kokkos.build`).
    signature : Signature
    instance : object
        PyKokkos's object for the execution space that it runs on; None means OpenMP without its
        threads.
    memory : Memory
        Memory that has its arrays.
    """

    def __init__(self, folder: Path, signature: Signature, instance: Any, memory: Memory) -> None:
        library = folder / BINARY / LIBRARY
        try:
            functions = ctypes.PyDLL(str(library))
            self._make = functions[symbol(folder)]
        except OSError as error:
            raise BackendError(f"{library} cannot be loaded: {error}; remove the file") from error
        self._make.argtypes, self._make.restype = [ctypes.py_object], ctypes.py_object
        address = None  # programs do not run on GPUs
        if memory.stream is None:
            address = ctypes.cast(functions[f"{symbol(folder)}_range"], ctypes.c_void_p).value
        super().__init__(signature, memory, address or 0, FOR)
        self.run_on(instance)

    def launch_tasks(self, n: int, arguments: Mapping[str, Any]) -> None:
        """Run it over 0..n-1, where each index deserves a thread."""
        if n > 1:
            self.call(*self.bind(n, arguments), True)
        else:
            self.call(*self.bind(n, arguments))

    def run_on(self, instance: Any) -> None:
        """Choose the execution space of `call`."""
        self.call = self._make(instance)
