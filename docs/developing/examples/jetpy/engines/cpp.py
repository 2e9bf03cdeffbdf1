"""Back end `cpp`: prints workunits as C++, compiles them, runs them on one thread."""

from __future__ import annotations

import ctypes
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from jetpy.engines.base import Backend, Workunit
from jetpy.engines.launching import Launcher
from jetpy.engines.memory import HostMemory, Memory
from jetpy.errors import BackendError
from jetpy.kernel_language import Kind, View, Width
from jetpy.kernel_language.cuda_printer import TYPES, print_function
from jetpy.kernel_language.definition import Definition, with_callees
from jetpy.kernel_language.reading import read_workunits

FLAGS = ("-O2", "-fwrapv", "-fno-strict-aliasing", "-ffp-contract=off")
COMMAND = ("g++", "-std=c++17", *FLAGS)
HEAD = """
#define __device__ static
#define __forceinline__ inline
template <class T> T atomic_fetch_add(T* at, T by) {
  T old = *at; *at += by; return old;
}
template <class T> T atomic_fetch_or(T* at, T by) {
  T old = *at; *at |= by; return old;
}
template <class T> T atomic_fetch_min(T* at, T by) {
  T old = *at; if (by < old) *at = by; return old;
}
template <class T> T atomic_fetch_max(T* at, T by) {
  T old = *at; if (by > old) *at = by; return old;
}
template <class T> T atomic_compare_exchange(T* at, T expected, T by) {
  T old = *at; if (old == expected) *at = by; return old;
}
"""
LOOP = """
extern "C" long long run_{name}(long long n{declared}) {{
  long long acc = 0;
  for (long long i = 0; i < n; ++i) {name}(({index})i{leading}{given});
  return acc;
}}
"""
LEADING = {Kind.FOR: "", Kind.REDUCE: ", acc", Kind.SCAN: ", acc, true"}
NUMBERS = {
    "boolean": ctypes.c_bool,
    "int32": ctypes.c_int32,
    "uint32": ctypes.c_uint32,
    "int64": ctypes.c_int64,
    "uint64": ctypes.c_uint64,
    "float64": ctypes.c_double,
}


def source(module: ModuleType, width: Width) -> str:
    """Return a module as C++ source: its functions, and a loop for each workunit."""
    own = read_workunits(module, width).values()
    return "\n".join([HEAD, *map(print_function, with_callees(own)), *map(_loop, own)])


def _loop(definition: Definition) -> str:
    declared = [
        f"{TYPES[kind.element]}* {name}_"
        if isinstance(kind, View)
        else f"{TYPES[kind]} {name}_"
        for name, kind in definition.arguments.items()
    ]
    return LOOP.format(
        name=definition.name,
        index=TYPES[str(next(iter(definition.parameters.values())))],
        leading=LEADING[definition.kind],
        declared="".join(f", {argument}" for argument in declared),
        given="".join(f", {name}_" for name in definition.arguments),
    )


@cache
def library(module: ModuleType, width: Width) -> ctypes.CDLL:
    """Compile a module and load the library; the library is cached for the process."""
    with tempfile.TemporaryDirectory() as folder:
        text, binary = Path(folder, "kernels.cpp"), Path(folder, "kernels.so")
        text.write_text(source(module, width))
        command = [*COMMAND, "-shared", "-fPIC", str(text), "-o", str(binary)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        except OSError:
            raise BackendError(
                "g++ is not installed; the back end cpp needs it"
            ) from None
        if done.returncode:
            raise BackendError(f"compiling {module.__name__} failed:\n{done.stderr}")
        return ctypes.CDLL(str(binary))


class CppLauncher(Launcher):
    """A compiled workunit."""

    def __init__(
        self, definition: Definition, loaded: ctypes.CDLL, memory: Memory
    ) -> None:
        super().__init__(definition.signature, memory)
        types: list[Any] = [
            ctypes.c_void_p if isinstance(kind, View) else NUMBERS[kind]
            for kind in definition.arguments.values()
        ]
        prototype = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, *types)
        self.call = prototype((f"run_{definition.name}", loaded))

    def launch_tasks(self, n: int, arguments: Mapping[str, Any]) -> None:
        """Run it over 0..n-1 as `launch` does, on the only thread."""
        self.launch(n, arguments)


class CppBackend(Backend):
    """Back end with workunits compiled by g++ and NumPy arrays."""

    name = "cpp"
    threads = 1

    def __init__(self) -> None:
        super().__init__(HostMemory())

    def _load(self, workunit: Workunit) -> CppLauncher:
        module = sys.modules[workunit.__module__]
        definition = read_workunits(module, self.width)[workunit.__name__]
        made = CppLauncher(definition, library(module, self.width), self._memory)
        self._launchers[workunit] = made
        return made

    def compile(
        self,
        modules: Sequence[ModuleType],
        *,
        jobs: int | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> float:
        """Compile all modules; return the seconds this took."""
        started = time.perf_counter()
        for done, module in enumerate(modules, 1):
            library(module, self.width)
            if progress is not None:
                progress(done, len(modules))
        return time.perf_counter() - started
