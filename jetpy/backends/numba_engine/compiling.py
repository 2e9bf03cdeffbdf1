"""Compiled code: ranges of workunits and what members of a crew run, kept in jetpy's cache."""

from __future__ import annotations

import ctypes
import hashlib
import linecache
import sys
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from jetpy.backends.threads import fork_safe_lock
from jetpy.backends.workers import Entry
from jetpy.cache import read_entry
from jetpy.kernel_language import Width, read_workunits

COMPILE = f"{__name__}:compile_all"
SECONDS = 0.6
"""To compile a kernel, about."""
IMPORTED = ("arithmetic.py", "atomics.py", "machine.py")
"""What ranges are compiled from beside their own text."""
RANGE_ARGUMENTS = 5
_WORD, _BYTES = ctypes.c_int64, ctypes.c_char_p
SHARING: dict[str, list[Any]] = {
    "launch": [_WORD, _WORD, _WORD, _WORD, _BYTES],
    "run": [_WORD, _WORD, _WORD, _WORD, _WORD, _WORD],
    "serve": [_WORD, _WORD],
    "found": [_WORD, _WORD],
    "dismiss": [_WORD, _WORD],
}
"""Functions of `sharing` that the interpreter calls, and what they take."""
compiling = fork_safe_lock()
"""Held while code is compiled or loaded: what is loaded never changes, and all runs share it."""
loaded: set[Width] = set()
"""For which all workunits are loaded."""


def ranges(module: ModuleType, width: Width) -> dict[str, Any]:
    """Return a module's ranges, by workunit: Numba's C functions, compiled or not yet."""
    with compiling:
        return _ranges(module, width)


@cache
def _ranges(module: ModuleType, width: Width) -> dict[str, Any]:
    from jetpy.backends.numba_engine import source

    text = source.generate(module, width)
    key = _key(text, IMPORTED)
    short = module.__name__.rpartition(".")[2]
    generated = _import_text(f"jetpy_numba_{short}_{key}", text)
    return {
        name: _function(getattr(generated, source.range_of(name)), RANGE_ARGUMENTS, name, key)
        for name in read_workunits(module)
    }


def sharing() -> dict[str, Any]:
    """Return the functions of `sharing` by name, compiled, as ctypes calls them."""
    with compiling:
        return _sharing()


@cache
def _sharing() -> dict[str, Any]:
    from jetpy.backends.numba_engine import sharing

    key = _key("", ("machine.py", "sharing.py"))
    found = {}
    for name, arguments in SHARING.items():
        function = _function(getattr(sharing, name), len(arguments), name, key)
        function.compile()
        found[name] = ctypes.CFUNCTYPE(_WORD, *arguments)(function.address)
    return found


def address_of(module: ModuleType, workunit: str, width: Width) -> int:
    """Return the address of a workunit's range, which is loaded, or compiled, if it is not yet."""
    with compiling:
        function = ranges(module, width)[workunit]
        if function.address is None:
            function.compile()
        address: int = function.address
        return address


def is_cached(module_name: str, width: str, workunit: str) -> bool:
    """Whether there is compiled code on disk for a workunit."""
    function = ranges(_module(module_name), Width[width])[workunit]
    return read_entry(function._cache.entry(function._sig)) is not None


def compile_all(*entries: Entry) -> None:
    """Load or compile ranges, each given by the names of its module, width and workunit."""
    for module_name, width, workunit in entries:
        address_of(_module(module_name), workunit, Width[width])


def _function(function: Any, arguments: int, name: str, key: str) -> Any:
    from numba.core import types
    from numba.core.ccallback import CFunc

    from jetpy.backends.numba_engine.storage import KernelCache

    signature = (types.int64,) * arguments, types.int64
    made: Any = CFunc(function, signature, {}, {"error_model": "numpy"})
    made._cache = KernelCache(Path("numba", key), name)
    return made


def _key(text: str, files: tuple[str, ...]) -> str:
    """Return a digest of all that compiled code depends on: sources, Numba, Python, processor."""
    import numba
    from numba.core.registry import cpu_target

    sources = "".join(Path(__file__).with_name(name).read_text() for name in files)
    processor = cpu_target.target_context.codegen().magic_tuple()
    salt = f"{numba.__version__} {np.__version__} {sys.version} {processor}"
    return hashlib.sha256((text + sources + salt).encode()).hexdigest()[:16]


def _import_text(name: str, text: str) -> ModuleType:
    """Make a module of a text, whose lines error messages show."""
    module, file = ModuleType(name), f"<{name}>"
    linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
    sys.modules[name] = module
    exec(compile(text, file, "exec"), module.__dict__)
    return module


def _module(name: str) -> ModuleType:
    from jetpy import workloads

    modules: dict[str, ModuleType] = {m.__name__: m for m in workloads.MODULES}
    return modules[name]
