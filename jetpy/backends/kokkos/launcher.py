"""Calls compiled workunits directly, without PyKokkos's dispatch."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from jetpy.backends.kokkos.build import BINARY, LIBRARY
from jetpy.backends.kokkos.cpp import passed, symbol
from jetpy.backends.kokkos.memory import Memory
from jetpy.backends.numba_engine.translate import Definition
from jetpy.errors import BackendError


class Launcher:
    """A compiled workunit, loaded.

    Parameters
    ----------
    folder : Path
        A kernel's folder (`jetpy.backends.kokkos.build`).
    definition : Definition
        Its name and parameters.
    instance : object
        PyKokkos's object for the execution space that it runs on; None for that of OpenMP without
        its threads.
    memory : Memory
        Where its arrays lie.

    Attributes
    ----------
    call : callable
        Runs it with what `bind` returns; returns the total of a reduction or scan.
    """

    def __init__(self, folder: Path, definition: Definition, instance: Any, memory: Memory) -> None:
        library = folder / BINARY / LIBRARY
        try:
            self._make = ctypes.PyDLL(str(library))[symbol(folder)]
        except OSError as error:
            raise BackendError(f"{library} cannot be loaded, remove it: {error}") from error
        self._make.argtypes, self._make.restype = [ctypes.py_object], ctypes.py_object
        self.run_on(instance)
        self._name, self._memory = definition.name, memory
        self._elements, self._numbers = passed(definition.arguments)
        self._arrays = [(name, memory.addresses[kind]) for name, kind in self._elements.items()]

    def run_on(self, instance: Any) -> None:
        """Choose what `call` runs on."""
        self.call: Callable[..., Any] = self._make(instance)

    def bind(self, n: int, arguments: Mapping[str, Any]) -> list[Any]:
        """Return the arguments with which `call` runs the workunit over 0..n-1.

        Raises
        ------
        TypeError, ValueError
            If an array is not one that its parameter takes.
        """
        try:
            addresses = [known[id(arguments[name])] for name, known in self._arrays]
        except KeyError:
            self._keep_addresses(arguments)
            addresses = [known[id(arguments[name])] for name, known in self._arrays]
        return [n, *addresses, *[arguments[name] for name in self._numbers]]

    def _keep_addresses(self, arguments: Mapping[str, Any]) -> None:
        for name, known in self._arrays:
            if id(arguments[name]) not in known:
                what = f"{name} of {self._name}"
                self._memory.keep_address(arguments[name], self._elements[name], what)
