"""Compiled code: ranges of workunits and what members of a crew run, kept in jetpy's cache."""

from __future__ import annotations

import ctypes
import time
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from jetpy.backends.cpu import SUFFIX, llvm, source
from jetpy.backends.cpu.library import address_in_library
from jetpy.backends.cpu.source import Unit
from jetpy.backends.threads import fork_safe_lock, uninterrupted
from jetpy.backends.workers import Compilation, Group, announce, note
from jetpy.cache import keep_entry, one_at_a_time, read_entry
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
OWN = "jetpy.workloads."
"""How the names of modules begin that libraries have."""
SECONDS = 3
"""To compile what most runs need, about."""
_compiling = fork_safe_lock()
"""Held while code is compiled or loaded: what is loaded never changes, and all runs share it."""


def address_of(module: ModuleType, workunit: str, width: Width) -> int:
    """Return the address of a workunit's range; its module is loaded, or compiled, if need be."""
    if module.__name__.startswith(OWN):
        address = address_in_library(source.symbol_of(module, workunit, width))
        if address is not None:
            return address
    with _compiling:
        return _addresses(module, width)[workunit]


@cache
def _addresses(module: ModuleType, width: Width) -> dict[str, int]:
    return _load(source.unit_of(module, width))


def sharing() -> dict[str, Any]:
    """Return the functions of `sharing` by name, as ctypes calls them."""
    with _compiling:
        return _sharing()


@cache
def _sharing() -> dict[str, Any]:
    found = {}
    for name, arguments in SHARING.items():
        address = address_in_library(name) or _addresses_of_sharing()[name]
        found[name] = ctypes.CFUNCTYPE(_WORD, *arguments)(address)
    return found


@cache
def _addresses_of_sharing() -> dict[str, int]:
    return _load(source.unit_of_sharing())


def _load(unit: Unit) -> dict[str, int]:
    """Load a unit from the cache, or compile it and keep it there; return addresses by name."""
    name = Path("cpu", f"{unit.name}-{llvm.key_of(unit.text)}{SUFFIX}")
    content = read_entry(name)
    if content is None:
        with one_at_a_time("cpu"):
            content = read_entry(name) or _compile(unit, name)
    with uninterrupted():
        addresses = llvm.load(content, unit.symbols.values())
    return dict(zip(unit.symbols, addresses, strict=True))


def _compile(unit: Unit, name: Path) -> bytes:
    """Compile a unit, and keep it by a name."""
    announce("its kernels for this processor", SECONDS)
    started = time.perf_counter()
    with uninterrupted():
        content = llvm.compile_text(unit.text, unit.name)
    keep_entry(name, content)
    if unit.workunits:
        group: Group = [(workunit,) for workunit in unit.workunits]
        note(Compilation(group, time.perf_counter() - started))
    return content
