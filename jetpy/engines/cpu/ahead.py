"""Compiles modules of workunits ahead of their first launch, in several processes."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from importlib import import_module
from types import ModuleType

from jetpy.engines import index
from jetpy.engines.cache import cache_dirs, is_writable, one_at_a_time, read_entry
from jetpy.engines.cpu.compiling import compile_unit, entry_of, is_known
from jetpy.engines.workers import Group, announce, compile_in_parallel
from jetpy.kernel_language import Width
from jetpy.kernel_language.sources import is_in_digest

FUNCTION = f"{__name__}:compile_modules"
MIN_PROCESSORS = 4
"""With fewer processors, a run starts earlier if it compiles only what it launches."""


def compile_modules(*modules: Sequence[str]) -> None:
    """Compile modules, each given by the names of a width and of the module, into the cache."""
    from jetpy.engines.cpu.source import unit_of

    for width, name in modules:
        compile_unit(unit_of(import_module(name), Width[width]))


def compile_ahead(
    modules: Sequence[ModuleType],
    width: Width,
    jobs: int,
    progress: Callable[[int, int], None] | None = None,
) -> float:
    """Compile the modules that neither the library nor the cache has; return seconds.

    If the cache is not writable, nothing is compiled.

    `progress` is called with (done, total) workunits, and only if some are missing.

    Raises
    ------
    BackendError
        At the end, with the compiler's message, if a module did not compile.
    """
    started = time.perf_counter()
    unknown = [module for module in modules if not is_known(module, width)]
    if unknown and is_writable(cache_dirs()[-1]):
        _compile(unknown, width, jobs, progress)
    return time.perf_counter() - started


def _compile(
    unknown: Sequence[ModuleType],
    width: Width,
    jobs: int,
    progress: Callable[[int, int], None] | None,
) -> None:
    from jetpy.engines.cpu.source import unit_of

    units = {module.__name__: unit_of(module, width) for module in unknown}
    with one_at_a_time("cpu"):
        missing = {
            name: unit
            for name, unit in units.items()
            if unit.workunits and read_entry(entry_of(unit)) is None
        }
        if missing:
            announce("its kernels for this processor")
        longest_first = sorted(missing, key=lambda name: len(missing[name].text), reverse=True)
        groups: list[Group] = [[(width.name, name)] for name in longest_first]
        total = sum(len(unit.workunits) for unit in units.values())
        done = total - sum(len(unit.workunits) for unit in missing.values())
        workunits = {name: unit.workunits for name, unit in missing.items()}
        for [(_, name)] in compile_in_parallel(FUNCTION, groups, jobs, modules=workunits):
            done += len(missing[name].workunits)
            if progress is not None:
                progress(done, total)
    own = [units[module.__name__] for module in unknown if is_in_digest(module, "cpu")]
    index.remember("cpu", {unit.name: unit.digest for unit in own})
