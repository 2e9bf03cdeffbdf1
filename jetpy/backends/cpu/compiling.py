"""Compiled code: ranges of workunits and what members of a crew run, kept in jetpy's cache."""

from __future__ import annotations

import ctypes
import time
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from jetpy.backends.cpu import SUFFIX, llvm, source
from jetpy.backends.cpu.source import Unit
from jetpy.backends.threads import fork_safe_lock
from jetpy.backends.workers import Compilation, announce, note
from jetpy.cache import keep_entry, one_at_a_time, read_entry
from jetpy.errors import BackendError
from jetpy.kernel_language import Width

_WORD, _BYTES = ctypes.c_int64, ctypes.c_char_p
SHARING: dict[str, list[Any]] = {
    "launch": [_WORD, _WORD, _WORD, _WORD, _BYTES],
    "run": [_WORD, _WORD, _WORD, _WORD, _WORD, _WORD],
    "serve": [_WORD, _WORD],
    "found": [_WORD, _WORD],
    "dismiss": [_WORD, _WORD],
}
"""Functions of `sharing` that the interpreter calls, and what they take."""
SECONDS = 3
"""To compile what most runs need, about."""
_compiling = fork_safe_lock()
"""Held while code is compiled or loaded: what is loaded never changes, and all runs share it."""


def address_of(module: ModuleType, workunit: str, width: Width) -> int:
    """Return the address of a workunit's range; its module is loaded, or compiled, if need be."""
    return addresses(module, width)[workunit]


def addresses(module: ModuleType, width: Width) -> dict[str, int]:
    """Return the addresses of the ranges of a module's workunits."""
    with _compiling:
        return _addresses(module, width)


@cache
def _addresses(module: ModuleType, width: Width) -> dict[str, int]:
    return _load(source.unit_of(module, width))


def sharing() -> dict[str, Any]:
    """Return the functions of `sharing` by name, as ctypes calls them."""
    with _compiling:
        return _sharing()


@cache
def _sharing() -> dict[str, Any]:
    found = _load(source.unit_of_sharing(list(SHARING)))
    return {name: ctypes.CFUNCTYPE(_WORD, *SHARING[name])(found[name]) for name in SHARING}


def entry(unit: Unit) -> Path:
    """Return the name of a unit's object file in the cache."""
    return Path("cpu", f"{unit.name}-{llvm.key_of(unit.text)}{SUFFIX}")


def _load(unit: Unit) -> dict[str, int]:
    """Load a unit from the cache, or compile it and keep it there; return addresses by workunit."""
    if not unit.symbols:
        return {}
    name = entry(unit)
    return _loaded(unit, read_entry(name)) or _compiled(unit, name)


def _loaded(unit: Unit, content: bytes | None) -> dict[str, int] | None:
    """Load an object file of a unit; return None where that cannot be done."""
    if content is None:
        return None
    try:
        found = llvm.load(content, unit.symbols.values())
    except BackendError:
        return None
    return dict(zip(unit.symbols, found, strict=True)) if all(found) else None


def _compiled(unit: Unit, name: Path) -> dict[str, int]:
    """Compile and load a unit, unless another process has compiled it while this one waited."""
    with one_at_a_time("cpu"):
        found = _loaded(unit, read_entry(name))
        if found is not None:
            return found
        announce("its kernels for this processor", SECONDS)
        started = time.perf_counter()
        content = llvm.compile_text(unit.text, unit.name)
        keep_entry(name, content)
        note(Compilation([(workunit,) for workunit in unit.symbols], time.perf_counter() - started))
    found = _loaded(unit, content)
    assert found is not None
    return found
