"""Compiled code of workunits and of the scheduler, kept in jetpy's cache."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from jetpy.engines import index
from jetpy.engines.cache import keep_entry, one_at_a_time, read_entry
from jetpy.engines.cpu import SUFFIX, llvm
from jetpy.engines.cpu import scheduler as scheduler_module
from jetpy.engines.cpu.library import finder_in_library
from jetpy.engines.cpu.scheduler import EXPORTED
from jetpy.engines.cpu.symbols import range_symbol, signatures_symbol, unit_name
from jetpy.engines.launching import Loaded
from jetpy.engines.threads import lock_that_forks_wait_for, uninterrupted
from jetpy.engines.workers import Compilation, Group, announce, note
from jetpy.kernel_language import Width
from jetpy.kernel_language.signature import signatures_from
from jetpy.kernel_language.sources import is_in_digest

if TYPE_CHECKING:
    from jetpy.engines.cpu.source import Unit

_WORD, _BYTES = ctypes.c_int64, ctypes.c_char_p
_compiling = lock_that_forks_wait_for()
"""Held while code is compiled or loaded. Loaded code never changes, and all runs share it."""


def code_of(module: ModuleType, width: Width) -> Mapping[str, Loaded]:
    """Return the workunits of a module by name; compile and load them if necessary."""
    with _compiling:
        return _code_of(module, width)


@cache
def _code_of(module: ModuleType, width: Width) -> Mapping[str, Loaded]:
    unit = unit_name(module, width)
    find = _finder(module, width, signatures_symbol(unit))
    signatures = signatures_from(ctypes.string_at(find(signatures_symbol(unit))))
    return {own.name: Loaded(own, find(range_symbol(unit, own.name))) for own in signatures}


def scheduler() -> Mapping[str, Any]:
    """Return the functions of `scheduler` by name, as ctypes functions.

    `launch_short` is `launch`, but keeps the interpreter lock.
    """
    with _compiling:
        return _scheduler()


@cache
def _scheduler() -> Mapping[str, Any]:
    find = _finder(scheduler_module, Width.WIDE, EXPORTED[0])
    functions = {name: ctypes.CFUNCTYPE(*_types_of(name))(find(name)) for name in EXPORTED}
    short = ctypes.PYFUNCTYPE(*_types_of("launch"))(find("launch"))
    return {**functions, "launch_short": short}


def _types_of(name: str) -> list[Any]:
    """Return the types of the result and the arguments of a scheduler function."""
    words = [_WORD] * (1 + getattr(scheduler_module, name).__code__.co_argcount)
    return [*words[:-1], _BYTES] if name == "launch" else words


def _finder(module: ModuleType, width: Width, symbol: str) -> Callable[[str], int]:
    """Return a function that looks up addresses in a module's code, which contains `symbol`."""
    in_library = finder_in_library(symbol) if is_in_digest(module, "cpu") else None
    return in_library or _load(_object_of(module, width))


def _load(content: bytes) -> Callable[[str], int]:
    with uninterrupted():
        return llvm.load(content)


def _object_of(module: ModuleType, width: Width) -> bytes:
    """Return the object file of a module from the cache; compile and keep it if necessary."""
    unit = unit_name(module, width)
    digest = index.known("cpu", unit) if is_in_digest(module, "cpu") else None
    content = read_entry(_entry(unit, digest)) if digest else None
    return content or _made_of(module, width)


def _made_of(module: ModuleType, width: Width) -> bytes:
    """Return the object file of a module; this reads the module's kernels."""
    from jetpy.engines.cpu.source import unit_of

    unit = unit_of(module, width)
    content = read_entry(entry_of(unit))
    if content is None:
        with one_at_a_time("cpu"):
            content = read_entry(entry_of(unit)) or compile_unit(unit)
    if is_in_digest(module, "cpu"):
        index.remember("cpu", {unit.name: unit.digest})
    return content


def is_known(module: ModuleType, width: Width) -> bool:
    """Return whether a module's code is in the library, or in the cache by its index."""
    if not is_in_digest(module, "cpu"):
        return False
    unit = unit_name(module, width)
    return index.known("cpu", unit) is not None or bool(finder_in_library(signatures_symbol(unit)))


def entry_of(unit: Unit) -> Path:
    """Return the name of a unit's cache entry."""
    return _entry(unit.name, unit.digest)


def _entry(unit: str, digest: str) -> Path:
    return Path("cpu", f"{unit}-{llvm.key_of(digest)}{SUFFIX}")


def compile_unit(unit: Unit) -> bytes:
    """Compile a unit, and keep it in the cache."""
    announce("its kernels for this processor")
    started = time.perf_counter()
    with uninterrupted():
        content = llvm.compile_text(unit.text, unit.name)
    keep_entry(entry_of(unit), content)
    if unit.workunits:
        group: Group = [(workunit,) for workunit in unit.workunits]
        note(Compilation(group, time.perf_counter() - started))
    return content
