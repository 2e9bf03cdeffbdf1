"""Runs printed CUDA C on the host: macros turn its keywords into C++."""

from __future__ import annotations

import ctypes
import hashlib
import subprocess
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from jetpy.engines.base import Workunit
from jetpy.kernel_language import Kind, View
from jetpy.kernel_language.cuda_printer import TYPES, print_function
from jetpy.kernel_language.definition import Definition, with_callees
from jetpy.kernel_language.reading import read_module, read_workunits

PRELUDE = """
#define __device__
#define __forceinline__ inline
#define RELAXED __ATOMIC_RELAXED
template <class T> T atomic_fetch_add(T* p, T v) { return __atomic_fetch_add(p, v, RELAXED); }
template <class T> T atomic_fetch_or(T* p, T v) { return __atomic_fetch_or(p, v, RELAXED); }
template <class T> T atomic_compare_exchange(T* p, T expected, T v) {
  __atomic_compare_exchange_n(p, &expected, v, false, RELAXED, RELAXED);
  return expected;
}
template <class T> T atomic_fetch_min(T* p, T v) { T old = *p; if (v < old) *p = v; return old; }
template <class T> T atomic_fetch_max(T* p, T v) { T old = *p; if (v > old) *p = v; return old; }
"""


class CppEngine:
    """Runs the three verbs on the workunits of one module, one index after the other."""

    def __init__(self, module: ModuleType, folder: Path) -> None:
        self.xp = np
        self._definitions = read_workunits(module)
        functions = with_callees(read_module(module).values())
        parts = [PRELUDE, *map(print_function, functions)]
        parts += map(_launcher, self._definitions.values())
        text = "\n".join(parts)
        name = hashlib.sha256(text.encode()).hexdigest()[:16]
        library = folder / f"{name}.so"
        (folder / f"{name}.cpp").write_text(text)
        options = ["-O2", "-fwrapv", "-ffp-contract=off", "-shared", "-fPIC", "-w"]
        command = ["g++", *options, "-o", str(library), str(folder / f"{name}.cpp")]
        subprocess.run(command, check=True)
        self._library = ctypes.CDLL(str(library))

    def _launch(self, n: int, workunit: Workunit, arguments: dict[str, Any]) -> int:
        definition = self._definitions[workunit.__name__]
        function: Callable[..., int] = self._library[f"launch_{definition.name}"]
        function.restype = ctypes.c_longlong
        values = definition.signature.bind(**arguments)
        passed = [
            ctypes.c_void_p(value.ctypes.data) if isinstance(value, np.ndarray) else value
            for value in values
        ]
        return function(n, *passed)

    def parallel_for(self, n: int, workunit: Workunit, /, **arguments: Any) -> None:
        self._launch(n, workunit, arguments)

    def reduce(self, n: int, workunit: Workunit, /, **arguments: Any) -> int:
        return self._launch(n, workunit, arguments)

    def scan(self, n: int, workunit: Workunit, /, **arguments: Any) -> int:
        return self._launch(n, workunit, arguments)

    def from_host(self, array: np.ndarray) -> np.ndarray:
        return array

    def to_host(self, array: np.ndarray) -> np.ndarray:
        return array


def _launcher(definition: Definition) -> str:
    """Return a C function that runs a workunit over a range; a scan makes two passes."""
    own = definition.arguments
    parameters = "".join(
        f", {TYPES[kind.element]}* {name}" if isinstance(kind, View) else f", {TYPES[kind]} {name}"
        for name, kind in own.items()
    )
    leading = {Kind.FOR: [], Kind.REDUCE: ["acc"], Kind.SCAN: ["acc", "last"]}[definition.kind]
    call = f"{definition.name}({', '.join(['_i', *leading, *own])})"
    return f"""
extern "C" long long launch_{definition.name}(int _n{parameters}) {{
  long long acc = 0;
  for (int pass = 0; pass < {2 if definition.kind is Kind.SCAN else 1}; ++pass) {{
    bool last = pass == 1;
    acc = 0;
    for (int _i = 0; _i < _n; ++_i) {call};
  }}
  return acc;
}}
"""
