"""Cubins of workunits: from the cache, or compiled and kept there. No GPU is needed."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from functools import partial
from pathlib import Path
from types import ModuleType

from jetpy.backends.cuda import SUFFIX, nvrtc
from jetpy.backends.cuda.nvrtc import NVRTC, OPTIONS
from jetpy.backends.cuda.program_source import SYMBOL, program_source
from jetpy.backends.cuda.source import source
from jetpy.backends.threads import available_threads
from jetpy.backends.workers import Compilation, Group, announce, note
from jetpy.cache import keep_entry, read_entry
from jetpy.errors import BackendError
from jetpy.kernel_language import read_workunits

SECONDS = 0.05
"""To compile a kernel, about."""

Progress = Callable[[int, int], None]
Unit = ModuleType | tuple[ModuleType, ...]
"""What is compiled at a time: a module's workunits, a kernel for each; or one kernel, for programs
that call those of several modules."""


def modules() -> list[ModuleType]:
    """Return jetpy's modules that have workunits."""
    from jetpy import workloads

    return [module for module in workloads.MODULES if read_workunits(module)]


def program_modules() -> tuple[ModuleType, ...]:
    """Return the modules whose workunits programs call: iterations of refinement."""
    from jetpy.workloads import iterations, jetlp, moves, plan, rebalance

    return iterations, plan, jetlp, rebalance, moves


def units() -> list[Unit]:
    """Return all there is to compile."""
    return [*modules(), program_modules()]


def compiler_for(architectures: Sequence[str]) -> Callable[..., None]:
    """Return what compiles jetpy's workunits for architectures (sm_90); no GPU has to be here.

    It takes `jobs` and `progress` as `cubins` does.

    Raises
    ------
    OptionError
        If an architecture has no such name.
    BackendError
        If NVRTC is not there, or does not compile for one of them.
    """
    compiler = nvrtc.load()
    wanted = [compiler.checked(architecture) for architecture in dict.fromkeys(architectures)]

    def compile_all(*, jobs: int | None = None, progress: Progress | None = None) -> None:
        threads, kernels = jobs or available_threads(), _count(units())
        last = 0

        def told(number: int, done: int, _: int) -> None:
            nonlocal last
            last = number * kernels + done
            if progress is not None:
                progress(last, len(wanted) * kernels)

        for number, architecture in enumerate(wanted):
            cubins(units(), compiler, architecture, jobs=threads, progress=partial(told, number))
            if last > 0:
                told(number, kernels, kernels)

    return compile_all


def entry(unit: Unit, compiler: NVRTC, architecture: str) -> Path:
    """Return the name of a unit's cubin in the cache, by all that it depends on."""
    circumstances = repr((compiler.version, OPTIONS, architecture))
    key = hashlib.sha256(f"{circumstances}\n{_text(unit)}".encode()).hexdigest()[:16]
    return Path("cuda", architecture, f"{_short(unit)}-{key}{SUFFIX}")


def cubins(
    wanted: Sequence[Unit],
    compiler: NVRTC,
    architecture: str,
    *,
    jobs: int = 1,
    progress: Progress | None = None,
) -> dict[Unit, bytes]:
    """Return the cubin of each unit; what the cache lacks is compiled, by `jobs` threads.

    Compiled ones are kept at once, so that after an interruption the next call goes on there. A
    unit that fails does not keep the others from being compiled.

    Raises
    ------
    BackendError
        At the end, with the compiler's words, if a unit did not compile.
    """
    found = {unit: read_entry(entry(unit, compiler, architecture)) for unit in wanted}
    ready = {unit: cubin for unit, cubin in found.items() if cubin is not None}
    missing = [unit for unit in wanted if unit not in ready]
    if not missing:
        return ready
    total, done = _count(wanted), _count(list(ready))
    announce(_count(missing), SECONDS * _count(missing) / min(jobs, len(missing)))
    if progress is not None:
        progress(done, total)
    failures = []
    for unit, made in _compile(missing, compiler, architecture, jobs):
        done += _count([unit])
        if isinstance(made, bytes):
            ready[unit] = made
        else:
            failures.append(f"compiling the workunits of {_short(unit)} failed:\n{made}")
        if progress is not None:
            progress(done, total)
    if failures:
        raise BackendError("\n\n".join(failures))
    return ready


def _compile(
    missing: Sequence[Unit], compiler: NVRTC, architecture: str, jobs: int
) -> Iterator[tuple[Unit, bytes | BackendError]]:
    """Compile units, those that take longest first; yield each with its cubin, or what failed."""

    def compile_one(unit: Unit) -> tuple[Unit, bytes | BackendError, float]:
        started = time.perf_counter()
        made: bytes | BackendError
        try:
            made = compiler.compile(_text(unit), f"{_short(unit)}.cu", architecture)
            keep_entry(entry(unit, compiler, architecture), made)
        except BackendError as error:
            made = error
        return unit, made, time.perf_counter() - started

    longest_first = sorted(missing, key=lambda unit: len(_text(unit)), reverse=True)
    pool = ThreadPoolExecutor(jobs)
    try:
        for future in as_completed([pool.submit(compile_one, u) for u in longest_first]):
            unit, made, seconds = future.result()
            group: Group = [(_short(unit), name) for name in _names(unit)]
            failure = str(made) if isinstance(made, BackendError) else None
            note(Compilation(group, seconds, failure))
            yield unit, made
    finally:
        pool.shutdown(cancel_futures=True)


def _text(unit: Unit) -> str:
    return program_source(unit) if isinstance(unit, tuple) else source(unit)


def _short(unit: Unit) -> str:
    return "program" if isinstance(unit, tuple) else unit.__name__.rpartition(".")[2]


def _names(unit: Unit) -> list[str]:
    return [SYMBOL] if isinstance(unit, tuple) else list(read_workunits(unit))


def _count(wanted: Sequence[Unit]) -> int:
    return sum(len(_names(unit)) for unit in wanted)
