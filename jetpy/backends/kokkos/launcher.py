"""Calls compiled workunits directly, without PyKokkos's dispatch."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from jetpy.backends.kokkos.build import BINARY, LIBRARY
from jetpy.backends.kokkos.cpp import symbol
from jetpy.backends.kokkos.memory import Memory
from jetpy.errors import BackendError
from jetpy.kernel_language import Definition, View


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
        self._name, self._memory, self._bind = definition.name, memory, definition.bind
        kinds = [
            kind.element if isinstance(kind, View) else None
            for kind in definition.arguments.values()
        ]
        self._elements = dict(zip(definition.arguments, kinds, strict=True))
        self._known = [kind and memory.addresses[kind] for kind in kinds]

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
        values = self._bind(**arguments)
        try:
            return [n, *self._addressed(values)]
        except KeyError:
            self._keep_addresses(values)
            return [n, *self._addressed(values)]

    def _addressed(self, values: Iterable[Any]) -> list[Any]:
        """Return addresses in place of arrays."""
        pairs = zip(self._known, values, strict=True)
        return [value if known is None else known[id(value)] for known, value in pairs]

    def _keep_addresses(self, values: Iterable[Any]) -> None:
        for (name, element), known, value in zip(
            self._elements.items(), self._known, values, strict=True
        ):
            if element is not None and known is not None and id(value) not in known:
                self._memory.keep_address(value, element, f"{name} of {self._name}")
