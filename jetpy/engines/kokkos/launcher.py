"""Launcher of compiled workunits, without PyKokkos's dispatch."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from jetpy.engines.compiled_backend import Arguments, packer
from jetpy.engines.cpu import FOR
from jetpy.engines.kokkos.build import BINARY, LIBRARY
from jetpy.engines.kokkos.cpp import symbol
from jetpy.engines.memory import Memory
from jetpy.errors import BackendError
from jetpy.kernel_language import Signature


class Launcher:
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

    Attributes
    ----------
    bind, places, read
        As in `Arguments`.
    signature : Signature
    call : callable
        Runs it with the list that `bind` returns; returns the total of a reduction or scan.
    function, kind, block
        For programs (`jetpy.engines.cpu.program`); `function` is 0 on a GPU.
    """

    def __init__(self, folder: Path, signature: Signature, instance: Any, memory: Memory) -> None:
        self.signature = signature
        library = folder / BINARY / LIBRARY
        try:
            self._make = ctypes.PyDLL(str(library))[symbol(folder)]
        except OSError as error:
            raise BackendError(f"{library} cannot be loaded: {error}; remove the file") from error
        self._make.argtypes, self._make.restype = [ctypes.py_object], ctypes.py_object
        self.kind, self.function = FOR, 0
        if memory.stream is None:
            native = ctypes.PyDLL(str(library))[f"{symbol(folder)}_range"]
            self.function = ctypes.cast(native, ctypes.c_void_p).value or 0
        self.block = packer(signature)
        self.run_on(instance)
        arguments = Arguments(signature, memory)
        self.bind, self.places, self.read = arguments.bind, arguments.places, arguments.read

    def launch(self, n: int, arguments: Mapping[str, Any]) -> Any:
        """Run it over 0..n-1; return the total of a reduction or scan."""
        return self.call(*self.bind(n, arguments))

    def launch_tasks(self, n: int, arguments: Mapping[str, Any]) -> None:
        """Run it over 0..n-1, where each index deserves a thread."""
        if n > 1:
            self.call(*self.bind(n, arguments), True)
        else:
            self.call(*self.bind(n, arguments))

    def run_on(self, instance: Any) -> None:
        """Choose the execution space of `call`."""
        self.call: Callable[..., Any] = self._make(instance)
