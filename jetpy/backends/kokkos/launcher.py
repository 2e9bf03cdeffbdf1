"""Calls compiled workunits directly, without PyKokkos's dispatch."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from jetpy.backends.kokkos.build import BINARY, LIBRARY, RECIPE
from jetpy.backends.kokkos.memory import Memory
from jetpy.backends.numba_engine.translate import Definition, View
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
        PyKokkos's object for the execution space that it runs on.
    memory : Memory
        Where its arrays lie.

    Attributes
    ----------
    call : callable
        Runs it; returns the total of a reduction or scan.
    """

    def __init__(self, folder: Path, definition: Definition, instance: Any, memory: Memory) -> None:
        recipe = json.loads((folder / BINARY / RECIPE).read_text())
        library = folder / BINARY / LIBRARY
        spec = importlib.util.spec_from_file_location(recipe["module"], library)
        assert spec is not None
        assert spec.loader is not None
        try:
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
        except ImportError as error:
            raise BackendError(f"{library} cannot be loaded, remove it: {error}") from error
        self.call: Callable[..., Any] = getattr(module, f"wrapper_{definition.name}")
        self._fixed = {**recipe["fixed"], "pk_exec_space_instance": instance, "pk_threads_begin": 0}
        self._memory = memory
        parameters = definition.arguments.items()
        self._arrays = [name for name, kind in parameters if isinstance(kind, View)]
        self._numbers = [name for name, kind in parameters if not isinstance(kind, View)]

    def bind(self, n: int, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return the keyword arguments with which `call` runs the workunit over 0..n-1."""
        passed = {**self._fixed, "pk_threads_end": n}
        view = self._memory.view
        for name in self._arrays:
            passed[name] = view(arguments[name])
        for name in self._numbers:
            passed[name] = arguments[name]
        return passed
